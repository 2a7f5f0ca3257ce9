//! Products of two small matrices, both of which the register tile reads where they lie.
//!
//! In: a contraction whose axes have merged. Out: whether it was of this kind, and then its outputs. Always: nothing is planned
//! or looked up, and only columns that fill no vector are copied; it is done on the calling thread; each sum is the one that
//! [`super::panels`] makes, to the last bit.

use core::mem::MaybeUninit;

use super::dot::{self, Line, Shape};
use super::drive::{Call, JOB};
use super::finish::{Goal, Sums};
use super::kernel::{self, Ahead, Block, PANEL, Rows, Steps};
use super::layout::{MAX_AXES, Place};
use super::pack::BLOCK;
use super::plan::{self, MAX_OUTPUTS, share};
use super::{Contract, Output};
use crate::scratch::lend;
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, run};

/// Most rows of a register tile.
const ROWS: usize = 12;

/// Does the work if it is of this kind.
#[inline(never)]
pub(super) fn small(call: &Call<'_>, contract: &Contract<'_>, outputs: &mut [Output<'_>], shape: &Shape) -> bool {
    let Shape { m, n, k, batch } = *shape;
    let strides = outputs[0].strides;
    let mut targets = [dot::NOWHERE; MAX_OUTPUTS];
    let Some(rows) = rows(shape, call).filter(|_| dot::place(strides, outputs, (m, n), &mut targets)) else {
        return false;
    };
    let (left, right) = dot::operands(contract, shape);
    let goal = Goal { batch: &[0; MAX_AXES][..batch], targets: &targets[..outputs.len()], sink: call.sink };
    let product = |padded| Product { left, rows, m, right, step: k.rhs, n: n.extent, k: k.extent, padded, goal };
    if n.extent >= call.lanes {
        run(call.isa, product(None));
    } else {
        lend(&JOB, |scratch| {
            let (padded, _) = scratch.provide(k.extent * call.lanes, 0, Place::NOWHERE);
            run(call.isa, product(Some(padded)));
        });
    }
    true
}

/// How the rows of the left operand lie, if this is the kind of product that is done here: one that [`super::panels`] would
/// neither pack, nor cut along K, nor share among threads.
#[inline(always)]
fn rows(shape: &Shape, call: &Call<'_>) -> Option<Rows> {
    let Shape { m, n, k, .. } = shape;
    let small = m.extent.saturating_mul(n.extent).saturating_mul(k.extent) < plan::worth() && k.extent <= BLOCK;
    let apart = m.rhs == 0 && n.lhs == 0 && n.rhs == 1;
    let size = m.extent > 1 && n.extent > 1;
    if !(small && apart && size && plan::reads_right_in_place(m.extent, k.extent, k.rhs, call.rows)) {
        return None;
    }
    if k.lhs == 1 || k.extent == 1 {
        return Some(Rows::Even(m.lhs));
    }
    let dense = m.lhs == 1 && !plan::is_sparse(k.lhs, k.extent, n.extent);
    dense.then_some(Rows::Near(k.lhs))
}

struct Product<'a> {
    left: *const f32,
    rows: Rows,
    m: Line,
    right: *const f32,
    /// Words from k to k of the right operand.
    step: isize,
    n: usize,
    k: usize,
    /// Room for a vector of each k, where the columns fill none.
    padded: Option<*mut f32>,
    goal: Goal<'a>,
}

impl Kernel for Product<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        const { assert!(S::ROWS <= ROWS) }
        let Product { left, rows, m, right, step, n, k, padded, goal } = self;
        let mut waiting = MaybeUninit::<[f32; ROWS * PANEL * MAX_LANES]>::uninit();
        let waiting = waiting.as_mut_ptr().cast::<f32>();
        let vectors = if n >= PANEL * S::LANES { PANEL } else { 1 };
        let (width, tiles) = (vectors * S::LANES, m.extent.div_ceil(S::ROWS));
        let (right, step, straight) = match padded {
            None => (right, step, goal.straight()),
            Some(padded) => {
                // SAFETY: `small` has checked that the operand has `n` words for each k, fewer than a vector has, and lends
                // memory of a vector for each.
                unsafe { pad(s, right, step, (k, n), padded) };
                (padded.cast_const(), width.cast_signed(), None)
            }
        };
        let mut column = 0;
        while column < n {
            // The last panel overlaps the one before, so that it ends with the operand.
            let first = column.min(n.saturating_sub(width));
            let skip = column - first;
            let mut row = 0;
            for tile in 1..=tiles {
                let count = share(m.extent, tiles, tile) - row;
                let (c, c_row) = match straight {
                    Some(target) => {
                        (target.origin.wrapping_offset(row.cast_signed() * target.row).wrapping_add(first), target.row)
                    }
                    None => (waiting, width.cast_signed()),
                };
                let a = left.wrapping_offset(row.cast_signed() * m.lhs);
                let (b, steps) = (right.wrapping_add(first), Steps::Even(step));
                let ahead = Ahead::nothing(b);
                // SAFETY: `small` has checked that both operands and the outputs lie within their slices. The panel ends
                // with the operand, or is padded; straight sums are of the same columns of the output. `waiting` has room
                // for a tile of `S::ROWS` rows, whose sums are written when they are handed on.
                unsafe {
                    kernel::tile(s, count, vectors, Block { k, a, rows, b, steps, ahead, c, c_row, before: None });
                    if straight.is_none() {
                        let cols = width.min(n) - skip;
                        let sums = Sums {
                            data: waiting.wrapping_add(skip),
                            pitch: width,
                            m: row,
                            n: column,
                            rows: count,
                            cols,
                        };
                        goal.finish(s, &sums);
                    }
                }
                row += count;
            }
            column += width;
        }
    }
}

/// Copies columns that fill no vector, a vector for each k.
///
/// # Safety
/// `from` must be valid for reading `k` rows of `n` words, `step` words apart and fewer than a vector has, and `to` for
/// writing `k` vectors.
#[inline(always)]
unsafe fn pad<S: Simd>(s: S, from: *const f32, step: isize, (k, n): (usize, usize), to: *mut f32) {
    let mask = s.mask_first(n);
    for row in 0..k {
        // SAFETY: by this function's contract `from` has `n` words in each row, to which the mask keeps, and `to` a vector.
        unsafe {
            let words = s.load_masked_raw_f(from.wrapping_offset(row.cast_signed() * step), mask);
            s.store_raw_f(to.wrapping_add(row * S::LANES), words);
        }
    }
}
