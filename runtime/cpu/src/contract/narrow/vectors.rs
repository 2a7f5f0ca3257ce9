//! The register tile on vectors of any instruction set.
//!
//! In: a block. Out: its sums. Always: a bf16 is the upper half of an f32, so a word is widened by a shift and a mask, and
//! rows are wide already: then a number is broadcast as it is loaded. Bytes are multiplied as f32, which is exact as long as a sum is below 2²⁴, and summed up as i32.

use super::unit::Block;
use super::{Precision, WIDTH};
use crate::Simd;

/// Words of bytes whose products add up to less than 2²⁴: each word to 4 · 255 · 127 at most.
const EXACT: usize = 128;

/// Sums a block, whose rows are numbers: those that words of rows stand for.
///
/// # Safety
/// `block` must have rows of a number for each element of `depth.words` words, panels, and valid sums for all of them.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, precision: Precision, block: &Block) {
    let vectors = block.panels * (WIDTH / S::LANES);
    let mut row = 0;
    while row < block.rows {
        // Few rows leave registers for more columns, whose sums need not wait for each other.
        let rest = block.rows - row;
        // SAFETY: a strip has at most the `rest` rows that are left and `vectors` counts the panels' vectors; rows of
        // numbers, panels and sums are there by this function's contract.
        unsafe {
            row += match rest {
                1 => strip::<S, 1, 4>(s, precision, block, row, vectors),
                2..4 => strip::<S, 2, 4>(s, precision, block, row, vectors),
                12.. if S::ROWS >= 12 => strip::<S, 12, 2>(s, precision, block, row, vectors),
                6.. if S::ROWS >= 6 => strip::<S, 6, 2>(s, precision, block, row, vectors),
                4.. if S::ROWS >= 4 => strip::<S, 4, 2>(s, precision, block, row, vectors),
                _ => strip::<S, 2, 2>(s, precision, block, row, vectors),
            };
        }
    }
}

/// `R` rows with all vectors of columns, `V` at a time; how many rows these are.
///
/// # Safety
/// `block` must have `R` rows of numbers from `row` on, panels of `vectors` vectors, and valid sums for all of them.
#[inline(always)]
unsafe fn strip<S: Simd, const R: usize, const V: usize>(
    s: S,
    precision: Precision,
    block: &Block,
    row: usize,
    vectors: usize,
) -> usize {
    let mut at = 0;
    while at + V <= vectors {
        // SAFETY: the block has `R` rows from `row` on and `vectors` vectors of columns, by this function's contract, of
        // which `V` are left from `at` on.
        unsafe { tile::<S, R, V>(s, precision, block, (row, at)) }
        at += V;
    }
    while at < vectors {
        // SAFETY: the block has `R` rows from `row` on and `vectors` vectors of columns, by this function's contract, of
        // which one is at `at`.
        unsafe { tile::<S, R, 1>(s, precision, block, (row, at)) }
        at += 1;
    }
    R
}

/// `R` rows from `row` on with `V` vectors of columns from `vector` on.
///
/// # Safety
/// `block` must have these rows, with a number for each element of `depth.words` words, these vectors, and valid sums for
/// them.
#[inline(always)]
unsafe fn tile<S: Simd, const R: usize, const V: usize>(
    s: S,
    precision: Precision,
    block: &Block,
    (row, vector): (usize, usize),
) {
    let per_panel = WIDTH / S::LANES;
    let a = block.a.cast::<f32>().wrapping_add(row * block.pitch);
    let mut tile = Tile::<R, V> { a: [a; 4], pitch: block.pitch, b: [block.b; V], words: block.depth.words };
    for (third, a) in tile.a.iter_mut().enumerate() {
        *a = a.wrapping_add(3 * third * block.pitch);
    }
    for (v, b) in tile.b.iter_mut().enumerate() {
        let (panel, part) = ((vector + v) / per_panel, (vector + v) % per_panel);
        *b = block.b.wrapping_add(panel * block.depth.padded * WIDTH + part * S::LANES);
    }
    let c = block.c.wrapping_add(row * block.c_pitch + vector * S::LANES);
    // SAFETY: the rows from `row` on have a number for each element of `words` words, the panels have a vector for each of
    // these words at every pointer of `tile.b`, and the sums have these rows and vectors, by this function's contract.
    unsafe {
        match precision {
            Precision::Bf16 => {
                for (r, sums) in tile.halves(s).iter().enumerate() {
                    for (v, sum) in sums.iter().enumerate() {
                        s.store_raw_f(c.wrapping_add(r * block.c_pitch + v * S::LANES), *sum);
                    }
                }
            }
            Precision::Int8 => {
                for (r, sums) in tile.bytes(s).iter().enumerate() {
                    for (v, sum) in sums.iter().enumerate() {
                        s.store_raw_i(c.wrapping_add(r * block.c_pitch + v * S::LANES).cast(), *sum);
                    }
                }
            }
        }
    }
}

