//! Depthwise convolutions, and their gradients by input.
//!
//! In: a contraction whose columns are the rows of a plane, one after the other. Out: its outputs. Always: filters that move by
//! one or two are applied to some rows of the plane at a time ([`Stencil`]); for others columns between the rows are computed too,
//! as if the plane were one long row, and dropped.

use core::ops::Range;

use super::stencil::{self, Shape, Stencil};
use super::{TAPS, most_for_each};
use crate::contract::Axis;
use crate::contract::drive::{CALL, Call, JOB};
use crate::contract::finish::{Destination, Sums};
use crate::contract::image::Image;
use crate::contract::kernel::{self, Ahead, Block, Rows, Steps, WIDE};
use crate::contract::layout::{Place, Walk};
use crate::contract::long_row::LongRow;
use crate::contract::pack::copy;
use crate::contract::plan::{Plan, share};
use crate::machine::machine;
use crate::scratch::{LINE, Scratch, lend};
use crate::{Kernel, Simd, queue, run};

/// Words of a long row whose sums are handed on together: they and what they are made of stay in a first-level cache.
fn most_of_part() -> usize {
    machine().l1 / 2
}

/// How far a filter moves at most that is applied to rows.
const STRIDE: usize = 2;

/// Does the work if it is of this kind.
pub(super) fn planes(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    lend(&CALL, |scratch| {
        let (memory, _) = scratch.provide((2 * plan.k.total).next_multiple_of(LINE), 0, Place::NOWHERE);
        let list = memory.cast::<isize>();
        // SAFETY: the list has two words, an offset, for each index of K, and is written before it is read.
        let stencil = unsafe {
            setup.image.list(axes, list);
            setup.stencil(list)
        };
        let parts = setup.parts(if stencil.is_some() { stencil::ROWS } else { 1 });
        let task = Task { setup: &setup, list, stencil, parts };
        queue::balanced(call.threads, plan.batch.total * parts, &task);
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    image: Image<'a>,
    row: LongRow,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        if plan.k.total > TAPS {
            return None;
        }
        let (image, row) = Image::find(&plan.rhs, axes)?;
        // Whole vectors are read, so what is not a copy must have one.
        let readable = image.is_copied() || row.length() >= call.lanes;
        let fits = image.copy_words(WIDE * call.lanes) <= most_for_each();
        (readable && fits).then_some(Setup { call, plan, image, row })
    }

    /// The filter, if it moves along the rows and columns of the plane and there is a stencil for it.
    ///
    /// # Safety
    /// `list` must have where each index of K starts.
    unsafe fn stencil(&self, list: *const isize) -> Option<Shape> {
        let (k, row) = (&self.plan.k, self.row);
        if k.count != 2 || row.rows < stencil::ROWS || !self.image.is_copied() {
            return None;
        }
        let [height, width] = [k.extent[0], k.extent[1]];
        let moves_by = |stride: usize, at: usize| {
            let (y, x) = (at / width, at % width);
            let phase = y % stride * width + x % stride;
            let steps = (y / stride * row.pitch + x / stride).cast_signed();
            // SAFETY: the list has an offset for each index of K, by this function's contract.
            unsafe { *list.wrapping_add(at) - *list.wrapping_add(phase) == steps }
        };
        let fits = |stride: &usize| (0..k.total).all(|at| moves_by(*stride, at));
        let stride = (1..=STRIDE).filter(|stride| Shape::suits(height, *stride)).find(fits)?;
        let steps = [0, 1].map(|at| self.plan.lhs.strides[k.number(at)]);
        Some(Shape { height, width, steps, stride, list })
    }

    /// Jobs per batch index, each of `least` rows of the plane or more.
    fn parts(&self, least: usize) -> usize {
        let most = (self.row.rows / least).max(1);
        let mut parts = self.row.length().div_ceil(most_of_part()).min(most);
        while self.plan.batch.total * parts < self.call.threads && 2 * parts <= most {
            parts *= 2;
        }
        parts
    }

    /// Where the long row ends for vectors that are read.
    fn limit(&self, lanes: usize) -> usize {
        self.row.length() + if self.image.is_copied() { WIDE * lanes } else { 0 }
    }
}

struct Task<'a> {
    setup: &'a Setup<'a>,
    list: *const isize,
    /// The filter, where it is a stencil.
    stencil: Option<Shape>,
    /// Jobs per batch index.
    parts: usize,
}

