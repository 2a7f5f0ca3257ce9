//! What a turn makes of the sums of a product: the map that follows it.
//!
//! In: sums, hot in cache, the state before, and what the turns before have stored. Out: the next state, and whatever else is
//! stored for each of its elements. Always: a tile reaches only its own rows and columns, so tiles of several threads never
//! meet.

use crate::area::outside;
use crate::{Area, At, Family, Kernel, Simd, run};

/// What follows the product in every turn.
pub trait Cell: Sync {
    /// Stores the next state of the elements of `tile`, and what else the turn makes of them.
    fn apply<S: Simd>(&self, s: S, turn: usize, tile: &mut Cells<'_>);
}

/// Where a turn's tiles go in memory that may move on from turn to turn.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// The word of row 0 and column 0.
    pub(super) origin: *mut f32,
    pub(super) row: usize,
    pub(super) parts: usize,
}

/// Some rows and columns of a state. How many, is the driver's to say:
///
/// ```compile_fail,E0616
/// fn widen(tile: &mut precast_cpu::Cells<'_>) {
///     tile.area.cols = usize::MAX;
/// }
/// ```
pub struct Cells<'a> {
    pub(super) area: Area,
    /// `[row][vector of columns][group][lane]`, and a vector for each group more.
    pub(super) sums: *const f32,
    /// Lanes of a vector of the sums.
    pub(super) lanes: usize,
    pub(super) pitch: usize,
    pub(super) groups: usize,
    pub(super) before: *const f32,
    pub(super) next: Target,
    /// Columns of the map: words from part to part.
    pub(super) width: usize,
    pub(super) series: &'a [Target],
}

impl Cells<'_> {
    /// Its rows and columns.
    #[inline(always)]
    pub fn area(&self) -> Area {
        self.area
    }

    /// The sums of group `g` of row `r` from column `j` on.
    #[inline(always)]
    pub fn sum<S: Simd, A: At>(&self, s: S, g: usize, r: usize, j: usize, at: A) -> S::F {
        self.area.check(r, j, at.count(S::LANES));
        if g >= self.groups || S::LANES != self.lanes {
            outside();
        }
        let p = self.sums.wrapping_add(r * self.pitch + j * self.groups + g * S::LANES);
        // SAFETY: `r`, `j` and `g` are within the tile, and `S` has as many lanes as a vector of the sums. A row of the sums has
        // `groups` words for each column, and a vector for each group follows the last row, so whole vectors are read
        // within the sums.
        unsafe { s.load_raw_f(p) }
    }

    /// The state of row `r` from column `j` on, as the turn before has left it.
    #[inline(always)]
    pub fn state<S: Simd, A: At>(&self, s: S, r: usize, j: usize, at: A) -> S::F {
        let offset = self.place(&self.next, 0, r, j, at.count(S::LANES));
        // SAFETY: `place` keeps to rows and columns of this tile, which nobody else writes, and within a state as
        // `State::place` has checked it; the state before has the same shape.
        unsafe { load(s, self.before.wrapping_add(offset), at) }
    }

    /// Stores `v` in part `p` of the next state, for row `r` from column `j` on.
    #[inline(always)]
    pub fn next<S: Simd, A: At>(&mut self, s: S, p: usize, r: usize, j: usize, at: A, v: S::F) {
        let offset = self.place(&self.next, p, r, j, at.count(S::LANES));
        // SAFETY: `place` keeps to rows and columns that belong to this tile alone, and to parts of a row, so the words
        // lie within the state, as `State::place` has checked it.
        unsafe { store(s, self.next.origin.wrapping_add(offset), at, v) }
    }

    /// What part `p` of series `k` holds for row `r` from column `j` on.
    #[inline(always)]
    pub fn old<S: Simd, A: At>(&self, s: S, k: usize, p: usize, r: usize, j: usize, at: A) -> S::F {
        let offset = self.place(&self.series[k], p, r, j, at.count(S::LANES));
        // SAFETY: `place` keeps to rows and columns of this tile and to parts of the series, which `Series::place` has
        // found within its slice in every turn.
        unsafe { load(s, self.series[k].origin.wrapping_add(offset), at) }
    }

    /// Stores `v` in part `p` of series `k` for row `r` from column `j` on.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "a place has four coordinates")]
    pub fn store<S: Simd, A: At>(&mut self, s: S, k: usize, p: usize, r: usize, j: usize, at: A, v: S::F) {
        let offset = self.place(&self.series[k], p, r, j, at.count(S::LANES));
        // SAFETY: `place` keeps to parts of the series, which `Series::place` has found within its slice in every turn,
        // and to rows and columns of this tile: rows of a series do not overlap, so no other tile has these words in a
        // turn.
        unsafe { store(s, self.series[k].origin.wrapping_add(offset), at, v) }
    }

    #[inline(always)]
    fn place(&self, target: &Target, p: usize, r: usize, j: usize, count: usize) -> usize {
        self.area.check(r, j, count);
        if p >= target.parts {
            outside();
        }
        (self.area.m + r) * target.row + p * self.width + self.area.n + j
    }
}

/// Reads the lanes that `at` covers; the others are 0.
///
/// # Safety
/// `p` must be valid for reading as many words as `at` counts.
#[inline(always)]
unsafe fn load<S: Simd, A: At>(s: S, p: *const f32, at: A) -> S::F {
    // SAFETY: `p` is valid for as many words as `at` counts by this function's contract: all lanes if `FULL`, else
    // those of the mask.
    unsafe { if A::FULL { s.load_raw_f(p) } else { s.load_masked_raw_f(p, s.mask_first(at.count(S::LANES))) } }
}

/// Writes the lanes that `at` covers.
///
/// # Safety
/// `p` must be valid for writing as many words as `at` counts.
#[inline(always)]
unsafe fn store<S: Simd, A: At>(s: S, p: *mut f32, at: A, v: S::F) {
    // SAFETY: by contract `p` is valid for writing the words that `at` counts, which is a vector if `FULL`, and else
    // what the mask lets through.
    unsafe { if A::FULL { s.store_raw_f(p, v) } else { s.store_masked_raw_f(p, s.mask_first(at.count(S::LANES)), v) } }
}

/// A [`Cell`] behind a pointer, so that the loop is compiled once.
pub(super) trait Sink: Sync {
    fn finish(&self, turn: usize, tile: &mut Cells<'_>);
}

/// A map, and what it runs on: the set that the sums were made on.
pub(super) struct Finish<'a, I, C>(pub(super) I, pub(super) &'a C);

impl<I: Family, C: Cell> Sink for Finish<'_, I, C> {
    fn finish(&self, turn: usize, tile: &mut Cells<'_>) {
        run(self.0, Apply { cell: self.1, turn, tile });
    }
}

struct Apply<'a, 'b, C> {
    cell: &'a C,
    turn: usize,
    tile: &'a mut Cells<'b>,
}

impl<C: Cell> Kernel for Apply<'_, '_, C> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        self.cell.apply(s, self.turn, self.tile);
    }
}
