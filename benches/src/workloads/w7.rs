//! W7: an LSTM of 128 features over 100 steps of 64, and a number from its last output: one sequence forward, and a step
//! of Adam on 32.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W7.
    pub struct W7 { lstm: LSTM(64, 128), last: Linear(128, 1) }

    impl W7 {
        /// One number for each sequence.
        pub fn predict(&self, x: f32[B, 100, 64]) -> f32[B, 1] {
            let (_, h, _) = self.lstm(x);
            self.last(h[0])
        }

        /// Mean squared error.
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, 100, 64], y: f32[B, 1]) -> f32 { mse_loss(self.predict(x), y) }
    }
}

/// Sequences of a step.
pub(crate) const BATCH: usize = 32;

/// Sequences of noise, and a number for each.
pub(crate) fn sequences(count: usize) -> (Vec<[[f32; 64]; 100]>, Vec<[f32; 1]>) {
    let (mut x, mut y) = (vec![[[0.0; 64]; 100]; count], vec![[0.0; 1]; count]);
    Noise::new(1).fill(x.as_flattened_mut().as_flattened_mut());
    Noise::new(2).fill(y.as_flattened_mut());
    (x, y)
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W7::init(0);
    let mut session = model.session();
    let (mut x, _) = sequences(1);
    session.predict(&x)?;
    measure("W7f", 10, &mut || {
        let y = session.predict(&x).map_or(f32::NAN, |y| y[0][0]);
        x[0][0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn step(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let mut model = W7::init(0);
    let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
    let (mut x, y) = sequences(BATCH);
    trainer.loss(&x, &y)?.value()?;
    measure("W7t", 1, &mut || {
        let loss = trainer.loss(&x, &y).and_then(|l| l.value()).unwrap_or(f32::NAN);
        x[0][0][0] = loss * 0.1;
        loss
    });
    Ok(())
}

pub(super) fn checked_forward() -> Result<Checked, Box<dyn Error>> {
    let (model, (x, _)) = (W7::init(0), sequences(1));
    Ok(Checked {
        source: include_str!("w7.rs"),
        function: "predict",
        parameters: owned(model.parameters()),
        result: model.predict(&x)?.as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![1, 100, 64], x.as_flattened().as_flattened().to_vec())],
        gradients: vec![],
    })
}

pub(super) fn checked_step() -> Result<Checked, Box<dyn Error>> {
    let mut model = W7::init(0);
    let parameters = owned(model.parameters());
    let (x, y) = sequences(29);
    let gradients = model.trainer(Adam::default()).loss_gradients(&x, &y)?;
    Ok(Checked {
        source: include_str!("w7.rs"),
        function: "loss",
        parameters,
        result: vec![gradients.loss],
        arguments: vec![
            Argument::Floats(vec![29, 100, 64], x.as_flattened().as_flattened().to_vec()),
            Argument::Floats(vec![29, 1], y.as_flattened().to_vec()),
        ],
        gradients: owned(gradients.iter()),
    })
}
