//! Turns as a GPU runs them, where dispatches wait for each other: each is one less.
//!
//! In: the turns of a recurrence whose map comes last, with copies of states in front of the product, as training keeps what
//! a state was. Out: the same, in which the map stores the old state before it writes over it. Always: the map has the state
//! at the position that it writes, and what is copied to is not looked at within the turn.

use super::super::numbers_of_gpu;
use super::super::workgroups::extent;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, Kernel, Skeleton, Slot, Store};
use crate::ir::program::{BufferId, Step};
use crate::ir::schedule::Schedule;

/// Lets the last step of a turn do what copies at its beginning do.
pub(super) fn merge(turns: &mut Step) {
    let Step::Loop { body, count: _, reverse: _ } = turns else { return };
    while let Some(merged) = merged(body) {
        body.remove(0);
        body.pop();
        body.push(merged);
    }
}

/// The last step with what the first one does.
fn merged(body: &[Step]) -> Option<Step> {
    let [first, between @ .., last] = body else { return None };
    let ((copy, of_copy), (map, of_map)) = (super::launch(first)?, super::launch(last)?);
    let (&[from, to], copied) = (of_copy, copied(copy)?) else { return None };
    let alone = |step: &Step| {
        !step.buffers().contains(&to) && super::launch(step).is_some_and(|(kernel, bound)| reads(kernel, bound, from))
    };
    if of_map.contains(&to) || !between.iter().all(alone) {
        return None;
    }
    let state = of_map.iter().position(|&buffer| buffer == from)?;
    let here = written(map, state)?;
    if extent(map, of_rows(map)?) != copy.axes[copied.axis] {
        return None;
    }
    let (mut map, mut of_map) = (map.clone(), of_map.to_vec());
    let (slot, value) = (map.slots.len(), map.scalars.len());
    let Expr::Load { fill, .. } = copy.scalars[0] else { return None };
    map.scalars.push(Expr::Load { slot: state, index: here.clone(), guards: vec![], fill });
    map.slots[state].read = true;
    map.slots.push(Slot { read: false, write: true, ..copy.slots[1].clone() });
    of_map.push(to);
    let index = copied.to.with_axis(copied.axis, here);
    if let Skeleton::Row { stores, .. } = &mut map.skeleton {
        stores.push(Store { slot, index, value });
    }
    map.schedule = Schedule::default();
    numbers_of_gpu(&mut map);
    Some(Step::Launch { kernel: map, buffers: of_map })
}

/// Where a copy of a whole buffer goes.
struct Copied<'a> {
    /// The axis of the elements, in their order.
    axis: usize,
    to: &'a Index,
}

fn copied(kernel: &Kernel) -> Option<Copied<'_>> {
    let ([axis], Skeleton::Row { stores, .. }) = (of_rows(kernel)?, &kernel.skeleton) else { return None };
    let ([Expr::Load { slot: 0, index, guards, .. }], [store]) = (kernel.scalars.as_slice(), stores.as_slice()) else {
        return None;
    };
    let whole = kernel.slots[0].len == kernel.axes[*axis] && kernel.slots[0].dtype == kernel.slots[1].dtype;
    let plain = guards.is_empty() && *index == Index::axis(*axis) && store.slot == 1;
    (whole && plain).then_some(Copied { axis: *axis, to: &store.index })
}

/// The axes of a kernel that is a map.
fn of_rows(kernel: &Kernel) -> Option<&[usize]> {
    match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, stores: _ } if reduced.is_empty() && passes.is_empty() => {
            Some(parallel)
        }
        Skeleton::Row { .. }
        | Skeleton::Contract { .. }
        | Skeleton::Scatter { .. }
        | Skeleton::Attend(_)
        | Skeleton::Recur(_) => None,
    }
}

/// Where a map writes a slot, if that is each of its elements in their order, and it reads it nowhere else.
fn written(map: &Kernel, slot: usize) -> Option<&Index> {
    let Skeleton::Row { parallel, stores, .. } = &map.skeleton else { return None };
    let here = Index::row_major(parallel, &map.axes);
    let mut writes = stores.iter().filter(|store| store.slot == slot);
    let index = &writes.next().filter(|store| store.index == here)?.index;
    let mut loads = map.scalars.iter().filter_map(Expr::load).filter(|load| load.slot == slot);
    (writes.next().is_none() && loads.all(|load| *load.index == here && load.guards.is_empty())).then_some(index)
}

/// Whether a kernel does no more with a buffer than read it.
fn reads(kernel: &Kernel, bound: &[BufferId], buffer: BufferId) -> bool {
    bound.iter().zip(&kernel.slots).all(|(&of, slot)| of != buffer || !slot.write)
}
