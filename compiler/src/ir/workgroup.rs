//! How a kernel runs on a GPU: the invocations of a workgroup, what each of them has, and what they share.
//!
//! In: what schedule chooses. Out: what follows from it. Always: a workgroup stays within WebGPU's smallest limits, but for
//! those of devices with cooperative matrices ([`super::tile`]), which [`verify`](super::verify) checks.

use super::attend::{Attention, Part};
use super::dim::{Dim, product};
use super::kernel::{Accumulator, AccumulatorOp, Kernel, Operand, Skeleton, innermost};
use super::neighbours::{FOUR, Fours, packed};
use super::recurrence::Recurrence;
use super::tile::{LONGEST_SIDE, Tiles, Way};
use super::ty::DType;
use std::collections::BTreeSet;

/// Most invocations of a workgroup that every device runs.
pub const INVOCATIONS: u32 = 256;
/// Invocations of a workgroup that has no reason for more or fewer.
pub const PLAIN: u32 = 64;
/// Bytes of shared memory that every device has.
pub const SHARED: u32 = 16_384;

/// Storage buffers that an entry point may bind on every device.
pub const BUFFERS: usize = 8;

/// Elements of a row that an invocation adds up in one block, in f32. Its error, that of the 8 levels of a workgroup's tree, and
/// that of totals of blocks with compensation stay below 16 half ulps together: 10⁻⁶.
pub const ROW_BLOCK: u32 = 16;
/// Terms of a contraction that an invocation adds up in one block where it has more than [`PLAIN_TERMS`]: a block of equal numbers
/// is off by 8 · 10⁻⁶ then.
pub const TILE_BLOCK: u32 = 512;
/// The most terms of a contraction that an invocation adds up without blocks.
pub const PLAIN_TERMS: u32 = 4096;
/// The most turns of a row that are printed one after the other: sixteen values of each scalar are in registers.
pub const TURNS: u32 = 4;

/// How the work of a kernel is spread over workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Workgroup {
    /// Of rows, or of elements of a scatter.
    Rows(RowGroup),
    /// Of a contraction.
    Tiles(Tiles),
    /// Of an attention: queries, or keys.
    Attend(AttendGroup),
    /// Of a recurrence: rows.
    Recur(RecurGroup),
}

/// How a recurrence is spread over invocations: a workgroup has all turns of some rows. In its product an invocation has four columns
/// and a slice of the terms, in its map positions of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecurGroup {
    /// Rows of a workgroup.
    pub rows: u32,
    /// Slices of the terms, each of a multiple of four of them.
    pub slices: u32,
    /// Invocations of a workgroup, a power of two.
    pub invocations: u32,
}

/// An array of shared memory through which accumulators of rows pass. Rows that share a workgroup have those of a kind in common.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum RowArray {
    /// Values of a type, each a word.
    Words(DType),
    /// Integers of 64 bits, each a pair of words.
    Pairs,
    /// Positions of extremes.
    Positions,
}

impl RowArray {
    /// Its bytes: it has a value for each invocation of the largest workgroup.
    pub fn bytes(self) -> u32 {
        let words = match self {
            RowArray::Words(_) | RowArray::Positions => 1,
            RowArray::Pairs => 2,
        };
        4 * words * INVOCATIONS
    }
}

/// How rows or elements are spread over invocations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RowGroup {
    /// Invocations of a workgroup, a power of two.
    pub invocations: u32,
    /// Whether a workgroup shares the reduction of a row; otherwise an invocation does it alone.
    pub cooperative: bool,
    /// Rows beside each other whose reductions a workgroup shares, a power of two: invocations beside each other have terms of
    /// different rows, which may lie beside each other in memory. Where invocations do not share rows, the only ones that have some,
    /// if these are several.
    pub rows: u32,
    /// Elements beside each other that an invocation has at a time: of a row that is shared along its last axis, otherwise along
    /// the axis whose neighbours belong into neighbouring invocations. What [`neighbours`](super::neighbours) says can be.
    pub neighbours: u32,
    /// How often an invocation takes its neighbours of a shared row, where that is known and not often: they are printed one
    /// after the other, and what one pass has loaded or computed the later ones find in registers.
    pub turns: Option<u32>,
    /// Elements of a row that an invocation takes at a time, where it may have more: sums of floats are added up plainly in a
    /// block, and the totals of blocks with compensation.
    pub block: Option<u32>,
    /// How often an invocation takes its neighbours of a block before it computes with the first ones, so that their loads do not
    /// wait for each other. They are printed one after the other.
    pub at_once: u32,
}

