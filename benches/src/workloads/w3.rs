//! W3: the MNIST network: conv(1→32) relu conv(32→64) relu maxpool flatten fc(9216→128) relu fc(10): one image forward,
//! and a step of Adam on 64 images.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise, classes};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W3.
    pub struct W3 {
        c1: Conv2d(1, 32, kernel = 3),
        c2: Conv2d(32, 64, kernel = 3),
        f1: Linear(9216, 128),
        f2: Linear(128, 10),
    }

    impl W3 {
        /// Ten scores.
        pub fn scores(&self, x: f32[B, 1, 28, 28]) -> f32[B, 10] {
            let x = relu(self.c2(relu(self.c1(x))));
            self.f2(relu(self.f1(flatten(max_pool2d(x, window = 2)))))
        }

        /// Mean cross-entropy.
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, 1, 28, 28], y: u32[B]) -> f32 { cross_entropy(self.scores(x), y) }
    }
}

/// Images of a step.
pub(crate) const BATCH: usize = 64;

/// Images of noise.
pub(crate) fn images(count: usize) -> Vec<[[[f32; 28]; 28]; 1]> {
    let mut x = vec![[[[0.0; 28]; 28]; 1]; count];
    Noise::new(1).fill(x.as_flattened_mut().as_flattened_mut().as_flattened_mut());
    x
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W3::init(0);
    let mut session = model.session();
    let mut x = images(1);
    session.scores(&x)?;
    measure("W3f", 1, &mut || {
        let y = session.scores(&x).map_or(f32::NAN, |y| y[0][0]);
        x[0][0][0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn step(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let mut model = W3::init(0);
    let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
    let (mut x, y) = (images(BATCH), classes(BATCH, 10));
    trainer.loss(&x, &y)?.value()?;
    measure("W3t", 1, &mut || {
        let loss = trainer.loss(&x, &y).and_then(|l| l.value()).unwrap_or(f32::NAN);
        x[0][0][0][0] = loss * 0.1;
        loss
    });
    Ok(())
}

pub(super) fn checked_forward() -> Result<Checked, Box<dyn Error>> {
    let (model, x) = (W3::init(0), images(1));
    Ok(Checked {
        source: include_str!("w3.rs"),
        function: "scores",
        parameters: owned(model.parameters()),
        result: model.scores(&x)?.as_flattened().to_vec(),
        arguments: vec![pixels(&x)],
        gradients: vec![],
    })
}

pub(super) fn checked_step() -> Result<Checked, Box<dyn Error>> {
    let (mut model, x) = (W3::init(0), images(7));
    let parameters = owned(model.parameters());
    let y: Vec<u32> = (0..7).collect();
    let gradients = model.trainer(Adam::default()).loss_gradients(&x, &y)?;
    Ok(Checked {
        source: include_str!("w3.rs"),
        function: "loss",
        parameters,
        result: vec![gradients.loss],
        arguments: vec![pixels(&x), Argument::Indices(vec![7], y)],
        gradients: owned(gradients.iter()),
    })
}

fn pixels(x: &[[[[f32; 28]; 28]; 1]]) -> Argument {
    Argument::Floats(vec![x.len(), 1, 28, 28], x.as_flattened().as_flattened().as_flattened().to_vec())
}