// SAFETY: the list is only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl queue::Work for Task<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&JOB, |scratch| run(self.setup.call.isa, Jobs { task: self, jobs, scratch }));
    }
}

struct Jobs<'a> {
    task: &'a Task<'a>,
    jobs: queue::Jobs<'a>,
    scratch: &'a mut Scratch<Place>,
}

/// Some rows of the plane of a batch index.
struct Piece<'a> {
    task: &'a Task<'a>,
    /// The filter: in place where it is a stencil, otherwise as [`read_filters`] has written it.
    filter: *const f32,
    image: *const f32,
    m: usize,
    rows: Range<usize>,
    /// Room for their long row, with `WIDE` vectors before and after it, and for their results.
    sums: *mut f32,
    dense: *mut f32,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { task, jobs, scratch } = self;
        let (setup, plan) = (task.setup, task.setup.plan);
        let longest = setup.row.rows.div_ceil(task.parts) * setup.row.pitch;
        let room = (longest + 2 * WIDE * S::LANES).next_multiple_of(LINE);
        let taps = if task.stencil.is_some() { 0 } else { plan.m.total * plan.k.total }.next_multiple_of(LINE);
        let copied = setup.image.copy_words(WIDE * S::LANES);
        let (filters, _) = scratch.provide(taps + 2 * room + copied, 0, Place::NOWHERE);
        let sums = filters.wrapping_add(taps + WIDE * S::LANES);
        let dense = filters.wrapping_add(taps + room);
        let copy = dense.wrapping_add(room);
        // SAFETY: the scratch memory has the words of the copy, and these are all of its channels.
        unsafe { setup.image.clear(0..setup.image.channels(), copy) };
        let mut at = usize::MAX;
        let mut destination = Destination::new(plan, 0, setup.call.sink);
        for job in jobs {
            let (batch, part) = (job / task.parts, job % task.parts);
            let base = plan.start(&plan.rhs, batch);
            let left = plan.lhs.data.as_ptr().wrapping_offset(plan.start(&plan.lhs, batch));
            if at != batch {
                // SAFETY: the scratch memory has the words of the filters, if they are copied, and of the copy, which is
                // cleared, and these are all channels of a batch index.
                unsafe {
                    if task.stencil.is_none() {
                        read_filters(plan, left, filters);
                    }
                    setup.image.fill(s, &plan.rhs, base, 0..setup.image.channels(), copy);
                }
                destination.go_to(plan, batch);
                at = batch;
            }
            let image = setup.image.start(&plan.rhs, base, copy);
            let rows = match task.parts {
                1 => 0..setup.row.rows,
                parts => share(setup.row.rows, parts, part)..share(setup.row.rows, parts, part + 1),
            };
            for m in 0..plan.m.total {
                let filter = match task.stencil {
                    Some(_) => left.wrapping_offset(plan.lhs.distance(&plan.m, m)),
                    None => filters.cast_const().wrapping_add(m * plan.k.total),
                };
                let piece = Piece { task, filter, image, m, rows: rows.clone(), sums, dense };
                // SAFETY: `image` is in place, or in a copy that is filled, with `WIDE` vectors beyond its end, and there is
                // room for the sums and results of a part.
                unsafe {
                    match task.stencil {
                        Some(shape) => piece.apply(s, shape, &destination),
                        None => {
                            piece.sum(s);
                            piece.hand_on(s, &destination);
                        }
                    }
                }
            }
        }
    }
}

/// Copies the rows of the left operand that start at `left`, each along K.
///
/// # Safety
/// `left` must be where a batch index starts, and `to` be valid for writing a word for each index of M and K.
unsafe fn read_filters(plan: &Plan<'_>, left: *const f32, to: *mut f32) {
    let k = plan.k.total;
    let mut rows = Walk::new(&plan.lhs, &plan.m, 0);
    for m in 0..plan.m.total {
        let from = left.wrapping_offset(rows.place.offset);
        let mut taps = Walk::new(&plan.lhs, &plan.k, 0);
        for at in 0..k {
            // SAFETY: `Side` has checked that the operand has an element at every index, and `to` has a word for each by this
            // function's contract.
            unsafe { to.wrapping_add(m * k + at).write(*from.wrapping_offset(taps.place.offset)) };
            taps.advance(1);
        }
        rows.advance(1);
    }
}

