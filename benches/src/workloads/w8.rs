//! W8: square products of 64, 256 and 1024, and one row times a matrix of 1024².

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
        /// 1024³, or with one row 1×1024².
        pub fn large(&self, a: f32[M, 1024], b: f32[1024, 1024]) -> f32[M, 1024] { matmul(a, b) }
        /// The field that every model has.
        pub fn unit(&self) -> f32[1] { self.unit }
    }
}

model! {
    /// The same with a parameter in bf16.
    #[model(precision = bf16)]
    pub struct W8Bf16 { b: Linear(1024, 1024, bias = false) }

    impl W8Bf16 {
        /// 1024³.
        pub fn large(&self, a: f32[M, 1024]) -> f32[M, 1024] { self.b(a) }
    }
}

/// A matrix of noise.
pub(crate) fn matrix<const N: usize>(rows: usize, seed: u32) -> Vec<[f32; N]> {
    let mut matrix = vec![[0.0; N]; rows];
    Noise::new(seed).fill(matrix.as_flattened_mut());
    matrix
}

fn square<const N: usize>(seed: u32) -> Result<Box<[[f32; N]; N]>, Box<dyn Error>> {
    matrix(N, seed).into_boxed_slice().try_into().map_err(|_| "a square matrix".into())
}

pub(super) fn products(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W8::init(0);
    let mut session = model.session();
    let (mut a, b) = (square::<64>(1)?, square::<64>(2)?);
    measure("W8_64x64x64", 10, &mut || {
        a[0][0] = session.small(&a, &b).map_or(f32::NAN, |y| y[0][0] * 1e-3);
        a[0][0]
    });
    let (mut a, b) = (square::<256>(1)?, square::<256>(2)?);
    measure("W8_256x256x256", 1, &mut || {
        a[0][0] = session.medium(&a, &b).map_or(f32::NAN, |y| y[0][0] * 1e-3);
        a[0][0]
    });
    let b = square::<1024>(2)?;
    for rows in [1024, 1] {
        let mut a = matrix::<1024>(rows, 1);
        measure(&format!("W8_{rows}x1024x1024"), 1, &mut || {
            a[0][0] = session.large(&a, &b).map_or(f32::NAN, |y| y[0][0] * 1e-3);
            a[0][0]
        });
    }
    let model = W8Bf16::init(0);
    let mut session = model.session();
    let mut a = matrix::<1024>(1024, 1);
    measure("W8_bf16_1024x1024x1024", 1, &mut || {
        a[0][0] = session.large(&a).map_or(f32::NAN, |y| y[0][0] * 1e-3);
        a[0][0]
    });
    Ok(())
}
