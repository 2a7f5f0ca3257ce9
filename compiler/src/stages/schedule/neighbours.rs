//! Neighbours: how many elements beside each other an invocation of a row or a map has.
//!
//! In: a kernel, and how its rows are spread over invocations. Out: the same with neighbours, and with the turns of shared rows
//! that stay in registers, or with what an invocation asks for before it computes. Always: four neighbours are chosen where some
//! loads or stores of them are one access of four words, which is what reaches the bandwidth of a GPU's memory; where there are
//! few elements, they are left to more invocations.

use super::machine::GPU;
use super::workgroups::{alone, extent, power_of_two, typical};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::neighbours::{FOUR, Fours, packed};
use crate::ir::workgroup::{INVOCATIONS, ROW_BLOCK, RowGroup, TURNS};

/// The most values of scalars that are printed one after the other.
const PRINTED: usize = 1024;
/// The most takings of a block whose loads do not wait for each other: more are text that gains nothing.
pub(super) const AT_ONCE: u32 = 8;
/// The most of them in a block, which is printed twice: once as a whole, and once with an end.
const TAKEN: usize = PRINTED / 4;
/// The fewest invocations that share a row: those of a subgroup, mostly.
const FEWEST: u32 = 32;

/// The group with its neighbours and turns, and what it takes of a block at once.
pub(super) fn choose(kernel: &Kernel, group: RowGroup) -> RowGroup {
    at_once(kernel, with_neighbours(kernel, group))
}

/// The group that asks for as much of a block as it has room for, before it computes.
pub(super) fn at_once(kernel: &Kernel, group: RowGroup) -> RowGroup {
    let Some(block) = group.block.filter(|_| group.neighbours == 1 || group.neighbours == FOUR) else { return group };
    let of_turn = group.neighbours as usize;
    let loads = kernel.scalars.iter().filter(|scalar| scalar.load().is_some()).count().max(1);
    let fits = |at_once: u32| {
        let values = at_once as usize * of_turn;
        block.is_multiple_of(RowGroup { at_once, ..group }.taken())
            && values * loads <= GPU.ahead
            && values * kernel.scalars.len() <= TAKEN
    };
    let most = (1..=AT_ONCE).rev().filter(|n| n.is_power_of_two()).find(|&n| fits(n)).unwrap_or(1);
    RowGroup { at_once: most, ..group }
}

/// The group with its neighbours and turns.
fn with_neighbours(kernel: &Kernel, group: RowGroup) -> RowGroup {
    let of_word = packed(kernel);
    if of_word > 1 {
        return RowGroup { neighbours: of_word, ..group };
    }
    let Skeleton::Row { parallel, reduced, .. } = &kernel.skeleton else { return group };
    let has_fours = Fours::of(kernel, group.cooperative).is_some_and(|fours| fours.has_any());
    if !has_fours || FOUR as usize * kernel.scalars.len() > PRINTED {
        return group;
    }
    if !group.cooperative {
        let items = extent(kernel, parallel);
        let invocations = alone(typical(&items) / i64::from(FOUR));
        let is_large = items.as_const().is_none_or(|items| items >= GPU.busy);
        return if is_large { RowGroup { neighbours: FOUR, invocations, ..group } } else { group };
    }
    let group = RowGroup { neighbours: FOUR, ..group };
    let Some(length) = extent(kernel, reduced).as_const() else { return group };
    if let Some((invocations, turns)) = turns(kernel, length) {
        return RowGroup { invocations, turns: Some(turns), block: None, ..group };
    }
    let invocations = power_of_two((length / i64::from(2 * FOUR)).clamp(FEWEST.into(), INVOCATIONS.into()) as u32);
    let block = (length > i64::from(invocations * ROW_BLOCK)).then_some(ROW_BLOCK);
    RowGroup { invocations, block, ..group }
}

/// The invocations and turns of a row of a known length: the fewest invocations whose turns are not too many.
fn turns(kernel: &Kernel, length: i64) -> Option<(u32, u32)> {
    let all = (FEWEST.ilog2()..=INVOCATIONS.ilog2()).map(|n| 1 << n);
    let mut whole = all.filter_map(|invocations: u32| {
        let at_once = i64::from(invocations * FOUR);
        let turns = u32::try_from(length / at_once).ok().filter(|_| length % at_once == 0)?;
        Some((invocations, turns))
    });
    let fits = |&(_, turns): &(u32, u32)| {
        (1..=TURNS).contains(&turns) && (turns * FOUR) as usize * kernel.scalars.len() <= PRINTED
    };
    whole.find(fits)
}
