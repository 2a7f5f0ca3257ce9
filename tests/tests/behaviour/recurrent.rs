//! Scans and recurrent layers: one compiled function for any number of steps, against loops in Rust, in training and
//! one sample at a time.

use super::numbers;
use precast::View;
use precast::prelude::*;

model! {
    /// A recurrent network by hand, and layers of the library.
    pub struct Net(hidden = 5) {
        lstm: Lstm(3, hidden),
        layers: LSTM(3, 4, layers = 2, bidirectional = true),
        gru: GRU(3, 6),
        head: Linear(hidden, 1),
    }

    struct Lstm(input, hidden) {
        from_input: Linear(input, 4 * hidden),
        from_state: Linear(hidden, 4 * hidden, bias = false),
        state h: f32[B, hidden],
        state c: f32[B, hidden],
    }

    impl Lstm {
        fn cell(&self, (h, c): (f32[B, hidden], f32[B, hidden]), x: f32[B, input]) -> (f32[B, hidden], f32[B, hidden]) {
            let (i, f, g, o) = split(self.from_input(x) + self.from_state(h), 4);
            let c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            (sigmoid(o) * tanh(c), c)
        }

        fn forward(&self, x: f32[B, T, input]) -> f32[B, T, hidden] {
            scan(x, axis = 1, from = (zeros, zeros), |state, x| {
                let state = self.cell(state, x);
                (state, state.0)
            })
        }

        fn step(&mut self, x: f32[B, input]) -> f32[B, hidden] {
            let (h, c) = self.cell((self.h, self.c), x);
            self.h = h;
            self.c = c;
            h
        }
    }

    impl Net {
        /// The state after every step.
        pub fn states(&self, x: f32[B, T, 3]) -> f32[B, T, hidden] { self.lstm(x) }

        /// One step.
        pub fn step(&mut self, x: f32[B, 3]) -> f32[B, hidden] { self.lstm.step(x) }

        /// Two layers in both directions, and what they end with.
        pub fn both(&self, x: f32[B, T, 3]) -> (f32[B, T, 8], f32[4, B, 4], f32[4, B, 4]) { self.layers(x) }

        /// Gated units, the second half from where the first ends.
        pub fn halves(&self, x: f32[B, T, 3], y: f32[B, S, 3]) -> f32[B, S, 6] {
            let (_, h) = self.gru(x);
            let (z, _) = self.gru(y, h);
            z
        }

        /// Both halves at once.
        pub fn whole(&self, x: f32[B, T, 3]) -> f32[B, T, 6] { let (y, _) = self.gru(x); y }

        /// The largest number so far, and the last of these.
        pub fn running(&self, x: f32[B, T]) -> (f32[B, T], f32[B]) {
            scan_with_state(x, axis = 1, from = zeros, |most, x| { let most = where(x > most, x, most); (most, most) })
        }

        /// How far the sum of each sequence is from what the network reads last.
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, T, 3]) -> f32 {
            let read = self.head(self.lstm(x))[.., T - 1, 0];
            mse_loss(read, mean(x[_, _, 0], axis = 1))
        }
    }
}

model! {
    /// Three layers, over a sequence and over one step after the other.
    pub struct Layers(hidden = 70) { lstm: LSTM(3, hidden), gru: GRU(3, hidden), rnn: RNN(3, hidden) }

    impl Layers {
        fn judge(&self, a: f32[1, B, hidden], b: f32[1, B, hidden], c: f32[1, B, hidden]) -> f32 {
            sum(a * a + b * 2.0 + c)
        }

        /// The sequence.
        #[train(Adam)]
        pub fn whole(&self, x: f32[B, T, 3]) -> f32 {
            let (_, a, _) = self.lstm(x);
            let (_, b) = self.gru(x);
            let (_, c) = self.rnn(x);
            self.judge(a, b, c)
        }

        /// Its steps.
        #[train(Adam)]
        pub fn one_by_one(&self, x: f32[B, 3, 3]) -> f32 {
            let (x, y, z) = (x[_, 0..1, _], x[_, 1..2, _], x[_, 2..3, _]);
            let (_, h, s) = self.lstm(x);
            let (_, h, s) = self.lstm(y, h, s);
            let (_, a, _) = self.lstm(z, h, s);
            let (_, h) = self.gru(x);
            let (_, h) = self.gru(y, h);
            let (_, b) = self.gru(z, h);
            let (_, h) = self.rnn(x);
            let (_, h) = self.rnn(y, h);
            let (_, c) = self.rnn(z, h);
            self.judge(a, b, c)
        }
    }
}