/// `R` rows and `V` vectors of columns, and words of each column.
struct Tile<const R: usize, const V: usize> {
    /// Every third row, so that all of the pointers stay in registers, and the distance of rows.
    a: [*const f32; 4],
    pitch: usize,
    b: [*const u32; V],
    words: usize,
}

impl<const R: usize, const V: usize> Tile<R, V> {
    /// The sums of bf16.
    ///
    /// # Safety
    /// Each of `R` rows must have two numbers for each of `words` words, and each of `b` a vector, `WIDTH` words apart.
    #[inline(always)]
    unsafe fn halves<S: Simd>(&self, s: S) -> [[S::F; V]; R] {
        let mut sums = [[s.splat_f(0.0); V]; R];
        let upper = s.splat_u(0xffff_0000);
        for k in 0..self.words {
            // One half after the other, so that few registers hold what is widened.
            for half in 0..2 {
                let mut wide = [s.splat_f(0.0); V];
                for (wide, b) in wide.iter_mut().zip(self.b) {
                    // SAFETY: `b` has a vector for each of `words` words, of which `k` is one, by this function's contract.
                    let words = unsafe { s.load_raw_u(b.wrapping_add(k * WIDTH)) };
                    *wide = s.f_of_bits(if half == 0 { s.shl_const_u::<16>(words) } else { s.and_u(words, upper) });
                }
                // SAFETY: each row has two numbers for each of `words` words, of which `k` is one, by this function's
                // contract.
                unsafe { self.add(s, &mut sums, &wide, 2 * k + half) }
            }
        }
        sums
    }

    /// Adds the products of number `at` of each row with `right`.
    ///
    /// # Safety
    /// Each of `R` rows must have a number `at`.
    #[inline(always)]
    unsafe fn add<S: Simd>(&self, s: S, sums: &mut [[S::F; V]; R], right: &[S::F; V], at: usize) {
        for (row, sums) in sums.iter_mut().enumerate() {
            let a = self.a[row / 3].wrapping_add(row % 3 * self.pitch);
            // SAFETY: row `row` is one of `R`, all of which have a number `at`, by this function's contract.
            let left = s.splat_f(unsafe { a.wrapping_add(at).read() });
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = s.mul_add_f(left, *right, *sum);
            }
        }
    }

    /// The sums of bytes.
    ///
    /// # Safety
    /// Each of `R` rows must have four numbers for each of `words` words, and each of `b` a vector, `WIDTH` words apart.
    #[inline(always)]
    unsafe fn bytes<S: Simd>(&self, s: S) -> [[S::I; V]; R] {
        let mut totals = [[s.splat_i(0); V]; R];
        let mut from = 0;
        while from < self.words {
            let to = self.words.min(from + EXACT);
            let mut sums = [[s.splat_f(0.0); V]; R];
            for k in from..to {
                for part in 0..4 {
                    let mut wide = [s.splat_f(0.0); V];
                    for (wide, b) in wide.iter_mut().zip(self.b) {
                        // SAFETY: `b` has a vector for each of `words` words, of which `k` is one, by this function's
                        // contract.
                        let words = s.i_from_u(unsafe { s.load_raw_u(b.wrapping_add(k * WIDTH)) });
                        let first = match part {
                            0 => s.shl_const_i::<24>(words),
                            1 => s.shl_const_i::<16>(words),
                            2 => s.shl_const_i::<8>(words),
                            _ => words,
                        };
                        *wide = s.f_from_i(s.shr_const_i::<24>(first));
                    }
                    // SAFETY: each row has four numbers for each of `words` words, of which `k` is one, by this function's
                    // contract.
                    unsafe { self.add(s, &mut sums, &wide, 4 * k + part) }
                }
            }
            for (totals, sums) in totals.iter_mut().zip(sums) {
                for (total, sum) in totals.iter_mut().zip(sums) {
                    *total = s.add_i(*total, s.i_from_f(sum));
                }
            }
            from = to;
        }
        totals
    }
}
