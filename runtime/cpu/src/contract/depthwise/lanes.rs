//! Depthwise convolutions with channels in the lanes: as many planes as a vector has lanes are convolved together.
//!
//! In: a contraction whose columns are the rows of a plane, with padding, which fill no more than half a vector, and enough
//! planes. Out: its outputs. Always: a job is a strip of rows of a block of planes, which it transposes into a padded copy and
//! back; each element is summed along the rows of its filter, one after the other, with one accumulator, so nothing depends on
//! how wide a plane is.

use core::ops::Range;

use super::TAPS;
use crate::contract::drive::{Call, JOB};
use crate::contract::finish::{Destination, Sums};
use crate::contract::layout::{Bounded, Place, Walk};
use crate::contract::pack::copy;
use crate::contract::plan::{Plan, doubled, share};
use crate::machine::machine;
use crate::scratch::{LINE, Scratch, lend};
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, queue, run};

/// Most words of the copy of a strip: a first-level cache holds most of it, and rows that strips have in common are few.
fn most_of_strip() -> usize {
    2 * machine().l1
}

/// Neighbouring results that are summed at a time: the rows of most networks are multiples of one or the other.
const COLUMNS: [usize; 2] = [7, 8];

/// Does the work if it is of this kind.
pub(super) fn lanes(call: &Call<'_>, plan: &Plan<'_>) -> bool {
    let Some(setup) = Setup::new(call, plan) else {
        return false;
    };
    queue::balanced(call.threads, plan.batch.total.div_ceil(call.lanes) * setup.strips, &Task { setup: &setup });
    true
}

/// A dimension of the planes.
#[derive(Clone, Copy)]
struct Dimension {
    /// The coordinate of the first element that the first result reads.
    base: isize,
    /// How many elements there are, and words from one to the next.
    extent: usize,
    step: isize,
    results: usize,
    /// Coordinates from result to result.
    stride: usize,
    taps: usize,
    /// Coordinates from tap to tap.
    dilation: usize,
}

impl Dimension {
    /// The dimension along which `window` is moved by result axis `n` and tap axis `k`, and by no other of `others`.
    fn new(window: &Bounded<'_>, (n, results): (usize, usize), (k, taps): (usize, usize)) -> Option<Dimension> {
        let (stride, dilation) = (usize::try_from(window.strides[n]).ok()?, usize::try_from(window.strides[k]).ok()?);
        let suits = window.divisor == 1 && stride > 0 && dilation > 0;
        let extent = window.extent.cast_unsigned();
        let (base, step) = (window.base, window.stride);
        suits.then_some(Dimension { base, extent, step, results, stride, taps, dilation })
    }

    /// Coordinates that so many results read.
    fn reach(&self, results: usize) -> usize {
        (results - 1) * self.stride + (self.taps - 1) * self.dilation + 1
    }

