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
