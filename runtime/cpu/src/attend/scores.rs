//! What happens to a row of scores besides arithmetic: masks, and the order of positions.

use super::plan::{Axis, Plan};
use super::{Attended, Mask, Strided};
use crate::{Simd, math};

/// The mask of a row of scores, seen from column `first` on.
#[derive(Clone, Copy)]
pub(super) struct RowMask<'a> {
    plan: &'a Plan<'a>,
    head: usize,
}

impl<'a> RowMask<'a> {
    /// The mask of a query head.
    pub(super) fn new(plan: &'a Plan<'a>, head: usize) -> Self {
        RowMask { plan, head }
    }

    /// Applies it to the scores of `row` with the columns from `first` on.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, s: S, scores: &mut [f32], row: usize, first: usize) {
        match &self.plan.attend.mask {
            Mask::None => {}
            Mask::Added(mask) => {
                let (at, step) = self.place(mask, row, first);
                if step == 1 {
                    crate::sweep!(S, j, part, scores.len(), {
                        let (x, m) = (s.load_f(scores, j, part), s.load_f(mask.data, at + j, part));
                        s.store_f(scores, j, part, s.add_f(x, m));
                    });
                    return;
                }
                for (j, score) in scores.iter_mut().enumerate() {
                    *score += mask.data[at.wrapping_add_signed(j.cast_signed() * step)];
                }
            }
            Mask::Seen(mask) => {
                let (at, step) = self.place(mask, row, first);
                if step == 1 {
                    let never = s.splat_f(f32::NEG_INFINITY);
                    crate::sweep!(S, j, part, scores.len(), {
                        let (x, m) = (s.load_f(scores, j, part), s.load_u(mask.data, at + j, part));
                        s.store_f(scores, j, part, s.select_f(s.m_from_u(m), x, never));
                    });
                    return;
                }
                for (j, score) in scores.iter_mut().enumerate() {
                    if mask.data[at.wrapping_add_signed(j.cast_signed() * step)] == 0 {
                        *score = f32::NEG_INFINITY;
                    }
                }
            }
        }
    }

    /// The word of a score, and the distance of columns.
    #[inline(always)]
    fn place<T>(&self, mask: &Strided<'_, T>, row: usize, column: usize) -> (usize, isize) {
        let heads = self.plan.attend.heads.len();
        let (queries, keys) = (mask.strides[heads + Axis::Queries as usize], mask.strides[heads + Axis::Keys as usize]);
        let (of_row, of_column) = match self.plan.attend.part {
            Attended::Output | Attended::Query => (queries, keys),
            Attended::Key => (keys, queries),
        };
        let base = self.plan.at_head(mask.base, mask.strides, self.head);
        let at = base + row.cast_signed() * of_row + column.cast_signed() * of_column;
        (at.cast_unsigned(), of_column)
    }
}

/// A mask that is the same for all queries, seen with queries along the lanes.
#[derive(Clone, Copy)]
pub(super) struct LaneMask<'a> {
    mask: &'a Mask<'a>,
    /// The word of the first key, and the distance of keys.
    at: isize,
    step: isize,
}

impl<'a> LaneMask<'a> {
    /// The mask of a query head.
    pub(super) fn new(plan: &Plan<'a>, head: usize) -> Self {
        let heads = plan.attend.heads.len();
        let place =
            |base: isize, strides: &[isize]| (plan.at_head(base, strides, head), strides[heads + Axis::Keys as usize]);
        let (at, step) = match &plan.attend.mask {
            Mask::None => (0, 0),
            Mask::Added(mask) => place(mask.base, mask.strides),
            Mask::Seen(mask) => place(mask.base, mask.strides),
        };
        LaneMask { mask: &plan.attend.mask, at, step }
    }

    /// Whether there is such a mask: none, or one that does not vary with queries.
    pub(super) fn fits(attend: &super::Attend<'_>) -> bool {
        let queries = attend.heads.len() + Axis::Queries as usize;
        match &attend.mask {
            Mask::None => true,
            Mask::Added(mask) => mask.strides[queries] == 0,
            Mask::Seen(mask) => mask.strides[queries] == 0,
        }
    }

    /// Whether it does anything.
    #[inline(always)]
    pub(super) fn is_some(&self) -> bool {
        !matches!(self.mask, Mask::None)
    }

    /// Applies it to scores of a key.
    #[inline(always)]
    pub(super) fn apply<S: Simd>(&self, s: S, scores: S::F, key: usize) -> S::F {
        let at = (self.at + key.cast_signed() * self.step).cast_unsigned();
        match self.mask {
            Mask::None => scores,
            Mask::Added(mask) => s.add_f(scores, s.splat_f(mask.data[at])),
            Mask::Seen(mask) if mask.data[at] == 0 => s.splat_f(f32::NEG_INFINITY),
            Mask::Seen(_) => scores,
        }
    }
}

/// The columns of a row that count, of all `columns`.
#[inline(always)]
pub(super) fn seen(plan: &Plan<'_>, row: usize) -> core::ops::Range<usize> {
    match (plan.attend.causal, plan.attend.part) {
        (false, _) => 0..plan.columns,
        (true, Attended::Output | Attended::Query) => 0..plan.columns.min(row + 1),
        (true, Attended::Key) => row.min(plan.columns)..plan.columns,
    }
}

/// Where powers become 0 instead of numbers that are not normal, which cost a hundred times as much.
const LEAST: f32 = -87.0;

/// eˣ for an `x` that is not above 0 by much, and 0 below [`LEAST`]: less than what is added to it can tell.
#[inline(always)]
pub(super) fn power<S: Simd>(s: S, x: S::F) -> S::F {
    let least = s.splat_f(LEAST);
    let power = math::exp(s, s.at_least_f(x, least));
    s.select_f(s.lt_f(x, least), s.splat_f(0.0), power)
}
