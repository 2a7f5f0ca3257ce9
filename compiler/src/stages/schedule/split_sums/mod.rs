//! Sums of which several workgroups of a GPU make parts, where there are too few results to keep it busy.
//!
//! In: a program. Out: the same, in which a contraction, a row kernel or a scatter with few results and long sums stands for two steps of
//! a GPU: one makes the sums of parts of the terms, and one adds them up in their order and does what follows. Always: a CPU
//! runs what it ran before, and has no memory for the parts; which part a term is in depends on shapes alone.

mod contract;
mod cut;
mod passes;
mod row;
mod scatter;

use super::workgroups::extent;
use super::{neighbours, workgroups};
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, Kernel, Skeleton, Slot};
use crate::ir::prim::Scalar;
use crate::ir::program::{Buffer, BufferId, Program, Role, Step};
use crate::ir::schedule::Schedule;
use crate::ir::workgroup::{PLAIN, ROW_BLOCK, RowGroup, Workgroup};
use crate::ir::{DType, Dim};

/// Splits such sums.
pub(super) fn split(program: &mut Program) {
    let Program { steps, buffers, .. } = program;
    visit(steps, buffers);
}

fn visit(list: &mut [Step], all: &mut Vec<Buffer>) {
    for step in list {
        step.bodies_mut().into_iter().for_each(|body| visit(body, all));
        let Step::Launch { kernel, buffers } = step else { continue };
        if let Some(steps) = steps(kernel, buffers, all) {
            *step = Step::Fused { kernel: kernel.clone(), buffers: buffers.clone(), steps };
        }
    }
}

/// What a kernel is on a GPU, where that is several steps.
fn steps(kernel: &Kernel, bound: &[BufferId], all: &mut Vec<Buffer>) -> Option<Vec<Step>> {
    if let Some(separated) = passes::separated(kernel) {
        return Some(separated.steps(bound, all));
    }
    let stages = match &kernel.skeleton {
        Skeleton::Contract { .. } => contract::stages(kernel),
        Skeleton::Row { .. } => row::stages(kernel),
        Skeleton::Scatter { .. } => scatter::stages(kernel),
        // These are no plain sums.
        Skeleton::Attend(_) | Skeleton::Recur(_) => None,
    };
    stages.map(|stages| stages.steps(bound, all))
}

/// Kernels in the place of one. All have the slots of the kernel, and behind them those of what rows are reduced to.
struct Separated {
    kernels: Vec<Kernel>,
    partial: Vec<Partial>,
}

impl Separated {
    /// The steps, of which a sum may be two again.
    fn steps(self, bound: &[BufferId], all: &mut Vec<Buffer>) -> Vec<Step> {
        let bound = bind(bound, &self.partial, all);
        let mut list = vec![];
        for kernel in self.kernels {
            let (kernel, bound) = launched(kernel, &bound);
            match steps(&kernel, &bound, all) {
                Some(steps) => list.extend(steps),
                None => list.push(Step::Launch { kernel, buffers: bound }),
            }
        }
        list
    }
}

/// The buffers of a kernel's slots, and new ones for partial results.
fn bind(bound: &[BufferId], partial: &[Partial], all: &mut Vec<Buffer>) -> Vec<BufferId> {
    let mut bound = bound.to_vec();
    for Partial { dtype, len, index: _ } in partial {
        bound.push(BufferId(all.len()));
        all.push(Buffer { role: Role::Scratch, dtype: *dtype, len: len.clone() });
    }
    bound
}

/// A kernel with what it uses alone, with the numbers of a GPU, and its buffers.
fn launched(mut kernel: Kernel, bound: &[BufferId]) -> (Kernel, Vec<BufferId>) {
    kernel.schedule = Schedule::default();
    kernel.prune();
    let used = kernel.retain_used_slots();
    super::numbers_of_gpu(&mut kernel);
    (kernel, used.into_iter().map(|slot| bound[slot]).collect())
}

/// What a kernel is on a GPU. Both stages have the slots of the kernel, and behind them those of the partial results.
struct Stages {
    /// Does all, for calls that want no parts.
    alone: Option<Kernel>,
    /// Makes the parts.
    parts: Kernel,
    /// Adds them up, and stores what the kernel stores.
    whole: Kernel,
    /// The partial results.
    partial: Vec<Partial>,
    /// How workgroups have the rows of these kernels.
    spread: [Spread; 2],
}

/// How workgroups have the rows of a kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spread {
    /// As those of all others.
    Usual,
    /// Each invocation has one alone.
    Alone,
    /// They share rows that lie beside each other.
    Beside,
}

/// The results of all parts, one part after the other.
struct Partial {
    /// Their type.
    dtype: DType,
    /// Where the result of a part is, by the axes of parts and of results.
    index: Index,
    /// How many there are.
    len: Dim,
}

impl Partial {
    /// The results at the positions of some axes, the last one fastest.
    fn of(dtype: DType, kernel: &Kernel, axes: &[usize]) -> Partial {
        Partial { dtype, index: Index::row_major(axes, &kernel.axes), len: extent(kernel, axes) }
    }

    /// The memory of all of them.
    fn slot(&self) -> Slot {
        Slot { dtype: self.dtype, len: self.len.clone(), read: true, write: true }
    }

    /// The result of a part, from that slot.
    fn load(&self, slot: usize) -> Expr {
        Expr::Load { slot, index: self.index.clone(), guards: vec![], fill: Scalar::of(self.dtype, 0.0) }
    }
}

impl Stages {
    /// The two steps on the memory of the kernel and on some of their own.
    fn steps(self, bound: &[BufferId], all: &mut Vec<Buffer>) -> Vec<Step> {
        let bound = bind(bound, &self.partial, all);
        let launch = |(kernel, spread): (Kernel, Spread)| {
            let (mut kernel, buffers) = launched(kernel, &bound);
            let group = match spread {
                Spread::Usual => None,
                Spread::Alone => Some(RowGroup::plain(PLAIN, false, Some(ROW_BLOCK))),
                Spread::Beside => Some(workgroups::beside(Some(ROW_BLOCK))),
            };
            let group = group.map(|group| Workgroup::Rows(neighbours::choose(&kernel, group)));
            kernel.schedule.workgroup = group;
            Step::Launch { kernel, buffers }
        };
        let alone = self.alone.map(|kernel| (kernel, Spread::Usual));
        alone.into_iter().chain([self.parts, self.whole].into_iter().zip(self.spread)).map(launch).collect()
    }
}
