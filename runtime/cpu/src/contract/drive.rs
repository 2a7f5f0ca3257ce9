//! Which way a contraction is computed.
//!
//! In: a contraction. Out: its outputs. Always: the way depends on shapes and strides alone.

use core::cell::Cell;

use super::epilogue::Sink;
use super::place::Place;
use super::plan::Plan;
use super::turns::Steady;
use super::{Axis, Contract, Output, depthwise, dot, near, panels, spread, stream, turned, winograd};
use crate::isa::Set;
use crate::scratch::Scratch;

/// How a contraction was asked for.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) isa: Set,
    pub(super) threads: usize,
    /// What is done with sums, unless they are stored as they are.
    pub(super) sink: Option<&'a dyn Sink>,
    /// Rows of the register tile.
    pub(super) rows: usize,
    /// Lanes of a vector.
    pub(super) lanes: usize,
}

thread_local! {
    /// What a thread packs for its jobs.
    pub(super) static JOB: Cell<Scratch<Place>> = Cell::default();
    /// What the calling thread packs for all jobs.
    pub(super) static CALL: Cell<Scratch<Place>> = Cell::default();
}

/// Computes `contract` into `outputs`.
pub(super) fn drive(
    isa: Set,
    threads: usize,
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    sink: Option<&dyn Sink>,
    kept: Option<&mut Steady>,
) {
    let call = self::call(isa, threads, sink);
    if let Some(shape) = outputs.first().and_then(|output| dot::merged(contract, output))
        && (dot::dot(&call, contract, outputs, &shape) || near::near(&call, contract, outputs, &shape))
    {
        return;
    }
    general(&call, contract, outputs, kept);
}

/// A call, with the register tile of its instruction set.
pub(super) fn call<'a>(isa: Set, threads: usize, sink: Option<&'a dyn Sink>) -> Call<'a> {
    let (rows, lanes) = isa.register_tile();
    Call { isa, threads, sink, rows, lanes }
}

/// The ways that make a plan.
#[inline(never)]
fn general(call: &Call<'_>, contract: &Contract<'_>, outputs: &mut [Output<'_>], kept: Option<&mut Steady>) {
    let plan = Plan::new(contract, outputs, call.rows);
    if plan.batch.total == 0 || plan.m.total == 0 || plan.n.total == 0 {
        return;
    }
    let call = Call { threads: plan.threads(call.threads), ..*call };
    let axes = contract.axes;
    // Matrix products have one axis of each kind; a convolution has windows, or what is left of them.
    let image = !plan.rhs.sights().is_empty() || plan.n.count > 1 || plan.k.count > 1;
    if image && plan.k.total > 0 && convolved(&call, &plan, axes) {
        return;
    }
    if !stream::stream(&call, &plan) {
        panels::panels(&call, &plan, kept);
    }
}

/// Does the work if a way of convolutions can.
fn convolved(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    depthwise::depthwise(call, plan, axes)
        || winograd::winograd(call, plan, axes)
        || spread::spread(call, plan, axes)
        || turned::turned(call, plan, axes)
}
