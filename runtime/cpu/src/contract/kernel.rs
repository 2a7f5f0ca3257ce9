//! The register tile: a few rows by a few vectors of columns, summed down a block of K.
//!
//! In: a left operand with evenly spaced rows, a right one with contiguous columns. Out: sums, or sums added to what is there.
//! Always: each element is summed in ascending order of K with one accumulator.

use crate::{Kernel, Simd};

/// The work of one register tile. Strides are in words.
#[derive(Clone, Copy)]
pub(crate) struct Block {
    pub(crate) k: usize,
    pub(crate) a: *const f32,
    pub(crate) rows: Rows,
    pub(crate) b: *const f32,
    pub(crate) steps: Steps,
    pub(crate) ahead: Ahead,
    pub(crate) c: *mut f32,
    /// From row to row of the sums.
    pub(crate) c_row: isize,
    /// Sums over the indices of K before, to be added to, and their distance from row to row.
    pub(crate) before: Option<(*const f32, isize)>,
}

impl Block {
    /// Where each row starts.
    ///
    /// # Safety
    /// If the rows are listed, the list must have `ROWS` offsets.
    #[inline(always)]
    unsafe fn rows<const ROWS: usize>(&self) -> [*const f32; ROWS] {
        let mut rows = [self.a; ROWS];
        for (row, at) in rows.iter_mut().enumerate() {
            let offset = match self.rows {
                Rows::Near(_) => row.cast_signed(),
                Rows::Even(distance) => row.cast_signed() * distance,
                // SAFETY: the list has an offset for each of `ROWS` rows, by this function's contract.
                Rows::Listed(list) => unsafe { *list.add(row) },
            };
            *at = self.a.wrapping_offset(offset);
        }
        rows
    }
}

/// How the rows of the left operand lie.
#[derive(Clone, Copy)]
pub(crate) enum Rows {
    /// Next to each other, with this distance from k to k.
    Near(isize),
    /// Contiguous along K, with this distance from row to row.
    Even(isize),
    /// Contiguous along K, each at its offset.
    Listed(*const isize),
}

/// How the right operand goes on from k to k.
#[derive(Clone, Copy)]
pub(crate) enum Steps {
    /// By this distance.
    Even(isize),
    /// To each offset; the left operand's rows are `Near` or `Even`.
    Listed(*const isize),
}

/// What will be read later, and a tile asks for while it sums: at each k the line at `from`, which moves by `step` words.
/// Hardware that reads ahead stops at the end of a page, and starts anew with every panel.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    pub(crate) from: *const f32,
    pub(crate) step: usize,
}

impl Ahead {
    /// Nothing but what is read anyway.
    pub(crate) fn nothing(from: *const f32) -> Ahead {
        Ahead { from, step: 0 }
    }

    /// What tile `number` of several asks for, each of which has `k` indices of K.
    #[inline(always)]
    pub(crate) fn part(self, number: usize, k: usize) -> Ahead {
        Ahead { from: self.from.wrapping_add(number * k * self.step), step: self.step }
    }

    /// Asks for the next line. A single row has no time to spare: it is read as fast as it comes.
    #[inline(always)]
    fn ask<S: Simd, const ROWS: usize>(&mut self, s: S) {
        if ROWS > 1 {
            s.prefetch(self.from);
            self.from = self.from.wrapping_add(self.step);
        }
    }
}

/// Vectors of a panel: most vectors of columns that a tile of several rows has.
pub(crate) const PANEL: usize = 2;
/// Most vectors of columns that a tile of one row has.
pub(crate) const WIDE: usize = 8;

/// The vectors of a tile that has so many columns.
pub(crate) fn vectors_for(columns: usize, lanes: usize) -> usize {
    match columns.div_ceil(lanes) {
        3 => 4,
        5.. => WIDE,
        few => few,
    }
}

/// Runs the tile of `rows` rows by `vectors` vectors.
///
/// # Safety
/// `block` must describe readable operands, `k` words of each row and `vectors` vectors for each k, with an offset for each
/// where they are listed, and writable sums of that size; `rows` must be from 1 to `S::ROWS`, `vectors` from 1 to 2, or for
/// one row to `WIDE`, as [`vectors_for`] has it.
#[inline(always)]
pub(crate) unsafe fn tile<S: Simd>(s: S, rows: usize, vectors: usize, block: Block) {
    match (block.rows, block.steps) {
        (Rows::Near(a_step), Steps::Even(b_step)) => {
            s.call(AnySize { rows, vectors, kind: Near { block, a_step, b_step } });
        }
        (Rows::Near(a_step), Steps::Listed(list)) => {
            s.call(AnySize { rows, vectors, kind: Spread { block, a_step, list } });
        }
        (Rows::Even(_) | Rows::Listed(_), Steps::Even(b_step)) => {
            s.call(AnySize { rows, vectors, kind: Far { block, b_step } });
        }
        (Rows::Even(distance), Steps::Listed(list)) => {
            s.call(AnySize { rows, vectors, kind: Apart { block, distance, list } });
        }
        (Rows::Listed(_), Steps::Listed(_)) => unreachable!("listed steps go with rows that are evenly spaced"),
    }
}

