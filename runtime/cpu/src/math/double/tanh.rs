//! The hyperbolic tangent.
//!
//! In: any f64. Out: tanh x within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::expm1::half_expm1;
use super::{Simd, with_sign};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.5;

/// tanh x within 2.5 ULP, as `t / (t + 1)` with `t = ½(e^(2|x|) - 1)`.
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::D) -> S::D {
    // From 19.1 on the nearest f64 is 1.
    let magnitude = s.at_most_d(s.abs_d(x), s.splat_d(20.0));
    let t = half_expm1(s, s.add_d(magnitude, magnitude));
    with_sign(s, s.div_d(t, s.add_d(t, s.splat_d(1.0))), x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(tanh, f64::tanh);

    #[test]
    fn tanh_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-21.0, 21.0), (-1.0, 1.0)]);
    }
}
