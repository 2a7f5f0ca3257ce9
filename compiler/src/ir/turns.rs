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
