//! Sums of held rows with rows of the stream.
//!
//! In: rows that are contiguous along K. Out: their sums, handed on. Always: elements of the stream are widened as they are read,
//! so each is read from memory once for as many held rows as registers have room for, and from the second-level cache for others.

use core::ops::Range;

use super::FEW_LEFT;
use super::few;
#[cfg(feature = "stored")]
use super::in_turn::in_turn;
use crate::contract::encoding::Stream;
use crate::contract::finish::{Goal, Sums};
use crate::isa::Set;
use crate::machine::machine;
use crate::sums::LongSum;
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, pool, run};

/// Columns of a register tile.
pub(super) const WIDTH: usize = 8;
/// Most rows of a register tile.
pub(super) const MOST_ROWS: usize = 3;
/// Words of a row of a transposed tile, which are a power of two and at least as many as rows.
const PITCH: usize = 4;
/// Columns of a tile that is handed on.
pub(super) const TILE: usize = 256;
/// Columns that threads do not share: whole groups of kept ones.
pub(super) const PART: usize = few::VECTORS * MAX_LANES;
/// Vectors along K that are added up in one; the sums of so many are added with compensation, so that the error does not grow
/// with K.
pub(super) const CHAIN: usize = 64;

/// As many rows at a time as leave registers for the sums, of a set whose register tile of other products has `others`.
#[inline(always)]
pub(super) fn rows(others: usize) -> usize {
    if others > 6 { MOST_ROWS } else { 1 }
}

/// A matrix whose rows are contiguous: its start, how many rows, and elements from row to row.
pub(super) type Rows<T> = (*const T, usize, isize);

/// A product of held rows of f32 with rows that stream past, of elements that `W` reads.
pub(super) struct Dot<'a, W: Stream> {
    pub(super) held: Rows<f32>,
    pub(super) stream: Rows<W::Bits>,
    pub(super) k: usize,
    /// Whether the columns of a tile here are rows of the result.
    pub(super) transposed: bool,
    /// The stream in the form of [`few`], or null.
    pub(super) columns: *const f32,
    pub(super) goal: Goal<'a>,
}

// SAFETY: the operands are only read, and the outputs are written at disjoint columns, in parallel only if they are apart.
unsafe impl<W: Stream> Sync for Dot<'_, W> {}

impl<W: Stream> Dot<'_, W> {
    /// Sums all rows on at most `threads` threads.
    ///
    /// # Safety
    /// The held rows and those of the stream must be valid for reading `k` elements, the outputs for writing all sums, and
    /// columns must be null or the kept form of the stream, past which at most [`FEW_LEFT`] rows may be held.
    /// If there are several threads, no two sums may meet in one word of an output.
    #[inline(always)]
    pub(super) unsafe fn run(&self, isa: Set, threads: usize) {
        if threads > 1 {
            pool::parallel(threads, self.stream.1.div_ceil(PART), &Blocks { isa, work: self });
        } else {
            run(isa, Columns { work: self, from: 0, to: self.stream.1 });
        }
    }

    /// Columns of a tile: all held rows meet them while the second-level cache has the rows of the stream.
    fn tile(&self) -> usize {
        if W::KEEPS && !self.columns.is_null() || self.held.1 == 1 {
            return TILE;
        }
        let row = self.k.max(1).saturating_mul(size_of::<W::Bits>());
        (machine().l2 / row / WIDTH * WIDTH).clamp(WIDTH, TILE)
    }
}

struct Blocks<'a, W: Stream> {
    isa: Set,
    work: &'a Dot<'a, W>,
}

impl<W: Stream> pool::Task for Blocks<'_, W> {
    fn work(&self, blocks: Range<usize>) {
        let to = self.work.stream.1.min(blocks.end * PART);
        run(self.isa, Columns { work: self.work, from: blocks.start * PART, to });
    }
}

/// Some rows of the stream.
struct Columns<'a, W: Stream> {
    work: &'a Dot<'a, W>,
    from: usize,
    to: usize,
}

impl<W: Stream> Kernel for Columns<'_, W> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Columns { work, from, to } = self;
        let (mut at, tile) = (from, work.tile());
        while at < to {
            let cols = tile.min(to - at);
            // SAFETY: by the contract of `Dot::run`, which alone makes this, the rows of both operands and all outputs lie
            // within their slices, and columns that are not null are the kept form of the stream; `from..to` are rows of it,
            // and `from` starts a part.
            unsafe {
                match W::KEEPS && !work.columns.is_null() {
                    true => kept(s, work, at, cols),
                    false => passed(s, work, at, cols),
                }
            }
            at += cols;
        }
    }
}

