//! Panels of bf16 that are widened once for many rows, which then meet the register tile of f32.
//!
//! In: a block, and room for what is widened. Out: its sums. Always: a bf16 is the upper half of an f32; what is widened stays
//! in a first-level cache while all rows meet it, and sums are made by blocks of K, in ascending order.

use super::WIDTH;
use super::unit::Block;
use crate::Simd;
use crate::contract::kernel::{self, Ahead, Rows, Steps};
use crate::contract::plan::share;

/// Words of K at a time, each of which is two indices.
const WORDS: usize = 128;
/// Panels at a time.
const PANELS: usize = 2;
/// Words of the room for what is widened.
pub(super) const ROOM: usize = 2 * WORDS * PANELS * WIDTH;

/// Sums a block, whose rows are numbers.
///
/// # Safety
/// `block` must have rows of two numbers for each of `depth.words` words, panels, valid sums for all of them, and [`ROOM`]
/// words to widen panels to.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, block: &Block) {
    for first in (0..block.panels).step_by(PANELS) {
        let panels = PANELS.min(block.panels - first);
        // No words at all are a block too, whose sums are zeros.
        for word in (0..block.depth.words.max(1)).step_by(WORDS) {
            let words = WORDS.min(block.depth.words - word);
            for panel in 0..panels {
                let from = block.b.wrapping_add((first + panel) * block.depth.padded * WIDTH + word * WIDTH);
                // SAFETY: the panel has `words` words from `word` on, by this function's contract, and `wide` has `ROOM`
                // words: two rows for each of `WORDS` words with `PANELS` panels.
                unsafe { widen(s, from, words, block.wide.wrapping_add(panel * WIDTH), panels * WIDTH) }
            }
            let strip = Strip { block, first: first * WIDTH, width: panels * WIDTH, word, words };
            // SAFETY: `wide` now has two rows for each of these words with these panels; the block's rows have numbers for
            // them and its sums the columns, by this function's contract.
            unsafe { strip.multiply(s) }
        }
    }
}

/// Widens `words` words of each column of a panel, to rows of columns that are `pitch` words apart.
///
/// # Safety
/// `from` must be valid for reading `words` rows of `WIDTH` words, and `to` for writing twice as many, `pitch` words apart.
#[inline(always)]
unsafe fn widen<S: Simd>(s: S, from: *const u32, words: usize, to: *mut f32, pitch: usize) {
    let upper = s.splat_u(0xffff_0000);
    for word in 0..words {
        for column in (0..WIDTH).step_by(S::LANES) {
            let to = to.wrapping_add(2 * word * pitch + column);
            // SAFETY: `from` has `WIDTH` columns in each of `words` rows, and `to` two such rows for each of them, by this
            // function's contract; a vector from `column` on lies within the columns.
            unsafe {
                let pair = s.load_raw_u(from.wrapping_add(word * WIDTH + column));
                s.store_raw_f(to, s.f_of_bits(s.shl_const_u::<16>(pair)));
                s.store_raw_f(to.wrapping_add(pitch), s.f_of_bits(s.and_u(pair, upper)));
            }
        }
    }
}

/// Widened columns in a block of K, which all rows meet.
struct Strip<'a> {
    block: &'a Block,
    /// The first column, and how many there are.
    first: usize,
    width: usize,
    /// The first word of K, and how many there are.
    word: usize,
    words: usize,
}

impl Strip<'_> {
    /// Sums the block of K, or adds it to the sums before.
    ///
    /// # Safety
    /// The rows of `block` must have two numbers for each of these words, its sums must have these columns, and `wide` two
    /// rows of `width` words for each of these words.
    #[inline(always)]
    unsafe fn multiply<S: Simd>(&self, s: S) {
        let Block { a, pitch, rows, c, c_pitch, wide, .. } = *self.block;
        let tiles = rows.div_ceil(S::ROWS);
        for column in (0..self.width).step_by(2 * S::LANES) {
            let vectors = ((self.width - column) / S::LANES).min(2);
            let b = wide.cast_const().wrapping_add(column);
            for tile in 0..tiles {
                let (row, end) = (share(rows, tiles, tile), share(rows, tiles, tile + 1));
                let c = c.wrapping_add(row * c_pitch + self.first + column);
                let part = kernel::Block {
                    k: 2 * self.words,
                    a: a.cast::<f32>().wrapping_add(row * pitch + 2 * self.word),
                    rows: Rows::Even(pitch.cast_signed()),
                    b,
                    steps: Steps::Even(self.width.cast_signed()),
                    ahead: Ahead::nothing(b),
                    c,
                    c_row: c_pitch.cast_signed(),
                    before: (self.word > 0).then_some((c.cast_const(), c_pitch.cast_signed())),
                };
                // SAFETY: a tile has at most `S::ROWS` rows of the block and one or two vectors of the widened columns. The
                // rows have `2 * words` numbers from the strip's first on, `wide` as many rows, and the sums all of its
                // columns, by this function's contract.
                unsafe { kernel::tile(s, end - row, vectors, part) }
            }
        }
    }
}
