//! The remainder of a division.

use super::{Simd, with_sign};

/// Quotients up to which an f64 tells a whole number from its neighbours.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// `a − b · trunc(a / b)` without an error, with the sign of `a`, as C's `fmod` and Rust's `%`; NaN where `a` is infinite or
/// `b` is 0.
///
/// The rounded quotient is the whole one or, just below a multiple of `b`, one more; the fused remainder of either is an f64,
/// and tells which it was. Longer quotients are divided one by one.
#[inline(always)]
pub fn rem<S: Simd>(s: S, a: S::D, b: S::D) -> S::D {
    if !S::FUSED {
        return s.lanes2_d(a, b, |a, b| a % b);
    }
    let (x, y, zero) = (s.abs_d(a), s.abs_d(b), s.splat_d(0.0));
    let whole = s.floor_d(s.div_d(x, y));
    let rest = s.mul_add_d(s.neg_d(whole), y, x);
    let rest = s.select_d(s.lt_d(rest, zero), s.add_d(rest, y), rest);
    // Also where 0 · ∞ is NaN.
    let rest = s.select_d(s.eq_d(whole, zero), x, rest);
    let is_short = s.lt_d(whole, s.splat_d(WHOLE));
    let rest = match s.all_m(is_short) {
        true => rest,
        false => s.select_d(is_short, rest, s.lanes2_d(x, y, |x, y| x % y)),
    };
    with_sign(s, rest, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Full, Isa, Kernel, run};

    struct Rems<'a>(&'a [[f64; 64]; 2], &'a mut [f64; 64]);

    impl Kernel for Rems<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for at in (0..64).step_by(S::LANES) {
                let [a, b] = [0, 1].map(|k| s.load_d(&self.0[k], at, Full));
                s.store_d(self.1, at, Full, rem(s, a, b));
            }
        }
    }

    #[test]
    fn remainders_are_exact() {
        let special = [0.0, 1.0, 1.5, 0.1, 5.5, 5e-324, 2.3e-308, WHOLE, 1e300, f64::MAX, f64::INFINITY, f64::NAN];
        let mut state = 88_172_645_463_325_252_u64;
        let mut word = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for isa in Isa::available() {
            for round in 0..10_000 {
                let mut operands = [[0.0f64; 64]; 2];
                let [dividends, divisors] = &mut operands;
                for (dividend, divisor) in dividends.iter_mut().zip(divisors) {
                    let sign = |x: f64, word: u64| if word >> 20 & 1 == 1 { -x } else { x };
                    let b = match round % 3 {
                        0 => special[word() as usize % special.len()],
                        1 => f64::from_bits(word()),
                        _ => (word() % 4096) as f64 / 1024.0 + 1e-3,
                    };
                    // Just below, at and just above a multiple, and anything.
                    let a = match word() % 5 {
                        0 => special[word() as usize % special.len()],
                        1 => f64::from_bits(word()),
                        2 => b * (word() % 100_000) as f64,
                        3 => b * (word() >> 12) as f64,
                        _ => f64::from_bits((b * (word() % 100_000) as f64).to_bits().wrapping_sub(1)),
                    };
                    (*dividend, *divisor) = (sign(a, word()), sign(b, word()));
                }
                let mut found = [0.0; 64];
                run(isa, Rems(&operands, &mut found));
                for at in 0..64 {
                    let (a, b) = (operands[0][at], operands[1][at]);
                    let same = found[at].to_bits() == (a % b).to_bits() || found[at].is_nan() && (a % b).is_nan();
                    assert!(same, "{isa:?}: {a:e} % {b:e} is {:e}, not {:e}", found[at], a % b);
                }
            }
        }
    }
}