/// How an attention is spread over invocations. Its scores are a matrix: rows are queries, and columns the keys that they
/// meet; in the kernel of keys rows are keys, and columns the queries that see them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AttendGroup {
    /// Each head has one query, whose keys the invocations share out.
    Single {
        /// Invocations of a workgroup, a power of two.
        invocations: u32,
    },
    /// Each invocation has a row.
    Rows {
        /// Invocations of a workgroup, a power of two.
        invocations: u32,
        /// Columns that are in shared memory at once, at most one for each invocation.
        columns: u32,
    },
    /// A workgroup makes scores, and sums over them, as products of tiles.
    Tiles(AttendTile),
}

/// A tile of scores, which passes over all columns of its rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AttendTile {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// What is in shared memory at once: features of the rows and columns whose products are scores, and columns whose scores
    /// weigh a sum.
    pub depth: u32,
    /// Rows and columns of an invocation, multiples of four. Those of a sum are the same rows, and a share of its features.
    pub thread_tile: [u32; 2],
}

/// Vectors of results that are added up at a time where invocations share out the keys of a query.
pub const AT_ONCE: u32 = 4;

impl Workgroup {
    /// Invocations.
    pub fn invocations(self) -> u32 {
        match self {
            Workgroup::Rows(rows) => rows.invocations,
            Workgroup::Tiles(tiles) => tiles.ways().map(Way::invocations).max().unwrap_or(0),
            Workgroup::Attend(AttendGroup::Single { invocations } | AttendGroup::Rows { invocations, .. }) => {
                invocations
            }
            Workgroup::Attend(AttendGroup::Tiles(tile)) => tile.invocations(),
            Workgroup::Recur(group) => group.invocations,
        }
    }

    /// Bytes of shared memory, without what only devices with cooperative matrices are asked for.
    pub fn bytes(self, kernel: &Kernel) -> u32 {
        match self {
            Workgroup::Rows(rows) => rows.arrays(kernel).into_iter().map(RowArray::bytes).sum(),
            Workgroup::Tiles(tiles) => tiles.all_plain().map(|tile| tile.bytes()).max().unwrap_or(0),
            Workgroup::Recur(group) => match &kernel.skeleton {
                Skeleton::Recur(own) => group.bytes(own, RecurGroup::width(kernel, own, 1)),
                Skeleton::Row { .. } | Skeleton::Contract { .. } | Skeleton::Scatter { .. } | Skeleton::Attend(_) => {
                    u32::MAX
                }
            },
            Workgroup::Attend(group) => match &kernel.skeleton {
                Skeleton::Attend(attention) => group.bytes(attention, &kernel.axes).unwrap_or(u32::MAX),
                Skeleton::Row { .. } | Skeleton::Contract { .. } | Skeleton::Scatter { .. } | Skeleton::Recur(_) => {
                    u32::MAX
                }
            },
        }
    }

    /// What is wrong with its numbers, if no device runs it or no printer prints it.
    pub(super) fn error(self, kernel: &Kernel) -> Option<String> {
        let error = match self {
            Workgroup::Tiles(tiles) => tiles.error(),
            Workgroup::Attend(AttendGroup::Tiles(tile)) => tile.error(),
            Workgroup::Recur(group) => group.error(kernel),
            Workgroup::Rows(_) | Workgroup::Attend(AttendGroup::Single { .. } | AttendGroup::Rows { .. }) => None,
        };
        if let Some(error) = error {
            return Some(error.to_owned());
        }
        let invocations = self.invocations();
        if !invocations.is_power_of_two() || invocations > INVOCATIONS {
            return Some(format!("a workgroup of {invocations} invocations"));
        }
        if let Workgroup::Rows(rows) = self
            && let Some(error) = rows.error(kernel)
        {
            return Some(error.to_owned());
        }
        let bytes = self.bytes(kernel);
        (bytes > SHARED).then(|| format!("a workgroup shares {bytes} bytes"))
    }
}

