//! Which products find an operand packed by the turn before (CPU): the right one, or a parameter that is read in fewer bits.
//!
//! In: a program. Out: products in loops say whether their operand is the same in every turn. Always: nothing in the body
//! writes the operand, or the pool that it shares with other buffers.

use crate::ir::DType;
use crate::ir::kernel::Kernel;
use crate::ir::plan::Pool;
use crate::ir::program::{Buffer, BufferId, Program, Step, written};
use std::collections::BTreeSet;

/// Chooses for all products of the program.
pub(super) fn choose(program: &mut Program) {
    let Program { buffers, steps, .. } = program;
    visit(steps, None, buffers);
}

/// Chooses for the products of a list of steps; `changed` is what the innermost loop around them writes.
fn visit(list: &mut [Step], changed: Option<&BTreeSet<BufferId>>, all: &[Buffer]) {
    for step in list {
        match step {
            Step::Launch { kernel, buffers } => {
                let is_still = |changed| is_still(kernel, buffers, changed, all);
                kernel.schedule.packed_once = changed.is_some_and(is_still);
            }
            Step::Loop { body, .. } => {
                let mut changed = BTreeSet::new();
                body.iter().for_each(|step| written(step, &|kernel| kernel, &mut changed));
                visit(body, Some(&changed), all);
            }
            Step::Branch { cases, .. } => cases.iter_mut().for_each(|case| visit(case, changed, all)),
            Step::Joined { steps, .. } => visit(steps, changed, all),
            // A CPU does not run the steps of which one kernel was made, and that is no product.
            Step::Fused { .. } | Step::Foreign { .. } => {}
        }
    }
}

/// Whether a launch has the same operand in all turns of the loop around it.
fn is_still(kernel: &Kernel, buffers: &[BufferId], changed: &BTreeSet<BufferId>, all: &[Buffer]) -> bool {
    let Some(operand) = kernel.packed().filter(|operand| kernel.slots[operand.slot].dtype == DType::F32) else {
        return false;
    };
    let own = buffers[operand.slot];
    let pool = |buffer: BufferId| all[buffer.0].role.pool();
    let meets = |other: &BufferId| *other == own || (pool(own) != Pool::Scratch && pool(*other) == pool(own));
    operand.is_still() && !changed.iter().any(meets)
}
