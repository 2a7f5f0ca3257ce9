//! W12: MobileNetV3-small (Howard et al. 2019): one image of 224×224 pixels forward, and a step of SGD on four of 64×64.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W12.
    pub struct W12 {
        features: [
            Hard(3, 16, kernel = 3, stride = 2),
            First(16, 8),
            Inverted(16, 72, 24),
            Kept(24, 88),
            Excited(24, 96, 40, 24, stride = 2),
            KeptExcited(40, 240, 64),
            KeptExcited(40, 240, 64),
            Excited(40, 120, 48, 32),
            KeptExcited(48, 144, 40),
            Excited(48, 288, 96, 72, stride = 2),
            KeptExcited(96, 576, 144),
            KeptExcited(96, 576, 144),
            Hard(96, 576),
        ],
        classifier: Sequential(Linear(576, 1024), hard_swish, Linear(1024, 1000)),
    }

    /// A convolution and its norm.
    struct Plain(input, output, kernel = 1, stride = 1, groups = 1) {
        conv: Conv2d(
            input, output, kernel = kernel, stride = stride, padding = (kernel - 1) / 2, groups = groups, bias = false
        ),
        norm: BatchNorm2d(output, eps = 0.001, momentum = 0.01),
    }

    struct Rectified(input, output, kernel = 1, stride = 1, groups = 1) {
        plain: Plain(input, output, kernel = kernel, stride = stride, groups = groups),
    }

    struct Hard(input, output, kernel = 1, stride = 1, groups = 1) {
        plain: Plain(input, output, kernel = kernel, stride = stride, groups = groups),
    }

    impl Plain {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { self.norm(self.conv(x)) }
    }

    impl Rectified {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { relu(self.plain(x)) }
    }

    impl Hard {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { hard_swish(self.plain(x)) }
    }

    /// Squeeze and excitation.
    struct Excitation(dim, squeezed) { fc1: Conv2d(dim, squeezed, kernel = 1), fc2: Conv2d(squeezed, dim, kernel = 1) }

    impl Excitation {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] {
            x * hard_sigmoid(self.fc2(relu(self.fc1(mean(x, axes = [2, 3], keepdims = true)))))
        }
    }

    struct First(dim, squeezed) {
        block: Sequential(
            Rectified(dim, dim, kernel = 3, stride = 2, groups = dim), Excitation(dim, squeezed), Plain(dim, dim)
        ),
    }

    struct Inverted(input, hidden, output) {
        block: Sequential(
            Rectified(input, hidden),
            Rectified(hidden, hidden, kernel = 3, stride = 2, groups = hidden),
            Plain(hidden, output),
        ),
    }

    struct Kept(dim, hidden) {
        block: Sequential(
            Rectified(dim, hidden), Rectified(hidden, hidden, kernel = 3, groups = hidden), Plain(hidden, dim)
        ),
    }

    struct Excited(input, hidden, output, squeezed, stride = 1) {
        block: Sequential(
            Hard(input, hidden),
            Hard(hidden, hidden, kernel = 5, stride = stride, groups = hidden),
            Excitation(hidden, squeezed),
            Plain(hidden, output),
        ),
    }

    struct KeptExcited(dim, hidden, squeezed) {
        block: Sequential(
            Hard(dim, hidden),
            Hard(hidden, hidden, kernel = 5, groups = hidden),
            Excitation(hidden, squeezed),
            Plain(hidden, dim),
        ),
    }

    impl First {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, .., ..] { self.block(x) }
    }

    impl Inverted {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { self.block(x) }
    }

    impl Kept {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] { x + self.block(x) }
    }

    impl Excited {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { self.block(x) }
    }

    impl KeptExcited {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] { x + self.block(x) }
    }

    impl W12 {
        fn whole(&self, image: f32[B, 3, H, W]) -> f32[B, 1000] {
            let mut x = image;
            for layer in self.features {
                x = layer(x);
            }
            self.classifier(flatten(adaptive_avg_pool2d(x, 1)))
        }

        /// A thousand scores.
        pub fn scores(&self, image: f32[B, 3, 224, 224]) -> f32[B, 1000] { self.whole(image) }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 3, 64, 64], label: u32[B]) -> f32 { cross_entropy(self.whole(image), label) }
    }
}

fn images<const SIDE: usize>(count: usize) -> Vec<[[[f32; SIDE]; SIDE]; 3]> {
    let mut images = vec![[[[0.0; SIDE]; SIDE]; 3]; count];
    Noise::new(1).fill(images.as_flattened_mut().as_flattened_mut().as_flattened_mut());
    images
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W12::init(0);
    let mut session = model.session();
    let mut image = images::<224>(1);
    session.scores(&image)?;
    measure("W12f", 1, &mut || {
        let y = session.scores(&image).map_or(f32::NAN, |y| y[0][0]);
        image[0][0][0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn step(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let mut model = W12::init(0);
    let mut trainer = model.trainer(Sgd { rate: 1e-2, ..default() });
    let mut images = images::<64>(4);
    let labels: Vec<u32> = (0..4).map(|i| i * 234).collect();
    trainer.loss(&images, &labels)?.value()?;
    measure("W12t", 1, &mut || {
        let loss = trainer.loss(&images, &labels).and_then(|l| l.value()).unwrap_or(f32::NAN);
        images[0][0][0][0] = loss * 0.1;
        loss
    });
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let (model, image) = (W12::init(0), images::<224>(1));
    let pixels = image.as_flattened().as_flattened().as_flattened().to_vec();
    Ok(Checked {
        source: include_str!("w12.rs"),
        function: "scores",
        parameters: owned(model.parameters()),
        result: model.scores(&image)?.as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![1, 3, 224, 224], pixels)],
        gradients: vec![],
    })
}
