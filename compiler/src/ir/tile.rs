//! Tiles of a contraction: what a workgroup of a GPU makes of its result, in each of the ways of which a call takes one.
//!
//! In: what schedule chooses. Out: what follows from it. Always: every contraction has a tile that all devices run; the others
//! are for calls of many results, or for devices that have more.

use super::workgroup::TILE_BLOCK;

/// Words of four in all banks of shared memory together.
const BANKS: u32 = 8;
/// The most rows, columns or terms of a tile.
pub(super) const LONGEST_SIDE: u32 = 1024;
/// Bytes of shared memory of a device with cooperative matrices.
pub const HALVES_SHARED: u32 = 48 << 10;
/// Rows, columns and terms of a cooperative matrix.
pub const FRAGMENT: u32 = 16;
/// Words of four in a cooperative matrix of f32.
pub const FRAGMENT_FOURS: u32 = FRAGMENT * FRAGMENT / 4;
/// Invocations that have a cooperative matrix together.
pub const LANES: u32 = 32;
/// The most terms that cooperative matrices add up where elements are rounded to halves: what they cut off is a tenth of what that
/// rounds.
pub const ROUNDED_BLOCK: u32 = 8192;
/// Halves between two lines of shared memory, so that lines beside each other begin in different banks.
const BETWEEN: u32 = 8;

/// The tiles of a contraction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tiles {
    /// For few results.
    pub own: Tile,
    /// For many, where a call says how many there are.
    pub larger: Option<Tile>,
    /// For devices with cooperative matrices, where the model allows sums of products of halves; few results and many.
    pub halves: [Option<HalvesTile>; 2],
}

/// One of the ways to make a contraction, with an entry point of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Way {
    /// In tiles that all devices run.
    Plain(Tile),
    /// By cooperative matrices of halves.
    Halves(HalvesTile),
}

/// A tile of a contraction's result. Rows and columns are those of the result as it lies in memory
/// ([`Sides`](super::workgroup::Sides)).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tile {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Terms of the sum that are in shared memory at once, over all slices.
    pub depth: u32,
    /// Rows and columns of an invocation, multiples of four.
    pub thread_tile: [u32; 2],
    /// Parts of the sum that run beside each other in one workgroup (sliced K), a power of two.
    pub slices: u32,
    /// Terms that an invocation adds up plainly, where it may have many more: totals of such blocks are added with
    /// compensation.
    pub block: Option<u32>,
}

/// A tile whose operands are each the sum of two halves (`f16`), of which cooperative matrices make three products, or are rounded to
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HalvesTile {
    /// Of how many halves an element is the sum.
    pub halves: u32,
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Terms of the sum that are in shared memory at once.
    pub depth: u32,
    /// Rows and columns of a subgroup, each several times [`FRAGMENT`].
    pub subgroup_tile: [u32; 2],
    /// Terms that cooperative matrices add up. What they add is cut off and not rounded, so totals of such blocks are added by
    /// themselves.
    pub block: u32,
}

impl Tiles {
    /// Those of few results alone, on all devices.
    pub fn plain(own: Tile) -> Tiles {
        Tiles { own, larger: None, halves: [None; 2] }
    }

    /// All ways, the first of which every device has for every call.
    pub fn ways(self) -> impl Iterator<Item = Way> {
        let plain = [Some(self.own), self.larger].into_iter().flatten().map(Way::Plain);
        plain.chain(self.halves.into_iter().flatten().map(Way::Halves))
    }

    /// The tiles that need no cooperative matrices.
    pub fn all_plain(self) -> impl Iterator<Item = Tile> {
        [self.own].into_iter().chain(self.larger)
    }

    /// What is wrong with them, if no device runs one or its parts do not make a whole.
    pub(super) fn error(self) -> Option<&'static str> {
        self.ways().find_map(|way| match way {
            Way::Plain(tile) => tile.error(),
            Way::Halves(tile) => tile.error(),
        })
    }
}

