//! What a session keeps from call to call: recurrent state, and the caches of a transformer that decodes.

use super::numbers;
use precast::View;
use precast::prelude::*;

model! {
    /// A recurrent cell, for one frame and for three.
    pub struct Recurrent {
        from_input: Linear(3, 5),
        from_state: Linear(5, 5, bias = false),
        state h: f32[B, 5],
        state frames: u32,
    }

    impl Recurrent {
        fn cell(&self, h: f32[N, 5], x: f32[N, 3]) -> f32[N, 5] {
            tanh(self.from_input(x) + self.from_state(h))
        }

        /// One frame.
        pub fn step(&mut self, x: f32[B, 3]) -> f32[B, 5] {
            (self.h, self.frames) = (self.cell(self.h, x), self.frames + 1);
            self.h
        }

        /// Three frames from the start, without state.
        pub fn three(&self, x: f32[B, 3, 3]) -> f32[B, 5] {
            let mut h = self.cell(zeros([B, 5]), x[_, 0, _]);
            for t in 1..3 { h = self.cell(h, x[_, t, _]); }
            h
        }

        /// What the session has seen.
        pub fn seen(&self) -> (u32, f32[B, 5]) {
            (self.frames, self.h)
        }
    }
}

model! {
    /// Causal attention over all places at once, and over one place at a time with caches.
    pub struct Chat(layers = 3, heads = 2, dim = 8, context = 7) {
        blocks: [Block(dim, heads, context); layers],
    }

    struct Block(dim, heads, context) {
        norm: LayerNorm(dim),
        attention: Attention(dim, heads, context),
    }

    impl Block {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] { x + self.attention(self.norm(x)) }
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] { x + self.attention.step(self.norm(x), at) }
    }

    struct Attention(dim, heads, context) {
        qkv: Linear(dim, 3 * dim, bias = false),
        out: Linear(dim, dim, bias = false),
        state keys: f32[B, heads, context, dim / heads],
        state values: f32[B, heads, context, dim / heads],
    }

    impl Attention {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            let shape = [B, T, heads, dim / heads];
            let (q, k, v) = (reshape(q, shape), reshape(k, shape), reshape(v, shape));
            let scores = einsum("bthd,bshd->bhts", q, k) / sqrt(4.0);
            let seen = reshape(iota(T), [T, 1]) >= reshape(iota(T), [1, T]);
            let mixed = einsum("bhts,bshd->bthd", softmax(where(seen, scores, -1e9), axis = -1), v);
            self.out(reshape(mixed, [B, T, dim]))
        }

        /// One place against the caches.
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            let shape = [B, heads, dim / heads];
            self.keys[_, _, at] = reshape(k, shape);
            self.values[_, _, at] = reshape(v, shape);
            let scores = einsum("bhd,bhsd->bhs", reshape(q, shape), self.keys[_, _, ..=at]) / sqrt(4.0);
            let mixed = einsum("bhs,bhsd->bhd", softmax(scores, axis = -1), self.values[_, _, ..=at]);
            self.out(reshape(mixed, [B, dim]))
        }
    }

    impl Chat {
        /// All places.
        pub fn all(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let mut x = x;
            for block in self.blocks { x = block(x); }
            x
        }

        /// One place.
        pub fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let mut x = x;
            for block in self.blocks { x = block.step(x, at); }
            x
        }
    }
}

model! {
    /// State in branches, in scans, of blocks picked by number, and shifted within itself.
    pub struct Mixed {
        cells: [Cell(2); 3],
        state last: f32[4],
        state total: f32,
        state history: f32[5, 2],
    }

    struct Cell(dim) {
        state kept: f32[dim],
    }

    impl Cell {
        fn add(&mut self, x: f32[dim]) -> f32[dim] {
            self.kept += x;
            self.kept
        }
    }

    impl Mixed {
        /// Changes one state or the other.
        pub fn choose(&mut self, x: f32[4], which: u32) -> f32 {
            if which == 0 { self.last = x; } else { self.last[1..3] = x[..2]; self.total += sum(x); }
            sum(self.last) + self.total
        }

        /// Adds every element.
        pub fn count(&mut self, x: f32[T, 2]) -> f32[T] {
            scan(x, from = self.total, |before, row| {
                self.total += row[0] * before;
                (before + 1.0, self.total)
            })
        }

        /// The sums of the second block alone, then of all.
        pub fn second(&mut self, x: f32[2]) -> f32[2] {
            let mut y = self.cells[1].add(x);
            for cell in self.cells { y = cell.add(y); }
            y
        }

        fn shift(&mut self, x: f32[2]) {
            self.history[1..] = self.history[..-1];
            self.history[0] = x;
        }

        /// A window that moves by one.
        pub fn push(&mut self, x: f32[2]) -> f32[5, 2] {
            self.shift(x);
            self.history
        }

        /// Fills the window.
        pub fn fill(&mut self, x: f32) {
            self.history = broadcast_to(x, [5, 2]);
        }

        /// The sum of some of its rows.
        pub fn between(&self, from: u32, to: u32) -> f32 {
            sum(self.history[from..to])
        }
    }
}

#[test]
fn state_goes_through_branches_and_scans() {
    let model = Mixed::init(0);
    let mut session = model.session();
    assert_eq!(session.choose(&[1.0, 2.0, 3.0, 4.0], 0).unwrap(), 10.0);
    assert_eq!(session.choose(&[5.0, 6.0, 7.0, 8.0], 1).unwrap(), 1.0 + 5.0 + 6.0 + 4.0 + 26.0);
    session.reset().unwrap();
    session.choose(&[1.0, 0.0, 0.0, 0.0], 1).unwrap();
    // The total is 1 at first; each row adds its first element times the number of rows before it, plus 1.
    assert_eq!(session.count(&[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]).unwrap(), &[2.0, 6.0, 15.0]);
    assert_eq!(session.choose(&[0.0; 4], 0).unwrap(), 15.0);
}