/// A kind of tile, to be run at any size.
trait Kind: Copy {
    /// Sums the block.
    ///
    /// # Safety
    /// The block must describe readable operands, `k` words of each of `ROWS` rows and `VECTORS` vectors for each k, with
    /// an offset for each where they are listed.
    unsafe fn sums<S: Simd, const ROWS: usize, const VECTORS: usize>(self, s: S, sums: &mut [[S::F; VECTORS]; ROWS]);

    fn block(&self) -> &Block;
}

/// A tile of one size.
struct Tile<T, const ROWS: usize, const VECTORS: usize>(T);

impl<T: Kind, const ROWS: usize, const VECTORS: usize> Kernel for Tile<T, ROWS, VECTORS> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut sums = [[s.splat_f(0.0); VECTORS]; ROWS];
        // SAFETY: only `tile` makes kernels of a block, by whose contract it has readable operands of `ROWS` rows and
        // `VECTORS` vectors for each k, and as many writable sums.
        unsafe {
            self.0.sums(s, &mut sums);
            store(s, self.0.block(), &mut sums);
        }
    }
}

/// A tile whose size is known when it runs.
struct AnySize<T> {
    rows: usize,
    vectors: usize,
    kind: T,
}

impl<T: Kind> Kernel for AnySize<T> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let AnySize { rows, vectors, kind } = self;
        macro_rules! choose {
            ($($rows:literal)*) => {
                match (rows, vectors) {
                    (1, 3 | 4) => s.enter(Tile::<T, 1, 4>(kind)),
                    (1, 5..=8) => s.enter(Tile::<T, 1, 8>(kind)),
                    $(
                        ($rows, 1) => s.enter(Tile::<T, $rows, 1>(kind)),
                        ($rows, 2) => s.enter(Tile::<T, $rows, 2>(kind)),
                    )*
                    _ => unreachable!("the driver makes no such tile"),
                }
            };
        }
        if S::ROWS > 6 {
            choose!(1 2 3 4 5 6 7 8 9 10 11 12)
        } else if S::ROWS > 2 {
            choose!(1 2 3 4 5 6)
        } else {
            choose!(1 2)
        }
    }
}

/// A tile whose rows are neighbours in the left operand.
#[derive(Clone, Copy)]
struct Near {
    block: Block,
    a_step: isize,
    b_step: isize,
}

impl Kind for Near {
    #[inline(always)]
    unsafe fn sums<S: Simd, const ROWS: usize, const VECTORS: usize>(self, s: S, sums: &mut [[S::F; VECTORS]; ROWS]) {
        let (mut a, mut b, mut ahead) = (self.block.a, self.block.b, self.block.ahead);
        for _ in 0..self.block.k {
            ahead.ask::<S, ROWS>(s);
            // SAFETY: by the contract of `Kind::sums` there are `ROWS` words at `a` and `VECTORS` vectors at `b` for each k
            // of the block, these steps apart.
            unsafe { near(s, a, b, sums) }
            a = a.wrapping_offset(self.a_step);
            b = b.wrapping_offset(self.b_step);
        }
    }

    fn block(&self) -> &Block {
        &self.block
    }
}

/// A tile whose right operand jumps from k to k.
#[derive(Clone, Copy)]
struct Spread {
    block: Block,
    a_step: isize,
    list: *const isize,
}

impl Kind for Spread {
    #[inline(always)]
    unsafe fn sums<S: Simd, const ROWS: usize, const VECTORS: usize>(self, s: S, sums: &mut [[S::F; VECTORS]; ROWS]) {
        let (mut a, mut ahead) = (self.block.a, self.block.ahead);
        for k in 0..self.block.k {
            ahead.ask::<S, ROWS>(s);
            // SAFETY: by the contract of `Kind::sums` the list has an offset for each k of the block, where there are
            // `VECTORS` vectors of the right operand, and `ROWS` words of the left one are at `a`.
            unsafe { near(s, a, self.block.b.offset(*self.list.add(k)), sums) }
            a = a.wrapping_offset(self.a_step);
        }
    }

    fn block(&self) -> &Block {
        &self.block
    }
}

/// One k of a tile whose rows are neighbours.
///
/// # Safety
/// `a` must be valid for reading `ROWS` words, and `b` for reading `VECTORS` vectors.
#[inline(always)]
unsafe fn near<S: Simd, const ROWS: usize, const VECTORS: usize>(
    s: S,
    a: *const f32,
    b: *const f32,
    sums: &mut [[S::F; VECTORS]; ROWS],
) {
    // SAFETY: there are `ROWS` words at `a` and `VECTORS` vectors at `b`, by this function's contract.
    unsafe {
        let right: [S::F; VECTORS] = load(s, b);
        for (row, sums) in sums.iter_mut().enumerate() {
            let left = s.splat_f(a.add(row).read());
            for (sum, right) in sums.iter_mut().zip(&right) {
                *sum = s.mul_add_f(left, *right, *sum);
            }
        }
    }
}

