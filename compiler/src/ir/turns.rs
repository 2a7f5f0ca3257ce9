//! Slices of stacks: lets a row kernel in a loop see only the slice of this turn of the buffers that it walks by turns.
//!
//! In: a kernel. Out: the kernel without the loop's part of the indices into such slots, and that part, which the launch
//! adds to where the slot starts. Always: all loads and stores of a slot had the same part, so they reach what they did; a
//! kernel can then be cut along its outer axis, as nothing else in its slots moves from turn to turn.

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Skeleton};

/// The kernel, and for each slot what a launch adds to its start.
pub fn relative(kernel: &Kernel) -> (Kernel, Vec<Index>) {
    let mut starts: Vec<Option<Index>> = vec![None; kernel.slots.len()];
    let mut same = vec![true; kernel.slots.len()];
    let mut own = kernel.clone();
    for_each(&mut own, &mut |slot, index| {
        let part = part_of_turn(index);
        match &starts[slot] {
            Some(start) => same[slot] &= part.as_ref() == Some(start),
            None => same[slot] &= part.is_some(),
        }
        starts[slot] = starts[slot].take().or(part);
    });
    let starts: Vec<Index> =
        starts.into_iter().zip(same).map(|(start, same)| start.filter(|_| same).unwrap_or_default()).collect();
    for_each(&mut own, &mut |slot, index| *index = index.plus(&starts[slot].times(&(-1).into())));
    (own, starts)
}

/// For each slot of any kernel where the slice of a turn starts, if all that a turn touches is in a slice: nowhere but at the
/// start otherwise.
pub fn starts(kernel: &Kernel) -> Vec<Index> {
    let mut starts: Vec<Option<Index>> = vec![None; kernel.slots.len()];
    let mut see = |slot: usize, index: &Index, is_still: bool| {
        let is_turn = |atom: &Atom| matches!(atom, Atom::Loop(_));
        let rest = Index {
            base: index.base.clone(),
            terms: index.terms.iter().filter(|(a, _)| !is_turn(a)).cloned().collect(),
        };
        let part = part_of_turn(index).filter(|_| is_still && rest.is_unsigned()).unwrap_or_default();
        let start = starts[slot].get_or_insert(part.clone());
        if *start != part {
            *start = Index::default();
        }
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
        Skeleton::Recur(_) => return vec![Index::default(); kernel.slots.len()],
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
