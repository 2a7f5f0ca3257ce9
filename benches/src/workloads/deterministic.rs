//! What the same bits on every machine cost: other rows with models that are deterministic.

use super::{Measure, Noise};
use precast::View;
use precast::prelude::*;
use std::error::Error;

model! {
    use super::w2::W2;
    use super::w3::W3;
    use super::w5::W5;

    /// W2.
    #[model(deterministic)]
    pub struct W2Exact = W2;
    /// W3.
    #[model(deterministic)]
    pub struct W3Exact = W3;
    /// W5.
    #[model(deterministic)]
    pub struct W5Exact = W5;
}

pub(super) fn all(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let y: Vec<u32> = (0..64).map(|i| i * 7 % 10).collect();

    let mut model = W2Exact::init(0);
    let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
    let mut rows = vec![[0.0; 784]; 64];
    Noise::new(1).fill(rows.as_flattened_mut());
    measure("W2t_deterministic", 1, &mut || {
        rows[0][0] = trainer.loss(&rows, &y).and_then(|loss| loss.value()).map_or(f32::NAN, |loss| loss * 0.1);
        rows[0][0]
    });

    let mut model = W3Exact::init(0);
    let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
    let mut images = super::w3::images(64);
    measure("W3t_deterministic", 1, &mut || {
        let loss = trainer.loss(&images, &y).and_then(|loss| loss.value()).unwrap_or(f32::NAN);
        images[0][0][0][0] = loss * 0.1;
        loss
    });

    let model = W5Exact::init(0);
    let mut session = model.session();
    let mut places = vec![[0.0; 384]; 128];
    Noise::new(1).fill(places.as_flattened_mut());
    measure("W5_deterministic", 1, &mut || {
        let y = View::new(&places, [1, 128]).and_then(|x| session.encode(x).map(|y| y.data()[0][0]));
        places[0][0] = y.unwrap_or(f32::NAN) * 0.1;
        places[0][0]
    });
    Ok(())
}
