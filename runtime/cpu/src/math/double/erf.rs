//! The error function.
//!
//! In: any f64. Out: erf x within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::{Simd, exp, polynomial, with_sign};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.0;

/// From 5.93 on the nearest f64 is 1.
const END: f64 = 5.95;
/// erf(t) / t - 1 in t², minimax for the relative error of erf on 0 ≤ t ≤ 1: 2⁻⁶²·⁷.
const NEAR: [f64; 13] = [
    0.128_379_167_095_512_6,
    -0.376_126_389_031_837_5,
    0.112_837_916_709_548_58,
    -0.026_866_170_645_072_96,
    0.005_223_977_624_781_37,
    -0.000_854_832_697_876_514_9,
    0.000_120_553_310_375_511_08,
    -1.492_559_351_872_822_6e-05,
    1.646_097_295_415_375_7e-06,
    -1.635_002_619_207_719_3e-07,
    1.465_788_353_091_917_3e-08,
    -1.136_567_067_182_542_3e-09,
    5.945_255_584_220_722e-11,
];
/// -ln(1 - erf(t)) in t - 2, minimax for the relative error of erf on 1 ≤ t ≤ 5.95: 2⁻⁶²·³.
const BEYOND: [f64; 20] = [
    5.364_941_264_616_638,
    4.418_160_805_994_415,
    0.923_750_841_823_777_8,
    0.016_465_118_136_904_537,
    -0.003_570_756_345_535_730_7,
    0.000_732_399_386_059_926_4,
    -0.000_135_309_338_984_531_6,
    2.070_642_810_174_045_7e-05,
    -1.952_181_218_724_654_4e-06,
    -2.036_267_244_248_071_7e-07,
    1.731_852_050_809_076e-07,
    -5.782_246_443_681_104e-08,
    1.396_974_254_365_714_4e-08,
    -2.518_467_234_465_548_8e-09,
    2.615_705_227_336_606e-10,
    3.482_602_912_079_147e-11,
    -3.185_996_939_507_408_3e-11,
    1.110_672_859_179_155e-11,
    -2.150_204_604_753_973_5e-12,
    1.783_959_082_242_938_9e-13,
];

/// erf x within 2 ULP; 1 from 5.93 on.
#[inline(always)]
pub fn erf<S: Simd>(s: S, x: S::D) -> S::D {
    let one = s.splat_d(1.0);
    let t = s.at_most_d(s.abs_d(x), s.splat_d(END));
    let near = s.mul_add_d(t, polynomial(s, s.mul_d(t, t), NEAR), t);
    let decay = polynomial(s, s.sub_d(t, s.splat_d(2.0)), BEYOND);
    let beyond = s.sub_d(one, exp(s, s.neg_d(decay)));
    with_sign(s, s.select_d(s.lt_d(t, one), near, beyond), x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};
    use core::f64::consts::FRAC_2_SQRT_PI;

    /// A sum of two numbers, of which the second is what the first one lost.
    #[derive(Clone, Copy)]
    struct Pair(f64, f64);

    impl Pair {
        fn plus(self, other: Pair) -> Pair {
            let sum = self.0 + other.0;
            let seen = sum - self.0;
            let lost = (self.0 - (sum - seen)) + (other.0 - seen) + self.1 + other.1;
            Pair(sum + lost, lost - ((sum + lost) - sum))
        }
        fn times(self, other: Pair) -> Pair {
            let product = self.0 * other.0;
            let lost = self.0.mul_add(other.0, -product) + self.0 * other.1 + self.1 * other.0;
            Pair(product + lost, lost - ((product + lost) - product))
        }
        fn over(self, n: f64) -> Pair {
            let quotient = self.0 / n;
            let left = (-quotient).mul_add(n, self.0) + self.1;
            Pair(quotient, 0.0).plus(Pair(left / n, 0.0))
        }
    }

    /// The Maclaurin series in twice the precision, whose terms are below 2⁵¹ (Abramowitz and Stegun 7.1.5).
    fn reference(x: f64) -> f64 {
        let t = x.abs();
        if t < 1e-150 {
            return x * FRAC_2_SQRT_PI;
        }
        if t.is_nan() || t > 5.95 {
            return if t.is_nan() { t } else { 1f64.copysign(x) };
        }
        let square = Pair(t, 0.0).times(Pair(-t, 0.0));
        let (mut power, mut sum, mut n) = (Pair(t, 0.0), Pair(t, 0.0), 0.0);
        while power.0.abs() > 1e-36 * t.min(1.0) {
            n += 1.0;
            power = power.times(square).over(n);
            sum = sum.plus(power.over(2.0 * n + 1.0));
        }
        sum.times(Pair(FRAC_2_SQRT_PI, 1.533_545_961_316_582_5e-17)).0.copysign(x)
    }

    unary!(erf, reference);

    #[test]
    fn erf_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-6.0, 6.0), (0.9, 1.1)]);
    }
}
