//! Handing finished sums on.
//!
//! In: a rectangle of sums in scratch memory. Out: the outputs. Always: plain sums are copied by vectors where the output's
//! columns are contiguous.

use super::element::Element;
use super::epilogue::{Sink, Target, Tile};
use super::layout::MAX_AXES;
use super::plan::{MAX_OUTPUTS, Plan};
use crate::{Area, Kernel, Simd};

/// The batch index that a job works on, and where its results go.
pub(super) struct Destination<'p, T = f32> {
    index: [usize; MAX_AXES],
    axes: usize,
    targets: [Target<T>; MAX_OUTPUTS],
    count: usize,
    sink: Option<&'p dyn Sink<T>>,
}

/// Sums in memory: `rows` × `cols` of them from row `m` and column `n` on.
#[derive(Clone, Copy)]
pub(super) struct Sums<T = f32> {
    pub(super) data: *const T,
    pub(super) pitch: usize,
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

impl<'p, T: Element> Destination<'p, T> {
    pub(super) fn new(plan: &Plan<'_, T>, batch: usize, sink: Option<&'p dyn Sink<T>>) -> Self {
        let nowhere = Target { origin: core::ptr::null_mut(), row: 0, column: 0 };
        let (index, targets) = ([0; MAX_AXES], [nowhere; MAX_OUTPUTS]);
        let mut destination = Destination { index, axes: plan.batch.count, targets, count: plan.targets, sink };
        destination.go_to(plan, batch);
        destination
    }

    /// Goes on to another batch index.
    #[inline(always)]
    pub(super) fn go_to(&mut self, plan: &Plan<'_, T>, batch: usize) {
        let mut rest = batch;
        for dim in (0..plan.batch.count).rev() {
            (rest, self.index[dim]) = plan.batch.cut(dim, rest);
        }
        for (target, place) in self.targets.iter_mut().zip(&plan.outputs[..plan.targets]) {
            let mut offset = place.base;
            for (dim, &index) in self.index.iter().enumerate().take(plan.batch.count) {
                offset += index.cast_signed() * place.strides[plan.batch.number(dim)];
            }
            *target = Target { origin: place.data.wrapping_offset(offset), row: place.row, column: place.column };
        }
    }

    /// The output itself, if plain sums may be written straight to it by whole vectors.
    #[inline(always)]
    pub(super) fn straight(&self) -> Option<&Target<T>> {
        self.goal().straight()
    }

    /// Hands `sums` to the epilogue, or stores them.
    ///
    /// # Safety
    /// `sums` must describe readable memory and lie within the contraction.
    #[inline(always)]
    pub(super) unsafe fn finish<S: Simd>(&self, s: S, sums: &Sums<T>) {
        // SAFETY: `sums` is readable and lies within the contraction, by this function's contract, and the plan that the
        // targets come from has checked that the contraction lies within its outputs.
        unsafe { self.goal().finish(s, sums) }
    }

    /// The same by reference.
    #[inline(always)]
    pub(super) fn goal(&self) -> Goal<'_, T> {
        let (batch, targets) = (&self.index[..self.axes], &self.targets[..self.count]);
        Goal { batch, targets, sink: self.sink }
    }
}

/// As [`Destination`], but where somebody else keeps the targets.
pub(super) struct Goal<'p, T = f32> {
    /// The index on each Batch axis.
    pub(super) batch: &'p [usize],
    pub(super) targets: &'p [Target<T>],
    pub(super) sink: Option<&'p dyn Sink<T>>,
}

impl<'p, T: Element> Goal<'p, T> {
    /// The output itself, as for [`Destination::straight`].
    #[inline(always)]
    pub(super) fn straight(&self) -> Option<&'p Target<T>> {
        match self.targets {
            [target] if self.sink.is_none() && target.column == 1 => Some(target),
            _ => None,
        }
    }

    /// Hands `sums` to the epilogue, or stores them.
    ///
    /// # Safety
    /// `sums` must describe readable memory and lie within the contraction, and the contraction within its outputs.
    #[inline(always)]
    pub(super) unsafe fn finish<S: Simd>(&self, s: S, sums: &Sums<T>) {
        if let (Some(sink), Some(&first)) = (self.sink, self.targets.first()) {
            let mut tile = Tile {
                batch: self.batch,
                area: Area { m: sums.m, n: sums.n, rows: sums.rows, cols: sums.cols },
                sums: sums.data,
                pitch: sums.pitch,
                targets: self.targets,
                first,
            };
            sink.finish(&mut tile);
            return;
        }
        for target in self.targets {
            // SAFETY: by this function's contract `sums` is readable, and all of its rows and columns lie within the
            // output.
            unsafe { store(s, *sums, *target) }
        }
    }
}

/// Stores sums as they are.
///
/// # Safety
/// `sums` must describe readable memory, and `target` must be valid for writing all of its rows and columns.
#[inline(always)]
unsafe fn store<S: Simd, T: Element>(s: S, sums: Sums<T>, target: Target<T>) {
    s.call(Store { sums, target });
}

struct Store<T> {
    sums: Sums<T>,
    target: Target<T>,
}

impl<T: Element> Kernel for Store<T> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Store { sums, target } = self;
        let offset = sums.m.cast_signed() * target.row + sums.n.cast_signed() * target.column;
        let origin = target.origin.wrapping_offset(offset);
        let mut column = 0;
        while target.column == 1 && column < sums.cols {
            let (whole, mask) = (column + S::LANES <= sums.cols, s.mask_first(sums.cols - column));
            let (mut from, mut to) = (sums.data.wrapping_add(column), origin.wrapping_add(column));
            for _ in 0..sums.rows {
                // SAFETY: only `store` makes this: the sums are readable and their places writable; the columns of the
                // target are neighbours, and a vector ends with the last column or is masked there.
                unsafe {
                    match whole {
                        true => T::store(s, to, T::load(s, from)),
                        false => T::store_masked(s, to, mask, T::load_masked(s, from, mask)),
                    }
                }
                from = from.wrapping_add(sums.pitch);
                to = to.wrapping_offset(target.row);
            }
            column += S::LANES;
        }
        while column < sums.cols {
            for row in 0..sums.rows {
                let to = row.cast_signed() * target.row + column.cast_signed() * target.column;
                // SAFETY: only `store` makes this: the sums are readable, and their places in the target writable.
                unsafe {
                    let sum = *sums.data.wrapping_add(row * sums.pitch + column);
                    origin.wrapping_offset(to).write(sum);
                }
            }
            column += 1;
        }
    }
}
