//! How a kernel runs on a GPU: the invocations of a workgroup, what each of them has, and what they share.
//!
//! In: what schedule chooses. Out: what follows from it. Always: a workgroup stays within WebGPU's smallest limits, which
//! [`verify`](super::verify) checks.

use super::attend::{Attention, Part};
use super::dim::{Dim, product};
use super::kernel::{Kernel, Skeleton};

/// Most invocations of a workgroup that every device runs.
pub const INVOCATIONS: u32 = 256;
/// Invocations of a workgroup that has no reason for more or fewer.
pub const PLAIN: u32 = 64;
/// Bytes of shared memory that every device has.
pub const SHARED: u32 = 16_384;

/// Elements of a row that an invocation adds up in one chain of f32. Its error, that of the 8 levels of a workgroup's tree, and
/// that of totals of chains with compensation stay below 16 half ulps together: 10⁻⁶.
pub const CHAIN: u32 = 16;
/// Terms of a contraction that an invocation adds up in one chain where it has more than [`LONG`]: a chain of equal numbers is
/// off by 8 · 10⁻⁶ then.
pub const TERMS: u32 = 512;
/// The most terms of a contraction that an invocation adds up without such chains.
pub const LONG: u32 = 4096;

/// How the work of a kernel is spread over workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Workgroup {
    /// Rows, or elements of a scatter.
    Grid(Grid),
    /// A tile of a contraction.
    Tile(Tile),
    /// Queries of an attention, or its keys.
    Attend(Heads),
}

/// How rows or elements are spread over invocations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Grid {
    /// Invocations of a workgroup, a power of two.
    pub invocations: u32,
    /// Whether a workgroup shares the reduction of a row; otherwise an invocation does it alone.
    pub cooperative: bool,
    /// The most terms of a sum of floats that are added up in one chain, where there may be more: totals of chains are added
    /// with compensation.
    pub chain: Option<u32>,
}

/// A tile of a contraction's result. Rows and columns are those of the result as it lies in memory ([`Sides`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Terms of the sum that are in shared memory at once, over all slices.
    pub depth: u32,
    /// Rows and columns of an invocation, multiples of four.
    pub cell: [u32; 2],
    /// Parts of the sum that run beside each other in one workgroup.
    pub slices: u32,
    /// The most terms that an invocation adds up in one chain, where there may be many more: totals of chains are added with
    /// compensation.
    pub chain: Option<u32>,
}

/// How an attention is spread over invocations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Heads {
    /// Invocations of a workgroup, a power of two.
    pub invocations: u32,
    /// How many of the rows that its own meet are in shared memory at once, at most one for each invocation; `None` where each head has one query,
    /// whose keys the invocations share out.
    pub met: Option<u32>,
}

/// Vectors of results that are added up at a time where invocations share out the keys of a query.
pub const AT_ONCE: u32 = 4;

impl Workgroup {
    /// Invocations.
    pub fn invocations(self) -> u32 {
        match self {
            Workgroup::Grid(grid) => grid.invocations,
            Workgroup::Tile(tile) => tile.invocations(),
            Workgroup::Attend(heads) => heads.invocations,
        }
    }

    /// Bytes of shared memory, where it runs this kernel.
    pub fn bytes(self, kernel: &Kernel) -> u32 {
        match (self, &kernel.skeleton) {
            // A row's accumulators pass through two arrays of a word for each invocation.
            (Workgroup::Grid(grid), _) => {
                if grid.cooperative {
                    2 * 4 * INVOCATIONS
                } else {
                    0
                }
            }
            (Workgroup::Tile(tile), _) => tile.bytes(),
            (Workgroup::Attend(Heads { invocations, met: None }), _) => invocations * (4 + 4 + 16 * AT_ONCE),
            (Workgroup::Attend(Heads { met: Some(met), .. }), Skeleton::Attend(attention)) => {
                met.saturating_mul(attention.bytes_met(&kernel.axes).unwrap_or(u32::MAX))
            }
            (Workgroup::Attend(_), _) => u32::MAX,
        }
    }
}

impl Tile {
    /// Invocations of one slice.
    pub fn of_slice(&self) -> u32 {
        (self.rows / self.cell[0]) * (self.columns / self.cell[1])
    }

    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u32 {
        self.of_slice() * self.slices
    }

    /// Bytes of shared memory.
    pub fn bytes(&self) -> u32 {
        4 * (self.depth * (self.rows + self.columns) + self.slices / 2 * self.rows * self.columns)
    }

    /// What is wrong with it, if it is no tile that can be printed.
    pub(super) fn error(&self) -> Option<&'static str> {
        let Tile { rows, columns, depth, cell, slices, chain } = *self;
        let fours = cell.iter().all(|side| *side > 0 && side.is_multiple_of(4));
        let cells = fours && rows.is_multiple_of(cell[0]) && columns.is_multiple_of(cell[1]);
        let steps = slices.is_power_of_two() && depth.is_multiple_of(4 * slices) && depth > 0;
        let cut = chain.is_none_or(|chain| steps && (chain * slices).is_multiple_of(depth) && chain > 0);
        match (cells, steps && cut) {
            (false, _) => Some("a tile is not made of cells"),
            (_, false) => Some("a tile's steps do not fit its slices"),
            (true, true) => None,
        }
    }
}

impl Attention {
    /// Whether a row is a key, which meets queries.
    pub fn is_of_keys(&self) -> bool {
        matches!(self.attend.part, Part::Key | Part::Value)
    }

    /// Whether each head has one query only, for which a workgroup shares the keys.
    pub fn is_single(&self, axes: &[Dim]) -> bool {
        let of_output = matches!(self.attend.part, Part::Output | Part::Max | Part::Reciprocal);
        of_output && self.queries.iter().all(|&axis| axes[axis].is(1))
    }

    /// Vectors of four in the features of queries and keys, and in those of values, which must be of known sizes.
    pub fn vectors(&self, axes: &[Dim]) -> Option<[u32; 2]> {
        let of = |list: &[usize]| Some(product(list.iter().map(|&axis| &axes[axis])).as_const()? as u32);
        Some([of(&self.features)?.div_ceil(4), of(&self.values)?.div_ceil(4)])
    }

    /// Bytes of shared memory that a row takes which others meet.
    pub fn bytes_met(&self, axes: &[Dim]) -> Option<u32> {
        let [features, values] = self.vectors(axes)?;
        Some(16 * (features + values) + if self.is_of_keys() { 8 } else { 0 })
    }
}

/// The axes of a contraction in the order of the result: `columns` vary fastest in memory.
pub struct Sides<'a> {
    /// Those that both operands have.
    pub batch: &'a [usize],
    /// Of one operand.
    pub rows: &'a [usize],
    /// Of the other one.
    pub columns: &'a [usize],
    /// Whether the rows are those of the right operand.
    pub swapped: bool,
}

impl Sides<'_> {
    /// Those of a contraction: the columns are the side along which the first store is contiguous.
    pub fn of(kernel: &Kernel) -> Option<Sides<'_>> {
        let Skeleton::Contract { batch, m, n, stores, .. } = &kernel.skeleton else { return None };
        let contiguous = |axes: &[usize]| {
            let last = axes.iter().rev().find(|&&axis| !kernel.axes[axis].is(1));
            let index = stores.first().map(|store| &store.index);
            last.zip(index).and_then(|(&axis, index)| index.stride(axis)).is_some_and(|stride| stride.is(1))
        };
        let swapped = contiguous(m) && !contiguous(n);
        let (rows, columns) = if swapped { (n, m) } else { (m, n) };
        Some(Sides { batch, rows, columns, swapped })
    }
}