    /// Those of `count` coordinates from `from` on at which there are elements, counted from there.
    fn existing(&self, from: isize, count: usize) -> Range<usize> {
        let count = count.cast_signed();
        let first = (-from).clamp(0, count);
        first.cast_unsigned()..(self.extent.cast_signed() - from).clamp(first, count).cast_unsigned()
    }
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    rows: Dimension,
    columns: Dimension,
    /// Results that are summed at a time.
    together: usize,
    /// Strips of a plane.
    strips: usize,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>) -> Option<Self> {
        let (n, k, rhs) = (&plan.n, &plan.k, &plan.rhs);
        let &[first, second] = rhs.bounded() else { return None };
        if plan.m.total != 1 || n.count != 2 || k.count != 2 || k.total > TAPS || plan.batch.total < call.lanes {
            return None;
        }
        let (outer, inner) = ([n.number(0), k.number(0)], [n.number(1), k.number(1)]);
        let moves = |window: &Bounded<'_>, axes: [usize; 2]| axes.iter().any(|&axis| window.strides[axis] != 0);
        let (down, right) = if moves(&first, [outer[0]; 2]) { (first, second) } else { (second, first) };
        let by_others = plan.moving().any(|axis| moves(&down, [axis; 2]) || moves(&right, [axis; 2]));
        let past_windows = [outer, inner].as_flattened().iter().any(|&axis| rhs.strides[axis] != 0);
        if by_others || past_windows || moves(&down, inner) || moves(&right, outer) {
            return None;
        }
        let rows = Dimension::new(&down, (outer[0], n.extent[0]), (outer[1], k.extent[0]))?;
        let columns = Dimension::new(&right, (inner[0], n.extent[1]), (inner[1], k.extent[1]))?;
        let filled = |together: &usize| columns.results.div_ceil(*together) * *together;
        let together = COLUMNS.into_iter().filter(|&together| together <= columns.results).min_by_key(filled)?;
        // Otherwise vectors along the rows cost less than to transpose planes.
        let is_narrow = 2 * columns.results <= call.lanes;
        let contiguous = columns.step == 1 && rows.step == columns.extent.cast_signed();
        if !is_narrow || !contiguous || rows.stride != columns.stride || rows.stride > 2 {
            return None;
        }
        let mut setup = Setup { call, plan, rows, columns, together, strips: 1 };
        setup.strips = setup.cut()?;
        Some(setup)
    }

    /// How many strips fit a cache, and give every thread as much to do as the others, or nearly so.
    fn cut(&self) -> Option<usize> {
        let width = self.pitch().checked_mul(self.call.lanes)?;
        let fits = |rows: &usize| self.rows.reach(*rows).saturating_mul(width) <= most_of_strip();
        let most = (1..=self.rows.results).take_while(fits).last()?;
        let (rows, blocks) = (self.rows.results, self.plan.batch.total.div_ceil(self.call.lanes));
        Some(doubled(rows.div_ceil(most), rows, blocks, self.call.threads))
    }

    /// Elements of a row of the copy.
    fn pitch(&self) -> usize {
        self.columns.reach(self.columns.results)
    }

    /// Most rows of results of a strip.
    fn most_rows(&self) -> usize {
        self.rows.results.div_ceil(self.strips)
    }
}

struct Task<'a> {
    setup: &'a Setup<'a>,
}

impl queue::Work for Task<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&JOB, |scratch| run(self.setup.call.isa, Jobs { setup: self.setup, jobs, scratch }));
    }
}

struct Jobs<'a> {
    setup: &'a Setup<'a>,
    jobs: queue::Jobs<'a>,
    scratch: &'a mut Scratch<Place>,
}

/// Where a job has what it works on; all but results are `[element][lane]`.
#[derive(Clone, Copy)]
struct Memory {
    weights: *mut f32,
    /// The padded strip.
    strip: *mut f32,
    /// Elements before they are padded.
    elements: *mut f32,
    sums: *mut f32,
    /// Results, `[lane][element]`, and words from lane to lane.
    results: *mut f32,
    pitch: usize,
}

impl Memory {
    fn new<S: Simd>(scratch: &mut Scratch<Place>, setup: &Setup<'_>) -> Memory {
        let (rows, lanes) = (setup.most_rows(), S::LANES);
        let results = rows * setup.columns.results;
        let pitch = results.next_multiple_of(lanes).next_multiple_of(LINE);
        let strip = setup.rows.reach(rows) * setup.pitch();
        let elements = setup.rows.reach(rows) * setup.columns.extent;
        let sizes = [setup.plan.k.total, strip, elements, results].map(|size| (size * lanes).next_multiple_of(LINE));
        let (mut at, _) = scratch.provide(sizes.iter().sum::<usize>() + lanes * pitch, 0, Place::NOWHERE);
        let [weights, strip, elements, sums] = sizes.map(|size| {
            let here = at;
            at = at.wrapping_add(size);
            here
        });
        Memory { weights, strip, elements, sums, results: at, pitch }
    }
}

/// A strip of a block of planes.
struct Strip<'a> {
    setup: &'a Setup<'a>,
    memory: Memory,
    /// The first plane, and how many there are.
    first: usize,
    count: usize,
    /// Rows of results.
    rows: Range<usize>,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { setup, jobs, scratch } = self;
        let memory = Memory::new::<S>(scratch, setup);
        let mut destination = Destination::new(setup.plan, 0, setup.call.sink);
        let mut weighed = usize::MAX;
        for job in jobs {
            let (block, strip) = (job / setup.strips, job % setup.strips);
            let at = |strip| share(setup.rows.results, setup.strips, strip);
            let first = block * S::LANES;
            let count = S::LANES.min(setup.plan.batch.total - first);
            let strip = Strip { setup, memory, first, count, rows: at(strip)..at(strip + 1) };
            // SAFETY: `Memory::new` has provided what a strip needs, and the planes and rows are some of the contraction's.
            unsafe {
                if weighed != block {
                    strip.weigh(s);
                    weighed = block;
                }
                strip.fill(s);
                match (setup.together, setup.rows.stride) {
                    (7, 1) => strip.sum::<S, 7, 1>(s),
                    (7, _) => strip.sum::<S, 7, 2>(s),
                    (_, 1) => strip.sum::<S, 8, 1>(s),
                    (_, _) => strip.sum::<S, 8, 2>(s),
                }
                strip.hand_on(s, &mut destination);
            }
        }
    }
}

