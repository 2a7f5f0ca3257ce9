//! Depthwise convolutions and their gradients: each channel has filters of its own.
//!
//! In: a contraction whose left operand differs from batch index to batch index and has few rows. Out: its outputs. Always: a
//! batch index is a plane of one channel, which a job copies with its padding, unless it can be read where it lies, or
//! several planes that are narrow, whose channels are in the lanes; no register tile is shared by rows, of which there is mostly one.

mod filters;
mod lanes;
mod planes;
mod stencil;
mod strided;

use super::Axis;
use super::drive::Call;
use super::plan::Plan;
use crate::machine::machine;

/// Most rows: more of them are worth a register tile.
const ROWS: usize = 3;
/// Most elements of a filter.
const TAPS: usize = 1 << 10;
/// Most words of a plane that every job copies for itself.
fn most_for_each() -> usize {
    machine().l3 / 2
}

/// Does the work if it is of this kind.
pub(super) fn depthwise(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let of_kind = plan.m.total <= ROWS && plan.lhs.bounded().is_empty() && !plan.shares_left();
    of_kind
        && (lanes::lanes(call, plan)
            || strided::strided(call, plan, axes)
            || planes::planes(call, plan, axes)
            || filters::filters(call, plan, axes))
}
