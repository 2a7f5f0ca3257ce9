//! In place: lets a kernel write over a buffer that it is the last to read.
//!
//! In: a program. Out: the same with fewer buffers, and without copies of what lies where it should already. Always: the kernel
//! reads every word that it overwrites at the very position where it writes it, and not in a later pass.

use super::carry::count;
use crate::ir::kernel::{Expr, Kernel, Load, Operand, Skeleton, Store};
use crate::ir::program::{Buffer, BufferId, Program, Role, Step};

/// Gives results the memory of arguments that die with them.
pub(super) fn coalesce(program: &mut Program) {
    let Program { steps, buffers, .. } = program;
    let scratch: Vec<bool> = buffers.iter().map(|buffer| buffer.role == Role::Scratch).collect();
    share(steps, &scratch);
}

/// The same in each turn of loops, with what no turn hands on: that is written in its place before, where it can be (`carry.rs`).
pub(super) fn turns(program: &mut Program) {
    let Program { steps, buffers, .. } = program;
    let mut uses = vec![0; buffers.len()];
    count(steps, &mut uses);
    loops(steps, buffers, &uses);
}

fn loops(steps: &mut [Step], buffers: &[Buffer], uses: &[usize]) {
    for step in steps {
        step.bodies_mut().into_iter().for_each(|body| loops(body, buffers, uses));
        let Step::Loop { body, .. } = step else { continue };
        let mut inside = vec![0; buffers.len()];
        count(body, &mut inside);
        let mut own: Vec<bool> = buffers
            .iter()
            .zip(&inside)
            .zip(uses)
            .map(|((b, inside), all)| b.role == Role::Scratch && inside == all)
            .collect();
        begun(body, &mut own);
        share(body, &own);
    }
}

/// Leaves those buffers `own` that a turn writes before it reads them, and by launches of its own.
fn begun(body: &[Step], own: &mut [bool]) {
    let mut written = vec![false; own.len()];
    for step in body {
        let Step::Launch { kernel, buffers } = step else {
            let mut inside = vec![0; own.len()];
            count(std::slice::from_ref(step), &mut inside);
            own.iter_mut().zip(inside).for_each(|(own, uses)| *own &= uses == 0);
            continue;
        };
        for (number, (slot, buffer)) in kernel.slots.iter().zip(buffers).enumerate() {
            own[buffer.0] &= (written[buffer.0] || !slot.read) && is_still(kernel, number);
        }
        buffers.iter().for_each(|buffer| written[buffer.0] = true);
    }
}

/// Whether a kernel is known to see the same part of a slot in every turn.
fn is_still(kernel: &Kernel, slot: usize) -> bool {
    let is_own = |store: &&Store| store.slot == slot;
    let loads = kernel.scalars.iter().filter_map(Expr::load).filter(|load| load.slot == slot);
    let are_still = match &kernel.skeleton {
        Skeleton::Row { passes, stores, .. } => {
            let mut all = passes.iter().flat_map(|pass| &pass.stores).chain(stores).filter(is_own);
            all.all(|store| store.index.is_still())
        }
        Skeleton::Contract { lhs, rhs, stores, .. } => {
            let mut operands = [lhs, rhs].into_iter().filter(|operand| operand.slot == slot);
            let windows = |operand: &Operand| operand.windows.iter().all(|window| window.index.is_still());
            operands.all(|operand| operand.index.is_still() && windows(operand))
                && stores.iter().filter(is_own).all(|store| store.index.is_still())
        }
        Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => false,
    };
    are_still && loads.into_iter().all(|load| load.index.is_still())
}

/// Merges buffers of those that may be in a list of steps.
fn share(steps: &mut [Step], may: &[bool]) {
    let mut position = 0;
    while position < steps.len() {
        if let Some((from, to)) = candidate(steps, position, may) {
            rename(&mut steps[position..], to, from);
            merge(&mut steps[position], from);
        }
        position += 1;
    }
}

/// A buffer that the launch at a position reads last, and one that it writes first, if they can be one.
fn candidate(steps: &[Step], position: usize, may: &[bool]) -> Option<(BufferId, BufferId)> {
    let Step::Launch { kernel, buffers } = &steps[position] else { return None };
    let slots = || (0..buffers.len()).filter(|&slot| may[buffers[slot].0]);
    slots().filter(|&slot| kernel.slots[slot].write && !kernel.slots[slot].read).find_map(|write| {
        let fits = |&read: &usize| {
            let (source, target) = (&kernel.slots[read], &kernel.slots[write]);
            source.read && !source.write && source.len == target.len && source.dtype == target.dtype
        };
        let read = slots().filter(fits).find(|&read| {
            !used(&steps[position + 1..], buffers[read])
                && !used(&steps[..position], buffers[write])
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

/// Makes the two slots that a launch has of a buffer one.
pub(super) fn merge(step: &mut Step, buffer: BufferId) {
    let Step::Launch { kernel, buffers } = step else { return };
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
