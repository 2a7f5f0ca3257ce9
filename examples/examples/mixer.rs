//! Trains a network of blocks from another crate on the UCI handwritten digits.
//!
//! ```text
//! cargo run --release -p examples --example mixer
//! ```

use examples::digits::{Samples, split};
use precast::prelude::*;

model! {
    use blocks::{Residual, images::Patches as Embedding2d};

    /// Four patches of an image, embedded, transformed and averaged.
    pub struct Mixer(dim = 32, layers = 2) {
        patches: Embedding2d(1, 4, dim),
        layers: [Residual(dim); layers],
        output: Linear(dim, 10),
    }

    impl Mixer {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
            let mut x = self.patches(image);
            for layer in self.layers {
                x = layer(x);
            }
            self.output(mean(x, axis = 1))
        }

        /// Mean cross-entropy over the batch.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

fn main() -> precast::Result<()> {
    let (train, test) = split()?;
    let mut mixer = Mixer::init(42);
    let mut trainer = mixer.trainer(AdamW { rate: 3e-3, ..default() });
    let mut loader = Loader::new(&train.images, &train.labels, 64)?;
    for epoch in 0..20 {
        let mut last = 0.0;
        for (image, label) in loader.shuffled(epoch) {
            last = trainer.loss(image, label)?.value()?;
        }
        println!("epoch {:>2}: loss {last:.4}", epoch + 1);
    }
    println!("test accuracy: {:.4}", accuracy(&mixer, &test)?);
    Ok(())
}

fn accuracy(mixer: &Mixer, samples: &Samples) -> precast::Result<f32> {
    let scores = mixer.scores(&samples.images)?;
    let largest = |scores: &[f32; 10]| (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let right = scores.iter().zip(&samples.labels).filter(|(s, label)| largest(s) == Some(**label as usize));
    Ok(right.count() as f32 / samples.labels.len() as f32)
}
