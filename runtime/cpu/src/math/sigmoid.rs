//! The logistic function 1 / (1 + e⁻ˣ).
//!
//! In: any f32. Out: the logistic function within [`ULP`], subnormal below -87.33. Always: NaN stays NaN.

use super::{Simd, exp};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.5;

/// 1 / (1 + e⁻ˣ) within 2.5 ULP, subnormal below -87.33.
#[inline(always)]
pub fn sigmoid<S: Simd>(s: S, x: S::F) -> S::F {
    let one = s.splat_f(1.0);
    // The power of a negative number cannot overflow.
    let power = exp(s, s.neg_f(s.abs_f(x)));
    let numerator = s.select_f(s.lt_f(x, s.splat_f(0.0)), power, one);
    s.quotient_f(numerator, s.add_f(power, one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(sigmoid, |x: f64| 1.0 / (1.0 + (-x).exp()));

    #[test]
    fn sigmoid_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
