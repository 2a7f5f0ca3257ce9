//! Products that no turn of a loop waits for: made for all turns at once, before the loop.
//!
//! In: a program. Out: the same with such products before their loops. Always: what a product reads is not written in the
//! loop, and varies with the turn on one side only, so that the turns are rows or columns of one larger product; its
//! results, of which each turn now has its own, are used in the loop alone.

use super::carry::count;
use crate::ir::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Skeleton};
use crate::ir::limits::AXES_OF_A_PRODUCT;
use crate::ir::program::{Buffer, BufferId, Program, Role, Step, written};
use std::collections::BTreeSet;

/// Moves such products out of all loops of a program.
pub(super) fn hoist(program: &mut Program) {
    let mut uses = vec![0; program.buffers.len()];
    count(&program.steps, &mut uses);
    list(&mut program.steps, &mut program.buffers, &uses);
}

fn list(steps: &mut Vec<Step>, buffers: &mut [Buffer], uses: &[usize]) {
    let mut at = 0;
    while at < steps.len() {
        steps[at].bodies_mut().into_iter().for_each(|body| list(body, buffers, uses));
        let before = match &mut steps[at] {
            Step::Loop { count, body, .. } => taken(body, count, buffers, uses),
            Step::Launch { .. }
            | Step::Foreign { .. }
            | Step::Branch { .. }
            | Step::Fused { .. }
            | Step::Joined { .. } => vec![],
        };
        let moved = before.len();
        steps.splice(at..at, before);
        at += moved + 1;
    }
}

/// Takes the products out of a body that no turn waits for.
fn taken(body: &mut Vec<Step>, turns: &Dim, buffers: &mut [Buffer], uses: &[usize]) -> Vec<Step> {
    let mut before = vec![];
    let mut at = 0;
    while at < body.len() {
        match result(body, at, buffers, uses) {
            Some(buffer) => {
                let own = buffers[buffer.0].len.clone();
                let mut step = body.remove(at);
                if let Step::Launch { kernel, buffers } = &mut step {
                    widen(kernel, buffers, (buffer, &own), turns);
                }
                body.iter_mut().for_each(|reader| follow(reader, buffer, &own, turns));
                buffers[buffer.0].len = own * turns.clone();
                before.push(step);
            }
            None => at += 1,
        }
    }
    before
}

/// The result of the product at a position of a body, if it can be made before the loop.
fn result(body: &[Step], at: usize, buffers: &[Buffer], uses: &[usize]) -> Option<BufferId> {
    let Step::Launch { kernel, buffers: bound } = &body[at] else { return None };
    let Skeleton::Contract { batch, m, n, lhs, rhs, stores, .. } = &kernel.skeleton else { return None };
    let [store] = stores.as_slice() else { return None };
    let (own, len) = (bound[store.slot], &buffers[bound[store.slot].0].len);
    let plain = batch.is_empty() && lhs.windows.is_empty() && rhs.windows.is_empty() && store.index.is_still();
    let (side, moving) = match (lhs.index.is_still(), rhs.index.is_still()) {
        (false, true) => (m, lhs),
        (true, false) => (n, rhs),
        (true, true) | (false, false) => return None,
    };
    // Parameters of a turn are read once either way.
    if let Role::Param(_) = buffers[bound[moving.slot].0].role {
        return None;
    }
    // The turns of a result become its outermost rows, or columns.
    let outer = side
        .first()
        .is_none_or(|&axis| store.index.stride(axis).is_some_and(|stride| stride * kernel.axes[axis].clone() == *len));
    let affine = lhs.index.is_affine() && rhs.index.is_affine() && store.index.is_affine();
    let mut inside = vec![0; buffers.len()];
    count(body, &mut inside);
    let alone = buffers[own.0].role == Role::Scratch && inside[own.0] == uses[own.0];
    // Launches of the body itself are what can be told where the part of their turn is.
    let mut direct = vec![0; buffers.len()];
    body.iter()
        .filter(|step| matches!(step, Step::Launch { .. }))
        .for_each(|s| count(std::slice::from_ref(s), &mut direct));
    let mut changed = BTreeSet::new();
    let others = body.iter().enumerate().filter(|(k, _)| *k != at);
    others.for_each(|(_, step)| written(step, &|kernel| kernel, &mut changed));
    let known = !kernel.slots[store.slot].read && !bound.iter().any(|source| changed.contains(source));
    let fits = kernel.axes.len() < AXES_OF_A_PRODUCT;
    (fits && plain && outer && affine && alone && direct[own.0] == inside[own.0] && known).then_some(own)
}

/// Gives a product an axis of turns, outside of the rows or columns that vary with them.
fn widen(kernel: &mut Kernel, bound: &[BufferId], (result, own): (BufferId, &Dim), turns: &Dim) {
    let axis = kernel.axes.len();
    kernel.axes.push(turns.clone());
    let Skeleton::Contract { m, n, lhs, stores, .. } = &mut kernel.skeleton else { return };
    let side = if lhs.index.is_still() { n } else { m };
    side.insert(0, axis);
    stores.iter_mut().for_each(|store| store.index = store.index.plus(&Index::atom(Atom::Loop(0)).times(own)));
    kernel.for_each_index(&mut |index| {
        *index = index.map(&mut |atom| match atom {
            Atom::Loop(0) => Index::axis(axis),
            Atom::Loop(depth) => Index::atom(Atom::Loop(depth - 1)),
            Atom::Axis(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
    });
    grow(kernel, bound, result, turns);
}

/// Lets a launch in the loop read the part of its turn.
fn follow(step: &mut Step, result: BufferId, own: &Dim, turns: &Dim) {
    let Step::Launch { kernel, buffers } = step else { return };
    let slots: Vec<bool> = buffers.iter().map(|buffer| *buffer == result).collect();
    let part = Index::atom(Atom::Loop(0)).times(own);
    for scalar in &mut kernel.scalars {
        if let Expr::Load { slot, index, .. } = scalar
            && slots[*slot]
        {
            *index = index.plus(&part);
        }
    }
    if let Skeleton::Contract { lhs, rhs, .. } = &mut kernel.skeleton {
        let read = [lhs, rhs].into_iter().filter(|operand| slots[operand.slot]);
        read.for_each(|operand| operand.index = operand.index.plus(&part));
    }
    grow(kernel, buffers, result, turns);
}

fn grow(kernel: &mut Kernel, bound: &[BufferId], result: BufferId, turns: &Dim) {
    let slots = kernel.slots.iter_mut().zip(bound).filter(|(_, buffer)| **buffer == result);
    slots.for_each(|(slot, _)| slot.len = slot.len.clone() * turns.clone());
}
