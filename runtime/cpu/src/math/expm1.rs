//! eˣ - 1.
//!
//! In: any f32. Out: eˣ - 1 within [`ULP`], also near 0. Always: NaN stays NaN and -0 stays -0.

use super::reduce::{by_ln2, half_power_of_two};
use super::{Simd, polynomial, with_sign};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.0;

/// (eʳ - 1 - r) / r², minimax for the relative error of eʳ - 1 on |r| ≤ ½ ln 2: 2⁻³¹·⁹.
const TAIL: [f32; 6] = [0.5, 0.166_666_66, 0.041_666_36, 0.008_333_39, 0.001_394_082_3, 0.000_198_459_09];

/// eˣ - 1 within 2 ULP, also near 0.
#[inline(always)]
pub fn expm1<S: Simd>(s: S, x: S::F) -> S::F {
    let negative = s.lt_f(x, s.splat_f(0.0));
    let half = half_expm1(s, s.at_least_f(s.at_most_f(x, s.splat_f(89.0)), s.splat_f(-20.0)));
    let y = s.add_f(half, half);
    s.select_f(negative, y, with_sign(s, s.abs_f(y), x))
}

/// ½(eˣ - 1) for `x` from -20 to 89, which does not overflow; the sign of a zero is lost.
#[inline(always)]
pub(super) fn half_expm1<S: Simd>(s: S, x: S::F) -> S::F {
    let (raised, _, r) = by_ln2(s, x);
    let tail = polynomial(s, r, TAIL);
    let p = s.mul_add_f(s.mul_f(r, r), tail, r);
    // Half of 2ⁿ(p + 1) - 1.
    let half_power = half_power_of_two(s, raised);
    s.mul_add_f(half_power, p, s.sub_f(half_power, s.splat_f(0.5)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(expm1, f64::exp_m1);

    #[test]
    fn expm1_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
