//! Convolutions with strides, groups, dilation and odd extents, in blocks that repeat: gradients against differences.

use precast::prelude::*;

model! {
    /// Classes of small images with an odd number of rows, columns and channels.
    pub struct Vision {
        stem: Conv2d(3, 6, kernel = 3, stride = 2, padding = 1),
        blocks: [Residual(6); 2],
        wide: Conv2d(6, 9, kernel = 2, dilation = 2, groups = 3, bias = false),
        head: Linear(9, 5),
    }

    struct Residual(channels) {
        depthwise: Conv2d(channels, channels, kernel = 3, padding = 1, groups = channels),
        pointwise: Conv2d(channels, channels, kernel = 1),
    }

    impl Residual {
        fn forward(&self, x: f32[B, channels, H, W]) -> f32[B, channels, H, W] {
            x + self.pointwise(silu(self.depthwise(x)))
        }
    }

    impl Vision {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 3, 9, 7]) -> f32[B, 5] {
            let mut x = self.stem(image);
            for block in self.blocks {
                x = block(x);
            }
            let x = tanh(self.wide(x));
            self.head(mean(avg_pool2d(x, window = 2, stride = 1), axis = [2, 3]))
        }

        /// Mean cross-entropy with probabilities, and the scores.
        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 3, 9, 7], class: f32[B, 5]) -> f32 {
            cross_entropy(self.scores(image), class)
        }
    }
}

#[test]
fn gradients_are_the_slopes_of_the_loss() {
    let pixels = crate::numbers(4 * 189, 12);
    let images: Vec<[[[f32; 7]; 9]; 3]> = pixels
        .chunks(189)
        .map(|p| core::array::from_fn(|c| core::array::from_fn(|i| core::array::from_fn(|j| p[63 * c + 7 * i + j]))))
        .collect();
    let classes: Vec<[f32; 5]> = (0..4).map(|k| core::array::from_fn(|c| if c == k { 0.8 } else { 0.05 })).collect();
    for batch in [1, 4] {
        let (images, classes) = (&images[..batch], &classes[..batch]);
        let mut vision = Vision::init(2);
        let gradients = vision.trainer(Sgd::default()).loss_gradients(images, classes).unwrap();
        let all: Vec<(String, Vec<f32>)> = gradients.iter().map(|(name, _, values)| (name, values.to_vec())).collect();
        for (name, values) in all {
            let largest = values.iter().fold(1e-2f32, |most, x| most.max(x.abs()));
            for (at, &found) in values.iter().enumerate() {
                let value = vision.parameter(&name).unwrap()[at];
                let mut moved = |by: f32| {
                    vision.parameter_mut(&name).unwrap()[at] = value + by;
                    vision.loss(images, classes).unwrap()
                };
                let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                moved(0.0);
                assert!((found - slope).abs() <= 1e-2 * largest, "{name}[{at}]: {found}, but the slope is {slope}");
            }
        }
    }
}
