//! Which way a contraction is computed.
//!
//! In: a contraction, and the algorithms that may suit it. Out: its outputs. Always: which one it is depends on shapes and
//! strides alone; those that no program names are not linked.

use core::cell::Cell;

use super::dot::Shape;
use super::epilogue::Sink;
use super::layout::Place;
use super::pack_once::Steady;
use super::plan::Plan;
use super::{Axis, Contract, Output, depthwise, dot, gemv, implicit, implicit_by_filters, panels, small, winograd};
use crate::isa::Set;
use crate::scratch::Scratch;

/// How a contraction was asked for.
#[derive(Clone, Copy)]
pub(super) struct Call<'a, T = f32> {
    pub(super) isa: Set,
    pub(super) threads: usize,
    /// What is done with sums, unless they are stored as they are.
    pub(super) sink: Option<&'a dyn Sink<T>>,
    /// Rows of the register tile.
    pub(super) rows: usize,
    /// Lanes of a vector.
    pub(super) lanes: usize,
}

/// An algorithm that does the work of a contraction if it suits that.
#[derive(Clone, Copy)]
pub struct Algorithm(Run);

#[derive(Clone, Copy)]
enum Run {
    /// Of a product of two matrices, before anything is planned.
    Unplanned(fn(&Call<'_>, &Contract<'_>, &mut [Output<'_>], &Shape) -> bool),
    /// Of a convolution.
    Image(fn(&Call<'_>, &Plan<'_>, &[Axis]) -> bool),
    /// Of any product.
    Planned(fn(&Call<'_>, &Plan<'_>) -> bool),
}

impl Algorithm {
    /// Dot products of few rows with many, both contiguous along K.
    pub const DOT: Algorithm = Algorithm(Run::Unplanned(dot::dot));
    /// Two small matrices, read where they lie.
    pub const SMALL: Algorithm = Algorithm(Run::Unplanned(small::small));
    /// A convolution whose channels have filters of their own.
    pub const DEPTHWISE: Algorithm = Algorithm(Run::Image(depthwise::depthwise));
    /// Minimal filtering of 3 × 3 filters.
    pub const WINOGRAD: Algorithm = Algorithm(Run::Image(winograd::winograd));
    /// A convolution as a product whose right operand is gathered through a list of offsets.
    pub const IMPLICIT: Algorithm = Algorithm(Run::Image(implicit::implicit));
    /// The gradient of a convolution by its filters.
    pub const IMPLICIT_BY_FILTERS: Algorithm = Algorithm(Run::Image(implicit_by_filters::implicit_by_filters));
    /// A row times a matrix that is read once, in its order.
    pub const GEMV: Algorithm = Algorithm(Run::Planned(gemv::gemv));

    /// All, in the order in which they are asked.
    pub const ALL: &[Algorithm] = &[
        Algorithm::DOT,
        Algorithm::SMALL,
        Algorithm::DEPTHWISE,
        Algorithm::WINOGRAD,
        Algorithm::IMPLICIT,
        Algorithm::IMPLICIT_BY_FILTERS,
        Algorithm::GEMV,
    ];
}

thread_local! {
    /// What a thread packs for its jobs.
    pub(super) static JOB: Cell<Scratch<Place>> = Cell::default();
    /// What the calling thread packs for all jobs.
    pub(super) static CALL: Cell<Scratch<Place>> = Cell::default();
}

/// Computes `contract` into `outputs` by the first of `algorithms` that suits, which are in the order of [`Algorithm::ALL`], or
/// by the one that does everything.
pub(super) fn drive(
    call: &Call<'_>,
    algorithms: &[Algorithm],
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    kept: Option<&mut Steady>,
) {
    if let [Algorithm(Run::Unplanned(_)), ..] = algorithms
        && let Some(shape) =
            outputs.first().and_then(|output| dot::merged(contract.axes, &contract.lhs, &contract.rhs, output))
    {
        for algorithm in algorithms {
            let Algorithm(Run::Unplanned(run)) = algorithm else { break };
            if run(call, contract, outputs, &shape) {
                return;
            }
        }
    }
    planned(call, algorithms, contract, outputs, kept);
}

/// A call, with the register tile of its instruction set.
pub(super) fn call<T>(isa: Set, threads: usize, sink: Option<&dyn Sink<T>>) -> Call<'_, T> {
    let (rows, lanes) = isa.register_tile();
    Call { isa, threads, sink, rows, lanes }
}

/// The algorithms that need a plan.
#[inline(never)]
fn planned(
    call: &Call<'_>,
    algorithms: &[Algorithm],
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    kept: Option<&mut Steady>,
) {
    compute(call, algorithms, &Plan::new(call, contract, outputs), contract.axes, kept);
}

/// Computes what is planned, by the first of `algorithms` that needs a plan and suits.
pub(super) fn compute(
    call: &Call<'_>,
    algorithms: &[Algorithm],
    plan: &Plan<'_>,
    axes: &[Axis],
    kept: Option<&mut Steady>,
) {
    if plan.batch.total == 0 || plan.m.total == 0 || plan.n.total == 0 {
        return;
    }
    let call = Call { threads: plan.threads(call.threads), ..*call };
    // Matrix products have one axis of each kind; a convolution has windows, or what is left of them.
    let image = plan.k.total > 0 && (!plan.rhs.bounded().is_empty() || plan.n.count > 1 || plan.k.count > 1);
    let done = algorithms.iter().any(|algorithm| match algorithm.0 {
        Run::Unplanned(_) => false,
        Run::Image(run) => image && run(&call, plan, axes),
        Run::Planned(run) => run(&call, plan),
    });
    if !done {
        panels::panels(&call, plan, kept);
    }
}
