//! The register tile: a few rows by a few vectors of columns, summed down a block of K.
//!
//! In: a left operand with evenly spaced rows, a right one with contiguous columns. Out: sums, or sums added to what is there.
//! Always: each element is summed in ascending order of K with one accumulator.

use super::super::{Kernel, Simd};

/// The work of one register tile. Strides are in words.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) k: usize,
    pub(super) a: *const f32,
    /// From row to row of the left operand.
    pub(super) a_row: isize,
    /// From k to k of the left operand. It or `a_row` is 1.
    pub(super) a_step: isize,
    pub(super) b: *const f32,
    /// From k to k of the right operand.
    pub(super) b_step: isize,
    pub(super) c: *mut f32,
    /// From row to row of the sums.
    pub(super) c_row: isize,
    /// Whether to add to what is there.
    pub(super) add: bool,
}

/// Most vectors of columns that a tile of one row has.
pub(super) const WIDE: usize = 8;

/// Runs the tile of `rows` rows by `vectors` vectors.
///
/// # Safety
/// `block` must describe readable operands and writable sums of that size, and `rows` must be from 1 to `S::ROWS`, `vectors`
/// from 1 to 2, or for one row to `WIDE`.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd>(s: S, rows: usize, vectors: usize, block: Block) {
    macro_rules! call {
        ($rows:literal, $vectors:literal) => {
            if block.a_row == 1 {
                s.enter(Near::<$rows, $vectors>(block))
            } else {
                s.enter(Far::<$rows, $vectors>(block))
            }
        };
    }
    macro_rules! choose {
        ($($rows:literal)*) => {
            match (rows, vectors) {
                (1, 3 | 4) => call!(1, 4),
                (1, 5..=8) => call!(1, 8),
                $(
                    ($rows, 1) => call!($rows, 1),
                    ($rows, 2) => call!($rows, 2),
                )*
                _ => unreachable!("the driver makes no such tile"),
            }
        };
    }
    if S::ROWS > 6 {
        choose!(1 2 3 4 5 6 7 8 9 10 11 12)
    } else if S::ROWS > 2 {
        choose!(1 2 3 4 5 6)
    } else {
        choose!(1 2)
    }
}

/// A tile whose rows are neighbours in the left operand.
struct Near<const ROWS: usize, const VECTORS: usize>(Block);

impl<const ROWS: usize, const VECTORS: usize> Kernel for Near<ROWS, VECTORS> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let block = self.0;
        let mut sums = [[s.splat_f(0.0); VECTORS]; ROWS];
        let (mut a, mut b) = (block.a, block.b);
        for _ in 0..block.k {
            // SAFETY: the caller of `tile` vouches for both operands over the whole block.
            unsafe {
                let right: [S::F; VECTORS] = load(s, b);
                for row in 0..ROWS {
                    let left = s.splat_f(a.add(row).read());
                    for vector in 0..VECTORS {
                        sums[row][vector] = s.mul_add_f(left, right[vector], sums[row][vector]);
                    }
                }
            }
            a = a.wrapping_offset(block.a_step);
            b = b.wrapping_offset(block.b_step);
        }
        // SAFETY: the caller of `tile` vouches for the sums.
        unsafe { store(s, &block, sums) }
    }
}

/// A tile whose rows are contiguous along K.
struct Far<const ROWS: usize, const VECTORS: usize>(Block);

impl<const ROWS: usize, const VECTORS: usize> Kernel for Far<ROWS, VECTORS> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let block = self.0;
        let mut sums = [[s.splat_f(0.0); VECTORS]; ROWS];
        let mut rows = [block.a; ROWS];
        for row in 0..ROWS {
            rows[row] = block.a.wrapping_offset(row.cast_signed() * block.a_row);
        }
        let mut b = block.b;
        for k in 0..block.k {
            // SAFETY: the caller of `tile` vouches for both operands over the whole block.
            unsafe {
                let right: [S::F; VECTORS] = load(s, b);
                for row in 0..ROWS {
                    let left = s.splat_f(rows[row].add(k).read());
                    for vector in 0..VECTORS {
                        sums[row][vector] = s.mul_add_f(left, right[vector], sums[row][vector]);
                    }
                }
            }
            b = b.wrapping_offset(block.b_step);
        }
        // SAFETY: the caller of `tile` vouches for the sums.
        unsafe { store(s, &block, sums) }
    }
}

#[inline(always)]
unsafe fn load<S: Simd, const VECTORS: usize>(s: S, b: *const f32) -> [S::F; VECTORS] {
    let mut right = [s.splat_f(0.0); VECTORS];
    for (vector, right) in right.iter_mut().enumerate() {
        // SAFETY: the caller vouches for `VECTORS` vectors.
        *right = unsafe { s.load_raw_f(b.add(vector * S::LANES)) };
    }
    right
}

#[inline(always)]
unsafe fn store<S: Simd, const ROWS: usize, const VECTORS: usize>(s: S, block: &Block, sums: [[S::F; VECTORS]; ROWS]) {
    for (row, sums) in sums.into_iter().enumerate() {
        let c = block.c.wrapping_offset(row.cast_signed() * block.c_row);
        for (vector, mut sum) in sums.into_iter().enumerate() {
            let c = c.wrapping_add(vector * S::LANES);
            // SAFETY: the caller vouches for the sums.
            unsafe {
                if block.add {
                    sum = s.add_f(s.load_raw_f(c), sum);
                }
                s.store_raw_f(c, sum);
            }
        }
    }
}
