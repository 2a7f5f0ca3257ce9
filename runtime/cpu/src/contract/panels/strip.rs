//! A panel meets row tiles.
//!
//! In: where a panel of a block of K lies, and the rows that it meets. Out: sums, which wait for the next block, or go on after
//! the last one. Always: a tile of sums is handed on as soon as it is done.

use core::ops::Range;

use super::Scope;
use crate::Simd;
use crate::contract::finish::Sums;
use crate::contract::kernel::{self, Ahead, Block, Steps};
use crate::contract::left::Found;
use crate::contract::long_row::Piece;
use crate::scratch::LINE;
use crate::sums::LongSums;

/// Words ahead at which a packed left operand is asked for, which may come from memory: hardware stops at the end of a page.
const AHEAD: usize = 1 << 10;

impl<const GATHERED: bool> Scope<'_, GATHERED> {
    /// What the tiles of a strip ask for, each for its share: the panel after this one, where panels lie one after the other.
    fn ahead(&self, strip: &Strip, tiles: usize) -> Ahead {
        if self.whole.1.is_null() {
            return Ahead::nothing(strip.b);
        }
        let (width, count) = (self.width(), strip.count);
        Ahead { from: strip.b.wrapping_add(width * count), step: width.div_ceil(tiles).min(LINE) }
    }

    /// Whether a tile asks for its own rows instead: those of a gathered product are packed for all of K.
    fn asks_for_rows(&self) -> bool {
        GATHERED && !self.whole.0.is_null()
    }
}

/// A panel in a block of K, and the rows that meet it.
pub(super) struct Strip {
    pub(super) found: Found,
    pub(super) b: *const f32,
    /// Words from k to k, unless it is gathered.
    pub(super) b_step: isize,
    pub(super) first: usize,
    pub(super) cols: usize,
    /// Columns of the panel before the first one that counts.
    pub(super) skip: usize,
    pub(super) vectors: usize,
    pub(super) count: usize,
    pub(super) block: usize,
}

/// Sums some row tiles with a panel in a block of K, and hands sums on after the last block.
///
/// # Safety
/// `strip.found` must have the rows of the tiles, and `strip.b` `vectors` vectors for each index of the block, at its steps.
/// `scope.memory.c` must have the sums of the job, or of a tile if there is one block, and what these lose if long.
#[inline(always)]
pub(super) unsafe fn strip_of_tiles<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    strip: &Strip,
    tiles: Range<usize>,
) {
    let (plan, memory) = (scope.plan, &scope.memory);
    let blocks = plan.blocks();
    let start = plan.row(scope.cut.tiles, scope.tiles.start);
    let width = strip.vectors * S::LANES;
    let last = scope.cut.halves == 1 && strip.block + 1 == blocks;
    let is_straight = last && strip.cols == width && memory.long.is_none();
    let straight = if is_straight && scope.cut.columns.is_whole() { scope.destination.straight() } else { None };
    let column = strip.first - scope.panels.start * scope.cut.vectors * S::LANES;
    let steps = scope.gathered().map_or(Steps::Even(strip.b_step), |(gathered, _)| Steps::Listed(gathered.list));
    let (ahead, asks_for_rows) = (scope.ahead(strip, tiles.len()), scope.asks_for_rows());
    for (number, tile) in tiles.enumerate() {
        let first = plan.row(scope.cut.tiles, tile);
        let rows = plan.row(scope.cut.tiles, tile + 1) - first;
        let a = strip.found.tile(first);
        let later_rows = Ahead { from: a.wrapping_add(AHEAD), step: rows };
        let (waiting, pitch) = match blocks {
            1 => (memory.c, width),
            _ => (memory.c.wrapping_add((first - start) * memory.pitch + column), memory.pitch),
        };
        let (c, c_row) = match (straight, memory.long) {
            (Some(target), _) => {
                let offset = first.cast_signed() * target.row + strip.first.cast_signed();
                (target.origin.wrapping_offset(offset), target.row)
            }
            (None, Some((block, _))) => (block, width.cast_signed()),
            (None, None) => (waiting, pitch.cast_signed()),
        };
        let adds = strip.block > scope.blocks.start && memory.long.is_none();
        let block = Block {
            k: strip.count,
            a,
            rows: strip.found.rows(rows),
            b: strip.b,
            steps,
            ahead: if asks_for_rows { later_rows } else { ahead.part(number, strip.count) },
            c,
            c_row,
            before: adds.then_some((waiting.cast_const(), pitch.cast_signed())),
        };
        // SAFETY: by this function's contract the rows and the vectors of the panel are readable. The sums are those of a
        // tile in the job's memory, or in the output whole vectors of columns, which the plan has checked.
        unsafe { kernel::tile(s, rows, strip.vectors, block) }
        if let Some((block, lost)) = memory.long {
            let sums = LongSums { total: waiting, lost: waiting.wrapping_add(lost) };
            // SAFETY: `block` has the tile's sums, and `waiting` and what it loses `width` words for each of its rows, by this
            // function's contract; a panel is whole vectors.
            unsafe { add_rows(s, &sums, pitch, (block, width), rows) }
        }
        if last && straight.is_none() {
            // SAFETY: the last block is summed, so `waiting` holds the sums of the tile's rows and the panel's columns.
            unsafe { hand_on(s, scope, strip, (first, rows), (waiting, pitch)) }
        }
    }
}

/// Adds the sums of a tile in one block of K to those of all.
///
/// # Safety
/// `sums` must have `width` words, whole vectors, in each of `rows` rows, `pitch` apart, and `block` as many after each other.
#[inline(always)]
unsafe fn add_rows<S: Simd>(s: S, sums: &LongSums, pitch: usize, (block, width): (*const f32, usize), rows: usize) {
    for row in 0..rows {
        // SAFETY: both have `width` words in each of `rows` rows, by this function's contract.
        unsafe { sums.at(row * pitch).add(s, block.wrapping_add(row * width), width) }
    }
}

/// Hands on the sums of a tile, of those columns of the panel that count.
///
/// # Safety
/// `sums` must have `rows` rows of the contraction from `first` on, each of the panel's vectors, with so many words from one to
/// the next.
#[inline(always)]
unsafe fn hand_on<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    strip: &Strip,
    (first, rows): (usize, usize),
    (sums, pitch): (*const f32, usize),
) {
    let data = sums.wrapping_add(strip.skip);
    for Piece { at, n, cols } in scope.cut.columns.pieces(strip.first..strip.first + strip.cols) {
        let sums = Sums { data: data.wrapping_add(at - strip.first), pitch, m: first, n, rows, cols };
        // SAFETY: the sums are readable by this function's contract, and the columns of a piece are those of the contraction.
        unsafe { scope.destination.finish(s, &sums) }
    }
}
