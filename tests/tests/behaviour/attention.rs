//! A small causal transformer: two named dimensions, parameterised blocks, helper functions, a shared table.

use precast::View;
use precast::prelude::*;

model! {
    const VOCABULARY: usize = 11;

    /// Predicts the next word.
    pub struct Gpt(layers = 2, heads = 3, dim = 12, context = 9) {
        token: Embedding(VOCABULARY, dim),
        position: Embedding(context, dim),
        blocks: [Block(dim, heads); layers],
        norm: LayerNorm(dim, bias = false),
    }

    struct Block(dim, heads) {
        norm1: LayerNorm(dim, bias = false),
        attention: Attention(dim, heads),
        norm2: LayerNorm(dim, bias = false),
        up: Linear(dim, 4 * dim, bias = false),
        down: Linear(4 * dim, dim, bias = false),
    }

    impl Block {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = x + self.attention(self.norm1(x));
            x + self.down(gelu(self.up(self.norm2(x))))
        }
    }

    struct Attention(dim, heads) {
        qkv: Linear(dim, 3 * dim, bias = false),
        out: Linear(dim, dim, bias = false),
    }

    impl Attention {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            let shape = [B, T, heads, dim / heads];
            let q = transpose(reshape(q, shape), [0, 2, 1, 3]);
            let k = transpose(reshape(k, shape), [0, 2, 3, 1]);
            let v = transpose(reshape(v, shape), [0, 2, 1, 3]);
            let scores = matmul(q, k) / sqrt(4.0);
            let seen = reshape(iota(T), [T, 1]) >= reshape(iota(T), [1, T]);
            let mixed = matmul(softmax(where(seen, scores, -1e9), axis = -1), v);
            self.out(reshape(transpose(mixed, [0, 2, 1, 3]), [B, T, dim]))
        }
    }

    impl Gpt {
        /// Unnormalised scores of the next word, at every place.
        pub fn scores(&self, id: u32[B, T <= 9]) -> f32[B, T, VOCABULARY] {
            let mut x = self.token(id) + self.position(iota(T));
            for block in self.blocks {
                x = block(x);
            }
            matmul(self.norm(x), transpose(self.token.weight))
        }

        /// Mean cross-entropy of every place.
        #[train(AdamW)]
        pub fn loss(&self, id: u32[B, T <= 9], next: u32[B, T]) -> f32 {
            cross_entropy(reshape(self.scores(id), [B * T, VOCABULARY]), reshape(next, [B * T]))
        }
    }
}

/// Sentences that count upwards from some word, and their continuation.
fn sentences(count: usize, len: usize) -> (Vec<u32>, Vec<u32>) {
    let word = |s: usize, t: usize| ((3 * s + 2 * t) % 11) as u32;
    let all = |shift| (0..count).flat_map(|s| (0..len).map(move |t| word(s, t + shift))).collect();
    (all(0), all(1))
}

#[test]
fn places_do_not_see_what_comes_after() {
    let gpt = Gpt::init(1);
    let (mut id, _) = sentences(2, 7);
    let before = gpt.scores(View::new(&id, [2, 7]).unwrap()).unwrap();
    assert_eq!(before.dims(), [2, 7]);
    id[5] = (id[5] + 1) % 11;
    let after = gpt.scores(View::new(&id, [2, 7]).unwrap()).unwrap();
    assert!((0..5).all(|t| close(&before[[0, t]], &after[[0, t]])));
    assert!((5..7).all(|t| !close(&before[[0, t]], &after[[0, t]])));
    assert!((0..7).all(|t| close(&before[[1, t]], &after[[1, t]])));
    // A shorter sentence is the beginning of a longer one.
    let short = gpt.scores(View::new(&id[..3], [1, 3]).unwrap()).unwrap();
    assert!((0..3).all(|t| close(&short[[0, t]], &before[[0, t]])));
}

fn close(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5)
}

#[test]
fn gradients_are_the_slopes_of_the_loss() {
    let (id, next) = sentences(3, 5);
    let (id, next) = (View::new(&id, [3, 5]).unwrap(), View::new(&next, [3, 5]).unwrap());
    let mut gpt = Gpt::init(2);
    let gradients = gpt.trainer(AdamW::default()).loss_gradients(id, next).unwrap();
    let all: Vec<(String, Vec<f32>)> = gradients.iter().map(|(name, _, values)| (name, values.to_vec())).collect();
    for (name, values) in all {
        let largest = values.iter().fold(2e-2f32, |most, x| most.max(x.abs()));
        for at in (0..values.len()).step_by(7) {
            let value = gpt.parameter(&name).unwrap()[at];
            let mut moved = |by: f32| {
                gpt.parameter_mut(&name).unwrap()[at] = value + by;
                gpt.loss(id, next).unwrap()
            };
            let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            moved(0.0);
            let found = values[at];
            assert!((found - slope).abs() <= 2e-2 * largest, "{name}[{at}]: {found}, but the slope is {slope}");
        }
    }
}

#[test]
fn it_learns_to_count() {
    let (id, next) = sentences(11, 8);
    let (id, next) = (View::new(&id, [11, 8]).unwrap(), View::new(&next, [11, 8]).unwrap());
    let mut gpt = Gpt::init(3);
    let before = gpt.loss(id, next).unwrap();
    let mut trainer = gpt.trainer(AdamW { rate: 1e-2, clip: Some(1.0), ..default() });
    for _ in 0..150 {
        trainer.loss(id, next).unwrap().value().unwrap();
    }
    let after = gpt.loss(id, next).unwrap();
    assert!(after < 0.1 * before, "{before} {after}");
}
