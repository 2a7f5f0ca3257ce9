//! W9: rows of 1,024: layer norm, softmax, gelu, and layer norm, gelu and a residual in one.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::prelude::*;
use std::error::Error;

/// The number of rows.
const ROWS: usize = 4096;

model! {
    /// W9.
    pub struct W9 { norm: LayerNorm(1024) }

    impl W9 {
        /// Layer norm.
        pub fn layer_norm(&self, x: f32[B, 1024]) -> f32[B, 1024] { self.norm(x) }
        /// Softmax.
        pub fn softmax(&self, x: f32[B, 1024]) -> f32[B, 1024] { softmax(x, axis = -1) }
        /// The gelu by the error function.
        pub fn gelu(&self, x: f32[B, 1024]) -> f32[B, 1024] { gelu(x) }
        /// Layer norm, gelu, residual.
        pub fn chain(&self, x: f32[B, 1024]) -> f32[B, 1024] { gelu(self.norm(x)) * 2.0 + x }
    }
}

/// So many rows of noise.
pub(crate) fn noise(rows: usize) -> Vec<[f32; 1024]> {
    let mut x = vec![[0.0; 1024]; rows];
    Noise::new(1).fill(x.as_flattened_mut());
    x.as_flattened_mut().iter_mut().for_each(|x| *x = 6.0 * *x - 3.0);
    x
}

pub(super) fn rows(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W9::init(0);
    let mut session = model.session();
    let mut x = noise(ROWS);
    macro_rules! row {
        ($label:literal, $method:ident) => {
            session.$method(&x)?;
            measure($label, 1, &mut || {
                let y = session.$method(&x).map_or(f32::NAN, |y| y[ROWS - 1][0]);
                x[0][0] = y * 0.1;
                y
            });
        };
    }
    row!("W9_layernorm", layer_norm);
    row!("W9_softmax", softmax);
    row!("W9_gelu", gelu);
    row!("W9_lngelures", chain);
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let (model, x) = (W9::init(0), noise(37));
    Ok(Checked {
        source: include_str!("w9.rs"),
        function: "chain",
        parameters: owned(model.parameters()),
        result: model.chain(&x)?.as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![37, 1024], x.as_flattened().to_vec())],
        gradients: vec![],
    })
}
