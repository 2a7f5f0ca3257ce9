//! The register tile: a few rows by one vector of f64, which is two registers, summed down a block of K.
//!
//! In: a left operand with evenly spaced rows, a right one with contiguous columns. Out: sums, or sums added to what is there.
//! Always: each element is summed in ascending order of K with one accumulator; no column beyond the last one is touched.

use crate::{Kernel, Simd};

/// The work of one register tile. Distances are in elements.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) k: usize,
    pub(super) a: *const f64,
    /// From row to row and from k to k of the left operand.
    pub(super) a_steps: (isize, isize),
    pub(super) b: *const f64,
    /// From k to k of the right operand.
    pub(super) b_step: isize,
    pub(super) c: *mut f64,
    /// From row to row of the sums.
    pub(super) c_row: isize,
    /// Columns of the sums.
    pub(super) cols: usize,
    /// Whether to add to the sums that are there.
    pub(super) adds: bool,
}

/// Runs the tile of `rows` rows.
///
/// # Safety
/// `block` must describe readable operands, `rows` elements of the left one and a vector of the right one for each k, and
/// `rows` rows of writable sums, of `cols` columns, which are at most a vector and are initialised if they are added to;
/// `rows` must be from 1 to `S::ROWS`.
#[inline(always)]
pub(super) unsafe fn tile<S: Simd>(s: S, rows: usize, block: &Block) {
    if block.a_steps.0 == 1 {
        s.call(AnySize::<true> { rows, block });
    } else {
        s.call(AnySize::<false> { rows, block });
    }
}

/// A tile whose size is known when it runs, and whether its rows are neighbours.
struct AnySize<'a, const NEAR: bool> {
    rows: usize,
    block: &'a Block,
}

impl<const NEAR: bool> Kernel for AnySize<'_, NEAR> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let AnySize { rows, block } = self;
        macro_rules! choose {
            ($($rows:literal)*) => {
                match rows {
                    $($rows => s.enter(Tile::<NEAR, $rows>(block)),)*
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
}

/// A tile of one size.
struct Tile<'a, const NEAR: bool, const ROWS: usize>(&'a Block);

impl<const NEAR: bool, const ROWS: usize> Kernel for Tile<'_, NEAR, ROWS> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let block = self.0;
        for row in 0..ROWS {
            let c = block.c.wrapping_offset(row.cast_signed() * block.c_row).cast_const();
            for line in (0..S::LANES).step_by(8) {
                s.prefetch(c.wrapping_add(line).cast());
            }
        }
        let mut sums = [s.splat_d(0.0); ROWS];
        // SAFETY: only `tile` makes this, whose contract is that operands are readable and sums writable.
        unsafe {
            if NEAR {
                near(s, block, &mut sums);
            } else {
                far(s, block, &mut sums);
            }
            store(s, block, &sums);
        }
    }
}

/// Sums a block whose rows are neighbours.
///
/// # Safety
/// `block` must describe readable operands of `ROWS` rows and a vector of columns.
#[inline(always)]
unsafe fn near<S: Simd, const ROWS: usize>(s: S, block: &Block, sums: &mut [S::D; ROWS]) {
    let (mut a, mut b) = (block.a, block.b);
    for _ in 0..block.k {
        // SAFETY: for each k there are `ROWS` elements at `a` and a vector at `b`, by this function's contract.
        unsafe {
            let right = s.load_raw_d(b);
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum = s.mul_add_d(s.splat_d(a.add(row).read()), right, *sum);
            }
        }
        a = a.wrapping_offset(block.a_steps.1);
        b = b.wrapping_offset(block.b_step);
    }
}

/// Sums a block whose rows are evenly spaced.
///
/// # Safety
/// As for [`near`].
#[inline(always)]
unsafe fn far<S: Simd, const ROWS: usize>(s: S, block: &Block, sums: &mut [S::D; ROWS]) {
    let (distance, step) = block.a_steps;
    // Every third row has a pointer, so that all of them stay in registers.
    let mut thirds = [block.a; 4];
    for (third, at) in thirds.iter_mut().enumerate() {
        *at = block.a.wrapping_offset(3 * third.cast_signed() * distance);
    }
    let mut b = block.b;
    for _ in 0..block.k {
        // SAFETY: for each k there is an element of each of `ROWS` rows, `distance` apart, and a vector at `b`, by this
        // function's contract.
        unsafe {
            let right = s.load_raw_d(b);
            for (row, sum) in sums.iter_mut().enumerate() {
                let left = thirds[row / 3].wrapping_offset((row % 3).cast_signed() * distance).read();
                *sum = s.mul_add_d(s.splat_d(left), right, *sum);
            }
        }
        for third in &mut thirds {
            *third = third.wrapping_offset(step);
        }
        b = b.wrapping_offset(block.b_step);
    }
}

/// Writes the sums, added to those that are there if so.
///
/// # Safety
/// `block` must have `ROWS` rows of writable sums, initialised if they are added to.
#[inline(always)]
unsafe fn store<S: Simd, const ROWS: usize>(s: S, block: &Block, sums: &[S::D; ROWS]) {
    let (whole, mask) = (block.cols >= S::LANES, s.mask_first(block.cols));
    for (row, sum) in sums.iter().enumerate() {
        let c = block.c.wrapping_offset(row.cast_signed() * block.c_row);
        // SAFETY: each of `ROWS` rows has `cols` columns, by this function's contract: a vector, or where the mask ends.
        unsafe {
            match (whole, block.adds) {
                (true, false) => s.store_raw_d(c, *sum),
                (true, true) => s.store_raw_d(c, s.add_d(s.load_raw_d(c), *sum)),
                (false, false) => s.store_masked_raw_d(c, mask, *sum),
                (false, true) => s.store_masked_raw_d(c, mask, s.add_d(s.load_masked_raw_d(c, mask), *sum)),
            }
        }
    }
}
