//! Copying a block of an operand into a panel that the register tile reads in order.
//!
//! In: an operand, some of its columns and a block of K. Out: the panel `[k][column]`, zeros where a window leaves the
//! operand. Always: where possible whole vectors are moved, along the columns or, transposed in registers, along K.

use core::ops::Range;

use super::dilated::dilated;
use super::element::Element;
use super::kernel::vectors_for;
use super::layout::{Group, Place, Side, Walk};
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd};

/// Most indices of K in a block.
pub(super) const BLOCK: usize = 512;
/// Words from row to row of the buffer for transposition; not a power of two, so that rows do not share cache sets.
pub(super) const PITCH: usize = BLOCK + 16;
/// Indices of K at a time where runs of columns are moved to several narrow panels, which so read rows in long pieces.
const DEPTH: usize = 32;
/// Words that transposition needs.
pub(super) const TRANSPOSE: usize = PITCH * MAX_LANES;

/// What is packed: `outer` is the group of the columns.
#[derive(Clone, Copy)]
pub(super) struct Source<'p, T = f32> {
    pub(super) side: &'p Side<'p, T>,
    pub(super) outer: &'p Group,
    pub(super) k: &'p Group,
    /// Whether to move whole runs along K.
    pub(super) along_k: bool,
}

impl<'p, T: Element> Source<'p, T> {
    pub(super) fn new(side: &'p Side<'p, T>, outer: &'p Group, k: &'p Group) -> Self {
        let run = |group: &Group| match group.count.checked_sub(1) {
            Some(last) if side.contiguous(group.number(last)) => group.extent[last],
            Some(_) | None => 0,
        };
        let (across, along) = (run(outer), run(k));
        Source { side, outer, k, along_k: along > across && across < 16 }
    }

    /// Whether whole runs of columns are moved, which is cheap.
    pub(super) fn is_across(&self) -> bool {
        !self.along_k && self.side.contiguous(self.outer.number(self.outer.count.max(1) - 1))
    }

    /// Lists the places of a block of K. Not needed along K.
    pub(super) fn table(&self, k0: usize, table: &mut [Place]) {
        if self.along_k {
            return;
        }
        let mut walk = Walk::new(self.side, self.k, k0);
        for place in table {
            *place = walk.place;
            walk.advance(1);
        }
    }
}

/// A panel to fill: `width` columns from `first` on, `pitch` words from k to k, for the block of `count` from `k0` on.
#[derive(Clone, Copy)]
pub(super) struct Panel<'p, T = f32> {
    pub(super) source: Source<'p, T>,
    /// The place of the batch index.
    pub(super) base: Place,
    pub(super) first: usize,
    pub(super) width: usize,
    pub(super) pitch: usize,
    pub(super) k0: usize,
    pub(super) count: usize,
    pub(super) to: *mut T,
}

/// Panels to fill, one after the other, with some columns of a block of K that starts at `k0`.
pub(super) struct Panels<'p, T = f32> {
    pub(super) source: Source<'p, T>,
    /// The place of the batch index.
    pub(super) base: Place,
    pub(super) columns: Range<usize>,
    /// Columns of a panel; the last one has fewer.
    pub(super) width: usize,
    pub(super) k0: usize,
    pub(super) to: *mut T,
}

/// Fills panels.
///
/// # Safety
/// `panels.to` must have `width` words, whole vectors, for each k of each panel, and a vector more, `temp` [`TRANSPOSE`]
/// words, `table` the places of the block from [`Source::table`], at most [`BLOCK`], and the operand these columns.
#[inline(always)]
pub(super) unsafe fn panels<S: Simd, T: Element>(s: S, panels: &Panels<'_, T>, table: &[Place], temp: *mut T) {
    let &Panels { source, base, columns: Range { start, end }, width, k0, to } = panels;
    let depth = if source.is_across() && end - start > width { DEPTH } else { table.len().max(1) };
    for (number, table_part) in table.chunks(depth).enumerate() {
        let done = number * depth;
        for first in (start..end).step_by(width) {
            let columns = width.min(end - first);
            let pitch = vectors_for(columns, S::LANES) * S::LANES;
            let to = to.wrapping_add((first - start) * table.len() + done * pitch);
            let panel =
                Panel { source, base, first, width: columns, pitch, k0: k0 + done, count: table_part.len(), to };
            // SAFETY: by this function's contract `to` has `width` words for each k of each panel and a vector more, `temp`
            // has `TRANSPOSE` words, and the places are the block's, of columns that the operand has.
            unsafe { pack(s, &panel, table_part, temp) }
        }
    }
}

