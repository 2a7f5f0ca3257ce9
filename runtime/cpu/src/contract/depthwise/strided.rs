//! Depthwise convolutions whose filters have three rows and move by two, applied where the image lies.
//!
//! In: a contraction whose columns are the rows of a plane, both of whose windows leave it at its edges. Out: its outputs. Always:
//! each vector of the image is read once for two columns of the filter and all rows of results that it is part of, its even and
//! its odd columns together, and is zero outside of the plane; each element is summed with one accumulator.

use core::ops::Range;

use super::TAPS;
use super::stencil::{self, ROWS};
use crate::contract::Axis;
use crate::contract::drive::{Call, JOB};
use crate::contract::finish::{Destination, Sums};
use crate::contract::layout::{Bounded, Place};
use crate::contract::plan::{Plan, doubled, share};
use crate::scratch::{Scratch, lend};
use crate::{Kernel, Simd, queue, run};

/// Rows of the filter. Taller ones gain nothing here: what they add up costs more than a copy.
const HEIGHT: usize = 3;
/// How far it moves.
const STRIDE: isize = 2;
/// Lanes from which on reading under a mask and taking every second lane costs less than a copy.
const FEWEST_LANES: usize = 8;

/// Does the work if it is of this kind.
pub(super) fn strided(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    queue::balanced(call.threads, plan.batch.total * setup.parts, &setup);
    true
}

/// A dimension of the image.
#[derive(Clone, Copy)]
struct Dimension {
    /// The coordinate that the first element of the filter meets for the first result.
    first: isize,
    extent: isize,
    /// Words from element to element.
    step: isize,
}

impl Dimension {
    /// The dimension of the window that moves by [`STRIDE`] with axis `n`, by one with axis `k`, and with no other.
    fn of(windows: &[Bounded<'_>], axes: &[Axis], (n, k): (usize, usize)) -> Option<Self> {
        let moves = |axis: usize| if axis == n { STRIDE } else { isize::from(axis == k) };
        let fits = |window: &&Bounded<'_>| {
            let mut numbers = (0..axes.len()).filter(|&axis| axes[axis].extent > 1);
            window.divisor == 1 && numbers.all(|axis| window.strides[axis] == moves(axis))
        };
        let window = windows.iter().find(fits)?;
        Some(Dimension { first: window.base, extent: window.extent, step: window.stride })
    }
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    rows: Dimension,
    columns: Dimension,
    /// Rows and columns of the results.
    extent: [usize; 2],
    /// Columns of the filter, and words from row to row of it, and from column to column.
    width: usize,
    steps: [isize; 2],
    /// Jobs per batch index.
    parts: usize,
}

impl<'a> Setup<'a> {
    /// Nothing if the contraction is of another kind, or reading under a mask costs more than a copy.
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        let (n, k, windows) = (&plan.n, &plan.k, plan.rhs.bounded());
        let pays = call.lanes >= FEWEST_LANES && !call.isa.has_scalars();
        if !pays || [n.count, k.count, windows.len()] != [2; 3] || n.extent[0] < ROWS || k.total > TAPS {
            return None;
        }
        let pairs = [0, 1].map(|at| (n.number(at), k.number(at)));
        let [rows, columns] = pairs.map(|pair| Dimension::of(windows, axes, pair));
        let (rows, columns) = (rows?, columns?);
        let is_outside = pairs.iter().all(|&(n, k)| plan.rhs.strides[n] == 0 && plan.rhs.strides[k] == 0);
        if columns.step != 1 || !is_outside || k.extent[0] != HEIGHT {
            return None;
        }
        let steps = pairs.map(|(_, k)| plan.lhs.strides[k]);
        let (extent, width) = ([n.extent[0], n.extent[1]], k.extent[1]);
        let parts = doubled(1, extent[0] / ROWS, plan.batch.total, call.threads);
        Some(Setup { call, plan, rows, columns, extent, width, steps, parts })
    }
}

impl queue::Work for Setup<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&JOB, |scratch| run(self.call.isa, Jobs { setup: self, jobs, scratch }));
    }
}

