//! How kernels run on a GPU: the workgroups of rows and scatters, tiles of contractions, and what attention has in shared
//! memory.
//!
//! In: a program whose kernels have their last form. Out: the same, in which every kernel that a GPU runs says how. Always: no
//! sum of floats is one long chain; what a workgroup takes is within the limits of every device.

use super::attend_tiles::attended;
use super::machine::GPU;
use super::neighbours;
use crate::ir::dim::{Dim, product};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::precision::Precision;
use crate::ir::program::{Program, for_each_launch};
use crate::ir::tile::{FRAGMENT, HalvesTile, ROUNDED_BLOCK, Tile, Tiles};
use crate::ir::ty::DType;
use crate::ir::workgroup::{
    INVOCATIONS, PLAIN, PLAIN_TERMS, ROW_BLOCK, RowGroup, SHARED, Sides, TILE_BLOCK, Workgroup,
};

/// What a named dimension is taken to be where only a guess is needed.
const TYPICAL: i64 = 64;
/// Rows of at least this many elements are reduced by a whole workgroup.
const COOPERATE: i64 = 64;
/// The fewest rows or columns of an invocation.
pub(super) const THREAD_SIDE: u32 = 4;
/// The most rows or columns of an invocation.
const LONG_THREAD_SIDE: u32 = 8;
/// The fewest invocations of a slice of a tile whose invocations have so many.
const OF_SLICE: u32 = 64;

/// Chooses for all kernels that a GPU runs and for which nobody has.
pub(super) fn choose(program: &mut Program) {
    let precision = program.precision;
    for_each_launch(&mut program.steps, &mut |kernel, _| {
        kernel.schedule.workgroup = kernel.schedule.workgroup.or_else(|| workgroup(kernel, precision));
    });
}

fn workgroup(kernel: &Kernel, precision: Precision) -> Option<Workgroup> {
    match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, .. } => {
            Some(Workgroup::Rows(rows(kernel, parallel, reduced, !passes.is_empty())))
        }
        Skeleton::Scatter { outer, target, inner, .. } => {
            let elements: Vec<usize> = outer.iter().chain([target]).chain(inner).copied().collect();
            Some(Workgroup::Rows(rows(kernel, &elements, &[], false)))
        }
        Skeleton::Contract { k, lhs, rhs, .. } => {
            let parts = precision.halves().filter(|_| kernel.product_dtype(lhs, rhs) == DType::F32);
            let of = |sides: Sides| {
                let halves = parts.map_or([None; 2], |parts| halves(kernel, &sides, k, parts));
                Workgroup::Tiles(Tiles { halves, ..tiles(kernel, &sides, k) })
            };
            Sides::of(kernel).map(of)
        }
        Skeleton::Attend(attention) => Some(Workgroup::Attend(attended(kernel, attention))),
        // What a GPU runs as one launch has its workgroup.
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
        (false, many) => alone(many),
    };
    let invocations = power_of_two(invocations);
    let of_one = if cooperative { invocations * ROW_BLOCK } else { ROW_BLOCK };
    let block = length.as_const().is_none_or(|length| length > of_one.into()).then_some(ROW_BLOCK);
    neighbours::choose(kernel, RowGroup::plain(invocations, cooperative, block))
}

/// A workgroup that shares rows beside each other, as many as there are words in a sector of memory.
pub(super) fn beside(block: Option<u32>) -> RowGroup {
    RowGroup { rows: GPU.sector, ..RowGroup::plain(INVOCATIONS, true, block) }
}

/// The invocations of a workgroup of which each works alone, where there are so many: few are spread over more workgroups.
pub(super) fn alone(many: i64) -> u32 {
    if many < 4096 { PLAIN } else { INVOCATIONS }
}

/// The largest power of two that is not larger.
pub(super) fn power_of_two(n: u32) -> u32 {
    1 << n.ilog2()
}

