//! A model that `model!` compiled allocates nothing on the CPU once a shape was seen: neither a training step, nor a
//! session's call, nor a call into memory of the caller's.

#[path = "handwritten/allocations.rs"]
mod allocations;

use allocations::allocations;
use precast::prelude::*;

model! {
    /// A small convolutional network.
    pub struct Net {
        conv: Conv2d(1, 16, kernel = 3, padding = 1),
        blocks: [Residual(32); 3],
        hidden: Linear(16 * 4 * 4, 32),
        output: Linear(32, 10),
    }

    struct Residual(dim) {
        norm: LayerNorm(dim),
        up: Linear(dim, 2 * dim),
        down: Linear(2 * dim, dim),
    }

    impl Residual {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.down(gelu(self.up(self.norm(x))))
        }
    }

    impl Net {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
            let x = max_pool2d(relu(self.conv(image)), window = 2);
            let mut x = relu(self.hidden(flatten(x)));
            for block in self.blocks {
                x = block(x);
            }
            self.output(dropout(x, 0.25))
        }

        /// Which scores are positive where `mask` is set.
        pub fn positive(&self, image: f32[B, 1, 8, 8], mask: bool[B, 10]) -> bool[B, 10] {
            let scores = softmax(self.scores(image));
            (scores > 0.1) & mask
        }

        /// Mean cross-entropy over the batch.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

const IMAGES: [[[[f32; 8]; 8]; 1]; 64] = [[[[0.5; 8]; 8]; 1]; 64];
const LABELS: [u32; 64] = [7; 64];

#[test]
fn after_warm_up_nothing_is_allocated() {
    let mut net = Net::init(1);
    let mut out = vec![[0.0; 10]; 64];
    let mut session = net.session();
    let mut calls = || {
        session.scores(&IMAGES).map(drop).unwrap();
        session.scores(&IMAGES[..3]).map(drop).unwrap();
        session.positive(&IMAGES, &[[true; 10]; 64]).map(drop).unwrap();
        session.loss(&IMAGES, &LABELS).unwrap();
        net.scores_into(&IMAGES, &mut out).unwrap();
    };
    calls();
    assert_eq!(allocations(calls), 0);

    let mut trainer = net.trainer(AdamW { clip: Some(1.0), ..default() });
    trainer.group("*.bias", |o| o.decay = 0.0).unwrap();
    let mut steps = || {
        trainer.loss(&IMAGES, &LABELS).unwrap().value().unwrap();
        trainer.loss(&IMAGES[..30], &LABELS[..30]).unwrap().value().unwrap();
    };
    steps();
    assert_eq!(allocations(steps), 0);
}