impl Piece<'_> {
    /// Applies the filter as a stencil, and hands the results on.
    ///
    /// # Safety
    /// `image` must be where the copy of a batch index starts, which must have a vector more than it needs; `dense` must have
    /// room for the results, which must be at least [`stencil::ROWS`] rows.
    #[inline(always)]
    unsafe fn apply<S: Simd>(&self, s: S, shape: Shape, destination: &Destination<'_>) {
        let LongRow { inner, pitch, .. } = self.task.setup.row;
        let (first, count) = (self.rows.start, self.rows.len());
        let straight = destination.straight();
        let to = straight.map_or(self.dense, |target| {
            let offset = self.m.cast_signed() * target.row;
            target.origin.wrapping_offset(offset).wrapping_add(first * inner)
        });
        let mut y = 0;
        while y < count {
            // The last rows overlap those before, so that they end with the piece.
            let at = y.min(count - stencil::ROWS);
            let image = self.image.wrapping_add((first + at) * pitch);
            let to = to.wrapping_add(at * inner);
            let stencil = Stencil { shape, filter: self.filter, image, pitch, to, columns: inner };
            // SAFETY: the copy has the rows that the filter meets, with a vector beyond their end, by this function's
            // contract; the results are in `dense`, or rows of the output, whose reach the plan has checked.
            unsafe { stencil.apply(s) }
            y = at + stencil::ROWS;
        }
        if straight.is_none() {
            // SAFETY: all results of these rows are written.
            unsafe { destination.finish(s, &self.whole(self.dense)) }
        }
    }

    /// All results, one after the other.
    fn whole(&self, data: *const f32) -> Sums {
        let inner = self.task.setup.row.inner;
        let cols = self.rows.len() * inner;
        Sums { data, pitch: cols, m: self.m, n: self.rows.start * inner, rows: 1, cols }
    }

    /// Sums the columns of the rows into `sums`, where they lie as in the long row.
    ///
    /// # Safety
    /// `image` must be where the image starts for a batch index, and a copy must have `WIDE` vectors more than it needs; the
    /// filter must have a word for each index of K, and `sums` room.
    #[inline(always)]
    unsafe fn sum<S: Simd>(&self, s: S) {
        let (row, k) = (self.task.setup.row, self.task.setup.plan.k.total);
        let (start, end) = (self.rows.start * row.pitch, (self.rows.end - 1) * row.pitch + row.inner);
        let limit = self.task.setup.limit(S::LANES);
        let mut at = start;
        while at < end {
            let mut vectors = (end - at).div_ceil(S::LANES).min(WIDE).next_power_of_two();
            while vectors * S::LANES > limit {
                vectors /= 2;
            }
            // In place the last vectors end with the image, and overlap those before.
            let width = vectors * S::LANES;
            let first = at.min(limit - width);
            let block = Block {
                k,
                a: self.filter,
                rows: Rows::Near(1),
                b: self.image.wrapping_add(first),
                steps: Steps::Listed(self.task.list),
                ahead: Ahead::nothing(self.image),
                c: self.sums.wrapping_offset(first.cast_signed() - start.cast_signed()),
                c_row: 0,
                before: None,
            };
            // SAFETY: the list has an offset for each index of K, from where the image has the long row up to `limit`, before
            // which these vectors end; they start less than their width before `at`, so `sums` has room for them.
            unsafe { kernel::tile(s, 1, vectors, block) }
            at = first + width;
        }
    }

    /// Hands on the sums of the long row.
    ///
    /// # Safety
    /// `sums` must have the long row of these rows, and `dense` room for the results.
    #[inline(always)]
    unsafe fn hand_on<S: Simd>(&self, s: S, destination: &Destination<'_>) {
        let LongRow { inner, pitch, .. } = self.task.setup.row;
        // SAFETY: the long row has `inner` sums in each of these rows of the plane, which are neighbouring columns of the
        // contraction, and `dense` has room for all of them, by this function's contract.
        unsafe {
            if pitch == inner {
                return destination.finish(s, &self.whole(self.sums));
            }
            for y in 0..self.rows.len() {
                copy(s, self.sums.wrapping_add(y * pitch), 1, inner, self.dense.wrapping_add(y * inner));
            }
            destination.finish(s, &self.whole(self.dense));
        }
    }
}
