//! Which products find an operand packed by the turn before (CPU): the right one, or a parameter that is read in fewer bits.
//!
//! In: a program. Out: products in loops say whether their operand is the same in every turn. Always: nothing in the body
//! writes the operand, or the pool that it shares with other buffers.

use crate::ir::kernel::Kernel;
use crate::ir::plan::Pool;
use crate::ir::program::{Buffer, BufferId, Program, Step};
use std::collections::BTreeSet;

/// Chooses for all products of the program.
pub(super) fn choose(program: &mut Program) {
    let Program { buffers, steps, .. } = program;
    visit(steps, None, buffers);
}

/// Chooses for the products of a list of steps; `written` is what the innermost loop around them writes.
fn visit(list: &mut [Step], written: Option<&BTreeSet<BufferId>>, all: &[Buffer]) {
    for step in list {
        match step {
            Step::Launch { kernel, buffers } => {
                let is_still = |written| is_still(kernel, buffers, written, all);
                kernel.schedule.packed_once = written.is_some_and(is_still);
            }
            Step::Loop { body, .. } => {
                let mut written = BTreeSet::new();
                writes(body, &mut written);
                visit(body, Some(&written), all);
            }
            Step::Branch { cases, .. } => cases.iter_mut().for_each(|case| visit(case, written, all)),
            // A CPU does not run the steps of which one kernel was made, and that is no product.
            Step::Fused { .. } | Step::Foreign { .. } => {}
        }
    }
}

/// Whether a launch has the same operand in all turns of the loop around it.
fn is_still(kernel: &Kernel, buffers: &[BufferId], written: &BTreeSet<BufferId>, all: &[Buffer]) -> bool {
    let Some(operand) = kernel.packed() else { return false };
    let own = buffers[operand.slot];
    let pool = |buffer: BufferId| all[buffer.0].role.pool();
    let meets = |other: &BufferId| *other == own || (pool(own) != Pool::Scratch && pool(*other) == pool(own));
    operand.is_still() && !written.iter().any(meets)
}

/// The buffers that steps write.
fn writes(steps: &[Step], into: &mut BTreeSet<BufferId>) {
    for step in steps {
        match step {
            Step::Launch { kernel, buffers } | Step::Fused { kernel, buffers, .. } => {
                let slots = kernel.slots.iter().zip(buffers);
                into.extend(slots.filter(|(slot, _)| slot.write).map(|(_, buffer)| *buffer));
            }
            Step::Foreign { results, .. } => into.extend(results.iter().map(|(buffer, _)| *buffer)),
            Step::Loop { .. } | Step::Branch { .. } => {}
        }
        step.bodies().into_iter().for_each(|body| writes(body, into));
    }
}