/// Sums all rows with `cols` columns that stream past, and hands them on.
///
/// # Safety
/// The rows of `work.held` and `work.stream` must be valid for reading `work.k` words, and the outputs for writing all
/// sums; `at..at + cols` must be rows of the stream, at most [`TILE`].
#[inline(always)]
unsafe fn passed<S: Simd, W: Stream>(s: S, work: &Dot<'_, W>, at: usize, cols: usize) {
    let most = rows(S::ROWS);
    let mut row = 0;
    while row < work.held.1 {
        let rows = most.min(work.held.1 - row);
        // SAFETY: `row..row + rows` are held rows; by this function's contract all rows have `work.k` words, the outputs
        // lie within their slices, and the columns are at most `TILE` rows of the stream.
        unsafe {
            match rows {
                1 => tile::<S, W, 1>(s, work, row, at, cols),
                2 => tile::<S, W, 2>(s, work, row, at, cols),
                _ => tile::<S, W, 3>(s, work, row, at, cols),
            }
        }
        row += rows;
    }
}

/// Sums all rows with `cols` columns that are kept, and hands them on. A group of columns stays in the first-level cache while
/// the rows pass.
///
/// # Safety
/// The rows of `work.held` must be valid for reading `work.k` words, `work.columns` must be the kept form of the stream,
/// the outputs must be valid for writing all sums, and at most [`FEW_LEFT`] rows may be held. `at..at + cols` must be rows
/// of the stream, at most [`TILE`], and `at` the start of a group of `few::VECTORS` vectors.
#[inline(always)]
unsafe fn kept<S: Simd, W: Stream>(s: S, work: &Dot<'_, W>, at: usize, cols: usize) {
    let mut sums = [core::mem::MaybeUninit::<[[f32; TILE]; FEW_LEFT]>::uninit()];
    let data = sums.as_mut_ptr().cast::<f32>();
    for column in (0..cols).step_by(few::VECTORS * S::LANES) {
        let columns = work.columns.wrapping_add((at + column) * work.k);
        for row in 0..work.held.1 {
            let held = work.held.0.wrapping_offset(row.cast_signed() * work.held.2);
            // SAFETY: a held row has `work.k` words, by this function's contract; the kept columns are padded to whole
            // groups, of which `TILE` is a multiple, and the buffer has `FEW_LEFT` rows of `TILE` words, which is the most
            // that are held.
            unsafe { few::sums(s, held, work.k, columns, data.wrapping_add(row * TILE + column)) }
        }
    }
    let sums = Sums { data, pitch: TILE, m: 0, n: at, rows: work.held.1, cols };
    // SAFETY: all groups of the held rows are written; these are all rows of the contraction, `at..at + cols` are columns
    // of it, and it lies within its outputs, by this function's contract.
    unsafe { work.goal.finish(s, &sums) }
}

/// Sums `ROWS` × `cols` elements and hands them on.
///
/// # Safety
/// The rows of `work.held` and `work.stream` must be valid for reading `work.k` words, and the outputs for writing all
/// sums; `row..row + ROWS` must be held rows, and `at..at + cols` rows of the stream, at most [`TILE`].
#[inline(always)]
unsafe fn tile<S: Simd, W: Stream, const ROWS: usize>(s: S, work: &Dot<'_, W>, row: usize, at: usize, cols: usize) {
    let mut sums = [core::mem::MaybeUninit::<[[f32; TILE]; ROWS]>::uninit()];
    let data = sums.as_mut_ptr().cast::<f32>();
    let mut column = 0;
    while column < cols {
        // SAFETY: by this function's contract these are held rows and rows of the stream, of `work.k` words each; the
        // buffer has `TILE` words for each of `ROWS` rows, and `TILE` is a multiple of `WIDTH`.
        unsafe { block::<S, W, ROWS>(s, work, row, at + column, WIDTH.min(cols - column), data.wrapping_add(column)) }
        column += WIDTH;
    }
    if !work.transposed {
        let sums = Sums { data, pitch: TILE, m: row, n: at, rows: ROWS, cols };
        // SAFETY: `block` has written `cols` columns of all `ROWS` rows, which are rows and columns of the contraction, and
        // that lies within its outputs, by this function's contract.
        unsafe { work.goal.finish(s, &sums) }
        return;
    }
    let mut transposed = [[0.0f32; PITCH]; TILE];
    for (c, transposed) in transposed.iter_mut().enumerate().take(cols) {
        for (r, transposed) in transposed.iter_mut().enumerate().take(ROWS) {
            // SAFETY: `block` has written `cols` columns of all `ROWS` rows of the buffer.
            *transposed = unsafe { data.wrapping_add(r * TILE + c).read() };
        }
    }
    let sums = Sums { data: transposed.as_ptr().cast(), pitch: PITCH, m: at, n: row, rows: cols, cols: ROWS };
    // SAFETY: `transposed` has `PITCH` words for each column, `ROWS` of them written; transposed, the stream's rows are those
    // of the contraction, and the held ones its columns, and it lies within its outputs, by this function's contract.
    unsafe { work.goal.finish(s, &sums) }
}

