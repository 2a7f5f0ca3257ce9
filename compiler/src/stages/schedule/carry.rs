//! Carried values without copies: lets a loop's body write the next value of a carried buffer in its place.
//!
//! In: steps in which every round ends with copies from the next values to the carried ones. Out: the same without
//! the copies of values that are written after the last use of the old ones. Between that use and the next value a carried
//! buffer is free for another value of the turn. Always: what writes a carried buffer either does not read it, or reads each
//! word at the very position where it writes it.

use super::coalesce::{in_place, merge, rename, used};
use crate::ir::kernel::{Expr, Kernel, Skeleton};
use crate::ir::program::{Buffer, BufferId, Program, Role, Step};

/// Writes carried values in place where that is possible.
pub(super) fn carry(program: &mut Program) {
    let Program { steps, buffers, .. } = program;
    let mut uses = vec![0; buffers.len()];
    count(steps, &mut uses);
    loops(steps, buffers, &mut uses);
}

/// How often steps use each buffer; fused steps count beside the kernel that stands for them.
pub(super) fn count(steps: &[Step], uses: &mut [usize]) {
    for step in steps {
        step.buffers().iter().for_each(|buffer| uses[buffer.0] += 1);
        step.bodies().into_iter().for_each(|body| count(body, uses));
    }
}

/// For each loop, the innermost first. `uses` stay those of the program.
fn loops(steps: &mut [Step], buffers: &[Buffer], uses: &mut [usize]) {
    for step in steps {
        step.bodies_mut().into_iter().for_each(|body| loops(body, buffers, uses));
        if let Step::Loop { body, .. } = step {
            let mut inside = vec![0; buffers.len()];
            count(body, &mut inside);
            uses.iter_mut().zip(inside).for_each(|(all, inside)| *all -= inside);
            round(body, buffers, uses);
            count(body, uses);
        }
    }
}

/// For the body of a loop; buffers have uses `outside` of it.
fn round(body: &mut Vec<Step>, buffers: &[Buffer], outside: &[usize]) {
    let mut at = 0;
    while at < body.len() {
        match found(body, at, buffers, outside) {
            Some((next, own, writer)) => {
                body.remove(at);
                rename(body, next, own);
                merge(&mut body[writer], own);
                while let Some((value, reader)) = lent(body, (own, writer), buffers, outside) {
                    rename(&mut body[reader..], value, own);
                    for step in [reader, writer] {
                        merge(&mut body[step], own);
                    }
                }
            }
            None => at += 1,
        }
    }
}

/// The next value and the carried buffer of the copy at a position, and who writes the value, if they can be one.
fn found(body: &[Step], at: usize, buffers: &[Buffer], outside: &[usize]) -> Option<(BufferId, BufferId, usize)> {
    let Step::Launch { kernel, buffers: bound } = &body[at] else { return None };
    let (next, own) = copied(kernel, bound)?;
    let own_memory = matches!(buffers[own.0].role, Role::Scratch | Role::Result(_));
    if !own_memory || buffers[next.0].role != Role::Scratch || outside[next.0] > 0 {
        return None;
    }
    let writer = body.iter().position(|step| used(std::slice::from_ref(step), next))?;
    let Step::Launch { kernel, buffers: bound } = &body[writer] else { return None };
    let write = bound.iter().position(|b| *b == next).filter(|&slot| writes(kernel, slot))?;
    let free = match bound.iter().position(|b| *b == own) {
        None => true,
        Some(read) => !kernel.slots[read].write && in_place(kernel, read, write),
    };
    let others = body.iter().enumerate().skip(writer + 1).filter(|(k, _)| *k != at);
    let late = others.map(|(_, step)| step).any(|step| used(std::slice::from_ref(step), own));
    (writer < at && free && !late).then_some((next, own, writer))
}

/// A value that can have a carried buffer from the last use of the old value up to the writing of the next one, and who writes
/// it: what adds to a state over the state, so that equal layers of a turn are equal kernels.
fn lent(
    body: &[Step],
    (own, writer): (BufferId, usize),
    buffers: &[Buffer],
    outside: &[usize],
) -> Option<(BufferId, usize)> {
    let reader = body[..writer].iter().rposition(|step| used(std::slice::from_ref(step), own))?;
    let Step::Launch { kernel, buffers: bound } = &body[reader] else { return None };
    let Step::Launch { kernel: last, buffers: of_last } = &body[writer] else { return None };
    let read = bound.iter().position(|b| *b == own).filter(|&slot| !kernel.slots[slot].write)?;
    let next = of_last.iter().position(|b| *b == own).filter(|&slot| writes(last, slot))?;
    let fits = |&write: &usize| {
        let (source, target, value) = (&kernel.slots[read], &kernel.slots[write], bound[write]);
        let is_alike = source.len == target.len && source.dtype == target.dtype;
        let is_own = buffers[value.0].role == Role::Scratch && outside[value.0] == 0;
        let is_here = !used(&body[..reader], value) && !used(&body[writer + 1..], value);
        let ends = match of_last.iter().position(|b| *b == value) {
            None => true,
            Some(slot) => !last.slots[slot].write && in_place(last, slot, next),
        };
        is_alike && is_own && is_here && ends && writes(kernel, write) && in_place(kernel, read, write)
    };
    (0..bound.len()).find(fits).map(|write| (bound[write], reader))
}

fn writes(kernel: &Kernel, slot: usize) -> bool {
    kernel.slots[slot].write && !kernel.slots[slot].read
}

/// From where to where a kernel copies a whole buffer, if it does nothing else.
fn copied(kernel: &Kernel, bound: &[BufferId]) -> Option<(BufferId, BufferId)> {
    let Skeleton::Row { reduced, passes, stores, .. } = &kernel.skeleton else { return None };
    let ([from, to], [store]) = (bound, stores.as_slice()) else { return None };
    let [Expr::Load { slot: 0, index, guards, .. }] = kernel.scalars.as_slice() else { return None };
    let whole = kernel.slots[0].len == kernel.slots[1].len && kernel.slots[0].dtype == kernel.slots[1].dtype;
    let plain = reduced.is_empty() && passes.is_empty() && guards.is_empty();
    (whole && plain && store.slot == 1 && store.index == *index && from != to).then_some((*from, *to))
}
