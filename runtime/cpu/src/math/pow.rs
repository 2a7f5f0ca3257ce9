//! xʸ.
//!
//! In: any two f32. Out: xʸ within [`ULP`], with C's special cases: 1 for y = 0 and for x = 1, NaN for negative x and
//! fractional y. Always: the logarithm is kept in two parts, because y multiplies its error.

use super::exp::with_rest;
use super::reduce::{LN2, by_power_of_two, error_of_product, error_of_sum};
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 3.0;

/// (2 artanh(q) - 2q) / q³ in q², minimax for the error relative to 2q on q² ≤ 0.0294: 2⁻³⁶·⁶.
const TAIL: [f32; 4] = [0.666_666_6, 0.400_003_34, 0.285_372_8, 0.235_827_61];

/// xʸ within 3 ULP, with the special cases of C.
#[inline(always)]
pub fn pow<S: Simd>(s: S, x: S::F, y: S::F) -> S::F {
    let (high, low) = log_parts(s, s.abs_f(x));
    let product = s.mul_f(y, high);
    let rest = s.mul_add_f(y, low, error_of_product(s, y, high, product));
    // Elsewhere the power is 0, 1 or infinite anyway, and the rest is large or not a number.
    let within = s.and_m(s.lt_f(s.abs_f(product), s.splat_f(200.0)), s.lt_f(s.abs_f(rest), s.splat_f(1.0)));
    let rest = s.select_f(within, rest, s.splat_f(0.0));
    special(s, x, y, with_rest(s, product, rest))
}

/// ln x in two parts, for `x` that is not negative.
#[inline(always)]
fn log_parts<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let one = s.splat_f(1.0);
    let (e, m) = by_power_of_two(s, x);
    let e = s.f_from_i(e);
    // ln m = 2 artanh q with q = (m - 1) / (m + 1), the quotient in two parts.
    let f = s.sub_f(m, one);
    let divisor = s.add_f(m, one);
    let divisor_low = s.sub_f(m, s.sub_f(divisor, one));
    let q = s.div_f(f, divisor);
    let product = s.mul_f(q, divisor);
    let left = s.sub_f(s.sub_f(f, product), error_of_product(s, q, divisor, product));
    let q_low = s.div_f(s.mul_add_f(s.neg_f(q), divisor_low, left), divisor);
    let square = s.mul_f(q, q);
    let tail = s.mul_f(s.mul_f(square, q), polynomial(s, square, TAIL));

    let whole = s.mul_f(e, s.splat_f(LN2[0]));
    let twice = s.add_f(q, q);
    let sum = s.add_f(whole, twice);
    let low = s.add_f(error_of_sum(s, whole, twice, sum), s.add_f(s.add_f(q_low, q_low), tail));
    let low = s.mul_add_f(e, s.splat_f(LN2[1]), low);
    let high = s.add_f(sum, low);
    let low = error_of_sum(s, sum, low, high);

    let zero = s.splat_f(0.0);
    let edge = s.or_m(s.eq_f(x, zero), s.eq_f(x, s.splat_f(f32::INFINITY)));
    let infinite = s.select_f(s.eq_f(x, zero), s.splat_f(f32::NEG_INFINITY), x);
    (s.select_f(edge, infinite, high), s.select_f(edge, zero, low))
}

/// `magnitude = |x|ʸ` with the sign it has, and with the cases where that is not the power.
#[inline(always)]
fn special<S: Simd>(s: S, x: S::F, y: S::F, magnitude: S::F) -> S::F {
    let one = s.splat_f(1.0);
    let infinity = s.splat_f(f32::INFINITY);
    let whole = s.eq_f(s.trunc_f(y), y);
    let half = s.mul_f(y, s.splat_f(0.5));
    let odd = s.and_m(whole, s.not_m(s.eq_f(s.trunc_f(half), half)));
    let sign = s.and_u(s.bits_f(x), s.splat_u(1 << 31));
    let signed = s.f_of_bits(s.xor_u(s.bits_f(magnitude), sign));
    let power = s.select_f(odd, signed, magnitude);

    let finite_negative = s.and_m(s.lt_f(x, s.splat_f(0.0)), s.lt_f(s.neg_f(infinity), x));
    let undefined = s.and_m(finite_negative, s.not_m(whole));
    let numbers = s.and_m(s.eq_f(x, x), s.eq_f(y, y));
    let power = s.select_f(s.and_m(numbers, s.not_m(undefined)), power, s.splat_f(f32::NAN));
    let minus_one = s.and_m(s.eq_f(x, s.neg_f(one)), s.eq_f(s.abs_f(y), infinity));
    let unit = s.or_m(s.or_m(s.eq_f(x, one), s.eq_f(y, s.splat_f(0.0))), minus_one);
    s.select_f(unit, one, power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check;
    use crate::{Full, Isa, Kernel, run};

    struct Pairs<'a>(&'a [f32], &'a [f32], &'a mut [f32]);

    impl Kernel for Pairs<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for at in (0..self.0.len()).step_by(S::LANES) {
                let y = pow(s, s.load_f(self.0, at, Full), s.load_f(self.1, at, Full));
                s.store_f(self.2, at, Full, y);
            }
        }
    }

    fn compare(x: &[f32], y: &[f32]) {
        #[cfg(feature = "deterministic")]
        {
            let powers = |isa| {
                let mut out = vec![0.0; x.len()];
                run(isa, Pairs(x, y, &mut out));
                out
            };
            crate::isa::assert_same_bits(powers, &"powers");
        }
        for isa in Isa::available() {
            let mut out = vec![0.0; x.len()];
            run(isa, Pairs(x, y, &mut out));
            for ((x, y), out) in x.iter().zip(y).zip(out) {
                let error = check::ulps(out, f64::from(*x).powf(f64::from(*y)));
                assert!(error <= ULP, "{isa:?}: pow({x:e}, {y:e}) = {out:e} is {error} ulp off");
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
            1e-40,
            -1e-40,
            1e38,
            -1e38,
            16_777_217.0,
            -7.5,
            1e10,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MIN_POSITIVE,
            f32::MAX,
            1.000_000_1,
            0.999_999_94,
        ];
        let mut x: Vec<f32> = values.iter().flat_map(|x| [*x; 24]).collect();
        let mut y = values.repeat(24);
        x.resize(x.len().next_multiple_of(16), 1.0);
        y.resize(y.len().next_multiple_of(16), 1.0);
        compare(&x, &y);
    }

    #[test]
    fn pow_is_within_its_bound() {
        let count = 1 << if cfg!(debug_assertions) { 16 } else { 22 };
        for (lowest, span) in [(-10.0, 20.0), (-0.01, 0.02), (-100.0, 200.0)] {
            let x: Vec<f32> = (0..count).map(|i: u32| f32::from_bits(i.wrapping_mul(2_654_435_769) >> 1)).collect();
            let y: Vec<f32> =
                (0..count).map(|i: u32| lowest + span * (i.wrapping_mul(40_503) % 65_536) as f32 / 65_536.0).collect();
            compare(&x, &y);
            let near: Vec<f32> = (0..count).map(|i: u32| 0.25 + (i % 8191) as f32 / 4096.0).collect();
            compare(&near, &y);
        }
    }
}
