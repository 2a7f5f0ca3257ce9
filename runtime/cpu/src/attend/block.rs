//! The rows of a block: copied in, and results copied out; and products of rows with panels.

use super::plan::{Matrix, Target};
use crate::Part;
use crate::Simd;
use crate::contract::kernel::{self, Ahead, Block, Rows, Steps};

/// Copies rows times a factor to rows of `width` words, zeros after the columns.
///
/// # Safety
/// `from` must be a matrix of the plan's with `count` rows from `first` on, and `to` valid for writing as many rows of
/// `width` words, at least as many as the matrix has columns.
#[inline(always)]
pub(super) unsafe fn copy<S: Simd>(
    s: S,
    from: &Matrix,
    first: usize,
    count: usize,
    factor: f32,
    to: *mut f32,
    width: usize,
) {
    let factor_ = s.splat_f(factor);
    for r in 0..count {
        let row = from.data.wrapping_offset((first + r).cast_signed() * from.row);
        // SAFETY: `to` has `count` rows of `width` words, by this function's contract, and nobody else refers to them.
        let to = unsafe { core::slice::from_raw_parts_mut(to.add(r * width), width) };
        if from.column == 1 {
            // SAFETY: the plan has checked that the matrix lies within its slice, and the columns of this row are
            // neighbours.
            let row = unsafe { core::slice::from_raw_parts(row, from.columns) };
            crate::sweep!(S, j, at, from.columns, {
                let x = s.load_f(row, j, at);
                s.store_f(to, j, at, s.mul_f(x, factor_));
            });
        } else {
            for (j, to) in to[..from.columns].iter_mut().enumerate() {
                // SAFETY: the plan has checked that the matrix lies within its slice, and `j` is one of the columns.
                *to = unsafe { row.wrapping_offset(j.cast_signed() * from.column).read() } * factor;
            }
        }
        to[from.columns..].fill(0.0);
    }
}

/// Stores a row of a result times a factor.
///
/// # Safety
/// The target must be one of the plan's, `row` one of its rows, which nobody else may have, and `from` as long as they are.
#[inline(always)]
pub(super) unsafe fn store<S: Simd>(s: S, target: &Target, row: usize, from: &[f32], factor: f32) {
    let to = target.data.wrapping_offset(row.cast_signed() * target.row);
    if target.column == 1 {
        // SAFETY: the plan has checked that the target lies within its slice; its rows are as long as `from`, and nobody
        // else has this one, by this function's contract.
        let to = unsafe { core::slice::from_raw_parts_mut(to, from.len()) };
        let factor = s.splat_f(factor);
        crate::sweep!(S, j, at, from.len(), {
            let x = s.load_f(from, j, at);
            s.store_f(to, j, at, s.mul_f(x, factor));
        });
        return;
    }
    for (j, x) in from.iter().enumerate() {
        // SAFETY: the target is one of the plan's, which has checked that it lies within its slice, and its rows are as
        // long as `from`, by this function's contract.
        unsafe { to.wrapping_offset(j.cast_signed() * target.column).write(x * factor) };
    }
}

/// The operands of a product `c (+)= a · b`.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// At most those of a register tile.
    pub(super) rows: usize,
    /// Vectors of `c` and `b`.
    pub(super) vectors: usize,
    /// Terms of each sum.
    pub(super) terms: usize,
    pub(super) a: *const f32,
    pub(super) a_row: usize,
    pub(super) b: *const f32,
    pub(super) b_step: isize,
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
    pub(super) add: bool,
}

/// Computes a product.
///
/// # Safety
/// There must be 1 to `S::ROWS` rows; `a` must have as many of `terms` words, and `b` `terms` rows, and `c` valid rows of
/// sums, of `vectors` vectors each.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, product: &Product) {
    let most = if product.rows == 1 { kernel::WIDE } else { kernel::PANEL };
    let mut vector = 0;
    while vector < product.vectors {
        // A tile of one row has 1, 2, 4 or 8 vectors.
        let left = (product.vectors - vector).min(most);
        let vectors = if left == 3 {
            2
        } else if (5..8).contains(&left) {
            4
        } else {
            left
        };
        let (c, c_row) = (product.c.wrapping_add(vector * S::LANES), product.c_row.cast_signed());
        let block = Block {
            k: product.terms,
            a: product.a,
            rows: Rows::Even(product.a_row.cast_signed()),
            b: product.b.wrapping_add(vector * S::LANES),
            steps: Steps::Even(product.b_step),
            ahead: Ahead::nothing(product.b),
            c,
            c_row,
            before: product.add.then_some((c.cast_const(), c_row)),
        };
        // SAFETY: a tile of one row has at most `kernel::WIDE` vectors and others at most 2, and the operands have these
        // vectors, 1 to `S::ROWS` rows and `terms` terms, by this function's contract.
        unsafe { kernel::tile(s, product.rows, vectors, block) };
        vector += vectors;
    }
}

/// The largest element of some whole vectors.
#[inline(always)]
pub(super) fn largest<S: Simd>(s: S, row: &[f32]) -> f32 {
    let mut most = s.splat_f(f32::NEG_INFINITY);
    crate::sweep!(S, j, at, row.len(), {
        let x = s.load_f(row, j, at);
        most = s.select_at_f(at, s.max_f(most, x), most);
    });
    s.reduce_max_f(most)
}

/// A row times a factor, in place.
#[inline(always)]
pub(super) fn scale<S: Simd>(s: S, row: &mut [f32], factor: f32) {
    let factor = s.splat_f(factor);
    crate::sweep!(S, j, at, row.len(), {
        let x = s.load_f(row, j, at);
        s.store_f(row, j, at, s.mul_f(x, factor));
    });
}

/// One lane.
pub(super) fn one() -> Part {
    Part::new(1)
}