/// Sums `ROWS` × `WIDTH` elements, of which `cols` columns count.
///
/// # Safety
/// The rows of `work.held` and `work.stream` must be valid for reading `work.k` words; `row..row + ROWS` must be held rows,
/// and `at..at + cols` rows of the stream, at least one. `to` must be valid for writing [`WIDTH`] words every [`TILE`]
/// words for each of `ROWS` rows.
#[inline(always)]
unsafe fn block<S: Simd, W: Stream, const ROWS: usize>(
    s: S,
    work: &Dot<'_, W>,
    row: usize,
    at: usize,
    cols: usize,
    to: *mut f32,
) {
    let mut held = [work.held.0; ROWS];
    for (r, held) in held.iter_mut().enumerate() {
        *held = work.held.0.wrapping_offset((row + r).cast_signed() * work.held.2);
    }
    let mut stream = [work.stream.0; WIDTH];
    for (c, stream) in stream.iter_mut().enumerate() {
        // Columns that do not count repeat the last one.
        *stream = work.stream.0.wrapping_offset((at + c.min(cols - 1)).cast_signed() * work.stream.2);
    }
    #[cfg(feature = "stored")]
    if ROWS < MOST_ROWS && !W::KEEPS {
        // SAFETY: all of these are held rows and rows of the stream, which have `work.k` elements, and `to` has the words of
        // each row, by this function's contract.
        unsafe { in_turn::<S, W, ROWS>(s, &held, &stream[..cols], work.k, to) }
        return;
    }
    let mut sums = [[s.splat_f(0.0); WIDTH]; ROWS];
    if work.k <= CHAIN * S::LANES {
        // SAFETY: all of these are held rows and rows of the stream, which have `work.k` elements by this function's contract.
        unsafe { add_products::<S, W, ROWS>(s, &held, &stream, 0..work.k, &mut sums) }
    } else {
        let mut long = [[LongSum::zero(s); WIDTH]; ROWS];
        for start in (0..work.k).step_by(CHAIN * S::LANES) {
            let end = work.k.min(start + CHAIN * S::LANES);
            let mut sums = [[s.splat_f(0.0); WIDTH]; ROWS];
            // SAFETY: the rows have `work.k` elements by this function's contract, and `end` is at most that.
            unsafe { add_products::<S, W, ROWS>(s, &held, &stream, start..end, &mut sums) }
            long.iter_mut().flatten().zip(sums.iter().flatten()).for_each(|(long, sum)| long.add(s, *sum));
        }
        sums.iter_mut().flatten().zip(long.iter().flatten()).for_each(|(sum, long)| *sum = long.rounded());
    }
    for (r, sums) in sums.iter().enumerate() {
        // SAFETY: `to` has `WIDTH` words every `TILE` words for each row, by this function's contract.
        unsafe { s.add_up_raw_f(*sums, to.wrapping_add(r * TILE)) }
    }
}

/// Adds the products of a range of K, whole vectors first.
///
/// # Safety
/// Each of the rows must be valid for reading as many words as the range ends with.
#[inline(always)]
unsafe fn add_products<S: Simd, W: Stream, const ROWS: usize>(
    s: S,
    held: &[*const f32; ROWS],
    stream: &[*const W::Bits; WIDTH],
    range: Range<usize>,
    sums: &mut [[S::F; WIDTH]; ROWS],
) {
    let mut k = range.start;
    while k + S::LANES <= range.end {
        let mut left = [s.splat_f(0.0); ROWS];
        for r in 0..ROWS {
            // SAFETY: the row has `range.end` words by this function's contract, and this vector ends before that.
            left[r] = unsafe { s.load_raw_f(held[r].wrapping_add(k)) };
        }
        for c in 0..WIDTH {
            // SAFETY: the row has `range.end` words by this function's contract, and this vector ends before that.
            let right = unsafe { W::load(s, stream[c].wrapping_add(k)) };
            for r in 0..ROWS {
                sums[r][c] = s.mul_add_f(left[r], right, sums[r][c]);
            }
        }
        k += S::LANES;
    }
    if k < range.end {
        let rest = s.mask_first(range.end - k);
        let mut left = [s.splat_f(0.0); ROWS];
        for r in 0..ROWS {
            // SAFETY: the row has `range.end` words by this function's contract, where the mask ends.
            left[r] = unsafe { s.load_masked_raw_f(held[r].wrapping_add(k), rest) };
        }
        for c in 0..WIDTH {
            // SAFETY: the row has `range.end` words by this function's contract, and `range.end - k` of them are fewer than a vector.
            let right = unsafe { W::load_first(s, stream[c].wrapping_add(k), range.end - k) };
            for r in 0..ROWS {
                sums[r][c] = s.mul_add_f(left[r], right, sums[r][c]);
            }
        }
    }
}
