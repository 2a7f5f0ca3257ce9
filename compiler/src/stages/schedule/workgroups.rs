//! How kernels run on a GPU: the workgroups of rows and scatters, tiles of contractions, and what attention has in shared
//! memory.
//!
//! In: a program whose kernels have their last form. Out: the same, in which every kernel that a GPU runs says how. Always: no
//! sum of floats is one long chain; what a workgroup takes is within the limits of every device.

use super::attend_tiles::attended;
use super::machine::GPU;
use crate::ir::dim::{Dim, product};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::program::{Program, for_each_launch};
use crate::ir::workgroup::{
    INVOCATIONS, PLAIN, PLAIN_TERMS, ROW_BLOCK, RowGroup, SHARED, Sides, TILE_BLOCK, Tile, Workgroup,
};

/// What a named dimension is taken to be where only a guess is needed.
const TYPICAL: i64 = 64;
/// Rows of at least this many elements are reduced by a whole workgroup.
const COOPERATE: i64 = 64;
/// Rows and columns of an invocation.
const THREAD_TILE: [u32; 2] = [4, 4];

/// Chooses for all kernels that a GPU runs and for which nobody has.
pub(super) fn choose(program: &mut Program) {
    for_each_launch(&mut program.steps, &mut |kernel, _| {
        kernel.schedule.workgroup = kernel.schedule.workgroup.or_else(|| workgroup(kernel));
    });
}

fn workgroup(kernel: &Kernel) -> Option<Workgroup> {
    match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, .. } => {
            Some(Workgroup::Rows(rows(kernel, parallel, reduced, !passes.is_empty())))
        }
        Skeleton::Scatter { outer, target, inner, .. } => {
            let elements: Vec<usize> = outer.iter().chain([target]).chain(inner).copied().collect();
            Some(Workgroup::Rows(rows(kernel, &elements, &[], false)))
        }
        Skeleton::Contract { k, .. } => Sides::of(kernel).map(|sides| Workgroup::Tile(tile(kernel, &sides, k))),
        Skeleton::Attend(attention) => Some(Workgroup::Attend(attended(kernel, attention))),
        // A GPU runs its turns.
        Skeleton::Recur(_) => None,
    }
}

/// How many elements axes have together.
pub(super) fn extent(kernel: &Kernel, axes: &[usize]) -> Dim {
    product(axes.iter().map(|&axis| &kernel.axes[axis]))
}

/// What a dimension is taken to be where only a guess is needed.
pub(super) fn typical(dim: &Dim) -> i64 {
    dim.eval(&|_| Some(TYPICAL)).unwrap_or(i64::MAX / 4096).clamp(1, i64::MAX / 4096)
}

/// A row alone in an invocation is fine where it is short or where there are enough rows to fill a device.
fn rows(kernel: &Kernel, items: &[usize], reduced: &[usize], has_passes: bool) -> RowGroup {
    let (rows, length) = (extent(kernel, items), extent(kernel, reduced));
    let (many, long) = (typical(&rows), typical(&length));
    let is_long = length.as_const().is_none_or(|length| length >= COOPERATE);
    let shared = long >= 32 && many * 16 < long * 1024 || length.as_const().is_none() && many < 4096;
    // Invocations beside each other then read what lies beside each other.
    let beside = kernel.schedule.vector.is_some_and(|axis| items.contains(&axis)) && many >= GPU.busy;
    let cooperative = has_passes && !beside && (is_long || shared);
    // A few rows of unknown length leave a device idle otherwise, and may be very long.
    let few = length.as_const().is_none() && many * i64::from(INVOCATIONS) <= GPU.held;
    let invocations = match (cooperative, many) {
        (true, _) if few => INVOCATIONS,
        (true, _) => (long / 2).clamp(32, INVOCATIONS.into()) as u32,
        (false, ..4096) => PLAIN,
        (false, _) => INVOCATIONS,
    };
    let invocations = power_of_two(invocations);
    let of_one = if cooperative { invocations * ROW_BLOCK } else { ROW_BLOCK };
    let block = length.as_const().is_none_or(|length| length > of_one.into()).then_some(ROW_BLOCK);
    RowGroup { invocations, cooperative, block }
}

/// The largest power of two that is not larger.
pub(super) fn power_of_two(n: u32) -> u32 {
    1 << n.ilog2()
}

/// Large tiles reuse more of what they load; small ones leave more workgroups where there is little to do.
fn tile(kernel: &Kernel, sides: &Sides<'_>, k: &[usize]) -> Tile {
    let terms = extent(kernel, k);
    let groups = |high: u32, wide: u32| groups(kernel, sides, [high, wide]);
    let [mut high, mut wide] = largest(kernel, sides);
    // Smaller tiles until a large device has something to do everywhere.
    while groups(high, wide).saturating_mul(INVOCATIONS.into()) < GPU.busy && high.max(wide) > 16 {
        if high >= wide { high /= 2 } else { wide /= 2 }
    }
    let tile = sliced(high, wide, typical(&terms), groups(high, wide));
    let plain = i64::from(PLAIN_TERMS) * i64::from(tile.slices);
    let block = terms.as_const().is_none_or(|terms| terms > plain).then_some(TILE_BLOCK);
    Tile { block, ..tile }
}

/// How many workgroups make a contraction in tiles of so many rows and columns.
pub(super) fn groups(kernel: &Kernel, sides: &Sides<'_>, tile: [u32; 2]) -> i64 {
    let along = |(axes, side): (&[usize], u32)| typical(&extent(kernel, axes).ceil_div(side.into()));
    let [rows, columns] = [(sides.rows, tile[0]), (sides.columns, tile[1])].map(along);
    typical(&extent(kernel, sides.batch)).saturating_mul(rows).saturating_mul(columns)
}

/// The most rows and columns of a contraction's tile.
pub(super) fn largest(kernel: &Kernel, sides: &Sides<'_>) -> [u32; 2] {
    [sides.rows, sides.columns].map(|axes| side(&extent(kernel, axes)))
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
    let of_slices = |slices: u32| {
        let mut depth = (4 * slices).max(16);
        while depth > 4 * slices && i64::from(depth / 2) >= terms {
            depth /= 2;
        }
        Tile { rows, columns, depth, thread_tile: THREAD_TILE, slices, block: None }
    };
    let mut tile = of_slices(INVOCATIONS / of_slices(1).of_slice());
    let idle = |t: &Tile| i64::from(16 * t.slices) > terms || groups.saturating_mul(t.invocations().into()) > GPU.busy;
    while tile.slices > 1 && (idle(&tile) || tile.bytes() > SHARED) {
        tile = of_slices(tile.slices / 2);
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_stay_within_the_smallest_limits() {
        for rows in [16, 32, 64] {
            for columns in [16, 32, 64] {
                for terms in [1, 9, 64, 1000, 100_000] {
                    let tile = sliced(rows, columns, terms, 1);
                    assert!(tile.bytes() <= SHARED && tile.invocations() <= INVOCATIONS, "{tile:?}");
                    assert!(tile.depth.is_multiple_of(4 * tile.slices), "{tile:?}");
                }
            }
        }
    }
}