impl Way {
    /// The tile, if all devices run it.
    pub fn plain(self) -> Option<Tile> {
        match self {
            Way::Plain(tile) => Some(tile),
            Way::Halves(_) => None,
        }
    }

    /// Rows and columns.
    pub fn sides(self) -> [u32; 2] {
        match self {
            Way::Plain(Tile { rows, columns, .. }) | Way::Halves(HalvesTile { rows, columns, .. }) => [rows, columns],
        }
    }

    /// Terms of the sum that are in shared memory at once.
    pub fn depth(self) -> u32 {
        match self {
            Way::Plain(Tile { depth, .. }) | Way::Halves(HalvesTile { depth, .. }) => depth,
        }
    }

    /// Invocations of a workgroup.
    pub fn invocations(self) -> u32 {
        match self {
            Way::Plain(tile) => tile.invocations(),
            Way::Halves(tile) => tile.invocations(),
        }
    }

    /// Bytes of shared memory.
    pub fn bytes(self) -> u32 {
        match self {
            Way::Plain(tile) => tile.bytes(),
            Way::Halves(tile) => tile.bytes(),
        }
    }

    /// What a workgroup costs a multiprocessor that has enough of them, for each term of a sum of so many: the results, and more of
    /// what is slower than the largest tile that all devices run.
    pub fn cost(self, terms: Option<i64>) -> u32 {
        let percent = match self {
            Way::Plain(tile) => tile.speed(),
            Way::Halves(tile) => tile.speed(terms),
        };
        let [rows, columns] = self.sides();
        rows * columns * 100 / percent
    }
}

impl Tile {
    /// Invocations of one slice.
    pub fn of_slice(&self) -> u32 {
        (self.rows / self.thread_tile[0]) * (self.columns / self.thread_tile[1])
    }

    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u32 {
        self.of_slice() * self.slices
    }

    /// Terms of a slice that stand one after the other in the text: four, because the loop itself costs as much as one, or all
    /// where an invocation has many results: the shader's compiler then loads for one term while it multiplies for another.
    pub fn unrolled(&self) -> u32 {
        let [rows, columns] = self.thread_tile;
        if rows * columns > 16 { self.depth / self.slices } else { 4 }
    }

    /// How fast it is, in percent: invocations with fewer results load more for each.
    fn speed(&self) -> u32 {
        match (self.thread_tile.into_iter().product::<u32>(), self.rows * self.columns) {
            (..64, ..256) => 25,
            (..64, _) => 50,
            (_, ..=4096) => 87,
            (_, ..16_384) => 95,
            (_, _) => 100,
        }
    }

    /// Over how many fours of rows or of columns the depths are spread that invocations beside each other bring to shared memory,
    /// so that these are in different banks: no more than the invocations along the side, whose fours keep their distance.
    pub fn spread(&self, side: usize) -> u32 {
        let across = [self.rows, self.columns][side] / self.thread_tile[side];
        across.min(BANKS)
    }

    /// Bytes of shared memory.
    pub fn bytes(&self) -> u32 {
        16 * self.words()
    }

    /// Words of four of shared memory: a slab of both operands, in whose place slices then hand over their sums, one block of 4 × 4 for
    /// each invocation of half of them.
    pub fn words(&self) -> u32 {
        let slabs = self.depth * (self.rows + self.columns) / 4;
        slabs.max(4 * (self.slices / 2 * self.of_slice()))
    }

    /// What is wrong with it, if its parts do not make a whole.
    fn error(&self) -> Option<&'static str> {
        let Tile { rows, columns, depth, thread_tile, slices, block } = *self;
        let sides = [rows, columns, depth, slices, thread_tile[0], thread_tile[1]];
        if !sides.iter().all(|side| (1..=LONGEST_SIDE).contains(side)) {
            return Some("a tile has no such sides");
        }
        let fours = thread_tile.iter().all(|side| side.is_multiple_of(4));
        if !(fours && rows.is_multiple_of(thread_tile[0]) && columns.is_multiple_of(thread_tile[1])) {
            return Some("a tile is not made of those of its threads");
        }
        let steps = slices.is_power_of_two() && depth.is_multiple_of(4 * slices);
        let whole = block.is_none_or(|block| block <= TILE_BLOCK && (block * slices).is_multiple_of(depth));
        (!(steps && whole)).then_some("the steps of a tile do not fit its slices")
    }
}

