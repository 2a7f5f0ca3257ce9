//! W12c: a block of ConvNeXt (Liu et al. 2022), 96 wide, on 56×56 places: one image forward, and a step of AdamW on eight.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W12c.
    pub struct W12c {
        conv_dw: Conv2d(96, 96, kernel = 7, padding = 3, groups = 96),
        norm: LayerNorm(96, eps = 1e-6),
        fc1: Linear(96, 384),
        fc2: Linear(384, 96),
        gamma: Parameter(96, init = ones),
    }

    impl W12c {
        /// The block.
        pub fn block(&self, x: f32[B, 96, 56, 56]) -> f32[B, 96, 56, 56] {
            let y = self.norm(transpose(self.conv_dw(x), 0, 2, 3, 1));
            let y = self.gamma * self.fc2(gelu(self.fc1(y)));
            x + transpose(y, 0, 3, 1, 2)
        }

        /// The mean square of what it gives.
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 96, 56, 56]) -> f32 { mean(square(self.block(x))) }
    }
}

fn planes(count: usize) -> Vec<[[[f32; 56]; 56]; 96]> {
    let mut planes = vec![[[[0.0; 56]; 56]; 96]; count];
    Noise::new(1).fill(planes.as_flattened_mut().as_flattened_mut().as_flattened_mut());
    planes
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W12c::init(0);
    let mut session = model.session();
    let mut x = planes(1);
    session.block(&x)?;
    measure("W12c", 1, &mut || {
        let y = session.block(&x).map_or(f32::NAN, |y| y[0][0][0][0]);
        x[0][0][0][0] = y * 0.1;
        y
    });
    Ok(())
}

pub(super) fn step(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let mut model = W12c::init(0);
    let mut trainer = model.trainer(AdamW { rate: 1e-4, ..default() });
    let mut x = planes(8);
    trainer.loss(&x)?.value()?;
    measure("W12ct", 1, &mut || {
        let loss = trainer.loss(&x).and_then(|l| l.value()).unwrap_or(f32::NAN);
        x[0][0][0][0] = loss * 0.1;
        loss
    });
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let (mut model, x) = (W12c::init(0), planes(1));
    let parameters = owned(model.parameters());
    let gradients = model.trainer(AdamW::default()).loss_gradients(&x)?;
    let numbers = x.as_flattened().as_flattened().as_flattened().to_vec();
    Ok(Checked {
        source: include_str!("w12c.rs"),
        function: "loss",
        parameters,
        result: vec![gradients.loss],
        arguments: vec![Argument::Floats(vec![1, 96, 56, 56], numbers)],
        gradients: owned(gradients.iter()),
    })
}
