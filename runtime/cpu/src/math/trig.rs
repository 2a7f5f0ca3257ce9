//! Sine and cosine.
//!
//! In: any f32, in radians. Out: sin x and cos x within [`ULP`]; NaN for ±∞. Always: vector code below 2¹⁴, lane by lane in f64
//! beyond, where networks do not go; never by the machine's library, whose last bit differs from machine to machine.

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
    if x.abs() < LIMIT { near } else { far(x, 0) }
}

#[inline]
fn far_cos(x: f32, near: f32) -> f32 {
    if x.abs() < LIMIT { near } else { far(x, 1) }
}

/// The first 256 bits of 2/π behind the point.
const TWO_OVER_PI: [u64; 4] =
    [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];
/// Bits of 2/π that a product with 24 bits keeps: the quotient is exact to 2⁻⁷⁰.
const WINDOW: u32 = 96;

/// sin x, or with one quarter cos x, for |x| from 2¹⁴ on: Payne and Hanek, *Radian reduction for trigonometric functions*, 1983.
#[inline(never)]
fn far(x: f32, quarters: u32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23 & 0xff) as i32 - 127 - 23;
    if exponent > 127 - 23 {
        return f32::NAN;
    }
    let significand = u128::from(bits & 0x7f_ffff | 0x80_0000);
    // Bits of 2/π that give multiples of four quarters count for nothing.
    let skipped = (exponent - 2).max(0).cast_unsigned();
    let (word, shift) = ((skipped / 64) as usize, skipped % 64);
    let [first, second, third] = [word, word + 1, word + 2].map(|word| u128::from(TWO_OVER_PI[word]));
    let wide = ((first << 64 | second) << shift) | ((third << shift) >> 64);
    let product = significand * (wide >> (128 - WINDOW));
    // |x|·2/π = product / 2^point, less multiples of 4.
    let point = (WINDOW.cast_signed() - exponent + skipped.cast_signed()).cast_unsigned();
    let half = 1u128 << (point - 1);
    let nearest = product.wrapping_add(half) >> point;
    let rest = (product as i128).wrapping_sub((nearest << point) as i128);
    let r = rest as f64 / (1u128 << point) as f64 * core::f64::consts::FRAC_PI_2;
    let quadrant = (nearest as u32).wrapping_add(quarters) & 3;
    let y = if quadrant & 1 == 0 { sine_of(r) } else { cosine_of(r) };
    let y = if quadrant & 2 == 0 { y } else { -y };
    // The sine is odd, the cosine even.
    (if quarters == 0 && bits >> 31 == 1 { -y } else { y }) as f32
}

/// sin r for |r| ≤ ¼π by the terms of its series up to r¹³, and cos r up to r¹².
fn sine_of(r: f64) -> f64 {
    let z = r * r;
    let series = 1.0 / 362_880.0 - z * (1.0 / 39_916_800.0 - z / 6_227_020_800.0);
    r - r * z * (1.0 / 6.0 - z * (1.0 / 120.0 - z * (1.0 / 5_040.0 - z * series)))
}

fn cosine_of(r: f64) -> f64 {
    let z = r * r;
    let series = 1.0 / 40_320.0 - z * (1.0 / 3_628_800.0 - z / 479_001_600.0);
    1.0 - z * (0.5 - z * (1.0 / 24.0 - z * (1.0 / 720.0 - z * series)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    /// Bits that do not depend on a library.
    #[test]
    fn far_arguments_have_their_bits() {
        let sines: [(f32, f64); 5] = [
            (16_384.0, -0.559_938_465_669_347),
            (1e5, 0.035_748_797_972_016_51),
            (-1e10, 0.487_506_025_087_510_7),
            (1e30, -0.791_163_438_521_983_7),
            (f32::MAX, -0.521_876_523_333_658_5),
        ];
        for (x, exact) in sines {
            assert_eq!(far_sin(x, 0.0).to_bits(), (exact as f32).to_bits(), "{x:e}");
        }
        assert!(far_sin(f32::INFINITY, 0.0).is_nan() && far_cos(f32::NAN, 0.0).is_nan());
    }

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
