//! xʸ.
//!
//! In: any two f64. Out: xʸ within [`ULP`], with C's special cases: 1 for y = 0 and for x = 1, NaN for negative x and
//! fractional y. Always: the logarithm is kept in two parts, because y multiplies its error.

use super::exp::with_rest;
use super::reduce::{LN2, by_power_of_two, error_of_product, error_of_sum};
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// 2/3 in two parts.
const TWO_THIRDS: [f64; 2] = [0.666_666_666_666_666_6, 3.700_743_415_417_188e-17];
/// (2 artanh(q) - 2q - ⅔q³) / q⁵ in q², minimax for the error relative to 2q on q² ≤ 0.0294: 2⁻⁷³·⁵.
const TAIL: [f64; 8] = [
    0.399_999_999_999_999_8,
    0.285_714_285_714_450_7,
    0.222_222_222_175_449_87,
    0.181_818_188_694_424_62,
    0.153_845_569_205_300_76,
    0.133_363_158_302_323_54,
    0.116_748_454_893_838_03,
    0.119_888_243_470_318_79,
];

/// xʸ within 1.5 ULP, with the special cases of C.
#[inline(always)]
pub fn pow<S: Simd>(s: S, x: S::D, y: S::D) -> S::D {
    let (high, low) = log_parts(s, s.abs_d(x));
    let product = s.mul_d(y, high);
    let rest = s.mul_add_d(y, low, error_of_product(s, y, high, product));
    // Elsewhere the power is 0, 1 or infinite anyway, and the rest is large or not a number.
    let within = s.and_m(s.lt_d(s.abs_d(product), s.splat_d(2000.0)), s.lt_d(s.abs_d(rest), s.splat_d(1.0)));
    let rest = s.select_d(within, rest, s.splat_d(0.0));
    special(s, x, y, with_rest(s, product, rest))
}

/// ln x in two parts, for `x` that is not negative.
#[inline(always)]
fn log_parts<S: Simd>(s: S, x: S::D) -> (S::D, S::D) {
    let one = s.splat_d(1.0);
    let (e, m) = by_power_of_two(s, x);
    // ln m = 2 artanh q with q = (m - 1) / (m + 1), the quotient in two parts.
    let f = s.sub_d(m, one);
    let divisor = s.add_d(m, one);
    let divisor_low = s.sub_d(m, s.sub_d(divisor, one));
    let q = s.div_d(f, divisor);
    let product = s.mul_d(q, divisor);
    let left = s.sub_d(s.sub_d(f, product), error_of_product(s, q, divisor, product));
    let q_low = s.div_d(s.mul_add_d(s.neg_d(q), divisor_low, left), divisor);
    let (cube, cube_low) = beyond_twice(s, q, q_low);

    let whole = s.mul_d(e, s.splat_d(LN2[0]));
    let twice = s.add_d(q, q);
    let first = s.add_d(whole, twice);
    let sum = s.add_d(first, cube);
    let low = s.add_d(error_of_sum(s, whole, twice, first), error_of_sum(s, first, cube, sum));
    let low = s.add_d(low, s.add_d(s.add_d(q_low, q_low), cube_low));
    let low = s.mul_add_d(e, s.splat_d(LN2[1]), low);
    let high = s.add_d(sum, low);
    let low = error_of_sum(s, sum, low, high);

    let zero = s.splat_d(0.0);
    let edge = s.or_m(s.eq_d(x, zero), s.eq_d(x, s.splat_d(f64::INFINITY)));
    let infinite = s.select_d(s.eq_d(x, zero), s.splat_d(f64::NEG_INFINITY), x);
    (s.select_d(edge, infinite, high), s.select_d(edge, zero, low))
}

/// `2 artanh q - 2q` in two parts, for `q` in two parts: `q(⅔q² + q⁴·TAIL)`, of which `⅔q²` is exact to 2⁻¹⁰⁰.
#[inline(always)]
fn beyond_twice<S: Simd>(s: S, q: S::D, q_low: S::D) -> (S::D, S::D) {
    let [third, third_low] = TWO_THIRDS.map(|part| s.splat_d(part));
    let square = s.mul_d(q, q);
    let square_low = s.mul_add_d(s.add_d(q, q), q_low, error_of_product(s, q, q, square));
    let main = s.mul_d(square, third);
    let main_low = s.mul_add_d(square_low, third, error_of_product(s, square, third, main));
    let main_low = s.mul_add_d(square, third_low, main_low);
    let tail = s.mul_d(s.mul_d(square, square), polynomial(s, square, TAIL));
    let slope = s.add_d(main, tail);
    let slope_low = s.add_d(error_of_sum(s, main, tail, slope), main_low);
    let high = s.mul_d(q, slope);
    let low = s.mul_add_d(q, slope_low, error_of_product(s, q, slope, high));
    (high, s.mul_add_d(q_low, slope, low))
}

