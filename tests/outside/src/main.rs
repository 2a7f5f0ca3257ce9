//! The digits network as a program of its own, which has cargo's default profiles and no features of the workspace.

use precast::prelude::*;

model! {
    /// Handwritten digits: 8×8 grey pixels to ten classes.
    pub struct Digits {
        conv1: Conv2d(1, 16, kernel = 3, padding = 1),
        conv2: Conv2d(16, 32, kernel = 3, padding = 1),
        hidden: Linear(32 * 2 * 2, 64),
        output: Linear(64, 10),
    }

    impl Digits {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
            let x = max_pool2d(relu(self.conv1(image)), window = 2);
            let x = max_pool2d(relu(self.conv2(x)), window = 2);
            let x = relu(self.hidden(flatten(x)));
            self.output(dropout(x, 0.25))
        }

        /// Mean cross-entropy over the batch.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

fn main() -> precast::Result<()> {
    let images = [[[[0.5; 8]; 8]; 1]; 4];
    let mut digits = Digits::init(42);
    let mut trainer = digits.trainer(AdamW { rate: 3e-3, ..default() });
    let first = trainer.loss(&images, &[3; 4])?.value()?;
    for _ in 0..5 {
        trainer.loss(&images, &[3; 4])?.value()?;
    }
    let last = digits.loss(&images, &[3; 4])?;
    assert!(last < first, "training does not help: loss {first}, then {last}");
    println!("loss {first:.3}, then {last:.3}");
    Ok(())
}
