//! Gradients of depthwise convolutions by weight: sums over whole planes.
//!
//! In: a contraction whose innermost K axes are the rows of a plane in the right operand, and contiguous in the left one. Out:
//! its outputs. Always: a few elements of a filter are summed at a time, each in a vector; sums of many rows are added up with
//! compensation; nothing beyond a row of the plane is multiplied.

use core::ops::Range;

use super::{TAPS, most_for_each};
use crate::contract::drive::{CALL, Call, JOB};
use crate::contract::finish::{Destination, Sums};
use crate::contract::image::Image;
use crate::contract::layout::{Group, MAX_AXES, Place, Walk};
use crate::contract::long_row::LongRow;
use crate::contract::pack::zero;
use crate::contract::plan::{Plan, share};
use crate::contract::{Axis, Role};
use crate::scratch::{LINE, Scratch, lend};
use crate::sums::LongSums;
use crate::{Kernel, Simd, pool, run};

/// Most elements of a filter that are summed at a time.
const TOGETHER: usize = 9;
/// Most additions to a sum before it is added up with compensation.
const CHAIN: usize = 256;

/// Does the work if it is of this kind.
pub(super) fn filters(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    // A plane has rows and columns, or is one row.
    let Some(setup) = [2, 1].into_iter().find_map(|dimensions| Setup::new(call, plan, axes, dimensions)) else {
        return false;
    };
    lend(&CALL, |scratch| {
        let (memory, _) = scratch.provide((2 * plan.n.total).next_multiple_of(LINE), 0, Place::NOWHERE);
        let list = memory.cast::<isize>();
        // SAFETY: the list has two words, an offset, for each element of a filter: these are the K axes of `setup`.
        unsafe { setup.image.list(&setup.axes[..axes.len()], list) };
        pool::parallel(call.threads, plan.batch.total, &Task { setup: &setup, list });
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    /// The axes as those of a convolution: the rows of the plane are its columns, and the elements of a filter are summed over.
    axes: [Axis; MAX_AXES],
    image: Image<'a>,
    row: LongRow,
    /// The K axes outside of the plane.
    outer: Group,
    /// Words from row to row of the left operand.
    step: isize,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis], dimensions: usize) -> Option<Self> {
        let mut inner = [0; 2];
        let longer = |(_, axis): &(usize, &Axis)| axis.role == Role::K && axis.extent > 1;
        let mut last = axes.iter().enumerate().rev().filter(longer);
        for at in inner[..dimensions].iter_mut().rev() {
            *at = last.next()?.0;
        }
        let inner = &inner[..dimensions];
        let mut exchanged = [Axis { extent: 1, role: Role::M }; MAX_AXES];
        let mut outside = exchanged;
        for (number, axis) in axes.iter().enumerate() {
            let is_inner = inner.contains(&number);
            let role = match axis.role {
                Role::N => Role::K,
                Role::K if is_inner => Role::N,
                Role::K | Role::Batch => Role::Batch,
                Role::M => Role::M,
            };
            exchanged[number] = Axis { role, ..*axis };
            outside[number] = if is_inner { outside[number] } else { *axis };
        }
        let (image, row) = Image::find(&plan.rhs, &exchanged[..axes.len()])?;
        let x = inner[dimensions - 1];
        let rows = if dimensions == 2 { axes[inner[0]].extent } else { 1 };
        let as_planned = row.inner == axes[x].extent && row.rows == rows && plan.lhs.strides[x] == 1;
        if plan.n.total > TAPS || !as_planned || image.copy_words(call.lanes) > most_for_each() {
            return None;
        }
        let outer = Group::all(&outside[..axes.len()], Role::K);
        Some(Setup { call, plan, axes: exchanged, image, row, outer, step: plan.lhs.strides[inner[0]] })
    }
}

struct Task<'a> {
    setup: &'a Setup<'a>,
    list: *const isize,
}

// SAFETY: the list is only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, jobs: Range<usize>) {
        lend(&JOB, |scratch| run(self.setup.call.isa, Jobs { task: self, jobs, scratch }));
    }
}

struct Jobs<'a> {
    task: &'a Task<'a>,
    jobs: Range<usize>,
    scratch: &'a mut Scratch<Place>,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { task, jobs, scratch } = self;
        let (setup, plan) = (task.setup, task.setup.plan);
        let (rows, taps) = (plan.m.total, plan.n.total);
        let words = rows * taps * S::LANES;
        let block_words = TOGETHER * S::LANES;
        let results = taps.next_multiple_of(LINE);
        let copied = setup.image.copy_words(S::LANES);
        let (total, _) = scratch.provide(2 * words + block_words + results + copied, 0, Place::NOWHERE);
        let long = LongSums { total, lost: total.wrapping_add(words) };
        let block = total.wrapping_add(2 * words);
        let result = block.wrapping_add(block_words);
        let copy = result.wrapping_add(results);
        // SAFETY: the scratch memory has the words of the copy, and these are all of its channels.
        unsafe { setup.image.clear(0..setup.image.channels(), copy) };
        for batch in jobs {
            // SAFETY: the scratch memory has the sums and what they lose, the sums of a block, a word for each element of a
            // filter, and the copy.
            unsafe {
                zero(s, total, 2 * words);
                sum(s, task, batch, long, block, copy);
                let destination = Destination::new(plan, batch, setup.call.sink);
                for m in 0..rows {
                    for tap in 0..taps {
                        let lanes = s.load_raw_f(total.wrapping_add((m * taps + tap) * S::LANES));
                        result.wrapping_add(tap).write(s.reduce_add_f(lanes));
                    }
                    let data = result.cast_const();
                    destination.finish(s, &Sums { data, pitch: taps, m, n: 0, rows: 1, cols: taps });
                }
            }
        }
    }
}

