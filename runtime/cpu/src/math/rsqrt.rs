//! 1 / √x.
//!
//! In: any f32. Out: 1 / √x within [`ULP`]; ±∞ at ±0, NaN below. Always: 0 at ∞, NaN stays NaN.

use super::Simd;

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// 1 / √x within 1.5 ULP: ±∞ at ±0, NaN below.
#[inline(always)]
pub fn rsqrt<S: Simd>(s: S, x: S::F) -> S::F {
    s.rsqrt_f(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(rsqrt, |x: f64| 1.0 / x.sqrt());

    #[test]
    fn rsqrt_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
