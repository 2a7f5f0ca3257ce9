//! The natural logarithm.
//!
//! In: any f32. Out: ln x within [`ULP`]; -∞ at 0, NaN below. Always: NaN stays NaN and ∞ stays ∞.

use super::reduce::{LN2, by_power_of_two};
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.1;

/// (ln(1 + f) - f + ½f²) / f³, minimax for the relative error of ln(1 + f) on √½ ≤ 1 + f ≤ √2: 2⁻³⁰·³.
const TAIL: [f32; 9] = [
    0.333_333_13,
    -0.250_000_1,
    0.200_021_18,
    -0.166_679_96,
    0.142_195_55,
    -0.124_055_885,
    0.118_881_38,
    -0.116_756_42,
    0.067_466_79,
];

/// ln x within 1.1 ULP: -∞ at 0, NaN below.
#[inline(always)]
pub fn log<S: Simd>(s: S, x: S::F) -> S::F {
    let (e, m) = by_power_of_two(s, x);
    let y = assemble(s, s.f_from_i(e), s.sub_f(m, s.splat_f(1.0)));
    special(s, x, y)
}

/// `e·ln 2 + ln(1 + f)`.
#[inline(always)]
pub(super) fn assemble<S: Simd>(s: S, e: S::F, f: S::F) -> S::F {
    let square = s.mul_f(f, f);
    let y = s.mul_f(s.mul_f(square, f), polynomial(s, f, TAIL));
    let y = s.mul_add_f(e, s.splat_f(LN2[1]), y);
    let y = s.mul_add_f(square, s.splat_f(-0.5), y);
    s.mul_add_f(e, s.splat_f(LN2[0]), s.add_f(f, y))
}

/// `y`, but what the logarithm of `x` is where `x` is not positive and finite.
#[inline(always)]
pub(super) fn special<S: Simd>(s: S, x: S::F, y: S::F) -> S::F {
    let zero = s.splat_f(0.0);
    let y = s.select_f(s.lt_f(x, s.splat_f(f32::INFINITY)), y, x);
    let y = s.select_f(s.lt_f(x, zero), s.splat_f(f32::NAN), y);
    s.select_f(s.eq_f(x, zero), s.splat_f(f32::NEG_INFINITY), y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(log, f64::ln);

    #[test]
    fn log_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
