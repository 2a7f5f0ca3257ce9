//! W1: a policy network, 4→64→64→2 with tanh, one row.

use super::checked::owned;
use super::{Argument, Checked, Measure};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W1.
    pub struct W1 { a: Linear(4, 64), b: Linear(64, 64), c: Linear(64, 2) }

    impl W1 {
        /// Two preferences.
        pub fn act(&self, x: f32[B, 4]) -> f32[B, 2] { self.c(tanh(self.b(tanh(self.a(x))))) }
    }
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W1::init(0);
    let mut session = model.session();
    let mut x = [[0.1, 0.2, 0.3, 0.4]];
    session.act(&x)?;
    measure("W1", 1000, &mut || {
        let y = session.act(&x).map_or(f32::NAN, |y| y[0][0]);
        x[0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let model = W1::init(0);
    let x = [[0.7, -0.2, 0.3, 0.4], [0.1, 0.9, -0.5, 0.0], [-0.3, 0.2, 0.6, -0.8]];
    Ok(Checked {
        source: include_str!("w1.rs"),
        function: "act",
        parameters: owned(model.parameters()),
        result: model.act(&x)?.as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![3, 4], x.as_flattened().to_vec())],
        gradients: vec![],
    })
}
