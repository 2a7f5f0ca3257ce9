//! W2: 784→128→relu→10: one row forward, and a step of Adam on 64 rows.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise, classes};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W2.
    pub struct W2 { a: Linear(784, 128), b: Linear(128, 10) }

    impl W2 {
        /// Ten scores.
        pub fn scores(&self, x: f32[B, 784]) -> f32[B, 10] { self.b(relu(self.a(x))) }

        /// Mean cross-entropy.
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, 784], y: u32[B]) -> f32 { cross_entropy(self.scores(x), y) }
    }
}

/// Rows of a step.
pub(crate) const BATCH: usize = 64;

/// Rows of noise.
pub(crate) fn rows(count: usize) -> Vec<[f32; 784]> {
    let mut x = vec![[0.0; 784]; count];
    Noise::new(1).fill(x.as_flattened_mut());
    x
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W2::init(0);
    let mut session = model.session();
    let mut x = rows(1);
    session.scores(&x)?;
    measure("W2f", 100, &mut || {
        let y = session.scores(&x).map_or(f32::NAN, |y| y[0][0]);
        x[0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn step(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let mut model = W2::init(0);
    let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
    let (mut x, y) = (rows(BATCH), classes(BATCH, 10));
    trainer.loss(&x, &y)?.value()?;
    measure("W2t", 1, &mut || {
        let loss = trainer.loss(&x, &y).and_then(|l| l.value()).unwrap_or(f32::NAN);
        x[0][0] = loss * 0.1;
        loss
    });
    Ok(())
}

pub(super) fn checked_forward() -> Result<Checked, Box<dyn Error>> {
    let (model, x) = (W2::init(0), rows(1));
    Ok(Checked {
        source: include_str!("w2.rs"),
        function: "scores",
        parameters: owned(model.parameters()),
        result: model.scores(&x)?.as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![1, 784], x.as_flattened().to_vec())],
        gradients: vec![],
    })
}

pub(super) fn checked_step() -> Result<Checked, Box<dyn Error>> {
    let mut model = W2::init(0);
    let parameters = owned(model.parameters());
    let (x, y) = (rows(61), classes(61, 10));
    let gradients = model.trainer(Adam::default()).loss_gradients(&x, &y)?;
    Ok(Checked {
        source: include_str!("w2.rs"),
        function: "loss",
        parameters,
        result: vec![gradients.loss],
        arguments: vec![Argument::Floats(vec![61, 784], x.as_flattened().to_vec()), Argument::Indices(vec![61], y)],
        gradients: owned(gradients.iter()),
    })
}