impl HalvesTile {
    /// Subgroups of a workgroup.
    pub fn subgroups(&self) -> u32 {
        (self.rows / self.subgroup_tile[0]) * (self.columns / self.subgroup_tile[1])
    }

    /// Invocations of a workgroup.
    pub fn invocations(&self) -> u32 {
        LANES * self.subgroups()
    }

    /// Subgroups of which a matrix is in shared memory at once on its way out: as many as have a word of four for each invocation.
    pub fn at_once(&self) -> u32 {
        self.subgroups() / 2
    }

    /// Halves from one line of shared memory to the next, where lines have so many.
    pub fn pitch(length: u32) -> u32 {
        length + BETWEEN
    }

    /// Halves of a slab of one side: lines along the side, or along the terms.
    pub fn slab(&self, side: usize, is_along_terms: bool) -> u32 {
        let length = [self.rows, self.columns][side];
        if is_along_terms { length * HalvesTile::pitch(self.depth) } else { self.depth * HalvesTile::pitch(length) }
    }

    /// Bytes of shared memory: slabs of both operands' halves, whichever way their lines go, a matrix for each of some subgroups, and
    /// two words for each row and each column.
    pub fn bytes(&self) -> u32 {
        let slabs: u32 = [0, 1].iter().map(|&side| self.slab(side, false).max(self.slab(side, true))).sum();
        2 * self.halves * slabs + 4 * (self.at_once() * FRAGMENT * FRAGMENT + 2 * (self.rows + self.columns) + 1)
    }

    /// Whether it is one for many results.
    pub fn is_large(&self) -> bool {
        self.rows * self.columns >= 16_384
    }

    /// How fast it is, in percent of the largest tile that all devices run: as fast as it multiplies, but for the time that it takes to
    /// find the range of its elements and to bring its sums through shared memory, which is that of some hundred terms.
    fn speed(&self, terms: Option<i64>) -> u32 {
        let (speed, others) = match (self.halves, self.is_large()) {
            (2, true) => (240, 300),
            (2, false) => (180, 600),
            (_, true) => (420, 450),
            (_, false) => (280, 900),
        };
        terms.map_or(speed, |terms| (speed * terms / (terms + others)).clamp(1, speed)) as u32
    }

    /// What is wrong with it, if its parts do not make a whole.
    fn error(&self) -> Option<&'static str> {
        let HalvesTile { halves, rows, columns, depth, subgroup_tile, block } = *self;
        let sides = [rows, columns, depth, subgroup_tile[0], subgroup_tile[1]];
        if !sides.iter().all(|side| (FRAGMENT..=LONGEST_SIDE).contains(side) && side.is_multiple_of(FRAGMENT)) {
            return Some("a tile is not made of cooperative matrices");
        }
        if !(rows.is_multiple_of(subgroup_tile[0]) && columns.is_multiple_of(subgroup_tile[1])) {
            return Some("a tile is not made of those of its subgroups");
        }
        if !self.subgroups().is_multiple_of(2) {
            return Some("a tile's subgroups are no pairs");
        }
        let most = match halves {
            1 => ROUNDED_BLOCK,
            2 => TILE_BLOCK,
            _ => return Some("an element is the sum of one half or of two"),
        };
        if !(block <= most && block > 0 && block.is_multiple_of(depth)) {
            return Some("the blocks of a tile are not made of its steps");
        }
        (self.bytes() > HALVES_SHARED)
            .then_some("a tile shares more memory than devices with cooperative matrices have")
    }
}