impl RecurGroup {
    /// So many times the columns of the map of a recurrence, which are known.
    pub fn width(kernel: &Kernel, own: &Recurrence, times: usize) -> u32 {
        let columns = kernel.axes[own.columns].as_const().and_then(|columns| u32::try_from(columns).ok());
        columns.unwrap_or(u32::MAX).saturating_mul(times as u32)
    }

    /// Bytes of shared memory where a map has so many columns: states, and for each slice the sums.
    pub fn bytes(&self, own: &Recurrence, columns: u32) -> u32 {
        let of_row = own.parts as u64 + u64::from(self.slices) * own.groups as u64;
        u32::try_from(4 * u64::from(self.rows) * of_row * u64::from(columns)).unwrap_or(u32::MAX)
    }

    /// Terms whose words of the matrix an invocation loads before it multiplies them, of a slice of so many: they do not wait for each
    /// other.
    pub fn unrolled(of_slice: u32) -> u32 {
        if of_slice.is_multiple_of(2 * FOUR) { 2 * FOUR } else { FOUR }
    }

    /// Whether four neighbouring columns of the matrix lie beside each other, wherever the first one lies.
    pub fn reads_fours(own: &Recurrence) -> bool {
        let [column, term] = &own.strides;
        let starts = own.start.terms.iter().map(|(_, stride)| stride).chain([&own.start.base]);
        column.is(1) && starts.chain([term]).all(|words| words.is_multiple_of(FOUR))
    }

    /// What is wrong with it, if invocations do not have all of the product, or more than they add up plainly.
    fn error(&self, kernel: &Kernel) -> Option<&'static str> {
        let Skeleton::Recur(own) = &kernel.skeleton else { return Some("a workgroup of no recurrence") };
        let [columns, depth, width] = [1, own.parts, own.groups].map(|times| RecurGroup::width(kernel, own, times));
        if !columns.is_multiple_of(FOUR) || !RecurGroup::reads_fours(own) || self.rows == 0 {
            return Some("columns of a recurrence that are no fours");
        }
        let whole = self.slices > 0 && depth.is_multiple_of(self.slices.saturating_mul(FOUR));
        let all = u64::from(width / FOUR) * u64::from(self.slices) <= u64::from(self.invocations);
        let short = whole && depth / self.slices <= PLAIN_TERMS;
        (!(all && short)).then_some("the slices of a recurrence are not its product")
    }
}

impl RowGroup {
    /// The arrays that the accumulators of a kernel pass through.
    pub fn arrays(&self, kernel: &Kernel) -> BTreeSet<RowArray> {
        let Skeleton::Row { passes, .. } = &kernel.skeleton else { return BTreeSet::new() };
        let dtypes = kernel.dtypes();
        let of_one = |accumulator: &Accumulator| {
            let dtype = dtypes[accumulator.value];
            let values = if dtype.is_wide() { RowArray::Pairs } else { RowArray::Words(dtype) };
            let is_arg = matches!(accumulator.op, AccumulatorOp::Arg(_));
            [values].into_iter().chain(is_arg.then_some(RowArray::Positions))
        };
        let shared = passes.iter().filter(|_| self.cooperative);
        shared.flat_map(|pass| &pass.accumulators).flat_map(of_one).collect()
    }

    /// So many invocations, each of which takes one element at a time.
    pub fn plain(invocations: u32, cooperative: bool, block: Option<u32>) -> RowGroup {
        RowGroup { invocations, cooperative, rows: 1, neighbours: 1, turns: None, block, at_once: 1 }
    }

    /// Rows or elements of a workgroup.
    pub fn items(&self) -> u32 {
        match self.cooperative || self.rows > 1 {
            true => self.rows,
            false => self.invocations * self.neighbours,
        }
    }