/// Sums over all planes of a batch index.
///
/// # Safety
/// `task` must have the list of the filter. `long` must have sums, and what they lose, of a vector for each row and each
/// element of a filter, `block` room for [`TOGETHER`] vectors, and `copy` the words of the copy, cleared, with a vector more.
#[inline(always)]
unsafe fn sum<S: Simd>(s: S, task: &Task<'_>, batch: usize, long: LongSums, block: *mut f32, copy: *mut f32) {
    let (setup, plan) = (task.setup, task.setup.plan);
    let (row, taps) = (setup.row, plan.n.total);
    let (left, right) = (plan.start(&plan.lhs, batch), plan.start(&plan.rhs, batch));
    let blocks = (row.rows * row.inner.div_ceil(S::LANES)).div_ceil(CHAIN).min(row.rows);
    let groups = taps.div_ceil(TOGETHER);
    let (mut lefts, mut rights) = (Walk::new(&plan.lhs, &setup.outer, 0), Walk::new(&plan.rhs, &setup.outer, 0));
    for _ in 0..setup.outer.total {
        let base = right + rights.place.offset;
        // SAFETY: `copy` has the words of the copy by this function's contract, and these are all of its channels.
        unsafe { setup.image.fill(s, &plan.rhs, base, 0..setup.image.channels(), copy) };
        let image = setup.image.start(&plan.rhs, base, copy);
        let mut filters = Walk::new(&plan.lhs, &plan.m, 0);
        for m in 0..plan.m.total {
            let slopes = plan.lhs.data.as_ptr().wrapping_offset(left + lefts.place.offset + filters.place.offset);
            for number in 0..blocks {
                let (from, to) = (share(row.rows, blocks, number), share(row.rows, blocks, number + 1));
                let part = Part {
                    slopes: slopes.wrapping_offset(from.cast_signed() * setup.step),
                    step: setup.step,
                    image: image.wrapping_add(from * row.pitch),
                    row: LongRow { rows: to - from, ..row },
                };
                for group in 0..groups {
                    let (first, end) = (share(taps, groups, group), share(taps, groups, group + 1));
                    // SAFETY: both operands have these rows of the plane at every offset of the list, and the sums are of
                    // this function's contract.
                    unsafe {
                        part.sum_some(s, task.list.wrapping_add(first), end - first, block);
                        long.at((m * taps + first) * S::LANES).add(s, block, (end - first) * S::LANES);
                    }
                }
            }
            filters.advance(1);
        }
        lefts.advance(1);
        rights.advance(1);
    }
}

/// Some rows of a plane in both operands.
struct Part {
    /// The left operand, and words from row to row.
    slopes: *const f32,
    step: isize,
    image: *const f32,
    row: LongRow,
}

impl Part {
    /// Sums `count` elements of a filter.
    ///
    /// # Safety
    /// As [`Part::sum`] for `count`, which must be from 1 to [`TOGETHER`].
    #[inline(always)]
    unsafe fn sum_some<S: Simd>(&self, s: S, list: *const isize, count: usize, to: *mut f32) {
        macro_rules! choose {
            ($($count:literal)*) => {
                match count {
                    // SAFETY: the list and the results are for `count` elements, by this function's contract.
                    $($count => unsafe { self.sum::<S, $count>(s, list, to) },)*
                    _ => unreachable!("no more elements are summed at a time"),
                }
            };
        }
        choose!(1 2 3 4 5 6 7 8 9)
    }

    /// Sums `TAPS` elements of a filter, each in a vector.
    ///
    /// # Safety
    /// `list` must have `TAPS` offsets, from each of which on the image has the rows of the part, as `slopes` has; `to` must
    /// be valid for writing as many vectors.
    #[inline(always)]
    unsafe fn sum<S: Simd, const TAPS: usize>(&self, s: S, list: *const isize, to: *mut f32) {
        let mut sums = [s.splat_f(0.0); TAPS];
        // SAFETY: the list has `TAPS` offsets, by this function's contract.
        let images: [*const f32; TAPS] =
            core::array::from_fn(|tap| self.image.wrapping_offset(unsafe { *list.wrapping_add(tap) }));
        let inner = self.row.inner;
        let whole = inner / S::LANES * S::LANES;
        let rest = s.mask_first(inner - whole);
        for y in 0..self.row.rows {
            let slopes = self.slopes.wrapping_offset(y.cast_signed() * self.step);
            let at = y * self.row.pitch;
            let mut x = 0;
            // SAFETY: both operands have `inner` words of this row, by this function's contract, where the mask ends.
            unsafe {
                while x < whole {
                    let slope = s.load_raw_f(slopes.wrapping_add(x));
                    for (sum, image) in sums.iter_mut().zip(&images) {
                        *sum = s.mul_add_f(slope, s.load_raw_f(image.wrapping_add(at + x)), *sum);
                    }
                    x += S::LANES;
                }
                if whole < inner {
                    let slope = s.load_masked_raw_f(slopes.wrapping_add(x), rest);
                    for (sum, image) in sums.iter_mut().zip(&images) {
                        *sum = s.mul_add_f(slope, s.load_masked_raw_f(image.wrapping_add(at + x), rest), *sum);
                    }
                }
            }
        }
        for (tap, sum) in sums.iter().enumerate() {
            // SAFETY: `to` has `TAPS` vectors, by this function's contract.
            unsafe { s.store_raw_f(to.wrapping_add(tap * S::LANES), *sum) }
        }
    }
}