#[test]
fn gradients_of_a_sequence_are_those_of_its_steps() {
    let mut net = Layers::init(5);
    for rows in [1, 2, 19, 40] {
        let x = frames(rows, 3, 8);
        let whole = net.trainer(Adam::default()).whole_gradients(view(&x, rows)).unwrap();
        let x = x.as_chunks::<3>().0.as_chunks::<3>().0;
        let steps = net.trainer(Adam::default()).one_by_one_gradients(x).unwrap();
        assert!((whole.loss - steps.loss).abs() < 1e-4 * whole.loss.abs().max(1.0), "{rows}");
        for ((name, _, whole), (_, _, steps)) in whole.iter().zip(steps.iter()) {
            let most = whole.iter().fold(0f32, |most, g| most.max(g.abs()));
            let apart = whole.iter().zip(steps).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(most > 0.0 && apart < 1e-5 * most, "{rows}: {name}, {apart} of {most}");
        }
    }
}

fn frames(b: usize, t: usize, seed: u32) -> Vec<f32> {
    numbers(b * t * 3, seed)
}

/// The states of one sequence, in binary64.
fn expected(net: &Net, x: &[f32]) -> Vec<f64> {
    let get = |name: &str| -> Vec<f64> { net.parameter(name).unwrap().iter().map(|&w| f64::from(w)).collect() };
    let (wi, bias, wh) = (get("lstm.from_input.weight"), get("lstm.from_input.bias"), get("lstm.from_state.weight"));
    let (mut h, mut c, mut all) = ([0.0; 5], [0.0; 5], vec![]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    for x in x.chunks(3) {
        let gate = |k: usize, h: &[f64; 5]| {
            let input: f64 = (0..3).map(|i| wi[3 * k + i] * f64::from(x[i])).sum();
            input + bias[k] + (0..5).map(|j| wh[5 * k + j] * h[j]).sum::<f64>()
        };
        let old = h;
        for j in 0..5 {
            c[j] = sigmoid(gate(5 + j, &old)) * c[j] + sigmoid(gate(j, &old)) * gate(10 + j, &old).tanh();
            h[j] = sigmoid(gate(15 + j, &old)) * c[j].tanh();
        }
        all.extend(h);
    }
    all
}

fn near(found: &[f32], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*f) - e).abs() < 1e-5, "{k}: {f} instead of {e}");
    }
}

fn view(x: &[f32], batch: usize) -> View<'_, [f32; 3], 2> {
    let rows = x.as_chunks().0;
    View::new(rows, [batch, rows.len() / batch]).unwrap()
}

#[test]
fn one_function_runs_any_number_of_steps() {
    let net = Net::init(2);
    for steps in [1, 2, 37, 1000] {
        let x = frames(2, steps, steps as u32);
        let y = net.states(view(&x, 2)).unwrap();
        for (y, x) in y.data().as_flattened().chunks(5 * steps).zip(x.chunks(3 * steps)) {
            near(y, &expected(&net, x));
        }
    }
}