    /// The invocations that share a row.
    pub fn of_row(&self) -> u32 {
        self.invocations / self.rows
    }

    /// How many elements of a row an invocation takes at once.
    pub fn taken(&self) -> u32 {
        if self.cooperative { self.at_once.saturating_mul(self.neighbours) } else { self.at_once }
    }

    /// What is wrong with it, if a kernel has no such neighbours or turns.
    fn error(&self, kernel: &Kernel) -> Option<&'static str> {
        let has_fours = || self.neighbours == FOUR && Fours::of(kernel, self.cooperative).is_some();
        let is_packed = || !self.cooperative && self.neighbours == packed(kernel);
        if self.neighbours != 1 && !is_packed() && !has_fours() {
            return Some("neighbours that a kernel does not have");
        }
        let is_whole = |block: u32| self.taken() > 0 && block.is_multiple_of(self.taken());
        if !self.block.map_or(self.at_once == 1, is_whole) {
            return Some("blocks that are not what is taken at once, several times");
        }
        let is_side = self.rows.is_power_of_two() && self.rows < self.invocations;
        let can_share = match self.cooperative {
            true => has_sums_alone(kernel),
            false => matches!(kernel.skeleton, Skeleton::Row { .. }),
        };
        if self.rows != 1 && !(is_side && can_share && self.neighbours == 1) {
            return Some("rows beside each other that a kernel does not have");
        }
        let turns = self.turns?;
        let Skeleton::Row { reduced, .. } = &kernel.skeleton else { return Some("turns of no row") };
        let length = product(reduced.iter().map(|&axis| &kernel.axes[axis]));
        let is_whole = length.is(i64::from(turns) * i64::from(self.invocations) * i64::from(self.neighbours));
        let fits = self.cooperative && (1..=TURNS).contains(&turns) && is_whole;
        (!fits).then_some("turns that are no row together")
    }
}

/// Whether a kernel reduces rows and stores nothing before it has done that.
pub fn has_sums_alone(kernel: &Kernel) -> bool {
    let Skeleton::Row { passes, .. } = &kernel.skeleton else { return false };
    !passes.is_empty() && passes.iter().all(|pass| pass.stores.is_empty())
}

impl AttendGroup {
    /// Bytes of shared memory; `None` where features are not of known sizes.
    fn bytes(self, attention: &Attention, axes: &[Dim]) -> Option<u32> {
        Some(match self {
            AttendGroup::Single { invocations } => invocations * (4 + 4 + 16 * AT_ONCE),
            AttendGroup::Rows { columns, .. } => columns.saturating_mul(attention.shared_bytes(axes)?),
            AttendGroup::Tiles(tile) => 16 * tile.words(attention.vectors(axes)?),
        })
    }
}

impl AttendTile {
    /// Invocations along a row.
    pub fn across(&self) -> u32 {
        self.columns / self.thread_tile[1]
    }

    /// Invocations along a column.
    pub fn down(&self) -> u32 {
        self.rows / self.thread_tile[0]
    }

    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u32 {
        self.across() * self.down()
    }

    /// Terms of a product that stand one after the other in the text: four, because the loop itself costs as much as one.
    pub fn unrolled(&self) -> u32 {
        4
    }

    /// Vectors of a sum that an invocation has for each of its rows.
    pub fn share(&self, vectors: u32) -> u32 {
        vectors.div_ceil(self.across())
    }

    /// Words of four that a line of a tile takes in shared memory, where lines are written side by side: an odd number, so that
    /// they are in different banks.
    pub fn pitch(side: u32) -> u32 {
        (side / 4) | 1
    }

    /// Words of four in shared memory for features of so many vectors: lines of rows and of columns, or later of scores and of
    /// what they weigh.
    pub fn words(&self, vectors: [u32; 2]) -> u32 {
        let weighed = vectors.map(|vectors| self.share(vectors) * self.across());
        let beside = weighed[0].max(weighed[1]).max(AttendTile::pitch(self.columns));
        self.depth * (AttendTile::pitch(self.rows) + beside)
    }