/// `magnitude = |x|ʸ` with the sign it has, and with the cases where that is not the power.
#[inline(always)]
fn special<S: Simd>(s: S, x: S::D, y: S::D, magnitude: S::D) -> S::D {
    let one = s.splat_d(1.0);
    let infinity = s.splat_d(f64::INFINITY);
    let whole = s.eq_d(s.trunc_d(y), y);
    let half = s.mul_d(y, s.splat_d(0.5));
    let odd = s.and_m(whole, s.not_m(s.eq_d(s.trunc_d(half), half)));
    let sign = s.and_q(s.bits_d(x), s.splat_q(1 << 63));
    let signed = s.d_of_bits(s.xor_q(s.bits_d(magnitude), sign));
    let power = s.select_d(odd, signed, magnitude);

    let finite_negative = s.and_m(s.lt_d(x, s.splat_d(0.0)), s.lt_d(s.neg_d(infinity), x));
    let undefined = s.and_m(finite_negative, s.not_m(whole));
    let numbers = s.and_m(s.eq_d(x, x), s.eq_d(y, y));
    let power = s.select_d(s.and_m(numbers, s.not_m(undefined)), power, s.splat_d(f64::NAN));
    let minus_one = s.and_m(s.eq_d(x, s.neg_d(one)), s.eq_d(s.abs_d(y), infinity));
    let unit = s.or_m(s.or_m(s.eq_d(x, one), s.eq_d(y, s.splat_d(0.0))), minus_one);
    s.select_d(unit, one, power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check;
    use crate::{Full, Isa, Kernel, run};

    struct Pairs<'a>(&'a [f64], &'a [f64], &'a mut [f64]);

    impl Kernel for Pairs<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for at in (0..self.0.len()).step_by(S::LANES) {
                let y = pow(s, s.load_d(self.0, at, Full), s.load_d(self.1, at, Full));
                s.store_d(self.2, at, Full, y);
            }
        }
    }

    fn compare(x: &[f64], y: &[f64]) {
        #[cfg(feature = "deterministic")]
        {
            let powers = |isa| {
                let mut out = vec![0.0; x.len()];
                run(isa, Pairs(x, y, &mut out));
                check::halves(&out)
            };
            crate::isa::assert_same_bits(powers, &"powers");
        }
        for isa in Isa::available() {
            let mut out = vec![0.0; x.len()];
            run(isa, Pairs(x, y, &mut out));
            for ((x, y), out) in x.iter().zip(y).zip(out) {
                let error = check::ulps(out, x.powf(*y));
                assert!(error <= ULP + 0.5, "{isa:?}: pow({x:e}, {y:e}) = {out:e} is {error} ulp off");
            }
        }
    }

    #[test]
    fn pow_has_its_special_cases() {
        let values = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            -2.0,
            3.0,
            -3.0,
            0.5,
            -0.5,
            1e-310,
            -1e-310,
            1e300,
            -1e300,
            9_007_199_254_740_993.0,
            -7.5,
            1e10,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::MIN_POSITIVE,
            f64::MAX,
            1.000_000_000_000_000_2,
            0.999_999_999_999_999_9,
        ];
        let mut x: Vec<f64> = values.iter().flat_map(|x| [*x; 24]).collect();
        let mut y = values.repeat(24);
        x.resize(x.len().next_multiple_of(16), 1.0);
        y.resize(y.len().next_multiple_of(16), 1.0);
        compare(&x, &y);
    }

    #[test]
    fn pow_is_within_its_bound() {
        let count = 1 << if cfg!(debug_assertions) { 16 } else { 20 };
        for (lowest, span) in [(-10.0, 20.0), (-0.01, 0.02), (-100.0, 200.0), (-1e5, 2e5)] {
            let x: Vec<f64> =
                (0..count).map(|i: u64| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1)).collect();
            let fraction = |i: u64, by: u64| (i.wrapping_mul(by) >> 11) as f64 / 9_007_199_254_740_992.0;
            let y: Vec<f64> = (0..count).map(|i| lowest + span * fraction(i, 0xd1b5_4a32_d192_ed03)).collect();
            compare(&x, &y);
            let near: Vec<f64> = (0..count).map(|i| 0.25 + 2.0 * fraction(i, 0x9e37_79b9_7f4a_7c15)).collect();
            compare(&near, &y);
            let nearer: Vec<f64> = (0..count).map(|i| 0.99 + 0.02 * fraction(i, 0x9e37_79b9_7f4a_7c15)).collect();
            compare(&nearer, &y);
        }
    }
}
