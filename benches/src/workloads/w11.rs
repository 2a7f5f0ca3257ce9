//! W11: depthwise convolutions, one plane of each channel: forward, and with the gradients of image, filters and bias.

use super::{Measure, Noise};
use precast::prelude::*;
use std::error::Error;

/// A layer of one size, and what measures it.
macro_rules! layer {
    ($module:ident, $channels:literal, $side:literal, $kernel:literal) => {
        mod $module {
            use super::*;

            model! {
                /// A depthwise convolution.
                pub(super) struct Depthwise {
                    conv: Conv2d($channels, $channels, kernel = $kernel, padding = ($kernel - 1) / 2, groups = $channels),
                }

                impl Depthwise {
                    /// The layer.
                    pub fn forward(&self, x: f32[B, $channels, $side, $side]) -> f32[B, $channels, $side, $side] {
                        self.conv(x)
                    }

                    /// The sum of its results times `t`, and its gradient by `x`.
                    #[train(Sgd)]
                    pub fn loss(
                        &self,
                        x: f32[B, $channels, $side, $side],
                        t: f32[B, $channels, $side, $side],
                    ) -> (f32, f32[B, $channels, $side, $side]) {
                        value_and_grad(|x| sum(self.conv(x) * t))(x)
                    }
                }
            }

            pub(super) fn planes(seed: u32) -> Vec<[[[f32; $side]; $side]; $channels]> {
                let mut planes = vec![[[[0.0; $side]; $side]; $channels]; 1];
                Noise::new(seed).fill(planes.as_flattened_mut().as_flattened_mut().as_flattened_mut());
                planes
            }

            pub(super) fn forward(measure: Measure<'_>, name: &str) -> Result<(), Box<dyn Error>> {
                let model = Depthwise::init(0);
                let mut session = model.session();
                let mut x = planes(1);
                session.forward(&x)?;
                measure(name, 1, &mut || {
                    let y = session.forward(&x).map_or(f32::NAN, |y| y[0][0][0][0]);
                    x[0][0][0][0] = y * 0.1;
                    y
                });
                Ok(())
            }

            pub(super) fn gradients(measure: Measure<'_>, name: &str) -> Result<(), Box<dyn Error>> {
                let mut model = Depthwise::init(0);
                let mut trainer = model.trainer(Sgd { rate: 0.0, ..default() });
                let (mut x, t) = (planes(1), planes(2));
                trainer.loss(&x, &t)?.0.value()?;
                measure(name, 1, &mut || {
                    let slope = trainer.loss(&x, &t).and_then(|(loss, slope)| Ok(loss.value()? * 0.1 + slope[0][0][0][0]));
                    let slope = slope.unwrap_or(f32::NAN);
                    x[0][0][0][0] = slope * 0.1;
                    slope
                });
                Ok(())
            }
        }
    };
}

layer!(early, 72, 56, 3);
layer!(middle, 240, 14, 5);
layer!(wide, 48, 14, 7);

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    early::forward(measure, "W11f_3x3_72x56")?;
    middle::forward(measure, "W11f_5x5_240x14")?;
    wide::forward(measure, "W11f_7x7_48x14")
}

pub(super) fn gradients(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    early::gradients(measure, "W11t_3x3_72x56")?;
    middle::gradients(measure, "W11t_5x5_240x14")?;
    wide::gradients(measure, "W11t_7x7_48x14")
}
