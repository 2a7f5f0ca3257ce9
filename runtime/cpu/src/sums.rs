//! Long sums: blocks are added up plainly, and their sums with compensation.
//!
//! In: sums of blocks. Out: their sum. Always: the error of the sum of blocks is that of one addition, however many they are,
//! and a sum that overflows or holds an infinity is what plain addition makes of it.

use super::math::reduce::error_of_sum;
use super::{Simd, Words, scratch};
use core::cell::Cell;

/// A sum, and what its last addition lost, which the next one makes up for (Kahan, "Further remarks on reducing truncation
/// errors", 1965).
#[derive(Clone, Copy, Debug)]
pub struct LongSum<S: Simd> {
    total: S::F,
    lost: S::F,
}

impl<S: Simd> LongSum<S> {
    /// Zero in all lanes.
    #[inline(always)]
    pub fn zero(s: S) -> Self {
        LongSum { total: s.splat_f(0.0), lost: s.splat_f(0.0) }
    }

    /// A sum that goes on.
    #[inline(always)]
    pub fn resumed(total: S::F, lost: S::F) -> Self {
        LongSum { total, lost }
    }

    /// Adds the sum of a block.
    #[inline(always)]
    pub fn add(&mut self, s: S, block: S::F) {
        let addend = s.add_f(block, self.lost);
        let total = s.add_f(self.total, addend);
        let lost = error_of_sum(s, self.total, addend, total);
        // What is lost beside an infinity is no number.
        self.lost = s.select_f(s.eq_f(lost, lost), lost, s.splat_f(0.0));
        self.total = total;
    }

    /// The sum, rounded.
    #[inline(always)]
    pub fn rounded(self) -> S::F {
        self.total
    }

    /// What the last addition lost.
    #[inline(always)]
    pub fn lost(self) -> S::F {
        self.lost
    }
}

thread_local! {
    static LOST: Cell<Words> = Cell::default();
}

/// What additions to words of a tensor lose, word by word: zeros, which whoever takes them leaves behind. A thread keeps them,
/// so that a loop over the same work neither allocates nor clears.
#[derive(Debug)]
pub struct Lost(Words);

impl Lost {
    /// As many zeros or more. `None` if memory has run out.
    pub fn take(words: usize) -> Option<Lost> {
        let kept = scratch::take(&LOST);
        match kept.as_slice().len() >= words {
            true => Some(Lost(kept)),
            false => Words::zeroed(words).ok().map(Lost),
        }
    }

    /// The words.
    #[inline(always)]
    pub fn words(&mut self) -> &mut [f32] {
        self.0.as_mut_slice()
    }

    /// Keeps the words, which are zeros again, for whoever comes next.
    pub fn give_back(self) {
        scratch::put(&LOST, self.0);
    }
}

/// Long sums in memory: `total`, and in equally many words `lost`.
#[derive(Clone, Copy)]
pub(crate) struct LongSums {
    pub(crate) total: *mut f32,
    pub(crate) lost: *mut f32,
}

impl LongSums {
    /// The sums from `words` words further on.
    pub(crate) fn at(self, words: usize) -> LongSums {
        LongSums { total: self.total.wrapping_add(words), lost: self.lost.wrapping_add(words) }
    }

    /// Adds the sums of a block to as many.
    ///
    /// # Safety
    /// `total` and `lost` must be valid for reading and writing `count` words, and `block` for reading as many; `count`
    /// must be a multiple of `LANES`.
    #[inline(always)]
    pub(crate) unsafe fn add<S: Simd>(self, s: S, block: *const f32, count: usize) {
        for at in (0..count).step_by(S::LANES) {
            let LongSums { total, lost } = self.at(at);
            // SAFETY: by contract both sums and the block have `count` words, a multiple of `LANES`, so `LANES` of them
            // are left from each `at` on.
            unsafe {
                let mut sum = LongSum { total: s.load_raw_f(total), lost: s.load_raw_f(lost) };
                sum.add(s, s.load_raw_f(block.wrapping_add(at)));
                s.store_raw_f(total, sum.total);
                s.store_raw_f(lost, sum.lost);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, Kernel, run};

    struct Sum<'a>(&'a [f32], &'a mut f32);

    impl Kernel for Sum<'_> {
        fn run<S: Simd>(self, s: S) {
            let mut sum = LongSum::zero(s);
            self.0.iter().for_each(|x| sum.add(s, s.splat_f(*x)));
            *self.1 = s.reduce_max_f(sum.rounded());
        }
    }

    fn sum(isa: Isa, of: &[f32]) -> f32 {
        let mut found = 0.0;
        run(isa, Sum(of, &mut found));
        found
    }

    #[test]
    fn the_error_does_not_grow_with_the_count() {
        for isa in Isa::available() {
            for count in [1, 1000, 3_000_000] {
                let relative = f64::from(sum(isa, &vec![0.1; count])) / (f64::from(0.1f32) * count as f64) - 1.0;
                assert!(relative.abs() < 1.2e-7, "{isa:?}: {count} blocks: {relative:e}");
            }
        }
    }

    #[test]
    fn infinities_and_overflow_stay() {
        for isa in Isa::available() {
            assert_eq!(sum(isa, &[1.0, f32::INFINITY, 2.0]), f32::INFINITY);
            assert_eq!(sum(isa, &[f32::MAX, f32::MAX, 1.0]), f32::INFINITY);
            assert_eq!(sum(isa, &[f32::NEG_INFINITY, -1.0]), f32::NEG_INFINITY);
            assert!(sum(isa, &[f32::INFINITY, f32::NEG_INFINITY]).is_nan());
            assert!(sum(isa, &[1.0, f32::NAN, 1.0]).is_nan());
        }
    }
}
