//! A matrix of f64 times a vector.
//!
//! In: a plan with one row or one column, whose other operand is a matrix that is contiguous along its rows or along K. Out:
//! its outputs. Always: the matrix is read once, in its order; each sum runs in ascending order of K, with one accumulator, or
//! where K is contiguous with one for each lane.

use core::ops::Range;

use crate::contract::drive::{Call, JOB};
use crate::contract::finish::{Destination, Sums};
use crate::contract::gemv;
use crate::contract::layout::{Group, Place, Side, Walk};
use crate::contract::pack;
use crate::contract::plan::{Plan, share};
use crate::machine::machine;
use crate::scratch::{LINE, lend};
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, pool, run};

/// Most sums of a job: as many as a first-level cache holds beside the streams.
fn most_sums() -> usize {
    machine().l1 / 8
}
/// Most elements of a vector that is copied.
fn most_copied() -> usize {
    machine().l3
}
/// Least sums of a job of several threads: whole lines of 64 bytes.
const LEAST: usize = 64;
/// Rows of the matrix at a time.
const ROWS: usize = 8;
/// Dot products at a time.
const DOTS: usize = 4;

/// How the matrix lies.
#[derive(Clone, Copy)]
enum Lies {
    /// Sums are contiguous, and so many elements lie from k to k.
    AlongSums(isize),
    /// K is contiguous, and so many elements lie from sum to sum.
    AlongK(isize),
}

/// Does the work if it is of this kind.
pub(super) fn gemv(call: &Call<'_, f64>, plan: &Plan<'_, f64>) -> bool {
    let (matrix, vector, group) = match (plan.m.total, plan.n.total) {
        (1, _) => (&plan.rhs, &plan.lhs, &plan.n),
        (_, 1) => (&plan.lhs, &plan.rhs, &plan.m),
        _ => return false,
    };
    let Some(lies) = lies(matrix, group, &plan.k) else { return false };
    let copies = !is_contiguous(vector, &plan.k);
    if copies && plan.k.total > most_copied() {
        return false;
    }
    let parts = group.total.div_ceil(most_sums()).max(call.threads.min(group.total / LEAST));
    let task = Task { call, plan, matrix, vector, copies, lies, sums: group.total, parts };
    pool::parallel(call.threads, plan.batch.total * parts, &task);
    true
}

/// How a matrix lies whose sums are those of `group`, if it is contiguous along one of its sides.
fn lies(matrix: &Side<'_, f64>, group: &Group, k: &Group) -> Option<Lies> {
    let (run, step) = matrix.even_run(k);
    let distance = if group.count == 0 { 1 } else { matrix.strides[group.number(0)] };
    if !matrix.bounded().is_empty() || group.count > 1 || run != k.total {
        return None;
    }
    match (distance, step) {
        (_, 1) => Some(Lies::AlongK(distance)),
        (1, _) => Some(Lies::AlongSums(step)),
        _ => None,
    }
}

/// Whether the elements of a vector are neighbours.
fn is_contiguous(vector: &Side<'_, f64>, k: &Group) -> bool {
    vector.bounded().is_empty() && vector.even_run(k) == (k.total, 1)
}

struct Task<'a> {
    call: &'a Call<'a, f64>,
    plan: &'a Plan<'a, f64>,
    matrix: &'a Side<'a, f64>,
    vector: &'a Side<'a, f64>,
    /// Whether the vector is copied, because its elements are not neighbours.
    copies: bool,
    lies: Lies,
    /// How many there are, and parts that they are cut into.
    sums: usize,
    parts: usize,
}

impl pool::Task for Task<'_> {
    fn work(&self, jobs: Range<usize>) {
        let k = if self.copies { self.plan.k.total.next_multiple_of(LINE) } else { 0 };
        let most = self.sums.div_ceil(self.parts).next_multiple_of(LINE) + LINE;
        lend(&JOB, |scratch| {
            let (memory, _) = scratch.provide(2 * (k + most), 0, Place::NOWHERE);
            let (vector, sums): (*mut f64, *mut f64) = (memory.cast(), memory.cast::<f64>().wrapping_add(k));
            for job in jobs {
                let (batch, part) = (job / self.parts, job % self.parts);
                let some = share(self.sums, self.parts, part)..share(self.sums, self.parts, part + 1);
                run(self.call.isa, Job { task: self, batch, some, vector, sums });
            }
        });
    }
}

/// Some sums of a batch index.
struct Job<'a> {
    task: &'a Task<'a>,
    batch: usize,
    some: Range<usize>,
    /// Memory for a copy of the vector, and for the sums.
    vector: *mut f64,
    sums: *mut f64,
}