struct Jobs<'a> {
    setup: &'a Setup<'a>,
    jobs: queue::Jobs<'a>,
    scratch: &'a mut Scratch<Place>,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { setup, jobs, scratch } = self;
        let Setup { plan, parts, extent: [height, width], .. } = *setup;
        let beyond = setup.columns.extent.cast_unsigned();
        let (dense, _) = scratch.provide(ROWS * width + beyond, 0, Place::NOWHERE);
        let zeros = dense.wrapping_add(ROWS * width);
        // SAFETY: the scratch memory has these words behind the results of a block.
        unsafe { zeros.write_bytes(0, beyond) };
        let (mut at, mut destination) = (usize::MAX, Destination::new(plan, 0, setup.call.sink));
        for job in jobs {
            let (batch, part) = (job / parts, job % parts);
            if at != batch {
                destination.go_to(plan, batch);
                at = batch;
            }
            let [left, image] =
                [&plan.lhs, &plan.rhs].map(|side| side.data.as_ptr().wrapping_offset(plan.start(side, batch)));
            for m in 0..plan.m.total {
                let filter = left.wrapping_offset(plan.lhs.distance(&plan.m, m));
                let plane = Plane { setup, filter, image, m, zeros, dense };
                // SAFETY: the plan has checked operands and outputs, and the scratch memory has a block of results.
                unsafe { plane.rows(s, share(height, parts, part)..share(height, parts, part + 1), &destination) };
            }
        }
    }
}

/// A plane, and the filter that is applied to it.
struct Plane<'a> {
    setup: &'a Setup<'a>,
    filter: *const f32,
    /// The element at coordinate 0 of both dimensions.
    image: *const f32,
    m: usize,
    /// A row of zeros, and room for a block of results.
    zeros: *const f32,
    dense: *mut f32,
}

/// Rows of the image that a block of results is made of.
const SEEN: usize = 2 * (ROWS - 1) + HEIGHT;

/// Two neighbouring columns of a filter, or the last one, for a vector of results.
#[derive(Clone, Copy)]
struct Pair<'a, M> {
    /// Their first elements.
    filter: *const f32,
    /// Words from row to row of the filter, and from column to column.
    steps: [isize; 2],
    /// The rows of the image, and the column that they meet.
    rows: &'a [*const f32; SEEN],
    column: isize,
    /// Which lanes of a vector from there on, and of the next one, are within the plane.
    within: [M; 2],
}

impl Plane<'_> {
    /// Computes some rows of results.
    ///
    /// # Safety
    /// They must be at least [`ROWS`] of the results. The filter must be readable, `image` be where a batch index of the right
    /// operand starts, whose windows `Side` has checked, `destination` be that of the same one, `zeros` have as many words as a
    /// row of the image, and `dense` a block of results.
    #[inline(always)]
    unsafe fn rows<S: Simd>(&self, s: S, rows: Range<usize>, destination: &Destination<'_>) {
        let ([_, width], m, dense) = (self.setup.extent, self.m, self.dense);
        let straight = destination.straight();
        let mut y = rows.start;
        while y < rows.end {
            // The last block overlaps the one before, so that it ends with these rows.
            let first = y.min(rows.end - ROWS);
            let to = straight.map_or(dense, |target| {
                target.origin.wrapping_offset(m.cast_signed() * target.row).wrapping_add(first * width)
            });
            // SAFETY: the operands are readable by this function's contract; `to` has a block of results, in `dense` or in the
            // output, whose reach the plan has checked, and they are written before they are handed on.
            unsafe {
                self.apply(s, first, to);
                if straight.is_none() {
                    let data = dense.wrapping_add((y - first) * width).cast_const();
                    let cols = (first + ROWS - y) * width;
                    destination.finish(s, &Sums { data, pitch: cols, m, n: y * width, rows: 1, cols });
                }
            }
            y = first + ROWS;
        }
    }

    /// Sums [`ROWS`] rows of results from row `first` on, whose columns are neighbours at `to`.
    ///
    /// # Safety
    /// The filter must be readable, `image` be where a batch index of the right operand starts, whose windows `Side` has checked,
    /// `first` be at least [`ROWS`] before the end of the results, and `to` be valid for writing so many rows.
    #[inline(always)]
    unsafe fn apply<S: Simd>(&self, s: S, first: usize, to: *mut f32) {
        let Setup { rows, extent: [_, width], .. } = *self.setup;
        let mut seen = [self.zeros; SEEN];
        for (row, seen) in (rows.first + STRIDE * first.cast_signed()..).zip(&mut seen) {
            if (0..rows.extent).contains(&row) {
                *seen = self.image.wrapping_offset(row * rows.step);
            }
        }
        let mut column = 0;
        while column < width {
            // The last vector overlaps the one before, so that it ends with the row.
            let at = column.min(width.saturating_sub(S::LANES));
            let mut sums = [s.splat_f(0.0); ROWS];
            // SAFETY: the filter and the image are readable by this function's contract, and `to` has the rows.
            unsafe {
                self.sum(s, &seen, at, &mut sums);
                stencil::store(s, &sums, to.wrapping_add(at), width);
            }
            column = at + S::LANES;
        }
    }

    /// Sums a vector of results of [`ROWS`] rows, which are made of these rows of the image.
    ///
    /// # Safety
    /// As for [`Plane::apply`].
    #[inline(always)]
    unsafe fn sum<S: Simd>(&self, s: S, rows: &[*const f32; SEEN], column: usize, sums: &mut [S::F; ROWS]) {
        let Setup { columns, width, steps, .. } = *self.setup;
        for x in (0..width).step_by(2) {
            let column = columns.first + STRIDE * column.cast_signed() + x.cast_signed();
            let within = [column, column + S::LANES.cast_signed()].map(|start| {
                let [before, end] = [-start, columns.extent - start].map(|at| at.max(0).cast_unsigned());
                s.and_m(s.mask_first(end.min(S::LANES)), s.not_m(s.mask_first(before.min(S::LANES))))
            });
            let filter = self.filter.wrapping_offset(x.cast_signed() * steps[1]);
            let pair = Pair { filter, steps, rows, column, within };
            // SAFETY: these columns of the filter are readable by this function's contract, and so are the rows where they are
            // within the plane.
            unsafe {
                match x + 1 < width {
                    true => pair.add::<S, true>(s, sums),
                    false => pair.add::<S, false>(s, sums),
                }
            }
        }
    }
}

