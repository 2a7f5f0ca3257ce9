//! Sine and cosine.
//!
//! In: any f32, in radians. Out: sin x and cos x within [`ULP`]; NaN for ±∞. Always: vector code below 2¹⁴, lane by lane
//! through the standard library's f64 beyond, where networks do not go.

use super::{Simd, quadratic};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.8;

/// ½π in three parts of 24 bits, for fused arithmetic.
const HALF_PI: [f32; 3] = [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15];
/// ½π in two parts, the upper one of 33 bits.
const HALF_PI_WIDE: [f64; 2] = [1.570_796_326_734_125_6, 6.077_100_506_506_192e-11];
/// Where the reduction in vector code ends.
const LIMIT: f32 = 16_384.0;

/// (sin r - r) / r³ in r², minimax for the relative error on |r| ≤ ¼π: 2⁻²⁸.
const SINE: [f32; 3] = [-0.166_666_55, 0.008_332_158, -0.000_195_149_55];
/// (cos r - 1 + ½r²) / r⁴ in r², minimax for the relative error on |r| ≤ ¼π: 2⁻³³.
const COSINE: [f32; 3] = [0.041_666_646, -0.001_388_731_3, 2.443_278_4e-5];

/// sin x within 1.8 ULP.
#[inline(always)]
pub fn sin<S: Simd>(s: S, x: S::F) -> S::F {
    let (quadrant, r) = reduce(s, x);
    let y = s.select_f(s.eq_f(x, s.splat_f(0.0)), x, in_quadrant(s, quadrant, r));
    if s.all_m(s.lt_f(s.abs_f(x), s.splat_f(LIMIT))) { y } else { s.lanes2_f(x, y, far_sin) }
}

/// cos x within 1.8 ULP.
#[inline(always)]
pub fn cos<S: Simd>(s: S, x: S::F) -> S::F {
    let (quadrant, r) = reduce(s, x);
    let y = in_quadrant(s, s.add_i(quadrant, s.splat_i(1)), r);
    if s.all_m(s.lt_f(s.abs_f(x), s.splat_f(LIMIT))) { y } else { s.lanes2_f(x, y, far_cos) }
}

/// Splits `x` into `n·½π + r` with `|r| ≤ ¼π`: `(n, r)`.
#[inline(always)]
fn reduce<S: Simd>(s: S, x: S::F) -> (S::I, S::F) {
    let n = s.round_f(s.mul_f(x, s.splat_f(core::f32::consts::FRAC_2_PI)));
    let r = if S::FUSED {
        let r = s.mul_add_f(n, s.splat_f(-HALF_PI[0]), x);
        let r = s.mul_add_f(n, s.splat_f(-HALF_PI[1]), r);
        s.mul_add_f(n, s.splat_f(-HALF_PI[2]), r)
    } else {
        s.lanes2_f(x, n, reduce_wide)
    };
    (s.i_from_f(n), r)
}

#[inline(always)]
fn reduce_wide(x: f32, n: f32) -> f32 {
    let n = f64::from(n);
    ((f64::from(x) - n * HALF_PI_WIDE[0]) - n * HALF_PI_WIDE[1]) as f32
}

/// sin(quadrant·½π + r).
#[inline(always)]
fn in_quadrant<S: Simd>(s: S, quadrant: S::I, r: S::F) -> S::F {
    let square = s.mul_f(r, r);
    let sine = s.mul_add_f(s.mul_f(square, r), quadratic(s, square, SINE), r);
    let cosine = s.mul_add_f(
        s.mul_f(square, square),
        quadratic(s, square, COSINE),
        s.mul_add_f(square, s.splat_f(-0.5), s.splat_f(1.0)),
    );
    let quadrant = s.u_from_i(quadrant);
    let odd = s.m_from_u(s.and_u(quadrant, s.splat_u(1)));
    let sign = s.shl_const_u::<30>(s.and_u(quadrant, s.splat_u(2)));
    s.f_of_bits(s.xor_u(s.bits_f(s.select_f(odd, cosine, sine)), sign))
}

#[inline]
fn far_sin(x: f32, near: f32) -> f32 {
    if x.abs() < LIMIT { near } else { f64::from(x).sin() as f32 }
}

#[inline]
fn far_cos(x: f32, near: f32) -> f32 {
    if x.abs() < LIMIT { near } else { f64::from(x).cos() as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    mod sine {
        use super::*;
        unary!(sin, f64::sin);
        #[test]
        fn sin_is_within_its_bound() {
            check::everywhere::<Function>(ULP);
        }
    }

    mod cosine {
        use super::*;
        unary!(cos, f64::cos);
        #[test]
        fn cos_is_within_its_bound() {
            check::everywhere::<Function>(ULP);
        }
    }
}
