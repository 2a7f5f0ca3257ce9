//! W4: ResNet-18 (He et al. 2015) on one image of 224×224 pixels, forward.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W4.
    pub struct W4 {
        conv1: Conv2d(3, 64, kernel = 7, stride = 2, padding = 3, bias = false),
        bn1: BatchNorm2d(64),
        layer1: [Basic(64); 2],
        down2: Down(64, 128),
        layer2: Basic(128),
        down3: Down(128, 256),
        layer3: Basic(256),
        down4: Down(256, 512),
        layer4: Basic(512),
        fc: Linear(512, 1000),
    }

    struct Basic(channels) {
        conv1: Conv2d(channels, channels, kernel = 3, padding = 1, bias = false),
        bn1: BatchNorm2d(channels),
        conv2: Conv2d(channels, channels, kernel = 3, padding = 1, bias = false),
        bn2: BatchNorm2d(channels),
    }

    struct Down(input, output) {
        conv1: Conv2d(input, output, kernel = 3, stride = 2, padding = 1, bias = false),
        bn1: BatchNorm2d(output),
        conv2: Conv2d(output, output, kernel = 3, padding = 1, bias = false),
        bn2: BatchNorm2d(output),
        shortcut: Conv2d(input, output, kernel = 1, stride = 2, bias = false),
        norm: BatchNorm2d(output),
    }

    impl Basic {
        fn forward(&self, x: f32[B, channels, H, W]) -> f32[B, channels, H, W] {
            let y = relu(self.bn1(self.conv1(x)));
            relu(self.bn2(self.conv2(y)) + x)
        }
    }

    impl Down {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] {
            let y = relu(self.bn1(self.conv1(x)));
            relu(self.bn2(self.conv2(y)) + self.norm(self.shortcut(x)))
        }
    }

    impl W4 {
        /// A thousand scores.
        pub fn scores(&self, image: f32[B, 3, 224, 224]) -> f32[B, 1000] {
            let x = relu(self.bn1(self.conv1(image)));
            let mut x = max_pool2d(x, window = 3, stride = 2, padding = 1);
            for block in self.layer1 {
                x = block(x);
            }
            let x = self.layer2(self.down2(x));
            let x = self.layer3(self.down3(x));
            let x = self.layer4(self.down4(x));
            self.fc(flatten(adaptive_avg_pool2d(x, 1)))
        }
    }
}

/// Images of noise.
pub(crate) fn images(count: usize) -> Vec<[[[f32; 224]; 224]; 3]> {
    let mut images = vec![[[[0.0; 224]; 224]; 3]; count];
    Noise::new(1).fill(images.as_flattened_mut().as_flattened_mut().as_flattened_mut());
    images
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W4::init(0);
    let mut session = model.session();
    let mut image = images(1);
    session.scores(&image)?;
    measure("W4", 1, &mut || {
        let y = session.scores(&image).map_or(f32::NAN, |y| y[0][0]);
        image[0][0][0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let (model, image) = (W4::init(0), images(1));
    let pixels = image.as_flattened().as_flattened().as_flattened().to_vec();
    Ok(Checked {
        source: include_str!("w4.rs"),
        function: "scores",
        parameters: owned(model.parameters()),
        result: model.scores(&image)?.as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![1, 3, 224, 224], pixels)],
        gradients: vec![],
    })
}