#[test]
fn blocks_have_their_own_state() {
    let model = Mixed::init(0);
    let mut session = model.session();
    assert_eq!(session.second(&[1.0, 10.0]).unwrap(), &[2.0, 20.0]);
    // The first holds 1, the second 1 + 1, the third 2; then the second becomes 3, the first 4, the second 7, the third 9.
    assert_eq!(session.second(&[1.0, 10.0]).unwrap(), &[9.0, 90.0]);
}

#[test]
fn a_window_moves_over_itself() {
    let model = Mixed::init(0);
    let mut session = model.session();
    for step in 0..7 {
        let window = session.push(&[step as f32, -(step as f32)]).unwrap();
        let expected = |age: usize| (step as f32 - age as f32).max(0.0);
        assert!((0..5).all(|age| window[age] == [expected(age), -expected(age)]), "{window:?}");
    }
}

#[test]
fn positions_are_checked_before_anything_runs() {
    let model = Mixed::init(0);
    let mut session = model.session();
    (0..5).for_each(|step| _ = session.push(&[step as f32, 0.0]).unwrap());
    assert_eq!(session.between(1, 4).unwrap(), 6.0);
    assert_eq!(session.between(0, 5).unwrap(), 10.0);
    assert_eq!(session.between(0, 6).unwrap_err().to_string(), "`to` is 6, but may be at most 5");
    assert_eq!(session.between(2, 2).unwrap_err().to_string(), "`from` is 2, but may be at most to - 1 = 1");
    assert!(session.between(0, 0).is_err());
    session.fill(0.5).unwrap();
    assert_eq!(session.between(1, 4).unwrap(), 3.0);
}

fn near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 2e-5, "{found:?} instead of {expected:?}");
    }
}

#[test]
fn frames_one_by_one_are_the_loop() {
    let model = Recurrent::init(5);
    let x = numbers(2 * 3 * 3, 1);
    let all: &[[[f32; 3]; 3]] = &[0, 1].map(|b| [0, 1, 2].map(|t| [0, 1, 2].map(|i| x[9 * b + 3 * t + i])));
    let expected = model.three(all).unwrap();
    let mut session = model.session(RecurrentDims { B: 2 }).unwrap();
    assert_eq!(session.seen().unwrap(), (0, &[[0.0; 5]; 2][..]));
    for _ in 0..2 {
        for (&first, &second) in all[0].iter().zip(&all[1]) {
            session.step(&[first, second]).unwrap();
        }
        let (frames, h) = session.seen().unwrap();
        assert_eq!(frames, 3);
        near(h.as_flattened(), expected.as_flattened());
        session.reset().unwrap();
    }
}

fn places(x: &[f32], count: usize, t: usize) -> Vec<[f32; 8]> {
    let batch = x.len() / count / 8;
    (0..batch).map(|b| std::array::from_fn(|i| x[8 * (count * b + t) + i])).collect()
}

#[test]
fn a_cache_gives_what_attention_over_all_places_gives() {
    let model = Chat::init(3);
    for batch in [1, 2] {
        let x = numbers(batch * 7 * 8, 9);
        let all = model.all(View::new(x.as_chunks().0, [batch, 7]).unwrap()).unwrap();
        let all = all.data().as_flattened();
        let mut session = model.session(ChatDims { B: batch }).unwrap();
        for t in 0..7 {
            let found = session.step(&places(&x, 7, t), t as u32).unwrap();
            near(found.as_flattened(), places(all, 7, t).as_flattened());
        }
    }
}

#[test]
fn a_saved_state_continues_bit_for_bit() {
    let model = Chat::init(3);
    let x = numbers(7 * 8, 2);
    let path = std::env::temp_dir().join(format!("precast-state-{}.safetensors", std::process::id()));
    let mut first = model.session(ChatDims { B: 1 }).unwrap();
    for t in 0..4 {
        first.step(&places(&x, 7, t), t as u32).unwrap();
    }
    first.save(&path).unwrap();
    let mut second = model.session(ChatDims { B: 1 }).unwrap();
    second.load(&path).unwrap();
    let expected = first.step(&places(&x, 7, 4), 4).unwrap();
    assert_eq!(second.step(&places(&x, 7, 4), 4).unwrap(), expected);

    // A file of another batch changes nothing and says why.
    let mut third = model.session(ChatDims { B: 2 }).unwrap();
    let error = third.load(&path).unwrap_err().to_string();
    assert!(error.contains("blocks.2.attention.values") && error.contains("[1, 2, 7, 4]"), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert!(first.load(&path).is_err());
    assert_eq!(first.step(&places(&x, 7, 4), 4).unwrap(), expected_again(&mut second, &x));
}

fn expected_again(session: &mut ChatSession<'_>, x: &[f32]) -> Vec<[f32; 8]> {
    session.step(&places(x, 7, 4), 4).unwrap().to_vec()
}

#[test]
fn what_does_not_fit_the_session_is_an_error() {
    let model = Chat::init(3);
    let mut session = model.session(ChatDims { B: 2 }).unwrap();
    let error = session.step(&[[0.0; 8]; 3], 0).unwrap_err();
    assert_eq!(error.to_string(), "`x` has B = 3, but the session was made with B = 2");
    let error = session.step(&[[0.0; 8]; 2], 7).unwrap_err();
    assert_eq!(error.to_string(), "`at` is 7, but may be at most 6");
    assert_eq!(model.session(ChatDims { B: 0 }).unwrap_err().to_string(), "`session` is empty: B must be at least 1");
    assert!(model.session(ChatDims { B: usize::MAX / 2 }).is_err());
}