/// Large tiles reuse more of what they load; small ones leave more workgroups where there is little to do.
fn tiles(kernel: &Kernel, sides: &Sides, k: &[usize]) -> Tiles {
    let results = extent(kernel, &[&sides.batch[..], &sides.rows, &sides.columns].concat());
    let most = largest(kernel, sides);
    // Slices of a long sum keep the invocations busy that a tile of few results does not need.
    let smallest = if typical(&extent(kernel, k)) < LONG_SUM { SMALLEST } else { SMALLEST / 2 };
    if results.as_const().is_some() {
        return Tiles::plain(tile(kernel, sides, k, most, smallest));
    }
    let of_few = |smallest: u32| tile(kernel, sides, k, most.map(|side| side.min(MEDIUM)), smallest);
    let own = of_few(smallest);
    // Of a call that says how many there are, there may be any number.
    let extents = [&sides.rows, &sides.columns].map(|axes| extent(kernel, axes).as_const());
    let longest = extents.map(|extent| extent.map_or(LARGEST, side));
    let larger = [longest[0].max(own.rows), longest[1].max(own.columns)];
    let larger = blocked(kernel, k, sliced(larger, typical(&extent(kernel, k)), i64::MAX));
    let has_more = |larger: &Tile| {
        let is_long = larger.thread_tile == [LONG_THREAD_SIDE; 2];
        is_long && larger.rows * larger.columns >= LARGER * own.rows * own.columns
    };
    match Some(larger).filter(has_more) {
        // One tile for however many there are.
        None => Tiles::plain(of_few(SMALLEST)),
        larger => Tiles { larger, ..Tiles::plain(own) },
    }
}

/// The tiles of cooperative matrices: one for as many results as there are, or two where a call says how many; none for sums that
/// are too short to be worth it.
fn halves(kernel: &Kernel, sides: &Sides, k: &[usize], parts: u32) -> [Option<HalvesTile>; 2] {
    let extents = [&sides.rows, &sides.columns].map(|axes| extent(kernel, axes));
    let terms = extent(kernel, k);
    let [few, many] = if parts == 1 { ROUNDED } else { SPLIT };
    let shortest = extents.iter().map(typical).min();
    if typical(&terms) < few.depth.into() || shortest < Some(FRAGMENT.into()) {
        return [None; 2];
    }
    let is_long = extents.iter().all(|extent| extent.as_const().is_none_or(|extent| extent > few.rows.into()));
    if extent(kernel, &[&sides.batch[..], &sides.rows, &sides.columns].concat()).as_const().is_none() {
        return [Some(few), Some(many).filter(|_| is_long)];
    }
    let is_busy = is_long && groups(kernel, sides, [many.rows, many.columns]) >= GPU.processors;
    [Some(few).filter(|_| !is_busy), Some(many).filter(|_| is_busy)]
}

/// The tiles of few results and of many, where elements are sums of two halves: as many as let subgroups load less than they multiply,
/// within the registers and the shared memory of a multiprocessor.
const SPLIT: [HalvesTile; 2] = [
    HalvesTile { halves: 2, rows: 64, columns: 64, depth: 32, subgroup_tile: [32, 32], block: TILE_BLOCK },
    HalvesTile { halves: 2, rows: 128, columns: 128, depth: 32, subgroup_tile: [64, 32], block: TILE_BLOCK },
];

/// The same where elements are rounded to one half.
const ROUNDED: [HalvesTile; 2] = [
    HalvesTile { halves: 1, depth: 64, block: ROUNDED_BLOCK, ..SPLIT[0] },
    HalvesTile { halves: 1, depth: 64, block: ROUNDED_BLOCK, ..SPLIT[1] },
];

/// A tile of at most so many rows and columns, and smaller until a large device has something to do everywhere.
fn tile(kernel: &Kernel, sides: &Sides, k: &[usize], mut of_tile: [u32; 2], smallest: u32) -> Tile {
    let groups = |of_tile: [u32; 2]| groups(kernel, sides, of_tile);
    while of_tile.into_iter().max() > Some(smallest) && groups(of_tile) < enough(of_tile) {
        let longer = usize::from(of_tile[1] > of_tile[0]);
        of_tile[longer] /= 2;
    }
    blocked(kernel, k, sliced(of_tile, typical(&extent(kernel, k)), groups(of_tile)))
}