/// Fills a panel.
///
/// # Safety
/// `panel.to` must have `pitch · count` words and a vector more, `temp` [`TRANSPOSE`] words, `table` the `count` places of
/// the block from [`Source::table`], at most [`BLOCK`], and the operand these columns.
#[inline(always)]
pub(super) unsafe fn pack<S: Simd, T: Element>(s: S, panel: &Panel<'_, T>, table: &[Place], temp: *mut T) {
    s.call(Fill { panel, table, temp });
}

struct Fill<'a, T> {
    panel: &'a Panel<'a, T>,
    table: &'a [Place],
    temp: *mut T,
}

impl<T: Element> Kernel for Fill<'_, T> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: only `pack` makes this: the panel has its words and a vector more, `temp` has `TRANSPOSE` words.
        unsafe {
            if self.panel.source.along_k {
                along_k(s, self.panel, self.temp);
            } else {
                along_columns(s, self.panel, self.table);
            }
        }
    }
}

/// Fills a panel by runs of columns.
///
/// # Safety
/// `panel.to` must have `pitch · count` words and a vector more, and `table` the places of the block, which are `count`.
#[inline(always)]
unsafe fn along_columns<S: Simd, T: Element>(s: S, panel: &Panel<'_, T>, table: &[Place]) {
    let side = panel.source.side;
    let mut walk = Walk::new(side, panel.source.outer, panel.first);
    let mut column = 0;
    while column < panel.width {
        let length = walk.run().min(panel.width - column);
        let place = panel.base.plus(&walk.place);
        let axis = walk.axis();
        // The last run also fills up the panel with zeros.
        let padded = if column + length == panel.width { panel.pitch - column } else { length };
        let alone = length == panel.width;
        let to = panel.to.wrapping_add(column);
        if side.bounded().is_empty() && (side.strides[axis] == 1 || length == 1) {
            let from = side.data.as_ptr().wrapping_offset(place.offset);
            // SAFETY: `Side` has checked every address; a row of the panel has `padded` words from `to`, the last a vector
            // more.
            unsafe { copy_runs(s, from, table, Run { length, padded, alone }, to, panel.pitch) }
        } else {
            for (k, step) in table.iter().enumerate() {
                let to = to.wrapping_add(k * panel.pitch);
                // SAFETY: `Side` has checked every address, and every row of the panel has `padded` words from here on.
                unsafe { run(s, side, &place.plus(step), axis, length, padded, to) }
            }
        }
        column += length;
        walk.advance(length);
    }
}

/// Columns that lie next to each other.
struct Run {
    /// How many are copied.
    length: usize,
    /// How many are written: zeros follow.
    padded: usize,
    /// Whether a row of the panel has no others.
    alone: bool,
}

/// Copies a run from each place of `table`. Masked stores take some machines ten times as long as whole ones, so a vector
/// may go beyond a row that it alone fills: the next row is written after it.
///
/// # Safety
/// `from` must have `length` words at each place, and `to` `padded` in each row; if alone, a vector more after the last.
#[inline(always)]
unsafe fn copy_runs<S: Simd, T: Element>(
    s: S,
    from: *const T,
    table: &[Place],
    Run { length, padded, alone }: Run,
    to: *mut T,
    pitch: usize,
) {
    let lanes = S::LANES;
    let mut at = 0;
    while at < padded {
        let (read, written) = (s.mask_first(length.saturating_sub(at)), s.mask_first(padded - at));
        let all_read = length >= at + lanes;
        let all_written = padded >= at + lanes || (alone && at == 0);
        let mut to = to.wrapping_add(at);
        let from = from.wrapping_add(at);
        for place in table {
            let from = from.wrapping_offset(place.offset);
            // SAFETY: by this function's contract there are `length` words at each place and `padded` in each row, to which
            // masks keep, and a vector after the last row where the run is alone.
            unsafe {
                let words = if all_read { T::load(s, from) } else { T::load_masked(s, from, read) };
                if all_written { T::store(s, to, words) } else { T::store_masked(s, to, written, words) }
            }
            to = to.wrapping_add(pitch);
        }
        at += lanes;
    }
}

