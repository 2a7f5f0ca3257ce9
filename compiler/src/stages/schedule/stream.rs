//! Which writes go past the caches (CPU): those of results, where the program does not read them again. What is read
//! afterwards then stays in the caches, and no line is fetched only to be overwritten.

use super::machine::CPU;
use crate::ir::DType;
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::program::{BufferId, Program, Role, Step};
use std::collections::BTreeSet;

/// Slots of fewer words than this are never streamed: they fit into the caches together with what is read.
const LARGE: i64 = CPU.l3;

/// Chooses for the launches that run once in each call.
pub(super) fn choose(program: &mut Program) {
    let mut read = BTreeSet::new();
    reads(&program.steps, &mut read);
    let Program { buffers, steps, .. } = program;
    for step in steps {
        if let Step::Launch { kernel, buffers: bound } = step {
            let last = |slot: &usize| {
                let buffer = bound[*slot];
                matches!(buffers[buffer.0].role, Role::Result(_)) && !read.contains(&buffer)
            };
            kernel.schedule.streamed = (0..kernel.slots.len()).filter(last).filter(|s| fits(kernel, *s)).collect();
        }
    }
}

/// Whether a row kernel writes a large slot of numbers and does nothing else with it.
fn fits(kernel: &Kernel, slot: usize) -> bool {
    let s = &kernel.slots[slot];
    let large = s.len.as_const().is_none_or(|len| len >= LARGE);
    matches!(kernel.skeleton, Skeleton::Row { .. }) && s.write && !s.read && s.dtype == DType::F32 && large
}

/// Every buffer that some step reads.
fn reads(steps: &[Step], into: &mut BTreeSet<BufferId>) {
    for step in steps {
        match step {
            Step::Launch { kernel, buffers } => {
                into.extend(kernel.slots.iter().zip(buffers).filter(|(s, _)| s.read).map(|(_, b)| *b));
            }
            Step::Branch { selector, .. } => _ = into.insert(*selector),
            Step::Foreign { args, .. } => into.extend(args.iter().map(|(b, _)| *b)),
            Step::Loop { .. } | Step::Fused { .. } | Step::Joined { .. } => {}
        }
        step.bodies().into_iter().for_each(|body| reads(body, into));
    }
}
