//! Gradients by name against central differences of the loss.

use precast::prelude::*;

model! {
    /// Small images to four classes.
    pub struct Net {
        patch: Conv2d(1, 3, kernel = 3, padding = 1),
        blocks: [Block(12, 5); 3],
        norm: LayerNorm(12),
        output: Linear(12, 4),
    }

    struct Block(dim, hidden) {
        up: Linear(dim, hidden),
        down: Linear(hidden, dim),
    }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.down(tanh(self.up(x)))
        }
    }

    impl Net {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 4, 4]) -> f32[B, 4] {
            let mut x = flatten(avg_pool2d(gelu(self.patch(image)), window = 2));
            for block in self.blocks {
                x = block(x);
            }
            self.output(self.norm(x))
        }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 1, 4, 4], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

/// The step of the differences: the error of the formula is its square, that of the loss is divided by it.
const STEP: f32 = 1e-2;

/// The largest error, relative to the largest gradient of the parameter or to 0.01.
const BOUND: f32 = 1e-2;

#[test]
fn gradients_are_the_slopes_of_the_loss() {
    let pixels = crate::numbers(5 * 16, 9);
    let images: Vec<[[[f32; 4]; 4]; 1]> =
        pixels.chunks(16).map(|p| [core::array::from_fn(|i| core::array::from_fn(|j| p[4 * i + j]))]).collect();
    let labels = [0, 3, 1, 1, 2];
    let mut net = Net::init(4);
    let before = net.loss(&images, &labels).unwrap();
    let gradients = net.trainer(Sgd::default()).loss_gradients(&images, &labels).unwrap();
    assert!((gradients.loss - before).abs() < 1e-6);
    let all: Vec<(String, Vec<f32>)> = gradients.iter().map(|(name, _, values)| (name, values.to_vec())).collect();
    assert_eq!(all.len(), 2 + 3 * 4 + 2 + 2);
    for (name, values) in all {
        let largest = values.iter().fold(1e-2f32, |most, x| most.max(x.abs()));
        for (at, &found) in values.iter().enumerate() {
            let value = net.parameter(&name).unwrap()[at];
            let mut moved = |by: f32| {
                net.parameter_mut(&name).unwrap()[at] = value + by;
                net.loss(&images, &labels).unwrap()
            };
            let slope = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            moved(0.0);
            assert!((found - slope).abs() <= BOUND * largest, "{name}[{at}]: {found}, but the slope is {slope}");
        }
    }
    assert_eq!(net.loss(&images, &labels).unwrap(), before);
}

#[test]
fn a_step_of_plain_descent_goes_down_the_gradient() {
    let image = [[[[0.5; 4]; 4]; 1]; 2];
    let (mut net, copy) = (Net::init(4), Net::init(4));
    let mut trainer = net.trainer(Sgd { rate: 0.1, ..default() });
    let gradients = trainer.loss_gradients(&image, &[1, 2]).unwrap();
    trainer.loss(&image, &[1, 2]).unwrap().value().unwrap();
    for (name, _, before) in copy.parameters() {
        let (after, gradient) = (net.parameter(&name).unwrap(), gradients.get(&name).unwrap());
        for ((after, before), gradient) in after.iter().zip(before).zip(gradient) {
            assert!((after - (before - 0.1 * gradient)).abs() <= 1e-6, "{name}");
        }
    }
}