/// Fills a panel by runs along K.
///
/// # Safety
/// `panel.to` must have `pitch · count` words, at most [`BLOCK`] rows, and a vector more, and `temp` [`TRANSPOSE`] words.
#[inline(always)]
unsafe fn along_k<S: Simd, T: Element>(s: S, panel: &Panel<'_, T>, temp: *mut T) {
    let Source { side, outer, k: group, .. } = panel.source;
    let lanes = S::LANES;
    let start = Walk::new(side, group, panel.k0);
    let mut columns = Walk::new(side, outer, panel.first);
    let mut column = 0;
    while column < panel.width {
        // A column that lies contiguously is read in place, but for its last elements.
        let mut rows = [temp.cast_const(); MAX_LANES];
        let mut tails = rows;
        for (lane, (row, tail)) in rows.iter_mut().zip(&mut tails).enumerate().take(lanes) {
            let buffer = temp.wrapping_add(lane * PITCH);
            (*row, *tail) = (buffer, buffer);
            // SAFETY: `temp` has a row of `PITCH` words, a block and a vector more, for every lane.
            unsafe {
                if column + lane < panel.width {
                    *row = one_column(s, panel, &columns.place, start, buffer);
                    columns.advance(1);
                } else {
                    zero(s, buffer, panel.count.next_multiple_of(lanes));
                }
            }
        }
        let mut k = 0;
        while k < panel.count {
            let count = lanes.min(panel.count - k);
            let from = if count == lanes { &rows } else { &tails };
            let to = panel.to.wrapping_add(k * panel.pitch + column);
            // SAFETY: every row has whole vectors; what a narrow panel receives beyond its columns is overwritten by the
            // next k, or lies in the vector that follows the panel by this function's contract.
            unsafe { T::transpose(s, from.as_ptr(), k, to, panel.pitch, count) }
            k += count;
        }
        column += lanes;
    }
}

/// Where the elements of a column are contiguous: in the operand, except for those that do not fill a vector, or in `buffer`.
///
/// # Safety
/// `buffer` must have [`PITCH`] words; the block from `start` on must be the operand's, at most [`BLOCK`] indices.
#[inline(always)]
unsafe fn one_column<S: Simd, T: Element>(
    s: S,
    panel: &Panel<'_, T>,
    column: &Place,
    start: Walk<'_, T>,
    buffer: *mut T,
) -> *const T {
    let side = panel.source.side;
    let base = panel.base.plus(column);
    let contiguous = start.run() >= panel.count && side.strides[start.axis()] == 1;
    // SAFETY: `Side` has checked every address, and `buffer` has `PITCH` words, a block and a vector.
    unsafe {
        if !(contiguous && side.bounded().is_empty()) {
            gather_row(s, side, base, start, panel.count, buffer);
            return buffer;
        }
        let from = side.data.as_ptr().wrapping_offset(base.plus(&start.place).offset);
        let whole = panel.count / S::LANES * S::LANES;
        let tail = buffer.wrapping_add(whole);
        copy(s, from.wrapping_add(whole), 1, panel.count - whole, tail);
        from
    }
}

/// One column's block of K, contiguously.
///
/// # Safety
/// `to` must have `count` words, and the operand so many indices of K from `start` on.
#[inline(always)]
pub(super) unsafe fn gather_row<S: Simd, T: Element>(
    s: S,
    side: &Side<'_, T>,
    base: Place,
    start: Walk<'_, T>,
    count: usize,
    to: *mut T,
) {
    let mut walk = start;
    let mut done = 0;
    while done < count {
        let length = walk.run().min(count - done);
        // SAFETY: `to` has `count` words by this function's contract, and `length` of them from `done` on.
        unsafe { run(s, side, &base.plus(&walk.place), walk.axis(), length, length, to.wrapping_add(done)) }
        done += length;
        walk.advance(length);
    }
}

/// Copies `length` elements along `axis` from `place` on, zeros where a window leaves the operand, and zeros up to `padded`.
///
/// # Safety
/// `to` must have `padded` words, at least `length`, and the operand `length` indices of `axis` from `place` on.
#[inline(always)]
unsafe fn run<S: Simd, T: Element>(
    s: S,
    side: &Side<'_, T>,
    place: &Place,
    axis: usize,
    length: usize,
    padded: usize,
    to: *mut T,
) {
    let mut offset = place.offset;
    let mut step = side.strides[axis];
    let (mut low, mut high) = (0isize, length.cast_signed());
    for (window, &at) in side.bounded().iter().zip(&place.at) {
        let pace = window.strides[axis];
        if pace == 0 {
            let element = if window.divisor == 1 { at } else { at / window.divisor };
            if at < 0 || element >= window.extent || element * window.divisor != at {
                high = 0;
                break;
            }
            offset += element * window.stride;
        } else if window.divisor == 1 {
            let (from, to) = inside(at, pace, window.extent);
            low = low.max(from);
            high = high.min(to);
            offset += at * window.stride;
            step += pace * window.stride;
        } else {
            // SAFETY: `to` has `padded` words, and the operand `length` indices of `axis`, by this function's contract.
            unsafe { dilated(side, place, axis, length, padded, to) }
            return;
        }
    }
    let high = high.max(low).cast_unsigned();
    let low = low.cast_unsigned().min(high);
    // SAFETY: `Side` has checked every address from `low` to `high`; `to` has `padded` words, by this function's contract.
    unsafe {
        if high == 0 || low == high {
            zero(s, to, padded);
            return;
        }
        zero(s, to, low);
        let from = side.data.as_ptr().wrapping_offset(offset + low.cast_signed() * step);
        copy(s, from, step, high - low, to.wrapping_add(low));
        zero(s, to.wrapping_add(high), padded - high);
    }
}

