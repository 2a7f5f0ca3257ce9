//! Sine and cosine.
//!
//! In: any f64, in radians. Out: sin x and cos x within [`ULP`]; NaN for ±∞. Always: vector code below 2²⁰, lane by lane beyond,
//! where networks do not go; never by the machine's library, whose last bit differs from machine to machine.

use super::far::far;
use super::reduce::RAISE;
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// ½π in parts of 33 bits, whose products with a quotient below 2²⁰ are exact, and what they leave.
const HALF_PI: [f64; 4] =
    [1.570_796_326_734_125_6, 6.077_100_506_303_966e-11, 2.022_266_248_711_166_5e-21, 8.478_427_660_368_9e-32];
/// Where the reduction in vector code ends.
const LIMIT: f64 = 1_048_576.0;

/// (sin r - r) / r³ in r², minimax for the relative error on |r| ≤ ¼π: 2⁻⁵⁷·⁹.
pub(super) const SINE: [f64; 6] = [
    -0.166_666_666_666_666_3,
    0.008_333_333_333_322_127,
    -0.000_198_412_698_295_930_57,
    2.755_731_362_181_477e-06,
    -2.505_074_772_758_442e-08,
    1.589_622_331_170_899_8e-10,
];
/// (cos r - 1 + ½r²) / r⁴ in r², minimax for the relative error on |r| ≤ ¼π: 2⁻⁶⁴·⁰.
pub(super) const COSINE: [f64; 6] = [
    0.041_666_666_666_666_595,
    -0.001_388_888_888_887_305_1,
    2.480_158_728_884_755_7e-05,
    -2.755_731_417_790_563e-07,
    2.087_570_063_295_915_5e-09,
    -1.135_852_488_310_055_8e-11,
];

/// sin x within 1.5 ULP.
#[inline(always)]
pub fn sin<S: Simd>(s: S, x: S::D) -> S::D {
    let (quadrant, r, rest) = reduce(s, x);
    let y = s.select_d(s.eq_d(x, s.splat_d(0.0)), x, in_quadrant(s, quadrant, r, rest));
    if s.all_m(s.lt_d(s.abs_d(x), s.splat_d(LIMIT))) { y } else { s.lanes2_d(x, y, far_sin) }
}

/// cos x within 1.5 ULP.
#[inline(always)]
pub fn cos<S: Simd>(s: S, x: S::D) -> S::D {
    let (quadrant, r, rest) = reduce(s, x);
    let y = in_quadrant(s, s.add_q(quadrant, s.splat_q(1)), r, rest);
    if s.all_m(s.lt_d(s.abs_d(x), s.splat_d(LIMIT))) { y } else { s.lanes2_d(x, y, far_cos) }
}

/// Splits `x` into `n·½π + r + rest` with `|r|` at most about `¼π`: a number that ends in the bits of `n`, `r`, and what its
/// roundings lost. The first difference is exact, and so are those that cancel.
#[inline(always)]
fn reduce<S: Simd>(s: S, x: S::D) -> (S::Q, S::D, S::D) {
    let raised = s.mul_add_d(x, s.splat_d(core::f64::consts::FRAC_2_PI), s.splat_d(RAISE));
    let n = s.sub_d(raised, s.splat_d(RAISE));
    let first = s.mul_add_d(n, s.splat_d(-HALF_PI[0]), x);
    let part = s.mul_d(n, s.splat_d(HALF_PI[1]));
    let second = s.sub_d(first, part);
    let lost = s.sub_d(s.sub_d(first, second), part);
    let part = s.mul_d(n, s.splat_d(HALF_PI[2]));
    let r = s.sub_d(second, part);
    let lost = s.add_d(lost, s.sub_d(s.sub_d(second, r), part));
    (s.bits_d(raised), r, s.mul_add_d(n, s.splat_d(-HALF_PI[3]), lost))
}

/// sin(quadrant·½π + r + rest).
#[inline(always)]
fn in_quadrant<S: Simd>(s: S, quadrant: S::Q, r: S::D, rest: S::D) -> S::D {
    let square = s.mul_d(r, r);
    let sine = s.add_d(s.mul_add_d(s.mul_d(square, r), polynomial(s, square, SINE), rest), r);
    let bend = s.mul_d(s.mul_d(square, square), polynomial(s, square, COSINE));
    let bend = s.mul_add_d(s.neg_d(r), rest, bend);
    let cosine = s.add_d(bend, s.mul_add_d(square, s.splat_d(-0.5), s.splat_d(1.0)));
    let odd = s.m_from_q(s.and_q(quadrant, s.splat_q(1)));
    let sign = s.shl_const_q::<62>(s.and_q(quadrant, s.splat_q(2)));
    s.d_of_bits(s.xor_q(s.bits_d(s.select_d(odd, cosine, sine)), sign))
}

#[inline]
fn far_sin(x: f64, near: f64) -> f64 {
    if x.abs() < LIMIT { near } else { far(x, 0) }
}

#[inline]
fn far_cos(x: f64, near: f64) -> f64 {
    if x.abs() < LIMIT { near } else { far(x, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    const RANGES: [(f64, f64); 4] = [(-8.0, 8.0), (-1e6, 1.1e6), (1e6, 1e22), (1.57, 1.572)];

    mod sine {
        use super::*;
        unary!(sin, f64::sin);
        #[test]
        fn sin_is_within_its_bound() {
            check::everywhere::<Function>(ULP, &RANGES);
        }
    }

    mod cosine {
        use super::*;
        unary!(cos, f64::cos);
        #[test]
        fn cos_is_within_its_bound() {
            check::everywhere::<Function>(ULP, &RANGES);
        }
    }
}