#[test]
fn samples_one_by_one_are_the_sequence() {
    let net = Net::init(4);
    let x = frames(1, 40, 9);
    let expected = expected(&net, &x);
    let mut session = net.session(NetDims { B: 1 }).unwrap();
    for (x, h) in x.as_chunks::<3>().0.iter().zip(expected.chunks(5)) {
        near(session.step(&[*x]).unwrap().as_flattened(), h);
    }
}

#[test]
fn a_sequence_goes_on_from_a_state() {
    let net = Net::init(4);
    for (first, second) in [(1, 1), (5, 2), (2, 9)] {
        let x = frames(1, first + second, 3);
        let whole = net.whole(view(&x, 1)).unwrap();
        let (head, tail) = x.split_at(3 * first);
        let halves = net.halves(view(head, 1), view(tail, 1)).unwrap();
        let rest: Vec<f64> = whole.data().as_flattened()[6 * first..].iter().map(|&y| f64::from(y)).collect();
        near(halves.data().as_flattened(), &rest);
    }
}

#[test]
fn the_backward_direction_ends_where_the_sequence_begins() {
    let net = Net::init(7);
    let x = frames(1, 6, 5);
    let (y, h, _) = net.both(view(&x, 1)).unwrap();
    // The last layer's output at the last step forwards, and at the first step backwards, are its last states.
    let (y, h) = (y.data(), h.data());
    assert_eq!((&y[5][..4], &y[0][4..]), (&h[2][..], &h[3][..]));
    assert_ne!(y[0], y[5]);
}

#[test]
fn a_scan_gives_its_last_state() {
    let net = Net::init(7);
    let (most, last) = net.running(View::new(&[0.5, -1.0, 2.0, 1.0, -3.0, -4.0, -2.0, 4.0], [2, 4]).unwrap()).unwrap();
    assert_eq!(most.data(), [0.5, 0.5, 2.0, 2.0, 0.0, 0.0, 0.0, 4.0]);
    assert_eq!(last, [2.0, 4.0]);
}

#[test]
fn it_learns_to_remember() {
    let mut net = Net::init(3);
    let test = frames(64, 12, 1);
    let before = net.loss(view(&test, 64)).unwrap();
    let mut trainer = net.trainer(Adam { rate: 1e-2, clip: Some(1.0), ..default() });
    for step in 0..150 {
        // Sequences of every length train the same network.
        let steps = 4 + step % 9;
        trainer.loss(view(&frames(32, steps, 100 + step as u32), 32)).unwrap().value().unwrap();
    }
    let after = net.loss(view(&test, 64)).unwrap();
    assert!(after < 0.2 * before, "{before} {after}");
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_runs_any_number_of_steps() {
    let Some(gpu) = tests::gpu() else { return };
    let host = Net::init(2);
    let mut net = host.on(&gpu).unwrap();
    for steps in [1, 2, 37] {
        let x = frames(2, steps, steps as u32);
        let found = net.states(view(&x, 2)).unwrap();
        for (y, x) in found.data().as_flattened().chunks(5 * steps).zip(x.chunks(3 * steps)) {
            near(y, &expected(&host, x));
        }
        let (found, known) = (net.both(view(&x, 2)).unwrap(), host.both(view(&x, 2)).unwrap());
        let known: Vec<f64> = known.0.data().as_flattened().iter().map(|&y| f64::from(y)).collect();
        near(found.0.data().as_flattened(), &known);
    }
    // One step of training on each device gives the same gradients.
    let mut host = host;
    let x = frames(3, 5, 8);
    let known = host.trainer(Adam::default()).loss_gradients(view(&x, 3)).unwrap();
    let found = net.trainer(Adam::default()).loss_gradients(view(&x, 3)).unwrap();
    assert!((known.loss - found.loss).abs() < 1e-5);
    for name in ["lstm.from_state.weight", "lstm.from_input.bias", "head.weight"] {
        let known: Vec<f64> = known.get(name).unwrap().iter().map(|&g| f64::from(g)).collect();
        near(found.get(name).unwrap(), &known);
    }
}
