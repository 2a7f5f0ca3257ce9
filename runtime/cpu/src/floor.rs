//! Division of positions rounded down, also below zero.
//!
//! In: positions, and a positive divisor for each lane. Out: quotients and remainders. Always: `0 ≤ remainder < divisor` and
//! `position = quotient · divisor + remainder`, as `i32::div_euclid` and `i32::rem_euclid` have it.

use super::Simd;

/// `⌊a / b⌋`
#[inline(always)]
pub fn floor_div<S: Simd>(s: S, a: S::I, b: S::I) -> S::I {
    let below = s.lt_i(s.rem_i(a, b), s.splat_i(0));
    let quotient = s.div_i(a, b);
    s.select_i(below, s.sub_i(quotient, s.splat_i(1)), quotient)
}

/// `a − b · ⌊a / b⌋`
#[inline(always)]
pub fn floor_rem<S: Simd>(s: S, a: S::I, b: S::I) -> S::I {
    let rest = s.rem_i(a, b);
    s.select_i(s.lt_i(rest, s.splat_i(0)), s.add_i(rest, b), rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Full, Isa, Kernel, run};

    struct Both<'a>(&'a [i32], i32, &'a mut Vec<(i32, i32)>);

    impl Kernel for Both<'_> {
        fn run<S: Simd>(self, s: S) {
            let Both(positions, by, found) = self;
            for chunk in positions.chunks_exact(S::LANES) {
                let (a, b) = (s.load_i(chunk, 0, Full), s.splat_i(by));
                let mut both = [vec![0; S::LANES], vec![0; S::LANES]];
                s.store_i(&mut both[0], 0, Full, floor_div(s, a, b));
                s.store_i(&mut both[1], 0, Full, floor_rem(s, a, b));
                let [quotients, rests] = both;
                found.extend(quotients.into_iter().zip(rests));
            }
        }
    }

    #[test]
    fn quotients_are_rounded_down() {
        let mut positions: Vec<i32> = (-60..60).collect();
        positions.extend([i32::MIN + 1, -(1 << 30), 1 << 30, i32::MAX, -7, -1, 0, 1]);
        for isa in Isa::available() {
            for by in [1, 2, 3, 7, 16, 1000, i32::MAX] {
                let mut found = vec![];
                run(isa, Both(&positions, by, &mut found));
                let expected: Vec<_> = positions.iter().map(|a| (a.div_euclid(by), a.rem_euclid(by))).collect();
                assert_eq!(found, expected[..found.len()], "{isa:?} by {by}");
                assert!(found.len() > 100);
            }
        }
    }
}