/// The same tile, which adds up long sums in blocks.
fn blocked(kernel: &Kernel, k: &[usize], tile: Tile) -> Tile {
    let plain = i64::from(PLAIN_TERMS) * i64::from(tile.slices);
    let block = extent(kernel, k).as_const().is_none_or(|terms| terms > plain).then_some(TILE_BLOCK);
    Tile { block, ..tile }
}

/// How many times the results of a tile a larger one has that is worth its text.
const LARGER: u32 = 2;

/// How many workgroups keep a GPU busy: most of those that all multiprocessors should have, or of the smaller ones as many as have
/// enough invocations.
pub(super) fn enough(tile: [u32; 2]) -> i64 {
    let is_large = tile.into_iter().max() > Some(MEDIUM);
    if is_large { 3 * of_each(tile) * GPU.processors / 4 } else { GPU.busy / i64::from(INVOCATIONS) }
}

/// How many workgroups a multiprocessor should have, so that one multiplies while another waits: those of smaller tiles have fewer
/// invocations.
pub(super) fn of_each(tile: [u32; 2]) -> i64 {
    let is_medium = tile.into_iter().max() > Some(MEDIUM) && tile != [LARGEST; 2];
    if is_medium { 4 } else { 2 }
}

/// How many workgroups make a contraction in tiles of so many rows and columns.
pub(super) fn groups(kernel: &Kernel, sides: &Sides, tile: [u32; 2]) -> i64 {
    let along = |(axes, side): (&Vec<usize>, u32)| typical(&extent(kernel, axes).ceil_div(side.into()));
    let [rows, columns] = [(&sides.rows, tile[0]), (&sides.columns, tile[1])].map(along);
    typical(&extent(kernel, &sides.batch)).saturating_mul(rows).saturating_mul(columns)
}

/// The most rows and columns of a contraction's tile.
pub(super) fn largest(kernel: &Kernel, sides: &Sides) -> [u32; 2] {
    [&sides.rows, &sides.columns].map(|axes| side(typical(&extent(kernel, axes))))
}

/// The fewest rows or columns of a tile, but for those of few long sums.
const SMALLEST: u32 = 16;
/// Terms of a sum for which half of that are enough.
const LONG_SUM: i64 = 512;
/// Rows or columns of a medium tile, and the most.
pub(super) const MEDIUM: u32 = 64;
const LARGEST: u32 = 128;

/// Rows or columns of a tile: so many that more than half of those of its last part are there, but for the smallest ones.
fn side(extent: i64) -> u32 {
    let mut side = LARGEST;
    while side > SMALLEST && i64::from(side / 2) >= extent {
        side /= 2;
    }
    side
}

/// A tile whose sums are shared out where there are few invocations otherwise, as far as they have memory.
fn sliced([rows, columns]: [u32; 2], terms: i64, groups: i64) -> Tile {
    let is_large = rows * columns / (LONG_THREAD_SIDE * LONG_THREAD_SIDE) >= OF_SLICE;
    let thread_tile = [if is_large { LONG_THREAD_SIDE } else { THREAD_SIDE }; 2];
    let of_slices = |slices: u32| {
        let mut depth = (4 * slices).max(16);
        while depth > 4 * slices && i64::from(depth / 2) >= terms {
            depth /= 2;
        }
        Tile { rows, columns, depth, thread_tile, slices, block: None }
    };
    let mut tile = of_slices(INVOCATIONS / of_slices(1).of_slice());
    // As many results keep each invocation busy for longer, but fill all registers with fewer invocations.
    let held = if is_large { 2 * GPU.busy } else { GPU.busy };
    let idle = |t: &Tile| i64::from(16 * t.slices) > terms || groups.saturating_mul(t.invocations().into()) > held;
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
        for rows in [8, 16, 32, 64, 128] {
            for columns in [8, 16, 32, 64, 128] {
                for terms in [1, 9, 64, 1000, 100_000] {
                    let tile = sliced([rows, columns], terms, 1);
                    assert!(tile.bytes() <= SHARED && tile.invocations() <= INVOCATIONS, "{tile:?}");
                    assert!(tile.depth.is_multiple_of(4 * tile.slices), "{tile:?}");
                }
            }
        }
    }
}
