//! The remainder of a division.

use super::{Simd, with_sign};

/// Quotients up to which a float tells a whole number from its neighbours.
const WHOLE: f32 = 16_777_216.0;

/// `a − b · trunc(a / b)` without an error, with the sign of `a`, as C's `fmod` and Rust's `%`; NaN where `a` is infinite or
/// `b` is 0.
///
/// The rounded quotient is the whole one or, just below a multiple of `b`, one more; the fused remainder of either is a float,
/// and tells which it was. Longer quotients are divided one by one.
#[inline(always)]
pub fn rem<S: Simd>(s: S, a: S::F, b: S::F) -> S::F {
    if !S::FUSED {
        return s.lanes2_f(a, b, |a, b| a % b);
    }
    let (x, y, zero) = (s.abs_f(a), s.abs_f(b), s.splat_f(0.0));
    let whole = s.floor_f(s.div_f(x, y));
    let rest = s.mul_add_f(s.neg_f(whole), y, x);
    let rest = s.select_f(s.lt_f(rest, zero), s.add_f(rest, y), rest);
    // Also where 0 · ∞ is NaN.
    let rest = s.select_f(s.eq_f(whole, zero), x, rest);
    let is_short = s.lt_f(whole, s.splat_f(WHOLE));
    let rest = match s.all_m(is_short) {
        true => rest,
        false => s.select_f(is_short, rest, s.lanes2_f(x, y, |x, y| x % y)),
    };
    with_sign(s, rest, a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Full, Isa, Kernel, run};

    struct Rems<'a>(&'a [[f32; 64]; 2], &'a mut [f32; 64]);

    impl Kernel for Rems<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for at in (0..64).step_by(S::LANES) {
                let [a, b] = [0, 1].map(|k| s.load_f(&self.0[k], at, Full));
                s.store_f(self.1, at, Full, rem(s, a, b));
            }
        }
    }

    #[test]
    fn remainders_are_exact() {
        let special =
            [0.0, 1.0, 1.5, 0.1, 5.5, 1e-45, 1.1754944e-38, 16777216.0, 1e30, f32::MAX, f32::INFINITY, f32::NAN];
        let mut state = 88_172_645_463_325_252_u64;
        let mut word = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 20) as u32
        };
        for isa in Isa::available() {
            for round in 0..20_000 {
                let mut operands = [[0.0f32; 64]; 2];
                let [dividends, divisors] = &mut operands;
                for (dividend, divisor) in dividends.iter_mut().zip(divisors) {
                    let sign = |x: f32, word: u32| if word & 1 == 1 { -x } else { x };
                    let b = match round % 3 {
                        0 => special[word() as usize % special.len()],
                        1 => f32::from_bits(word()),
                        _ => (word() % 4096) as f32 / 1024.0 + 1e-3,
                    };
                    // Just below, at and just above a multiple, and anything.
                    let a = match word() % 4 {
                        0 => special[word() as usize % special.len()],
                        1 => f32::from_bits(word()),
                        2 => b * (word() % 100_000) as f32,
                        _ => f32::from_bits((b * (word() % 100_000) as f32).to_bits().wrapping_sub(1)),
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