impl Strip<'_> {
    /// For each lane what `of` gives for its plane; lanes without a plane have the last one.
    #[inline(always)]
    fn of_lanes(&self, of: impl Fn(usize) -> *const f32) -> [*const f32; MAX_LANES] {
        let mut all = [of(self.first + self.count - 1); MAX_LANES];
        for (lane, one) in all.iter_mut().enumerate().take(self.count) {
            *one = of(self.first + lane);
        }
        all
    }

    /// Transposes the filters.
    ///
    /// # Safety
    /// `memory.weights` must have a vector for each index of K, and the planes be some of the contraction's.
    #[inline(always)]
    unsafe fn weigh<S: Simd>(&self, s: S) {
        let plan = self.setup.plan;
        let filters = self.of_lanes(|plane| plan.lhs.data.as_ptr().wrapping_offset(plan.start(&plan.lhs, plane)));
        let (taps, inner) = (plan.k.total, plan.k.extent[1].cast_signed());
        let strides = [0, 1].map(|at| plan.lhs.strides[plan.k.number(at)]);
        if strides == [inner, 1] && taps >= S::LANES {
            // SAFETY: the filters are contiguous and have at least as many elements as a vector, by which `transpose` goes;
            // there is a vector for each of them.
            return unsafe { transpose(s, &filters, taps, self.memory.weights) };
        }
        let mut walk = Walk::new(&plan.lhs, &plan.k, 0);
        for tap in 0..taps {
            for (lane, filter) in filters.iter().enumerate().take(S::LANES) {
                // SAFETY: `Side` has checked that the operand has an element at every index; there is a vector for each tap.
                unsafe {
                    let weight = *filter.wrapping_offset(walk.place.offset);
                    self.memory.weights.wrapping_add(tap * S::LANES + lane).write(weight);
                }
            }
            walk.advance(1);
        }
    }

    /// Transposes the rows of the planes that the strip reads, between zeros.
    ///
    /// # Safety
    /// `memory.strip` must have a vector for each coordinate that the rows reach, `memory.elements` one for each element of as
    /// many rows, and the planes be some of the contraction's.
    #[inline(always)]
    unsafe fn fill<S: Simd>(&self, s: S) {
        let Setup { plan, rows, columns, .. } = self.setup;
        let (pitch, width) = (self.setup.pitch(), columns.extent);
        let top = rows.base + (self.rows.start * rows.stride).cast_signed();
        let height = rows.reach(self.rows.len());
        let (down, right) = (rows.existing(top, height), columns.existing(columns.base, pitch));
        let elements = down.len() * width;
        if elements > 0 {
            let row = (top + down.start.cast_signed()) * rows.step;
            let planes =
                self.of_lanes(|plane| plan.rhs.data.as_ptr().wrapping_offset(plan.start(&plan.rhs, plane) + row));
            // SAFETY: these rows are within the extent of the plane, whose elements are contiguous, and whose reach `Side` has
            // checked; there is a vector for each of them.
            unsafe { transpose(s, &planes, elements, self.memory.elements) }
        }
        for y in 0..height {
            let to = self.memory.strip.wrapping_add(y * pitch * S::LANES);
            // SAFETY: the strip has `pitch` vectors in each row, of which those in `right` have elements; these are in the row of
            // `memory.elements` for `y`, from the coordinate of the first of them on.
            unsafe {
                if !down.contains(&y) || right.is_empty() {
                    to.write_bytes(0, pitch * S::LANES);
                    continue;
                }
                let x = (columns.base + right.start.cast_signed()).cast_unsigned();
                let from = self.memory.elements.wrapping_add(((y - down.start) * width + x) * S::LANES);
                to.write_bytes(0, right.start * S::LANES);
                copy(s, from, 1, right.len() * S::LANES, to.wrapping_add(right.start * S::LANES));
                to.wrapping_add(right.end * S::LANES).write_bytes(0, (pitch - right.end) * S::LANES);
            }
        }
    }

    /// Sums all results, `COLUMNS` at a time.
    ///
    /// # Safety
    /// `memory` must have the weights, the strip, which filters are moved along by `STRIDE`, and a vector for each result; a row
    /// must have at least `COLUMNS` of them.
    #[inline(always)]
    unsafe fn sum<S: Simd, const COLUMNS: usize, const STRIDE: usize>(&self, s: S) {
        let Setup { rows, columns, .. } = self.setup;
        let pitch = self.setup.pitch() * S::LANES;
        for y in 0..self.rows.len() {
            let mut column = 0;
            while column < columns.results {
                // The last ones overlap those before, so that they end with the row.
                let first = column.min(columns.results - COLUMNS);
                let mut sums = [s.splat_f(0.0); COLUMNS];
                let mut weight = self.memory.weights.cast_const();
                let from = self.memory.strip.wrapping_add(y * STRIDE * pitch + first * STRIDE * S::LANES);
                for tap in 0..rows.taps {
                    let mut from = from.cast_const().wrapping_add(tap * rows.dilation * pitch);
                    for _ in 0..columns.taps {
                        // SAFETY: there is a weight for each tap, and an element of the strip where it meets a result.
                        unsafe {
                            let weight = s.load_raw_f(weight);
                            for (column, sum) in sums.iter_mut().enumerate() {
                                let element = s.load_raw_f(from.wrapping_add(column * STRIDE * S::LANES));
                                *sum = s.mul_add_f(weight, element, *sum);
                            }
                        }
                        weight = weight.wrapping_add(S::LANES);
                        from = from.wrapping_add(columns.dilation * S::LANES);
                    }
                }
                let to = self.memory.sums.wrapping_add((y * columns.results + first) * S::LANES);
                for (column, sum) in sums.iter().enumerate() {
                    // SAFETY: there is a vector for each result.
                    unsafe { s.store_raw_f(to.wrapping_add(column * S::LANES), *sum) }
                }
                column = first + COLUMNS;
            }
        }
    }

    /// Transposes the sums, and hands on those of each plane.
    ///
    /// # Safety
    /// `memory` must have the sums of the strip, and in `results` whole vectors of them for each lane.
    #[inline(always)]
    unsafe fn hand_on<S: Simd>(&self, s: S, destination: &mut Destination<'_>) {
        let (plan, inner) = (self.setup.plan, self.setup.columns.results);
        let (cols, Memory { sums, results, pitch, .. }) = (self.rows.len() * inner, self.memory);
        for at in (0..cols).step_by(S::LANES) {
            let mut rows = [sums.cast_const(); MAX_LANES];
            for (lane, row) in rows.iter_mut().enumerate() {
                *row = sums.wrapping_add((at + lane).min(cols - 1) * S::LANES);
            }
            // SAFETY: each of the sums is a vector, and `results` has whole vectors for each lane, by this function's contract.
            unsafe { s.transpose_raw_f(rows.as_ptr(), 0, results.wrapping_add(at), pitch, self.count) }
        }
        for lane in 0..self.count {
            destination.go_to(plan, self.first + lane);
            let data = results.wrapping_add(lane * pitch);
            let sums = Sums { data, pitch, m: 0, n: self.rows.start * inner, rows: 1, cols };
            // SAFETY: all results of these rows are written.
            unsafe { destination.finish(s, &sums) }
        }
    }
}

/// Transposes `count` neighbouring words of each lane.
///
/// # Safety
/// Each of `from` must be valid for reading `count` words, and `to` for writing as many vectors.
#[inline(always)]
unsafe fn transpose<S: Simd>(s: S, from: &[*const f32; MAX_LANES], count: usize, to: *mut f32) {
    let Some(last) = count.checked_sub(S::LANES) else {
        for at in 0..count {
            for (lane, from) in from.iter().enumerate().take(S::LANES) {
                // SAFETY: each lane has `count` words, and `to` a vector for each, by this function's contract.
                unsafe { to.wrapping_add(at * S::LANES + lane).write(*from.wrapping_add(at)) }
            }
        }
        return;
    };
    for at in (0..count).step_by(S::LANES) {
        // The last vector overlaps the one before, so that it ends with the words.
        let at = at.min(last);
        // SAFETY: each lane has a vector of words from `at` on, and `to` as many vectors, by this function's contract.
        unsafe { s.transpose_raw_f(from.as_ptr(), at, to.wrapping_add(at * S::LANES), S::LANES, S::LANES) }
    }
}
