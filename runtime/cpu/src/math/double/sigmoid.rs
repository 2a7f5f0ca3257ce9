//! The logistic function 1 / (1 + e⁻ˣ).
//!
//! In: any f64. Out: the logistic function within [`ULP`], subnormal below -708.4. Always: NaN stays NaN.

use super::{Simd, exp};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.5;

/// 1 / (1 + e⁻ˣ) within 2.5 ULP, subnormal below -708.4.
#[inline(always)]
pub fn sigmoid<S: Simd>(s: S, x: S::D) -> S::D {
    let one = s.splat_d(1.0);
    // The power of a negative number cannot overflow.
    let power = exp(s, s.neg_d(s.abs_d(x)));
    let numerator = s.select_d(s.lt_d(x, s.splat_d(0.0)), power, one);
    s.div_d(numerator, s.add_d(power, one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(sigmoid, |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) });

    #[test]
    fn sigmoid_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-750.0, 40.0), (-8.0, 8.0)]);
    }
}
