//! The register tile on vectors of any instruction set.
//!
//! In: a block. Out: its sums. Always: a bf16 is the upper half of an f32, so a word is widened by a shift and a mask. Bytes
//! are multiplied as f32, which is exact as long as a sum is below 2²⁴, and summed up as i32.

use super::unit::Block;
use super::{Precision, WIDTH};
use crate::cpu::Simd;

/// Words of bytes whose products add up to less than 2²⁴: each word to 4 · 255 · 127 at most.
const EXACT: usize = 128;
/// Vectors of columns at a time.
const VECTORS: usize = 4;

/// Sums a block.
///
/// # Safety
/// The block must be as it says.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, precision: Precision, block: &Block) {
    let vectors = block.panels * (WIDTH / S::LANES);
    let mut at = 0;
    while at < vectors {
        // SAFETY: the caller's.
        unsafe {
            match vectors - at {
                1 => strip::<S, 1>(s, precision, block, at),
                2 | 3 => strip::<S, 2>(s, precision, block, at),
                _ => strip::<S, VECTORS>(s, precision, block, at),
            }
        }
        at += match vectors - at {
            1 => 1,
            2 | 3 => 2,
            _ => VECTORS,
        };
    }
}

/// All rows with `V` vectors of columns.
#[inline(always)]
unsafe fn strip<S: Simd, const V: usize>(s: S, precision: Precision, block: &Block, vector: usize) {
    let most = if S::ROWS > 6 { 4 } else { 2 };
    let mut row = 0;
    while row < block.rows {
        let rows = most.min(block.rows - row);
        // SAFETY: the caller's.
        unsafe {
            match rows {
                1 => tile::<S, 1, V>(s, precision, block, (row, vector)),
                2 | 3 => tile::<S, 2, V>(s, precision, block, (row, vector)),
                _ => tile::<S, 4, V>(s, precision, block, (row, vector)),
            }
        }
        row += if rows == 3 { 2 } else { rows };
    }
}

#[inline(always)]
unsafe fn tile<S: Simd, const R: usize, const V: usize>(
    s: S,
    precision: Precision,
    block: &Block,
    (row, vector): (usize, usize),
) {
    let per_panel = WIDTH / S::LANES;
    let mut tile = Tile { a: [block.a; R], b: [block.b; V], words: block.depth.words };
    for (r, a) in tile.a.iter_mut().enumerate() {
        *a = block.a.wrapping_add((row + r) * block.pitch);
    }
    for (v, b) in tile.b.iter_mut().enumerate() {
        let (panel, part) = ((vector + v) / per_panel, (vector + v) % per_panel);
        *b = block.b.wrapping_add(panel * block.depth.padded * WIDTH + part * S::LANES);
    }
    let c = block.c.wrapping_add(row * block.c_pitch + vector * S::LANES);
    // SAFETY: the caller's.
    unsafe {
        match precision {
            Precision::Bf16 => {
                for (r, sums) in tile.halves(s).into_iter().enumerate() {
                    for (v, sum) in sums.into_iter().enumerate() {
                        s.store_raw_f(c.wrapping_add(r * block.c_pitch + v * S::LANES), sum);
                    }
                }
            }
            Precision::Int8 => {
                for (r, sums) in tile.bytes(s).into_iter().enumerate() {
                    for (v, sum) in sums.into_iter().enumerate() {
                        s.store_raw_i(c.wrapping_add(r * block.c_pitch + v * S::LANES).cast(), sum);
                    }
                }
            }
        }
    }
}

/// `R` rows and `V` vectors of columns, and words of each.
struct Tile<const R: usize, const V: usize> {
    a: [*const u32; R],
    b: [*const u32; V],
    words: usize,
}

impl<const R: usize, const V: usize> Tile<R, V> {
    #[inline(always)]
    unsafe fn halves<S: Simd>(&self, s: S) -> [[S::F; V]; R] {
        let mut sums = [[s.splat_f(0.0); V]; R];
        let upper = s.splat_u(0xffff_0000);
        for k in 0..self.words {
            let (mut low, mut high) = ([s.splat_f(0.0); V], [s.splat_f(0.0); V]);
            for v in 0..V {
                // SAFETY: the caller vouches for a vector of each word.
                let words = unsafe { s.load_raw_u(self.b[v].wrapping_add(k * WIDTH)) };
                low[v] = s.f_of_bits(s.shl_const_u::<16>(words));
                high[v] = s.f_of_bits(s.and_u(words, upper));
            }
            for r in 0..R {
                // SAFETY: the caller vouches for the words of each row.
                let word = u32::from_le(unsafe { self.a[r].wrapping_add(k).read() });
                let (first, second) =
                    (s.splat_f(f32::from_bits(word << 16)), s.splat_f(f32::from_bits(word & 0xffff_0000)));
                for v in 0..V {
                    sums[r][v] = s.mul_add_f(second, high[v], s.mul_add_f(first, low[v], sums[r][v]));
                }
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn bytes<S: Simd>(&self, s: S) -> [[S::I; V]; R] {
        let mut totals = [[s.splat_i(0); V]; R];
        let mut from = 0;
        while from < self.words {
            let to = self.words.min(from + EXACT);
            let mut sums = [[s.splat_f(0.0); V]; R];
            for k in from..to {
                for v in 0..V {
                    // SAFETY: the caller vouches for a vector of each word.
                    let words = s.i_from_u(unsafe { s.load_raw_u(self.b[v].wrapping_add(k * WIDTH)) });
                    let parts = [
                        s.shr_const_i::<24>(s.shl_const_i::<24>(words)),
                        s.shr_const_i::<24>(s.shl_const_i::<16>(words)),
                        s.shr_const_i::<24>(s.shl_const_i::<8>(words)),
                        s.shr_const_i::<24>(words),
                    ];
                    for (part, bytes) in parts.into_iter().enumerate() {
                        let bytes = s.f_from_i(bytes);
                        for r in 0..R {
                            // SAFETY: the caller vouches for the words of each row.
                            let word = u32::from_le(unsafe { self.a[r].wrapping_add(k).read() });
                            let left = s.splat_f((word >> (8 * part) & 0xff) as f32);
                            sums[r][v] = s.mul_add_f(left, bytes, sums[r][v]);
                        }
                    }
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
