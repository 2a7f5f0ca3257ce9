//! In place: lets a kernel write over a buffer that it is the last to read.
//!
//! In: a program. Out: the same with fewer buffers, and without copies of what lies where it should already. Always: the kernel
//! reads every word that it overwrites at the very position where it writes it, and not in a later pass.

use crate::ir::kernel::{Expr, Kernel, Load, Skeleton, Store};
use crate::ir::program::{BufferId, Program, Role, Step};

/// Gives results the memory of arguments that die with them.
pub(super) fn coalesce(program: &mut Program) {
    let mut position = 0;
    while position < program.steps.len() {
        if let Some((from, to)) = candidate(program, position) {
            rename(&mut program.steps[position..], to, from);
            if let Step::Launch { kernel, buffers } = &mut program.steps[position] {
                merge(kernel, buffers, from);
            }
        }
        position += 1;
    }
}

/// A buffer that the launch at a position reads last, and one that it writes first, if they can be one.
fn candidate(program: &Program, position: usize) -> Option<(BufferId, BufferId)> {
    let Step::Launch { kernel, buffers } = &program.steps[position] else { return None };
    let scratch = |slot: usize| program.buffers[buffers[slot].0].role == Role::Scratch;
    let slots = || (0..buffers.len()).filter(|&slot| scratch(slot));
    slots().filter(|&slot| kernel.slots[slot].write && !kernel.slots[slot].read).find_map(|write| {
        let fits = |&read: &usize| {
            let (source, target) = (&kernel.slots[read], &kernel.slots[write]);
            source.read && !source.write && source.len == target.len && source.dtype == target.dtype
        };
        let read = slots().filter(fits).find(|&read| {
            !used(&program.steps[position + 1..], buffers[read])
                && !used(&program.steps[..position], buffers[write])
                && in_place(kernel, read, write)
        })?;
        Some((buffers[read], buffers[write]))
    })
}

/// Whether every load of one slot stands where the only store to the other does, and none comes after it.
pub(super) fn in_place(kernel: &Kernel, read: usize, write: usize) -> bool {
    let Skeleton::Row { passes, stores, .. } = &kernel.skeleton else { return false };
    let last = passes.len();
    let inner = passes.iter().enumerate().flat_map(|(number, p)| p.stores.iter().map(move |s| (number + 1, s)));
    let all: Vec<_> = inner.chain(stores.iter().map(|s| (last, s))).filter(|(_, s)| s.slot == write).collect();
    let [(pass, store)] = all.as_slice() else { return false };
    // Rows end with their stores; where there are passes, only the last of them may write over its argument.
    let ends = *pass == last && (passes.is_empty() || passes[last - 1].stores.iter().any(|s| s.slot == write));
    let stands = |load: Load<'_>| load.slot != read || (*load.index == store.index && load.guards.is_empty());
    ends && kernel.scalars.iter().filter_map(Expr::load).all(stands)
}

pub(super) fn used(steps: &[Step], buffer: BufferId) -> bool {
    let inside = |step: &Step| step.bodies().into_iter().any(|body| used(body, buffer));
    steps.iter().any(|step| step.buffers().contains(&buffer) || inside(step))
}

pub(super) fn rename(steps: &mut [Step], old: BufferId, new: BufferId) {
    for step in steps {
        step.for_each_buffer(&mut |buffer| *buffer = if *buffer == old { new } else { *buffer });
        step.bodies_mut().into_iter().for_each(|body| rename(body, old, new));
    }
}

/// Makes the two slots of one buffer one.
pub(super) fn merge(kernel: &mut Kernel, buffers: &mut Vec<BufferId>, buffer: BufferId) {
    let Some(kept) = buffers.iter().position(|b| *b == buffer) else { return };
    let Some(dropped) = buffers.iter().rposition(|b| *b == buffer).filter(|d| *d != kept) else { return };
    buffers.remove(dropped);
    kernel.merge_slots(kept, dropped);
}

/// Removes launches that store each element where they have loaded it from, which copies become whose two buffers are one.
pub(super) fn remove_idle(steps: &mut Vec<Step>) {
    steps.iter_mut().for_each(|step| step.bodies_mut().into_iter().for_each(remove_idle));
    steps.retain(|step| !matches!(step, Step::Launch { kernel, .. } if is_idle(kernel)));
}

/// Whether a kernel leaves everything as it is.
fn is_idle(kernel: &Kernel) -> bool {
    let Skeleton::Row { passes, stores, .. } = &kernel.skeleton else { return false };
    let is_own = |store: &Store| {
        kernel.scalars[store.value]
            .load()
            .is_some_and(|load| load.slot == store.slot && *load.index == store.index && load.guards.is_empty())
    };
    passes.is_empty() && stores.iter().all(is_own)
}
