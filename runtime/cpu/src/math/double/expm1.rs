//! eˣ - 1.
//!
//! In: any f64. Out: eˣ - 1 within [`ULP`], also near 0. Always: NaN stays NaN and -0 stays -0.

use super::exp::TAIL;
use super::reduce::{by_ln2, half_power_of_two};
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.0;

/// 2⁻⁵⁴, below which eˣ - 1 is x.
const SMALL: f64 = 5.551_115_123_125_783e-17;

/// eˣ - 1 within 2 ULP, also near 0.
#[inline(always)]
pub fn expm1<S: Simd>(s: S, x: S::D) -> S::D {
    let half = half_expm1(s, s.at_least_d(s.at_most_d(x, s.splat_d(710.0)), s.splat_d(-40.0)));
    let y = s.add_d(half, half);
    // Half of what is small may not be a number, and a zero has lost its sign.
    s.select_d(s.lt_d(s.abs_d(x), s.splat_d(SMALL)), x, y)
}

/// ½(eˣ - 1) for `x` from -40 to 710, which does not overflow; the sign of a zero is lost.
#[inline(always)]
pub(super) fn half_expm1<S: Simd>(s: S, x: S::D) -> S::D {
    let (raised, _, r) = by_ln2(s, x);
    let tail = polynomial(s, r, TAIL);
    let p = s.mul_add_d(s.mul_d(r, r), tail, r);
    // Half of 2ⁿ(p + 1) - 1.
    let half_power = half_power_of_two(s, raised);
    s.mul_add_d(half_power, p, s.sub_d(half_power, s.splat_d(0.5)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(expm1, f64::exp_m1);

    #[test]
    fn expm1_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-45.0, 720.0), (-1.0, 1.0)]);
    }
}
