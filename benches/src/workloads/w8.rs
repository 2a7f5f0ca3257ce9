//! W8: square products of 64 and 256.

use super::{Measure, Noise};
use precast::prelude::*;
use std::error::Error;

model! {
    /// W8.
    pub struct W8 { unit: Parameter(1) }

    impl W8 {
        /// 64³.
        pub fn small(&self, a: f32[64, 64], b: f32[64, 64]) -> f32[64, 64] { matmul(a, b) }
        /// 256³.
        pub fn medium(&self, a: f32[256, 256], b: f32[256, 256]) -> f32[256, 256] { matmul(a, b) }
        /// The field that every model has.
        pub fn unit(&self) -> f32[1] { self.unit }
    }
}

pub(super) fn products(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W8::init(0);
    let mut session = model.session();
    let (mut a, mut b) = (Box::new([[0.0; 64]; 64]), Box::new([[0.0; 64]; 64]));
    Noise::new(1).fill(a.as_flattened_mut());
    Noise::new(2).fill(b.as_flattened_mut());
    measure("W8_64x64x64", 10, &mut || {
        a[0][0] = session.small(&a, &b).map_or(f32::NAN, |y| y[0][0] * 1e-3);
        a[0][0]
    });
    let (mut a, mut b) = (vec![[0.0; 256]; 256], vec![[0.0; 256]; 256]);
    Noise::new(1).fill(a.as_flattened_mut());
    Noise::new(2).fill(b.as_flattened_mut());
    let (Ok(a), Ok(b)): (Result<Box<[[f32; 256]; 256]>, _>, Result<Box<[[f32; 256]; 256]>, _>) =
        (a.into_boxed_slice().try_into(), b.into_boxed_slice().try_into())
    else {
        return Err("256 rows".into());
    };
    let mut a = a;
    measure("W8_256x256x256", 1, &mut || {
        a[0][0] = session.medium(&a, &b).map_or(f32::NAN, |y| y[0][0] * 1e-3);
        a[0][0]
    });
    Ok(())
}
