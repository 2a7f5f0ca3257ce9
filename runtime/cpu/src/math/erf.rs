//! The error function.
//!
//! In: any f32. Out: erf x within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::reduce::{RAISE, inverse_power_of_two};
use super::{Simd, polynomial, with_sign};

/// Error bound, with fused multiply-adds and without.
#[cfg(test)]
const ULP: [f64; 2] = [2.0, 3.0];

/// From 3.92 on the nearest f32 is 1.
const END: f32 = 3.95;
/// -log₂(1 - erf(t)) / t = RATE + t·BEND(t), minimax for the relative error of erf on 0 ≤ t ≤ 3.95: 2⁻²⁷·⁴.
const RATE: f32 = 1.627_907;
const BEND: [f32; 8] = [
    0.918_447_44,
    0.148_279_25,
    -0.027_641_578,
    -0.000_211_490_77,
    0.002_383_228_9,
    -0.000_900_229_1,
    0.000_165_950_11,
    -1.291_480_3e-5,
];
/// (1 - 2⁻ᶠ) / f = RISE + f·FALL(f), minimax for the relative error on |f| ≤ ½: 2⁻²⁶·².
const RISE: f32 = core::f32::consts::LN_2;
const FALL: [f32; 5] = [-0.240_226_5, 0.055_503_674, -0.009_618_311, 0.001_338_738_4, -0.000_153_820_84];

/// The width of a piece; with this one the values in the middle of pieces are all but representable.
const WIDTH: f32 = 0.261_369_7;
/// The coefficients of erf(n·WIDTH + h) in h for n from 0 to 15, minimax for the error in ULP on |h| ≤ ½ WIDTH.
#[rustfmt::skip]
#[expect(clippy::approx_constant, reason = "a coefficient like the others, which happens to be the slope at 0")]
const PIECES: [[f32; 16]; 6] = [
    [0.0, 0.288_343_73, 0.540_254, 0.732_525_7, 0.860_734_1, 0.935_421_2, 0.973_431_2, 0.990_330_46, 0.996_894_1, 0.999_121_2, 0.999_781_25, 0.999_952_14, 0.999_990_8, 0.999_998_45, 0.999_999_76, 1.0],
    [1.128_379_2, 1.053_869_1, 0.858_581_1, 0.610_153_44, 0.378_233_43, 0.204_523_82, 0.096_469_715, 0.039_691_836, 0.014_245_395, 0.004_459_753_6, 0.001_217_896_6, 2.901_169e-4, 6.028_354_3e-5, 1.092_666_4e-5, 1.727_585_4e-6, 2.382_618_8e-7],
    [-1.508_844_8e-5, -0.275_444_2, -0.448_807_06, -0.478_424_97, -0.395_432_2, -0.267_287_85, -0.151_292_01, -0.072_618_67, -0.029_782_28, -0.010_499_548, -0.003_179_699, -8.213_194_7e-4, -1.903_584_9e-4, -3.527_288_6e-5, -1.498_559_5e-6, -1.468_136_6e-5],
    [-0.375_548_9, -0.303_324_7, -0.129_815_7, 0.046_699_95, 0.149_532_6, 0.164_690_43, 0.126_009_26, 0.075_346_32, 0.036_773_39, 0.014_965_315, 0.005_140_570_5, 0.001_501_954_5, 3.752_152_8e-4, 8.044_38e-5, 1.484_128_8e-5, 2.361_161_5e-6],
    [-0.006_995_204_4, 0.130_470_16, 0.182_324_54, 0.140_680_4, 0.053_633, -0.017_778_395, -0.047_713_87, -0.044_680_506, -0.028_786_048, -0.013_647_469, -0.005_901_218_4, -0.002_646_631_3, -4.579_936_8e-4, -2.347_153_5e-4, -3.069_978_6e-4, 7.976_085e-4],
    [0.138_945_53, 0.078_300_565, 0.002_116_406_3, -0.057_592_314, -0.066_938_41, -0.039_733_008, -0.007_563_373_5, 0.009_979_472_5, 0.012_762_601, 0.008_780_647, 0.004_389_004_3, 0.001_726_184_5, 5.532_016e-4, 1.471_934_4e-4, 3.288_824_5e-5, 6.220_936_5e-6],
];

/// erf x within 2 ULP, or 3 without fused multiply-adds; 1 from 3.95 on.
#[inline(always)]
pub fn erf<S: Simd>(s: S, x: S::F) -> S::F {
    let t = s.abs_f(x);
    with_sign(s, if S::TABLES { in_pieces(s, t) } else { in_powers(s, t) }, x)
}

/// erf t by a polynomial for each of sixteen pieces; in the first one nothing is added to what is small.
#[inline(always)]
fn in_pieces<S: Simd>(s: S, t: S::F) -> S::F {
    let t = s.at_most_f(t, s.splat_f(END));
    let raised = s.mul_add_f(t, s.splat_f(1.0 / WIDTH), s.splat_f(RAISE));
    // The width has few bits, so what is left is exact.
    let h = s.mul_add_f(s.sub_f(raised, s.splat_f(RAISE)), s.splat_f(-WIDTH), t);
    let piece = s.bits_f(raised);
    let mut bend = s.lookup_f(&PIECES[5], piece);
    for degree in (2..5).rev() {
        bend = s.mul_add_f(bend, h, s.lookup_f(&PIECES[degree], piece));
    }
    let middle = s.mul_add_f(s.mul_f(h, h), bend, s.lookup_f(&PIECES[0], piece));
    s.mul_add_f(h, s.lookup_f(&PIECES[1], piece), middle)
}

/// erf t as `1 - 2^-q`: with `q` split into a whole number and a rest, nothing cancels near 0.
#[inline(always)]
fn in_powers<S: Simd>(s: S, t: S::F) -> S::F {
    let t = s.at_most_f(t, s.splat_f(END));
    let q = s.mul_add_f(t, s.splat_f(RATE), s.mul_f(s.mul_f(t, t), polynomial(s, t, BEND)));
    let raised = s.add_f(q, s.splat_f(RAISE));
    let f = s.sub_f(q, s.sub_f(raised, s.splat_f(RAISE)));
    let rise = s.mul_add_f(f, s.splat_f(RISE), s.mul_f(s.mul_f(f, f), polynomial(s, f, FALL)));
    let power = inverse_power_of_two(s, raised);
    s.mul_add_f(power, rise, s.sub_f(s.splat_f(1.0), power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    /// The Taylor series below 3, the continued fraction of the complement beyond (Abramowitz and Stegun 7.1.6, 7.1.14).
    fn reference(x: f64) -> f64 {
        let t = x.abs();
        let value = if t < 3.0 {
            let (mut term, mut sum, mut n) = (t, t, 0.0);
            while term > 1e-19 * sum {
                n += 1.0;
                term *= 2.0 * t * t / (2.0 * n + 1.0);
                sum += term;
            }
            2.0 / std::f64::consts::PI.sqrt() * (-t * t).exp() * sum
        } else if t < 7.0 {
            let fraction = (1..60).rev().fold(t, |below, n| t + 0.5 * f64::from(n) / below);
            1.0 - (-t * t).exp() / (std::f64::consts::PI.sqrt() * fraction)
        } else if t.is_nan() {
            t
        } else {
            1.0
        };
        value.copysign(x)
    }

    unary!(erf, reference);

    #[test]
    fn erf_is_within_its_bound() {
        check::everywhere_within::<Function>(ULP);
    }
}
