//! eˣ.
//!
//! In: any f64. Out: eˣ within [`ULP`], infinity above 709.78, subnormal below -708.4, 0 below -745.13. Always: NaN stays NaN.

use super::reduce::by_ln2;
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.1;

/// (eʳ - 1 - r) / r², minimax for the relative error of eʳ - 1 on |r| ≤ ½ ln 2: 2⁻⁶¹·⁷.
pub(super) const TAIL: [f64; 11] = [
    0.5,
    0.166_666_666_666_666_77,
    0.041_666_666_666_666_7,
    0.008_333_333_333_321_532,
    0.001_388_888_888_886_656_8,
    0.000_198_412_698_864_014_5,
    2.480_158_736_105_145e-05,
    2.755_724_391_131_049_8e-06,
    2.755_724_235_657_857_4e-07,
    2.510_914_751_918_413e-08,
    2.092_456_368_113_738e-09,
];

/// eˣ within 1.1 ULP: infinity above 709.78, subnormal below -708.4, 0 below -745.13.
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::D) -> S::D {
    let (n, r) = parts(s, x);
    power(s, n, r)
}

/// e to the power of `x + rest`, for a `rest` below an ULP of `x`.
#[inline(always)]
pub(super) fn with_rest<S: Simd>(s: S, x: S::D, rest: S::D) -> S::D {
    let (n, r) = parts(s, x);
    power(s, n, s.add_d(r, rest))
}

/// `(n, r)` of `n·ln 2 + r`, with `x` kept where its power is 0, finite or just infinite.
#[inline(always)]
fn parts<S: Simd>(s: S, x: S::D) -> (S::D, S::D) {
    let x = s.at_least_d(s.at_most_d(x, s.splat_d(710.0)), s.splat_d(-746.0));
    let (_, n, r) = by_ln2(s, x);
    (n, r)
}

/// 2ⁿ·eʳ.
#[inline(always)]
fn power<S: Simd>(s: S, n: S::D, r: S::D) -> S::D {
    let tail = polynomial(s, r, TAIL);
    let power = s.add_d(s.mul_add_d(s.mul_d(r, r), tail, r), s.splat_d(1.0));
    s.scale_d(power, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(exp, f64::exp);

    #[test]
    fn exp_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-750.0, 720.0), (-1.0, 1.0)]);
    }
}
