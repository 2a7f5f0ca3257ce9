//! How kernels run on a GPU: the workgroups of rows and scatters, tiles of contractions, and what attention has in shared
//! memory.
//!
//! In: a program whose kernels have their last form. Out: the same, in which every kernel that a GPU runs says how. Always: no
//! sum of floats is one long chain; what a workgroup takes is within the limits of every device.

use super::machine::GPU;
use crate::ir::attend::Attention;
use crate::ir::dim::{Dim, product};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::program::{Program, for_each_launch};
use crate::ir::workgroup::{CHAIN, Grid, Heads, INVOCATIONS, LONG, PLAIN, SHARED, Sides, TERMS, Tile, Workgroup};

/// What a named dimension is taken to be where only a guess is needed.
const TYPICAL: i64 = 64;
/// Rows of at least this many elements are reduced by a whole workgroup.
const COOPERATE: i64 = 64;
/// Most rows of attention that others meet in shared memory.
const MET: u32 = 32;

/// Chooses for all kernels that a GPU runs.
pub(super) fn choose(program: &mut Program) {
    for_each_launch(&mut program.steps, &mut |kernel, _| kernel.schedule.workgroup = workgroup(kernel));
}

fn workgroup(kernel: &Kernel) -> Option<Workgroup> {
    match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, .. } => {
            Some(Workgroup::Grid(grid(kernel, parallel, reduced, !passes.is_empty())))
        }
        Skeleton::Scatter { outer, target, inner, .. } => {
            let elements: Vec<usize> = outer.iter().chain([target]).chain(inner).copied().collect();
            Some(Workgroup::Grid(Grid { chain: None, ..grid(kernel, &elements, &[], false) }))
        }
        Skeleton::Contract { .. } => tile(kernel).map(Workgroup::Tile),
        Skeleton::Attend(attention) => Some(Workgroup::Attend(heads(kernel, attention))),
        // A GPU runs its turns.
        Skeleton::Recur(_) => None,
    }
}

fn extent(kernel: &Kernel, axes: &[usize]) -> Dim {
    product(axes.iter().map(|&axis| &kernel.axes[axis]))
}

fn typical(dim: &Dim) -> i64 {
    dim.eval(&|_| Some(TYPICAL)).unwrap_or(i64::MAX / 4096).clamp(1, i64::MAX / 4096)
}

/// A row alone in an invocation is fine where it is short or where there are enough rows to fill a device.
fn grid(kernel: &Kernel, items: &[usize], reduced: &[usize], has_passes: bool) -> Grid {
    let (rows, length) = (extent(kernel, items), extent(kernel, reduced));
    let (many, long) = (typical(&rows), typical(&length));
    let is_long = length.as_const().is_none_or(|length| length >= COOPERATE);
    let shared = long >= 32 && many * 16 < long * 1024 || length.as_const().is_none() && many < 4096;
    let cooperative = has_passes && (is_long || shared);
    // A few rows of unknown length leave a device idle otherwise, and may be very long.
    let few = length.as_const().is_none() && many * i64::from(INVOCATIONS) < GPU.busy / 2;
    let invocations = match (cooperative, many) {
        (true, _) if few => INVOCATIONS,
        (true, _) => (long / 2).clamp(32, INVOCATIONS.into()) as u32,
        (false, ..4096) => PLAIN,
        (false, _) => INVOCATIONS,
    };
    let invocations = power_of_two(invocations);
    let of_one = if cooperative { invocations * CHAIN } else { CHAIN };
    let chain = length.as_const().is_none_or(|length| length > of_one.into()).then_some(CHAIN);
    Grid { invocations, cooperative, chain }
}

/// The largest power of two that is not larger.
fn power_of_two(n: u32) -> u32 {
    1 << n.ilog2()
}

/// Large tiles reuse more of what they load; small ones leave more workgroups where there is little to do.
fn tile(kernel: &Kernel) -> Option<Tile> {
    let Skeleton::Contract { m, n, k, .. } = &kernel.skeleton else { return None };
    let sides = Sides::of(kernel)?;
    let [batch, rows, columns] = [sides.batch, sides.rows, sides.columns].map(|axes| typical(&extent(kernel, axes)));
    let (all, terms) = (extent(kernel, k), typical(&extent(kernel, k)));
    let groups = |high: u32, wide: u32| {
        batch * (rows as u64).div_ceil(high.into()) as i64 * (columns as u64).div_ceil(wide.into()) as i64
    };
    let [mut high, mut wide] = [m, n].map(|axes| side(&extent(kernel, axes)));
    // Smaller tiles until a large device has something to do everywhere.
    while groups(high, wide) * i64::from(INVOCATIONS) < GPU.busy && high.max(wide) > 16 {
        if high >= wide { high /= 2 } else { wide /= 2 }
    }
    let tile = sliced(high, wide, terms, groups(high, wide));
    let long = all.as_const().is_none_or(|terms| terms > i64::from(LONG) * i64::from(tile.slices));
    Some(Tile { chain: long.then_some(TERMS), ..tile })
}

/// Rows or columns of a tile.
fn side(extent: &Dim) -> u32 {
    match extent.as_const() {
        Some(..=16) => 16,
        Some(17..=32) => 32,
        _ => 64,
    }
}

/// A tile whose sums are shared out where there are few invocations otherwise, as far as they have memory.
fn sliced(rows: u32, columns: u32, terms: i64, groups: i64) -> Tile {
    let cell = [rows, columns].map(|extent| if extent >= 128 { 8 } else { 4 });
    let of_slices = |slices: u32| {
        let mut depth = (4 * slices).max(16);
        while depth > 4 * slices && i64::from(depth / 2) >= terms {
            depth /= 2;
        }
        Tile { rows, columns, depth, cell, slices, chain: None }
    };
    let mut tile = of_slices(INVOCATIONS / ((rows / cell[0]) * (columns / cell[1])));
    let idle = |t: &Tile| i64::from(16 * t.slices) > terms || groups * i64::from(t.invocations()) > GPU.busy;
    while tile.slices > 1 && (idle(&tile) || tile.bytes() > SHARED) {
        tile = of_slices(tile.slices / 2);
    }
    tile
}

/// An invocation has a row of its own, and meets the others as they come through shared memory.
fn heads(kernel: &Kernel, attention: &Attention) -> Heads {
    let bytes = attention.bytes_met(&kernel.axes).unwrap_or(SHARED).max(1);
    let met = (!attention.is_single(&kernel.axes)).then(|| power_of_two((SHARED / bytes).clamp(1, MET)));
    Heads { invocations: PLAIN, met }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_stay_within_the_smallest_limits() {
        for rows in [16, 32, 64, 128] {
            for columns in [16, 32, 64, 128] {
                for terms in [1, 9, 64, 1000, 100_000] {
                    let tile = sliced(rows, columns, terms, 1);
                    assert!(tile.bytes() <= SHARED && tile.invocations() <= INVOCATIONS, "{tile:?}");
                    assert!(tile.depth.is_multiple_of(4 * tile.slices), "{tile:?}");
                }
            }
        }
    }
}
