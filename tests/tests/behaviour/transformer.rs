//! Transformers of the library of blocks with PyTorch's parameters: what they compute, and their derivatives.

use precast::View;
use precast::prelude::*;
use std::collections::BTreeMap;

model! {
    use precast::blocks::{MultiheadAttention, TransformerDecoder, TransformerEncoder};

    /// One of each.
    pub struct Transformers {
        post: TransformerEncoder(2, 8, 2, hidden = 12, dropout = 0.0),
        pre: TransformerEncoder(2, 8, 2, hidden = 12, dropout = 0.0, activation = "gelu", norm_first = true),
        decoder: TransformerDecoder(2, 8, 2, hidden = 12, dropout = 0.0, activation = "gelu"),
        mixed: MultiheadAttention(8, 2),
    }

    impl Transformers {
        /// Encoded with and without hidden places, without a look at what comes, decoded, and mixed.
        pub fn results(&self, x: f32[B, T, 8], y: f32[B, S, 8], lengths: u32[B])
            -> (f32[B, T, 8], f32[B, T, 8], f32[B, T, 8], f32[B, T, 8], f32[B, T, 8]) {
            let seen = reshape(iota(T), [1, 1, 1, T]) < reshape(lengths, [B, 1, 1, 1]);
            (self.post(x), self.post.masked(x, seen), self.pre.causal(x), self.decoder(x, y), self.mixed.cross(x, y))
        }

        /// The sum of all results, weighed.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, T, 8], y: f32[B, S, 8], lengths: u32[B], weights: f32[B, T, 8]) -> f32 {
            let (a, b, c, d, e) = self.results(x, y, lengths);
            sum((a + b + c + d + e) * weights)
        }
    }
}

model! {
    /// Attention whose values are the rows of a unit matrix, so that its results are its weights.
    pub struct Weights {
        gain: Parameter(4, init = "ones"),
    }

    impl Weights {
        /// None dropped.
        pub fn whole(&self, q: f32[2, T, 4], k: f32[2, S, 4], unit: f32[2, S, S]) -> f32[2, T, S] {
            attend(q * self.gain, k, unit, dropout = 0.25)
        }

        /// Some dropped.
        pub fn dropped(&self, q: f32[2, T, 4], k: f32[2, S, 4], unit: f32[2, S, S], key: u32[2]) -> f32[2, T, S] {
            attend(q * self.gain, k, unit, dropout = 0.25, key = key)
        }

        /// The sum of all weights for each query.
        #[train(Sgd)]
        pub fn loss(&self, q: f32[2, T, 4], k: f32[2, S, 4], unit: f32[2, S, S]) -> f32 {
            mean(self.whole(q, k, unit)) * S.f32()
        }
    }
}

/// The stored numbers by name.
fn stored() -> BTreeMap<&'static str, Vec<f32>> {
    let line = |line: &'static str| {
        let (name, numbers) = line.split_once(": ").unwrap();
        (name, numbers.split(' ').map(|x| x.parse().unwrap()).collect())
    };
    include_str!("../../references/transformer.txt").lines().skip(1).map(line).collect()
}

fn loaded() -> Transformers {
    let mut model = Transformers::init(0);
    model.load(concat!(env!("CARGO_MANIFEST_DIR"), "/references/transformer.safetensors")).unwrap();
    model
}

/// Rows of eight.
fn rows(flat: &[f32]) -> &[[f32; 8]] {
    flat.as_chunks().0
}

/// Numbers that may differ by 10⁻⁵ of the largest.
fn agree(name: &str, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{name}");
    let largest = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-5 * largest, "{name}[{at}] is {got}, but PyTorch has {want}");
    }
}

#[test]
fn a_state_dict_gives_the_results_of_pytorch() {
    let (stored, model) = (stored(), loaded());
    let lengths: Vec<u32> = stored["lengths"].iter().map(|x| *x as u32).collect();
    let (x, y) = (View::new(rows(&stored["x"]), [2, 5]).unwrap(), View::new(rows(&stored["y"]), [2, 7]).unwrap());
    let (post, hidden, pre, decoder, mixed) = model.results(x, y, &lengths).unwrap();
    let all = [("= post", post), ("= hidden", hidden), ("= pre", pre), ("= decoder", decoder), ("= mixed", mixed)];
    for (name, result) in all {
        agree(name, result.data().as_flattened(), &stored[name]);
    }
}

#[test]
fn derivatives_are_those_of_pytorch() {
    let (stored, mut model) = (stored(), loaded());
    let lengths: Vec<u32> = stored["lengths"].iter().map(|x| *x as u32).collect();
    let (x, y) = (View::new(rows(&stored["x"]), [2, 5]).unwrap(), View::new(rows(&stored["y"]), [2, 7]).unwrap());
    let weights: Vec<f32> = (0..80).map(|i| (((7 * i + 3) % 11) as f32 - 4.5) / 4.0).collect();
    let weights = View::new(rows(&weights), [2, 5]).unwrap();
    let mut trainer = model.trainer(Sgd::default());
    let gradients = trainer.loss_gradients(x, y, &lengths, weights).unwrap();
    let mut seen = 0;
    for (name, _, values) in gradients.iter() {
        if let Some(want) = stored.get(format!("d {name}").as_str()) {
            agree(&name, values, want);
            seen += 1;
        }
    }
    assert_eq!(seen, stored.keys().filter(|name| name.starts_with("d ")).count());
}

#[test]
fn a_quarter_of_the_weights_of_attention_is_dropped() {
    let mut model = Weights::init(0);
    let mut unit = vec![[0.0f32; 61]; 2 * 61];
    (0..2 * 61).for_each(|row| unit[row][row % 61] = 1.0);
    let unit = View::new(unit.as_flattened(), [2, 61, 61]).unwrap();
    let numbers = |count: usize, step: usize| -> Vec<[f32; 4]> {
        (0..count).map(|row| [1, 2, 3, 4].map(|column| ((row * step + column) % 13) as f32 / 6.0 - 1.0)).collect()
    };
    let (q, k) = (numbers(2 * 33, 5), numbers(2 * 61, 7));
    let (q, k) = (View::new(&q, [2, 33]).unwrap(), View::new(&k, [2, 61]).unwrap());
    let whole = model.whole(q, k, unit).unwrap();
    let dropped = model.dropped(q, k, unit, &[5, 6]).unwrap();
    let (whole, dropped) = (whole.data(), dropped.data());
    let kept = dropped.iter().filter(|&&weight| weight != 0.0).count();
    let share = kept as f32 / dropped.len() as f32;
    assert!((share - 0.75).abs() < 0.03, "{share} of the weights were kept");
    for (whole, dropped) in whole.iter().zip(dropped).filter(|&(_, &weight)| weight != 0.0) {
        assert!((whole / 0.75 - dropped).abs() <= 1e-6, "{whole} became {dropped}");
    }
    // In training it draws, another mask for another seed.
    let mut trainer = model.trainer(Sgd { rate: 0.0, ..default() });
    let mut drawn = |seed| {
        trainer.seed = seed;
        trainer.loss_gradients(q, k, unit).unwrap().loss
    };
    let (one, two, again) = (drawn(1), drawn(2), drawn(1));
    assert_eq!(one, again);
    assert!(one != two && (one - 1.0).abs() < 0.1, "{one} and {two}");
}