impl Kernel for Job<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Job { task, batch, some, vector, sums } = self;
        let &Task { call, plan, matrix, vector: side, copies, lies, .. } = task;
        let (k, count) = (plan.k.total, some.len());
        let at = plan.at_batch(side, batch);
        if copies {
            // SAFETY: where the vector is copied, `Task` has made an element for each k.
            unsafe { pack::gather_row(s, side, at, Walk::new(side, &plan.k, 0), k, vector) }
        }
        let vector = if copies { vector.cast_const() } else { side.data.as_ptr().wrapping_offset(at.offset) };
        let from = matrix.data.as_ptr().wrapping_offset(plan.at_batch(matrix, batch).offset);
        // SAFETY: the plan has checked that both operands lie within their slices, `some` are some of the sums, and a copy of
        // the vector is filled; `sums` has an element for each of `some`.
        unsafe {
            match lies {
                Lies::AlongSums(step) => along_sums(s, from.wrapping_add(some.start), step, (vector, k), (sums, count)),
                Lies::AlongK(distance) => {
                    let from = from.wrapping_offset(some.start.cast_signed() * distance);
                    along_k(s, from, distance, (vector, k), (sums, count));
                }
            }
        }
        let destination = Destination::new(plan, batch, call.sink);
        let data = sums.cast_const();
        let sums = match plan.m.total {
            1 => Sums { data, pitch: count, m: 0, n: some.start, rows: 1, cols: count },
            _ => Sums { data, pitch: 1, m: some.start, n: 0, rows: count, cols: 1 },
        };
        // SAFETY: the sums are written, and those of the contraction from `some.start` on.
        unsafe { destination.finish(s, &sums) }
    }
}

/// Adds whole rows of the matrix to the sums, several at a time.
///
/// # Safety
/// `from` must have `count` elements for each k, `step` apart, `vector` one for each k, and `sums` must be valid for writing
/// `count`.
#[inline(always)]
unsafe fn along_sums<S: Simd>(
    s: S,
    from: *const f64,
    step: isize,
    (vector, k): (*const f64, usize),
    (sums, count): (*mut f64, usize),
) {
    // SAFETY: by this function's contract there are `count` sums, as many elements in each row, and a factor for each row.
    unsafe {
        pack::zero(s, sums, count);
        let mut at = 0;
        while at < k {
            let rows = from.wrapping_offset(at.cast_signed() * step);
            if k - at >= ROWS {
                let mut factors = [s.splat_d(0.0); ROWS];
                for (row, factor) in factors.iter_mut().enumerate() {
                    *factor = s.splat_d(vector.add(at + row).read());
                }
                gemv::add::<S, f64, ROWS>(s, &factors, rows, step, count, sums);
                at += ROWS;
            } else {
                gemv::add::<S, f64, 1>(s, &[s.splat_d(vector.add(at).read())], rows, step, count, sums);
                at += 1;
            }
        }
    }
}

/// Dot products, several at a time.
///
/// # Safety
/// `from` must have `k` elements for each of `count` sums, `distance` apart, `vector` `k`, and `sums` must be valid for writing
/// `count`.
#[inline(always)]
unsafe fn along_k<S: Simd>(
    s: S,
    from: *const f64,
    distance: isize,
    (vector, k): (*const f64, usize),
    (sums, count): (*mut f64, usize),
) {
    let mut at = 0;
    while at < count {
        let rows = from.wrapping_offset(at.cast_signed() * distance);
        let to = sums.wrapping_add(at);
        // SAFETY: by this function's contract there are `count` sums and as many rows, of `k` elements each, and so many of
        // the vector.
        unsafe {
            if count - at >= DOTS {
                dots::<S, DOTS>(s, rows, distance, (vector, k), to);
                at += DOTS;
            } else {
                dots::<S, 1>(s, rows, distance, (vector, k), to);
                at += 1;
            }
        }
    }
}

/// `COUNT` dot products.
///
/// # Safety
/// `from` must have `k` elements in each of `COUNT` rows, `distance` apart, `vector` `k`, and `to` must be valid for writing
/// `COUNT`.
#[inline(always)]
unsafe fn dots<S: Simd, const COUNT: usize>(
    s: S,
    from: *const f64,
    distance: isize,
    (vector, k): (*const f64, usize),
    to: *mut f64,
) {
    const { assert!(S::LANES <= MAX_LANES) };
    let mut sums = [s.splat_d(0.0); COUNT];
    let mut at = 0;
    while at < k {
        let (whole, some) = (k - at >= S::LANES, s.mask_first(k - at));
        // SAFETY: all rows and the vector have `k` elements, by this function's contract, where a vector or the mask ends.
        unsafe {
            let p = vector.add(at);
            let right = if whole { s.load_raw_d(p) } else { s.load_masked_raw_d(p, some) };
            for (row, sum) in sums.iter_mut().enumerate() {
                let p = from.wrapping_offset(row.cast_signed() * distance).wrapping_add(at);
                let left = if whole { s.load_raw_d(p) } else { s.load_masked_raw_d(p, some) };
                *sum = s.mul_add_d(left, right, *sum);
            }
        }
        at += S::LANES;
    }
    for (row, sum) in sums.iter().enumerate() {
        let mut lanes = [0.0; MAX_LANES];
        // SAFETY: a vector has at most `MAX_LANES` lanes, as was asserted, and `to` has `COUNT` elements by this function's
        // contract.
        unsafe {
            s.store_raw_d(lanes.as_mut_ptr(), *sum);
            to.add(row).write(total(&mut lanes[..S::LANES]));
        }
    }
}

/// The sum of lanes, of which there are a power of two, by halves.
#[inline(always)]
fn total(lanes: &mut [f64]) -> f64 {
    let mut half = lanes.len() / 2;
    while half > 0 {
        for lane in 0..half {
            lanes[lane] += lanes[lane + half];
        }
        half /= 2;
    }
    lanes[0]
}
