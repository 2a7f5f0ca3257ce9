//! 1 / √x.
//!
//! In: any f64. Out: 1 / √x within [`ULP`]; ±∞ at ±0, NaN below. Always: 0 at ∞, NaN stays NaN.

use super::Simd;

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// 1 / √x within 1.5 ULP: ±∞ at ±0, NaN below.
#[inline(always)]
pub fn rsqrt<S: Simd>(s: S, x: S::D) -> S::D {
    s.div_d(s.splat_d(1.0), s.sqrt_d(x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(rsqrt, |x| 1.0 / x.sqrt());

    #[test]
    fn rsqrt_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(0.0, 4.0)]);
    }
}