impl<M: Copy> Pair<'_, M> {
    /// Adds what the first column gives, and the second one if there are `BOTH`.
    ///
    /// # Safety
    /// There must be `HEIGHT` rows of readable elements, and each element of the image that is within the plane be readable.
    #[inline(always)]
    unsafe fn add<S: Simd<M = M>, const BOTH: bool>(self, s: S, sums: &mut [S::F; ROWS]) {
        let mut weights = [[s.splat_f(0.0); HEIGHT]; 2];
        for (column, weights) in weights.iter_mut().enumerate().take(1 + usize::from(BOTH)) {
            let filter = self.filter.wrapping_offset(column.cast_signed() * self.steps[1]);
            for (row, weight) in weights.iter_mut().enumerate() {
                // SAFETY: there are `HEIGHT` rows of elements in these columns, by this function's contract.
                *weight = s.splat_f(unsafe { *filter.wrapping_offset(row.cast_signed() * self.steps[0]) });
            }
        }
        const { assert!(SEEN == 15, "one line for each row of the image") }
        // Written out, so that it is known for each row of the image which rows of results it is part of.
        macro_rules! row {
            ($($row:literal)*) => {
                $({
                    let near = self.rows[$row].wrapping_offset(self.column);
                    let far = near.wrapping_add(S::LANES);
                    // SAFETY: the masks have those columns that are within the plane, where rows are readable by this
                    // function's contract.
                    let [near, far] = unsafe {
                        [s.load_masked_raw_f(near, self.within[0]), s.load_masked_raw_f(far, self.within[1])]
                    };
                    add(s, $row, &weights[0], s.evens_f(near, far), sums);
                    if BOTH {
                        add(s, $row, &weights[1], s.odds_f(near, far), sums);
                    }
                })*
            };
        }
        row!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14);
    }
}

/// Adds what row `at` of the image, as the filter meets it, gives to the rows of results.
#[inline(always)]
fn add<S: Simd>(s: S, at: usize, weights: &[S::F; HEIGHT], seen: S::F, sums: &mut [S::F; ROWS]) {
    for (row, sum) in sums.iter_mut().enumerate() {
        if 2 * row <= at && at - 2 * row < HEIGHT {
            *sum = s.mul_add_f(weights[at - 2 * row], seen, *sum);
        }
    }
}
