//! Which products find an operand packed by the turn before: the right one, or a parameter that is read in fewer bits.
//!
//! In: a launch in the body of a loop. Out: whether the launch is a product whose operand is the same in every turn.
//! Always: nothing in the body writes the operand, or the pool that it shares with other buffers.

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::plan::{Plan, Pool};
use crate::ir::precision::Factor;
use crate::ir::program::{BufferId, KernelId, Step};
use std::collections::BTreeSet;

/// Whether a launch of `kernel` on `buffers` has the same operand in all turns of the loop around it.
pub(super) fn is_kept(
    kernel: &Kernel,
    buffers: &[BufferId],
    body: &[Step<KernelId>],
    plan: &Plan,
    kernels: &[Kernel],
) -> bool {
    let Skeleton::Contract { lhs, rhs, .. } = &kernel.skeleton else { return false };
    let operand = match kernel.schedule.narrow {
        Some((Factor::Left, _)) => lhs,
        Some((Factor::Right, _)) | None => rhs,
    };
    let own = buffers[operand.slot];
    let still = |index: &Index| !index.any(&|atom| *atom == Atom::Loop(0));
    let pool = plan.places[own.0].pool;
    let written = written(body, kernels);
    let meets = |other: &BufferId| *other == own || (pool != Pool::Scratch && plan.places[other.0].pool == pool);
    still(&operand.index) && operand.windows.iter().all(|w| still(&w.index)) && !written.iter().any(meets)
}

/// The kernels that are launched so somewhere.
pub(super) fn kernels(plans: &[Plan], kernels: &[Kernel]) -> BTreeSet<KernelId> {
    let mut found = BTreeSet::new();
    for plan in plans {
        collect(&plan.program.steps, None, plan, kernels, &mut found);
    }
    found
}

fn collect(
    steps: &[Step<KernelId>],
    around: Option<&[Step<KernelId>]>,
    plan: &Plan,
    kernels: &[Kernel],
    found: &mut BTreeSet<KernelId>,
) {
    for step in steps {
        match step {
            Step::Launch { kernel, buffers } | Step::Fused { kernel, buffers, steps: _ } => {
                if around.is_some_and(|body| is_kept(&kernels[kernel.0], buffers, body, plan, kernels)) {
                    found.insert(*kernel);
                }
            }
            Step::Loop { body, .. } => collect(body, Some(body), plan, kernels, found),
            Step::Branch { cases, .. } => cases.iter().for_each(|case| collect(case, around, plan, kernels, found)),
            Step::Foreign { .. } => {}
        }
    }
}

/// The buffers that steps write.
fn written(steps: &[Step<KernelId>], kernels: &[Kernel]) -> BTreeSet<BufferId> {
    let mut all = BTreeSet::new();
    for step in steps {
        match step {
            Step::Launch { kernel, buffers } | Step::Fused { kernel, buffers, steps: _ } => {
                let slots = kernels[kernel.0].slots.iter().zip(buffers);
                all.extend(slots.filter(|(slot, _)| slot.write).map(|(_, buffer)| *buffer));
            }
            Step::Loop { body, .. } => all.extend(written(body, kernels)),
            Step::Branch { cases, .. } => cases.iter().for_each(|case| all.extend(written(case, kernels))),
            Step::Foreign { results, .. } => all.extend(results.iter().map(|(buffer, _)| *buffer)),
        }
    }
    all
}