/// A tile whose rows are contiguous along K.
#[derive(Clone, Copy)]
struct Far {
    block: Block,
    b_step: isize,
}

impl Kind for Far {
    #[inline(always)]
    unsafe fn sums<S: Simd, const ROWS: usize, const VECTORS: usize>(self, s: S, sums: &mut [[S::F; VECTORS]; ROWS]) {
        // SAFETY: where rows are listed, the list has an offset for each of `ROWS` rows, by the contract of `Kind::sums`.
        let rows = unsafe { self.block.rows::<ROWS>() };
        let (mut b, mut ahead) = (self.block.b, self.block.ahead);
        for k in 0..self.block.k {
            ahead.ask::<S, ROWS>(s);
            // SAFETY: by the contract of `Kind::sums` each row has the `k` words of the block, and for each k there are
            // `VECTORS` vectors at `b`, this step apart.
            unsafe {
                let right: [S::F; VECTORS] = load(s, b);
                for (row, sums) in rows.iter().zip(sums.iter_mut()) {
                    let left = s.splat_f(row.add(k).read());
                    for (sum, right) in sums.iter_mut().zip(&right) {
                        *sum = s.mul_add_f(left, *right, *sum);
                    }
                }
            }
            b = b.wrapping_offset(self.b_step);
        }
    }

    fn block(&self) -> &Block {
        &self.block
    }
}

/// A tile whose rows are contiguous along K and evenly spaced, and whose right operand jumps from k to k.
#[derive(Clone, Copy)]
struct Apart {
    block: Block,
    distance: isize,
    list: *const isize,
}

impl Kind for Apart {
    #[inline(always)]
    unsafe fn sums<S: Simd, const ROWS: usize, const VECTORS: usize>(self, s: S, sums: &mut [[S::F; VECTORS]; ROWS]) {
        // Every third row has a pointer, so that all of them stay in registers.
        let mut thirds = [self.block.a; 4];
        for (third, at) in thirds.iter_mut().enumerate() {
            *at = self.block.a.wrapping_offset(3 * third.cast_signed() * self.distance);
        }
        let mut ahead = self.block.ahead;
        for k in 0..self.block.k {
            ahead.ask::<S, ROWS>(s);
            // SAFETY: by the contract of `Kind::sums` the list has an offset for each k of the block, where there are
            // `VECTORS` vectors of the right operand, and each of `ROWS` rows, `distance` apart, has `k` words.
            unsafe {
                let right: [S::F; VECTORS] = load(s, self.block.b.offset(*self.list.add(k)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let left = s.splat_f(thirds[row / 3].offset((row % 3).cast_signed() * self.distance).read());
                    for (sum, right) in sums.iter_mut().zip(&right) {
                        *sum = s.mul_add_f(left, *right, *sum);
                    }
                }
            }
            for third in &mut thirds {
                *third = third.wrapping_add(1);
            }
        }
    }

    fn block(&self) -> &Block {
        &self.block
    }
}

/// Reads some vectors.
///
/// # Safety
/// `b` must be valid for reading `VECTORS` vectors.
#[inline(always)]
unsafe fn load<S: Simd, const VECTORS: usize>(s: S, b: *const f32) -> [S::F; VECTORS] {
    let mut right = [s.splat_f(0.0); VECTORS];
    for (vector, right) in right.iter_mut().enumerate() {
        // SAFETY: `b` has `VECTORS` vectors, by this function's contract.
        *right = unsafe { s.load_raw_f(b.add(vector * S::LANES)) };
    }
    right
}

/// Writes the sums, added to those before if there are such.
///
/// # Safety
/// `block` must have `ROWS` rows of `VECTORS` vectors of writable sums, and as many readable ones before if there are such.
#[inline(always)]
unsafe fn store<S: Simd, const ROWS: usize, const VECTORS: usize>(
    s: S,
    block: &Block,
    sums: &mut [[S::F; VECTORS]; ROWS],
) {
    if let Some((before, distance)) = block.before {
        for (row, sums) in sums.iter_mut().enumerate() {
            let before = before.wrapping_offset(row.cast_signed() * distance);
            for (vector, sum) in sums.iter_mut().enumerate() {
                // SAFETY: each of `ROWS` rows of the sums before has `VECTORS` vectors, by this function's contract.
                *sum = s.add_f(unsafe { s.load_raw_f(before.wrapping_add(vector * S::LANES)) }, *sum);
            }
        }
    }
    // By reference: an iterator that owns an array may copy it, which costs more than a short tile.
    for (row, sums) in sums.iter().enumerate() {
        let c = block.c.wrapping_offset(row.cast_signed() * block.c_row);
        for (vector, sum) in sums.iter().enumerate() {
            // SAFETY: each of `ROWS` rows of the sums has `VECTORS` vectors, by this function's contract.
            unsafe { s.store_raw_f(c.wrapping_add(vector * S::LANES), *sum) }
        }
    }
}
