//! A panel meets row tiles.
//!
//! In: where a panel of a block of K lies, and the rows that it meets. Out: sums, which wait for the next block, or go on after
//! the last one. Always: a tile of sums is handed on as soon as it is done.

use core::ops::Range;

use super::Scope;
use crate::Simd;
use crate::contract::epilogue::Target;
use crate::contract::finish::Sums;
use crate::contract::kernel::{self, Ahead, Block, Steps};
use crate::contract::left::Found;
use crate::contract::long_row::Piece;
use crate::scratch::LINE;
use crate::sums::LongSums;

/// Words ahead at which a packed left operand is asked for, which may come from memory: hardware stops at the end of a page.
const AHEAD: usize = 1 << 10;

impl<const GATHERED: bool> Scope<'_, GATHERED> {
    /// What the tiles of a strip ask for, each for its share of words of an index of K: the panel after this one, where panels lie
    /// one after the other.
    #[inline(always)]
    fn ahead(&self, strip: &Strip, step: usize) -> Ahead {
        if self.whole.1.is_null() {
            return Ahead::nothing(strip.b);
        }
        Ahead { from: strip.b.wrapping_add(self.width() * strip.count), step }
    }

    /// Whether a tile asks for its own rows instead: those of a gathered product are packed for all of K.
    fn asks_for_rows(&self) -> bool {
        GATHERED && !self.whole.0.is_null()
    }
}

/// A panel in a block of K, and the rows that meet it.
#[derive(Clone, Copy)]
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

/// Sums some row tiles with neighbouring panels in a block of K, and hands sums on after the last block.
///
/// # Safety
/// Each strip's `found` must have the rows of the tiles, and its `b` `vectors` vectors for each index of the block, at its steps.
/// `scope.memory.c` must have the sums of the job, or of a tile with these panels if there is one block, and what these lose if
/// long.
#[inline(always)]
pub(super) unsafe fn strip_of_tiles<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    strips: &[Strip],
    tiles: Range<usize>,
) {
    let (plan, memory, one) = (scope.plan, &scope.memory, scope.plan.blocks() == 1);
    let [left, ..] = strips else { return };
    let start = plan.row(scope.cut.tiles, scope.tiles.start);
    let last = scope.cut.halves == 1 && left.block + 1 == plan.blocks();
    let is_straight = last && left.cols == left.vectors * S::LANES && memory.long.is_none();
    // What is stored as it is is handed on by nobody, so there is one panel.
    let straight = if is_straight && scope.cut.columns.is_whole() { scope.destination.straight() } else { None };
    let share = scope.width().div_ceil(tiles.len()).min(LINE);
    let mut next = plan.row(scope.cut.tiles, tiles.start);
    for (number, tile) in tiles.enumerate() {
        let first = next;
        next = plan.row(scope.cut.tiles, tile + 1);
        let rows = next - first;
        let offset = |strip: &Strip| match one {
            true => strip.first - strip.skip - (left.first - left.skip),
            false => (first - start) * memory.pitch + strip.first - scope.panels.start * scope.width(),
        };
        for strip in strips {
            let tile = Tile { first, rows, waiting: memory.c.wrapping_add(offset(strip)), straight };
            let ahead = scope.ahead(strip, share).part(number, strip.count);
            // SAFETY: by this function's contract the rows and the vectors of the panel are readable, and the job's memory has
            // their sums, or the output, of which the plan has checked the columns, if these are whole vectors.
            unsafe { tile.sum(s, scope, strip, ahead) }
        }
        if last && straight.is_none() {
            // SAFETY: the last block is summed, so the memory has the sums of these rows and panels.
            unsafe { hand_on(s, scope, strips, (first, rows), memory.c.wrapping_add(offset(left))) }
        }
    }
}

/// A row tile that meets a panel.
struct Tile<'a> {
    first: usize,
    rows: usize,
    /// Where its sums wait.
    waiting: *mut f32,
    /// Where they go if they do not.
    straight: Option<&'a Target>,
}

impl Tile<'_> {
    /// Sums the tile in a block of K.
    ///
    /// # Safety
    /// `strip` must have the rows and its vectors for each index of the block. `waiting` must have the sums of each row of the
    /// panel, as the memory of `scope` has rows, and what these lose if long; or those of `straight` must be whole vectors.
    #[inline(always)]
    unsafe fn sum<S: Simd, const GATHERED: bool>(
        &self,
        s: S,
        scope: &Scope<'_, GATHERED>,
        strip: &Strip,
        ahead: Ahead,
    ) {
        let Tile { first, rows, waiting, straight } = *self;
        let (memory, width) = (&scope.memory, strip.vectors * S::LANES);
        let pitch = memory.pitch.cast_signed();
        let (c, c_row) = match (straight, memory.long) {
            (Some(target), _) => {
                let offset = first.cast_signed() * target.row + strip.first.cast_signed();
                (target.origin.wrapping_offset(offset), target.row)
            }
            (None, Some((block, _))) => (block, width.cast_signed()),
            (None, None) => (waiting, pitch),
        };
        let a = strip.found.tile(first);
        let later_rows = Ahead { from: a.wrapping_add(AHEAD), step: rows };
        let adds = strip.block > scope.blocks.start && memory.long.is_none();
        let block = Block {
            k: strip.count,
            a,
            rows: strip.found.rows(rows),
            b: strip.b,
            steps: scope.gathered().map_or(Steps::Even(strip.b_step), |(gathered, _)| Steps::Listed(gathered.list)),
            ahead: if scope.asks_for_rows() { later_rows } else { ahead },
            c,
            c_row,
            before: adds.then_some((waiting.cast_const(), pitch)),
        };
        // SAFETY: by this function's contract the rows and the vectors of the panel are readable, and the sums, or those of
        // a block where they are long, are in the job's memory or in the output.
        unsafe {
            kernel::tile(s, rows, strip.vectors, block);
            if let Some((block, lost)) = memory.long {
                let sums = LongSums { total: waiting, lost: waiting.wrapping_add(lost) };
                add_rows(s, &sums, memory.pitch, (block, width), rows);
            }
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

/// Hands on the sums of a tile, of those columns of the panels that count.
///
/// # Safety
/// `sums` must have `rows` rows of the contraction from `first` on, each of the panels' vectors, as the memory of `scope` has rows.
#[inline(always)]
unsafe fn hand_on<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    strips: &[Strip],
    (first, rows): (usize, usize),
    sums: *const f32,
) {
    let (Some(left), Some(right)) = (strips.first(), strips.last()) else { return };
    let (data, end) = (sums.wrapping_add(left.skip), right.first + right.cols);
    for Piece { at, n, cols } in scope.cut.columns.pieces(left.first..end) {
        let data = data.wrapping_add(at - left.first);
        let sums = Sums { data, pitch: scope.memory.pitch, m: first, n, rows, cols };
        // SAFETY: the sums are readable by this function's contract, and the columns of a piece are those of the contraction.
        unsafe { scope.destination.finish(s, &sums) }
    }
}
