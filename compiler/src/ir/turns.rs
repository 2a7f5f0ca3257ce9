//! Slices of stacks: lets a row kernel in a loop see only the slice of this turn of the buffers that it walks by turns.
//!
//! In: a kernel. Out: the kernel without the loop's part of the indices into such slots, and that part, which the launch
//! adds to where the slot starts. Always: all loads and stores of a slot had the same part, so they reach what they did; a
//! kernel can then be cut along its outer axis, as nothing else in its slots moves from turn to turn.

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Skeleton};
use crate::ir::recurrence::Recurrence;

/// The kernel, and for each slot what a launch adds to its start.
pub fn relative(kernel: &Kernel) -> (Kernel, Vec<Index>) {
    let mut own = kernel.clone();
    let mut parts = vec![];
    for_each(&mut own, &mut |slot, index| parts.push((slot, part_of_turn(index))));
    let starts = common(kernel, parts);
    for_each(&mut own, &mut |slot, index| *index = index.plus(&starts[slot].times(&(-1).into())));
    (own, starts)
}

/// For each slot of any kernel where the slice of a turn starts, if all that a turn touches is in a slice: nowhere but at the
/// start otherwise.
pub fn starts(kernel: &Kernel) -> Vec<Index> {
    let mut parts = vec![];
    let mut see = |slot: usize, index: &Index, is_still: bool| {
        let part = part_of_turn(index);
        let rest = |part: &Index| index.plus(&part.times(&(-1).into()));
        parts.push((slot, part.filter(|part| is_still && rest(part).is_unsigned())));
    };
    kernel.scalars.iter().filter_map(Expr::load).for_each(|load| see(load.slot, load.index, true));
    match &kernel.skeleton {
        Skeleton::Row { passes, stores, .. } => {
            passes.iter().flat_map(|p| &p.stores).chain(stores).for_each(|s| see(s.slot, &s.index, true));
        }
        Skeleton::Contract { lhs, rhs, stores, .. } => {
            for operand in [lhs, rhs] {
                see(operand.slot, &operand.index, operand.windows.iter().all(|w| w.index.is_still()));
            }
            stores.iter().for_each(|s| see(s.slot, &s.index, true));
        }
        Skeleton::Scatter { store, .. } => see(store.slot, &store.index, true),
        Skeleton::Attend(attention) => attention.stores.iter().for_each(|s| see(s.slot, &s.index, true)),
        Skeleton::Recur(own) => {
            let mut starts: Vec<Index> = own.starts.iter().map(around).collect();
            starts[own.matrix] = around(&own.start);
            return starts;
        }
    }
    common(kernel, parts)
}

/// Where a recurrence, which is the innermost loop itself, starts in a turn of the loops around it.
fn around(start: &Index) -> Index {
    let is_around = |atom: &Atom| matches!(atom, Atom::Loop(1..));
    let terms = start.terms.iter().filter(|(atom, _)| is_around(atom)).cloned().collect();
    Recurrence::outside(&Index { base: 0.into(), terms })
}

/// For each slot the part of an index that all its loads and stores have; none where they differ, or one has none.
fn common(kernel: &Kernel, parts: Vec<(usize, Option<Index>)>) -> Vec<Index> {
    let mut starts: Vec<Option<Index>> = vec![None; kernel.slots.len()];
    for (slot, part) in parts {
        let part = part.unwrap_or_default();
        let start = starts[slot].get_or_insert(part.clone());
        if *start != part {
            *start = Index::default();
        }
    }
    starts.into_iter().map(Option::unwrap_or_default).collect()
}

/// Calls `see` with the slot and the index of every load and store of a row kernel.
fn for_each(kernel: &mut Kernel, see: &mut dyn FnMut(usize, &mut Index)) {
    let Skeleton::Row { passes, stores, .. } = &mut kernel.skeleton else { return };
    for scalar in &mut kernel.scalars {
        if let Expr::Load { slot, index, .. } = scalar {
            see(*slot, index);
        }
    }
    passes.iter_mut().flat_map(|p| &mut p.stores).chain(stores).for_each(|s| see(s.slot, &mut s.index));
}

/// The terms of an index that count turns, if turns count nowhere else in it.
fn part_of_turn(index: &Index) -> Option<Index> {
    let is_turn = |atom: &Atom| matches!(atom, Atom::Loop(_));
    let (turns, others) = index.terms.iter().cloned().partition(|(atom, _)| is_turn(atom));
    let rest = Index { base: 0.into(), terms: others };
    (!rest.any(&is_turn)).then_some(Index { base: 0.into(), terms: turns })
}
