//! The hyperbolic tangent.
//!
//! In: any f32. Out: tanh x within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::expm1::half_expm1;
use super::{Simd, with_sign};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.5;

/// tanh x within 2.5 ULP, as `t / (t + 1)` with `t = ½(e^(2|x|) - 1)`.
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::F) -> S::F {
    // From 9.02 on the nearest f32 is 1.
    let magnitude = s.at_most_f(s.abs_f(x), s.splat_f(10.0));
    let t = half_expm1(s, s.add_f(magnitude, magnitude));
    with_sign(s, s.quotient_f(t, s.add_f(t, s.splat_f(1.0))), x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(tanh, f64::tanh);

    #[test]
    fn tanh_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