/// For which steps `t`, `0 ≤ at + pace·t < extent`: from the first up to but without the second, which may be before it.
#[inline(always)]
pub(super) fn inside(at: isize, pace: isize, extent: isize) -> (isize, isize) {
    match pace {
        1 => ((-at).max(0), extent - at),
        -1 => ((at - extent + 1).max(0), at + 1),
        2.. => (ceil_div((-at).max(0), pace), ceil_div((extent - at).max(0), pace)),
        _ => {
            let pace = -pace;
            (ceil_div((at - extent + 1).max(0), pace), ceil_div((at + 1).max(0), pace))
        }
    }
}

#[inline(always)]
fn ceil_div(a: isize, b: isize) -> isize {
    (a + b - 1) / b
}

/// Writes `count` zeros.
///
/// # Safety
/// `to` must be valid for writing `count` words.
#[inline(always)]
pub(super) unsafe fn zero<S: Simd, T: Element>(s: S, to: *mut T, count: usize) {
    let mut at = 0;
    while at + S::LANES <= count {
        // SAFETY: `to` has `count` words by this function's contract, and the vector ends within them.
        unsafe { T::store(s, to.wrapping_add(at), T::splat(s, T::ZERO)) };
        at += S::LANES;
    }
    if at < count {
        // SAFETY: `to` has `count` words by this function's contract, where the mask ends.
        unsafe { T::store_masked(s, to.wrapping_add(at), s.mask_first(count - at), T::splat(s, T::ZERO)) };
    }
}

/// Rows of words to copy.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub(super) rows: usize,
    /// Words of a row, and words from one to the next where they come from.
    pub(super) count: usize,
    pub(super) step: isize,
    /// Words from row to row, where they come from and where they go.
    pub(super) from: isize,
    pub(super) to: usize,
}

/// Copies `count` words that are `step` apart.
///
/// # Safety
/// `from` must be valid for reading from the first of them to the last, and `to` for writing `count` words.
#[inline(always)]
pub(super) unsafe fn copy<S: Simd, T: Element>(s: S, from: *const T, step: isize, count: usize, to: *mut T) {
    // SAFETY: this is one row, which both sides have by this function's contract.
    unsafe { copy_lines(s, from, to, Lines { rows: 1, count, step, from: 0, to: 0 }) }
}

/// Copies rows, of each of which the words become neighbours.
///
/// # Safety
/// Each row must be readable at `from` from its first word to the last, and writable at `to`.
#[inline(always)]
pub(super) unsafe fn copy_lines<S: Simd, T: Element>(s: S, mut from: *const T, mut to: *mut T, lines: Lines) {
    let Lines { rows, count, step, .. } = lines;
    if step == 2 && count > 0 {
        // SAFETY: both sides have the rows, by this function's contract.
        unsafe { T::copy_evens(s, from, to, lines) }
        return;
    }
    let whole = if step == 1 { count / S::LANES * S::LANES } else { 0 };
    let rest = s.mask_first(count - whole);
    for _ in 0..rows {
        // SAFETY: both sides have `count` words of this row by this function's contract, where the mask ends.
        unsafe {
            if step == 1 {
                for at in (0..whole).step_by(S::LANES) {
                    T::store(s, to.wrapping_add(at), T::load(s, from.wrapping_add(at)));
                }
                if whole < count {
                    let words = T::load_masked(s, from.wrapping_add(whole), rest);
                    T::store_masked(s, to.wrapping_add(whole), rest, words);
                }
            } else {
                for at in 0..count {
                    to.add(at).write(*from.wrapping_offset(at.cast_signed() * step));
                }
            }
        }
        from = from.wrapping_offset(lines.from);
        to = to.wrapping_add(lines.to);
    }
}