    /// What is wrong with it, if its parts do not make a whole.
    fn error(&self) -> Option<&'static str> {
        let AttendTile { rows, columns, depth, thread_tile } = *self;
        let sides = [rows, columns, depth, thread_tile[0], thread_tile[1]];
        if !sides.iter().all(|side| (1..=LONGEST_SIDE).contains(side)) {
            return Some("a tile has no such sides");
        }
        let fours = thread_tile.iter().all(|side| side.is_multiple_of(4));
        if !(fours && rows.is_multiple_of(thread_tile[0]) && columns.is_multiple_of(thread_tile[1])) {
            return Some("a tile is not made of those of its threads");
        }
        let whole = depth.is_multiple_of(4) && depth.is_multiple_of(self.across()) && columns.is_multiple_of(depth);
        (!whole).then_some("the steps of a tile do not fit its columns")
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

    /// Bytes of shared memory that a key takes, or in the kernel of keys a query.
    pub fn shared_bytes(&self, axes: &[Dim]) -> Option<u32> {
        let [features, values] = self.vectors(axes)?;
        Some(16 * (features + values) + if self.is_of_keys() { 8 } else { 0 })
    }
}

/// The axes of a contraction in the order of the result: `columns` vary fastest in memory.
pub struct Sides {
    /// Those that both operands have.
    pub batch: Vec<usize>,
    /// Of one operand.
    pub rows: Vec<usize>,
    /// Of the other one.
    pub columns: Vec<usize>,
    /// Whether the rows are those of the right operand.
    pub swapped: bool,
}

impl Sides {
    /// Those of a contraction: the columns are the side along which the first store is contiguous. An axis of the batch that one
    /// operand does not have, as images in a convolution, belongs to the side of the other.
    pub fn of(kernel: &Kernel) -> Option<Sides> {
        let Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } = &kernel.skeleton else { return None };
        let contiguous = |axes: &[usize]| {
            let index = stores.first().map(|store| &store.index);
            innermost(axes, &kernel.axes)
                .zip(index)
                .and_then(|(axis, index)| index.stride(axis))
                .is_some_and(|stride| stride.is(1))
        };
        let swapped = contiguous(m) && !contiguous(n);
        let alone = |own: &Operand, other: &Operand| {
            let is_alone = |axis: &usize| own.mentions(*axis) && !other.mentions(*axis);
            batch.iter().copied().filter(is_alone).collect::<Vec<usize>>()
        };
        let (of_lhs, of_rhs) = (alone(lhs, rhs), alone(rhs, lhs));
        let both = batch.iter().copied().filter(|axis| !of_lhs.contains(axis) && !of_rhs.contains(axis)).collect();
        let (m, n) = ([&of_lhs[..], m].concat(), [&of_rhs[..], n].concat());
        let [m, n] = [(m, lhs), (n, rhs)].map(|(axes, operand)| in_fours(kernel, operand, k, axes));
        let (rows, columns) = if swapped { (n, m) } else { (m, n) };
        Some(Sides { batch: both, rows, columns, swapped })
    }
}

/// The axes of a side, of which those of a filter's taps, which are few, are before one along which whole fours lie beside each
/// other, where invocations beside each other read an operand along its terms anyway.
fn in_fours(kernel: &Kernel, operand: &Operand, terms: &[usize], mut axes: Vec<usize>) -> Vec<usize> {
    let is_whole = |&axis: &usize| kernel.axes[axis].as_const().is_some_and(|extent| extent > 1 && extent % 4 == 0);
    let last = innermost(&axes, &kernel.axes);
    let is_short = last.and_then(|last| kernel.axes[last].as_const()).is_some_and(|extent| extent < FEW);
    if is_short
        && operand.is_along_terms(&kernel.axes, terms, &axes)
        && !last.is_some_and(|last| is_whole(&last))
        && let Some(at) = axes.iter().rposition(is_whole)
    {
        let axis = axes.remove(at);
        axes.push(axis);
    }
    axes
}

/// Results that are too few to be stored beside each other.
const FEW: i64 = 8;
