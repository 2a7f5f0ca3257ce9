//! The columns of the scores, packed: panels of transposed rows, and rows of whole vectors.

use super::block;
use super::plan::{Matrix, Plan};
use crate::Simd;
use crate::vectors::MAX_LANES;

/// Packs a matrix into tiles of columns: word `(tile · columns + c) · width + j` is a factor times column `c` of row
/// `tile · width + j`. What is beyond the last row is anything.
///
/// # Safety
/// `from` must be a matrix of the plan's, and `to` valid for writing all tiles.
#[inline(always)]
pub(super) unsafe fn pack<S: Simd>(s: S, plan: &Plan<'_>, from: &Matrix, factor: f32, to: *mut f32) {
    let tile = plan.tile;
    let mut first = 0;
    while first < from.rows {
        let to = to.wrapping_add(first * from.columns);
        let mut j = 0;
        while j < tile && first + j < from.rows {
            let mut rows = [from.data; MAX_LANES];
            for (lane, row) in rows.iter_mut().enumerate() {
                let at = (first + j + lane).min(from.rows - 1);
                *row = from.data.wrapping_offset(at.cast_signed() * from.row);
            }
            let whole = if from.column == 1 { from.columns / S::LANES * S::LANES } else { 0 };
            for at in (0..whole).step_by(S::LANES) {
                let to = to.wrapping_add(at * tile + j);
                // SAFETY: each of `rows` is one of the matrix, which the plan has checked, with `at + S::LANES` contiguous
                // columns; `to` has a tile of `tile` words, whole vectors, for each column, by this function's contract.
                unsafe { s.transpose_raw_f(rows.as_ptr(), at, to, tile, S::LANES) };
            }
            for at in whole..from.columns {
                for (lane, row) in rows[..S::LANES].iter().enumerate() {
                    // SAFETY: the row is one of the matrix, which the plan has checked, and `at` one of its columns; the
                    // tile has `tile` words for it, by this function's contract, of which a vector is left from `j` on.
                    unsafe {
                        let x = row.wrapping_offset(at.cast_signed() * from.column).read();
                        to.add(at * tile + j + lane).write(x);
                    }
                }
            }
            if factor != 1.0 {
                for at in (0..from.columns).map(|column| to.wrapping_add(column * tile + j)) {
                    // SAFETY: the tile has `tile` words for each column, by this function's contract, and the vector from
                    // `j` on was just written.
                    unsafe { s.store_raw_f(at, s.mul_f(s.load_raw_f(at), s.splat_f(factor))) };
                }
            }
            j += S::LANES;
        }
        first += tile;
    }
}

/// The words of the panels of a matrix.
pub(super) fn words(plan: &Plan<'_>, columns: usize) -> usize {
    plan.columns.next_multiple_of(plan.tile) * columns
}

/// Rows of whole vectors: where they lie, or a copy.
#[derive(Clone, Copy)]
pub(super) struct Wide {
    pub(super) data: *const f32,
    pub(super) row: isize,
}

/// Whether whole vectors of rows can be read where they lie.
pub(super) fn in_place(plan: &Plan<'_>, from: &Matrix) -> bool {
    from.column == 1 && from.columns.is_multiple_of(plan.lanes)
}

/// Rows as whole vectors, copied to `to` if need be.
///
/// # Safety
/// `from` must be a matrix of the plan's, and `to` valid for writing all rows as whole vectors, if they are not read where
/// they lie.
#[inline(always)]
pub(super) unsafe fn wide<S: Simd>(s: S, plan: &Plan<'_>, from: &Matrix, to: *mut f32) -> Wide {
    if in_place(plan, from) {
        return Wide { data: from.data, row: from.row };
    }
    let width = plan.padded(from.columns);
    // SAFETY: `from` is a matrix of the plan's, and `to` has `width` words, no fewer than the columns, for each of its
    // rows, by this function's contract.
    unsafe { block::copy(s, from, 0, from.rows, 1.0, to, width) };
    Wide { data: to, row: width.cast_signed() }
}

/// The words of a copy.
pub(super) fn wide_words(plan: &Plan<'_>, from: &Matrix) -> usize {
    if in_place(plan, from) { 0 } else { plan.columns * plan.padded(from.columns) }
}
