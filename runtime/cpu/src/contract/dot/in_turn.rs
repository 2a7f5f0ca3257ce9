//! Sums of held rows with the columns of a stored operand, one column after the other.
//!
//! In: rows that are contiguous along K. Out: their sums. Always: a stored operand is read as one
//! stream, which hardware prefetchers follow from page to page: so a core of Zen 5 reads nineteen twentieths of what it reads
//! without doing anything, and two thirds with eight columns at a time.

use core::ops::Range;

use super::tile::{CHAIN, TILE, WIDTH};
use crate::Simd;
use crate::contract::encoding::Stream;
use crate::machine::machine;
use crate::sums::LongSum;

/// Vectors of sums of a column with a row: additions to one wait for each other.
const PARTS: usize = 4;
/// Bytes of a cache line, and how many of the stream are asked for before they are needed: a page of the smallest size.
const LINE: usize = 64;
const AHEAD: usize = 4096;

/// Sums of all rows with each column of `stream`; those of columns that it has not are zeros.
///
/// # Safety
/// Each of the rows must be valid for reading `k` elements, and `to` for writing [`WIDTH`] words every [`TILE`] words for each of
/// `ROWS` rows.
#[inline(always)]
pub(super) unsafe fn in_turn<S: Simd, W: Stream, const ROWS: usize>(
    s: S,
    held: &[*const f32; ROWS],
    stream: &[*const W::Bits],
    k: usize,
    to: *mut f32,
) {
    let mut all = [[s.splat_f(0.0); WIDTH]; ROWS];
    let mut long = [[LongSum::zero(s); WIDTH]; ROWS];
    let block = CHAIN * PARTS * S::LANES;
    // All columns meet a part of the held rows while it is in the first-level cache.
    let part = (machine().l1 / 2).next_multiple_of(block);
    for first in (0..k).step_by(part) {
        for (c, column) in stream.iter().enumerate().take(WIDTH) {
            for start in (first..k.min(first + part)).step_by(block) {
                // SAFETY: the rows have `k` elements by this function's contract, and the range ends there or before.
                let sums = unsafe { products::<S, W, ROWS>(s, held, *column, start..k.min(start + block)) };
                for r in 0..ROWS {
                    if k <= block {
                        all[r][c] = sums[r];
                    } else {
                        long[r][c].add(s, sums[r]);
                        all[r][c] = long[r][c].rounded();
                    }
                }
            }
        }
    }
    for (r, sums) in all.iter().enumerate() {
        // SAFETY: `to` has `WIDTH` words every `TILE` words for each row, by this function's contract.
        unsafe { s.add_up_raw_f(*sums, to.wrapping_add(r * TILE)) }
    }
}

/// The sums of products of a range of K, in lanes.
///
/// # Safety
/// Each of the rows must be valid for reading as many elements as the range ends with.
#[inline(always)]
unsafe fn products<S: Simd, W: Stream, const ROWS: usize>(
    s: S,
    held: &[*const f32; ROWS],
    column: *const W::Bits,
    range: Range<usize>,
) -> [S::F; ROWS] {
    let mut sums = [[s.splat_f(0.0); ROWS]; PARTS];
    let mut k = range.start;
    while k + PARTS * S::LANES <= range.end {
        for (part, sums) in sums.iter_mut().enumerate() {
            let at = k + part * S::LANES;
            if (part * S::LANES * size_of::<W::Bits>()).is_multiple_of(LINE) {
                s.prefetch(column.wrapping_byte_add(at * size_of::<W::Bits>() + AHEAD).cast());
            }
            // SAFETY: by this function's contract the rows have `range.end` elements, and this vector ends before that.
            unsafe {
                let right = W::load(s, column.wrapping_add(at));
                for r in 0..ROWS {
                    sums[r] = s.mul_add_f(s.load_raw_f(held[r].wrapping_add(at)), right, sums[r]);
                }
            }
        }
        k += PARTS * S::LANES;
    }
    for (part, sums) in sums.iter_mut().enumerate() {
        let rest = range.end.saturating_sub(k + part * S::LANES).min(S::LANES);
        if rest == 0 {
            break;
        }
        let (at, mask) = (k + part * S::LANES, s.mask_first(rest));
        // SAFETY: by this function's contract the rows have `range.end` elements, where the mask ends.
        unsafe {
            let right = if rest == S::LANES {
                W::load(s, column.wrapping_add(at))
            } else {
                W::load_first(s, column.wrapping_add(at), rest)
            };
            for r in 0..ROWS {
                let left = s.load_masked_raw_f(held[r].wrapping_add(at), mask);
                sums[r] = s.mul_add_f(left, right, sums[r]);
            }
        }
    }
    let mut all = [s.splat_f(0.0); ROWS];
    for r in 0..ROWS {
        all[r] = s.add_f(s.add_f(sums[0][r], sums[1][r]), s.add_f(sums[2][r], sums[3][r]));
    }
    all
}
