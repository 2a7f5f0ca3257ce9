//! What happens to finished sums.
//!
//! In: a tile of sums, hot in cache. Out: values in the outputs. Always: a tile reaches only its own rows and columns, so
//! tiles of several threads never meet.

use super::element::Element;
use crate::vectors::MAX_LANES;
use crate::{Area, At, Family, Kernel, Simd, run};

/// What is done with the sums of a contraction, of elements of a type, before they are stored.
pub trait Epilogue<T = f32>: Sync {
    /// Whether the sums are stored as they are.
    #[doc(hidden)]
    const PLAIN: bool = false;

    /// Reads the sums of `tile` and stores a value for each of its outputs.
    fn apply<S: Simd>(&self, s: S, tile: &mut Tile<'_, T>);
}

/// Stores the sums as they are, in every output.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl<T> Epilogue<T> for Plain {
    const PLAIN: bool = true;

    #[inline(always)]
    fn apply<S: Simd>(&self, _: S, _: &mut Tile<'_, T>) {}
}

/// Where the tiles of one batch index go in one output.
#[derive(Clone, Copy)]
pub(super) struct Target<T = f32> {
    /// The element of row 0 and column 0.
    pub(super) origin: *mut T,
    pub(super) row: isize,
    pub(super) column: isize,
}

/// A rectangle of finished sums. How large it is, is the driver's to say:
///
/// ```compile_fail,E0616
/// fn widen(tile: &mut precast_cpu::Tile<'_>) {
///     tile.area.cols = usize::MAX;
/// }
/// ```
pub struct Tile<'a, T = f32> {
    pub(super) batch: &'a [usize],
    pub(super) area: Area,
    pub(super) sums: *const T,
    pub(super) pitch: usize,
    pub(super) targets: &'a [Target<T>],
    /// The first of these, here as well, so that no value that is stored can change where the next one goes.
    pub(super) first: Target<T>,
}

impl<'a, T> Tile<'a, T> {
    /// The index on each Batch axis.
    #[inline(always)]
    pub fn batch(&self) -> &'a [usize] {
        self.batch
    }

    /// Its rows and columns.
    #[inline(always)]
    pub fn area(&self) -> Area {
        self.area
    }

    /// The sums of row `r` from column `j` on.
    #[inline(always)]
    fn read<S: Simd, A: At>(&self, s: S, r: usize, j: usize, at: A) -> T::V<S>
    where
        T: Element,
    {
        let count = at.count(S::LANES);
        self.area.check(r, j, count);
        let p = self.sums.wrapping_add(r * self.pitch + j);
        // SAFETY: `check` keeps the access within the tile, whose sums the driver has written.
        unsafe { if A::FULL { T::load(s, p) } else { T::load_masked(s, p, s.mask_first(count)) } }
    }

    /// Stores `v` as the value of row `r` from column `j` on in output `output`.
    #[inline(always)]
    fn write<S: Simd, A: At>(&mut self, s: S, output: usize, r: usize, j: usize, at: A, v: T::V<S>)
    where
        T: Element,
    {
        let count = at.count(S::LANES);
        self.area.check(r, j, count);
        let target = if output == 0 { self.first } else { self.targets[output] };
        let row = (self.area.m + r).cast_signed() * target.row;
        let p = target.origin.wrapping_offset(row + (self.area.n + j).cast_signed() * target.column);
        if target.column == 1 {
            // SAFETY: `check` keeps the access within the tile, and the driver has checked that all tiles lie in the
            // output, whose columns are neighbours here.
            unsafe { if A::FULL { T::store(s, p, v) } else { T::store_masked(s, p, s.mask_first(count), v) } }
        } else {
            const { assert!(S::LANES <= MAX_LANES) };
            let mut lanes = [T::ZERO; MAX_LANES];
            // SAFETY: a vector has at most `MAX_LANES` lanes, as was asserted; `check` keeps all columns that are written
            // within the tile, and the driver has checked that all tiles lie in the output.
            unsafe {
                T::store(s, lanes.as_mut_ptr(), v);
                store_apart(&lanes[..count], p, target.column);
            }
        }
    }
}

impl Tile<'_> {
    /// The sums of row `r` from column `j` on.
    #[inline(always)]
    pub fn load<S: Simd, A: At>(&self, s: S, r: usize, j: usize, at: A) -> S::F {
        self.read(s, r, j, at)
    }

    /// Stores `v` as the value of row `r` from column `j` on in output `output`.
    #[inline(always)]
    pub fn store<S: Simd, A: At>(&mut self, s: S, output: usize, r: usize, j: usize, at: A, v: S::F) {
        self.write(s, output, r, j, at, v);
    }

    /// As [`Tile::store`], for an output of u32.
    #[inline(always)]
    pub fn store_u<S: Simd, A: At>(&mut self, s: S, output: usize, r: usize, j: usize, at: A, v: S::U) {
        self.store(s, output, r, j, at, s.f_of_bits(v));
    }
}

impl Tile<'_, f64> {
    /// The sums of row `r` from column `j` on.
    #[inline(always)]
    pub fn load_d<S: Simd, A: At>(&self, s: S, r: usize, j: usize, at: A) -> S::D {
        self.read(s, r, j, at)
    }

    /// Stores `v` as the value of row `r` from column `j` on in output `output`.
    #[inline(always)]
    pub fn store_d<S: Simd, A: At>(&mut self, s: S, output: usize, r: usize, j: usize, at: A, v: S::D) {
        self.write(s, output, r, j, at, v);
    }
}

/// Stores `lanes` where columns are `column` words apart: a function, because LLVM would write it out in every epilogue.
///
/// # Safety
/// `to` must be valid for writing an element for each lane, `column` elements apart.
#[inline(never)]
unsafe fn store_apart<T: Element>(lanes: &[T], mut to: *mut T, column: isize) {
    for value in lanes {
        // SAFETY: `to` has an element for each lane by this function's contract.
        unsafe { to.write(*value) }
        to = to.wrapping_offset(column);
    }
}

/// An [`Epilogue`] behind a pointer, so that the driver is compiled once.
pub(super) trait Sink<T = f32>: Sync {
    fn finish(&self, tile: &mut Tile<'_, T>);
}

/// An epilogue, and what it runs on: the set that the sums were made on.
pub(super) struct Finish<'a, I, E>(pub(super) I, pub(super) &'a E);

impl<T: Copy, I: Family, E: Epilogue<T>> Sink<T> for Finish<'_, I, E> {
    fn finish(&self, tile: &mut Tile<'_, T>) {
        run(self.0, Apply { epilogue: self.1, tile });
    }
}

struct Apply<'a, 'b, E, T> {
    epilogue: &'a E,
    tile: &'a Tile<'b, T>,
}

impl<T: Copy, E: Epilogue<T>> Kernel for Apply<'_, '_, E, T> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // A copy that nobody else knows stays in registers.
        self.epilogue.apply(s, &mut Tile { ..*self.tile });
    }
}
