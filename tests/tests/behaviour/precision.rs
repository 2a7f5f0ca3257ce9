//! Parameters that are read in fewer bits: what that changes, and what it leaves as it is.

use super::numbers;
use precast::View;
use precast::prelude::*;

model! {
    /// Layers of the library, a parameter on either side of a product, and a loop.
    pub struct Net {
        lstm: LSTM(19, 24),
        blocks: [Block(24, 50); 3],
        left: Parameter([37, 24], init = normal(0.3)),
        output: Linear(37, 7),
        turn: Linear(19, 19, bias = false),
    }

    struct Block(dim, inner) { norm: LayerNorm(dim), up: Linear(dim, inner), down: Linear(inner, dim) }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] { x + self.down(gelu(self.up(self.norm(x)))) }
    }

    impl Net {
        /// Scores of each sequence.
        pub fn scores(&self, x: f32[B, T, 19]) -> f32[B, 7] {
            let (_, h, _) = self.lstm(x);
            let mut x = h[0];
            for block in self.blocks { x = block(x); }
            self.output(tanh(transpose(matmul(self.left, transpose(x)))))
        }

        /// A state whose product with a matrix is all that may be rounded.
        pub fn turns(&self, x: f32[B, T, 19]) -> f32[B, 19] {
            fold(x, axis = 1, from = zeros, |h, x| tanh(x + self.turn(h)))
        }

        /// Their cross-entropy.
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, T, 19], label: u32[B]) -> f32 { cross_entropy(self.scores(x), label) }
    }

    /// What is chosen where nothing is said.
    #[model(precision = f32)]
    pub struct F32 = Net;

    /// Half of the bits.
    #[model(precision = bf16)]
    pub struct Bf16 = Net;

    /// A quarter of them.
    #[model(precision = int8)]
    pub struct Int8 = Net;
}

const SEED: u64 = 3;
const T: usize = 5;

/// Sequences of numbers.
fn sequences(count: usize) -> Vec<[f32; 19]> {
    numbers(count * T * 19, 11).as_chunks().0.to_vec()
}

/// Scores from a call, from a session, and from that session again; they are the same numbers.
macro_rules! scores {
    ($model:ident, $count:expr) => {{
        let (x, count) = (sequences($count), $count);
        let model = $model::init(SEED);
        let view = || View::new(&x, [count, T]).unwrap();
        let once = model.scores(view()).unwrap().to_vec();
        let mut session = model.session();
        for _ in 0..2 {
            assert_eq!(session.scores(view()).unwrap(), once, "{count} sequences in a session");
        }
        once
    }};
}

#[test]
fn few_bits_change_little_and_a_session_nothing() {
    for count in [1, 2, 3, 16, 33, 70] {
        let exact = scores!(Net, count);
        assert_eq!(scores!(F32, count), exact, "f32 is the default");
        let largest = exact.as_flattened().iter().fold(0.0f32, |most, x| most.max(x.abs()));
        for (found, bound) in [(scores!(Bf16, count), 1e-2), (scores!(Int8, count), 3e-2)] {
            let errors = found.as_flattened().iter().zip(exact.as_flattened()).map(|(a, b)| (a - b).abs());
            let error = errors.fold(0.0, f32::max) / largest;
            assert!(error < bound, "{count} sequences: {error}");
            assert!(error > 1e-5, "{count} sequences were not rounded");
        }
    }
}

#[test]
fn turns_of_a_loop_round_too() {
    macro_rules! turns {
        ($model:ident, $count:expr) => {{
            let x = sequences($count);
            $model::init(SEED).turns(View::new(&x, [$count, T]).unwrap()).unwrap()
        }};
    }
    for count in [1, 20] {
        let exact = turns!(Net, count);
        for (found, bound) in [(turns!(Bf16, count), 1e-2), (turns!(Int8, count), 3e-2)] {
            let errors = found.as_flattened().iter().zip(exact.as_flattened()).map(|(a, b)| (a - b).abs());
            let error = errors.fold(0.0, f32::max);
            assert!(error > 1e-5 && error < bound, "{count} sequences: {error}");
        }
    }
}

#[test]
fn a_row_is_the_same_alone_and_among_others() {
    let (x, model) = (sequences(40), Int8::init(SEED));
    let all = model.scores(View::new(&x, [40, T]).unwrap()).unwrap();
    for row in [0, 17, 39] {
        let one = model.scores(View::new(&x[row * T..][..T], [1, T]).unwrap()).unwrap();
        assert_eq!(one[0], all[row], "sums of integers are exact");
    }
}

#[test]
fn training_is_f32() {
    let x = sequences(9);
    let label: Vec<u32> = (0..9).map(|i| i % 7).collect();
    macro_rules! gradients {
        ($model:ident) => {{
            let mut model = $model::init(SEED);
            let mut trainer = model.trainer(AdamW::default());
            let gradients = trainer.loss_gradients(View::new(&x, [9, T]).unwrap(), &label).unwrap();
            let all: Vec<f32> = gradients.iter().flat_map(|(_, _, values)| values.to_vec()).collect();
            (gradients.loss, all)
        }};
    }
    let exact = gradients!(Net);
    assert_eq!(gradients!(Bf16), exact);
    assert_eq!(gradients!(Int8), exact);
}
