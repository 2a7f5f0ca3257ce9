//! One row times a large matrix whose rows are contiguous along N.
//!
//! In: a plan without batch, with one row. Out: its outputs. Always: the matrix is read once, whole rows one after the other,
//! so that the hardware sees few long streams; each sum runs in ascending order of K with one accumulator, or where K is long
//! with one for each block of it, which are added up with compensation.

use core::ops::Range;

use super::drive::{Call, JOB};
use super::element::Element;
use super::finish::{Destination, Sums};
use super::layout::Place;
use super::pack::{self, BLOCK};
use super::plan::{CHAIN, Left, Plan, Right, share};
use crate::machine::machine;
use crate::scratch::{LINE, lend};
use crate::sums::LongSums;
use crate::{Kernel, Simd, pool, run};

/// Words of the matrix from which on it is worth it: more than a first-level cache holds.
fn least_words() -> usize {
    2 * machine().l1
}
/// Columns whose sums a first-level cache holds beside the streams.
fn most_columns() -> usize {
    machine().l1 / 4
}
/// Rows of the matrix at a time.
const ROWS: usize = 8;
/// Least columns of a job.
const NARROW: usize = 256;

/// Does the work if it is of this kind.
pub(super) fn gemv(call: &Call<'_>, plan: &Plan<'_>) -> bool {
    let (Left::InPlace { row: _, step: left_step }, Right::InPlace { step }) = (plan.left, plan.right) else {
        return false;
    };
    let (n, k) = (plan.n.total, plan.k.total);
    if plan.m.total != 1 || plan.batch.total != 1 || plan.run != k || n < NARROW || n * k < least_words() {
        return false;
    }
    let lines = n.div_ceil(LINE);
    let parts = n.div_ceil(most_columns()).max(call.threads.min(n / NARROW));
    pool::parallel(call.threads, parts, &Task { call, plan, left_step, step, lines, parts });
    true
}

struct Task<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    /// Words from k to k of the row, and of the matrix.
    left_step: isize,
    step: isize,
    /// Lines of columns, and parts that they are cut into.
    lines: usize,
    parts: usize,
}

impl pool::Task for Task<'_> {
    fn work(&self, parts: Range<usize>) {
        lend(&JOB, |scratch| {
            for part in parts {
                let at = |part| (share(self.lines, self.parts, part) * LINE).min(self.plan.n.total);
                let columns = at(part)..at(part + 1);
                let (pitch, is_long) = (columns.len().next_multiple_of(LINE), self.plan.k.total > CHAIN * BLOCK);
                let (sums, _) = scratch.provide(if is_long { 3 * pitch } else { pitch }, 0, Place::NOWHERE);
                let long =
                    is_long.then_some(LongSums { total: sums.wrapping_add(pitch), lost: sums.wrapping_add(2 * pitch) });
                run(self.call.isa, Columns { task: self, columns, sums, long });
            }
        });
    }
}

/// Some columns.
struct Columns<'a> {
    task: &'a Task<'a>,
    columns: Range<usize>,
    sums: *mut f32,
    long: Option<LongSums>,
}

impl Kernel for Columns<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Columns { task, columns, sums, long } = self;
        let plan = task.plan;
        let count = columns.len();
        let left = plan.lhs.data.as_ptr().wrapping_offset(plan.at_batch(&plan.lhs, 0).offset);
        let right = plan.rhs.data.as_ptr().wrapping_offset(plan.at_batch(&plan.rhs, 0).offset);
        let right = right.wrapping_add(columns.start);
        // SAFETY: the plan has checked that both operands and the outputs lie within their slices, and the columns are some
        // of the matrix. `sums` and both of `long` have a word for each column, up to whole lines, which are whole vectors.
        unsafe {
            let whole = count.next_multiple_of(LINE);
            pack::zero(s, sums, whole);
            if let Some(long) = long {
                pack::zero(s, long.total, whole);
                pack::zero(s, long.lost, whole);
            }
            let mut k = 0;
            while k < plan.k.total {
                let rows = ROWS.min(plan.k.total - k);
                let mut factors = [s.splat_f(0.0); ROWS];
                for (row, factor) in factors.iter_mut().enumerate().take(rows) {
                    *factor = s.splat_f(left.wrapping_offset((k + row).cast_signed() * task.left_step).read());
                }
                let from = right.wrapping_offset(k.cast_signed() * task.step);
                if rows == ROWS {
                    add::<S, f32, ROWS>(s, &factors, from, task.step, count, sums);
                } else {
                    for (row, factor) in factors.iter().enumerate().take(rows) {
                        let from = from.wrapping_offset(row.cast_signed() * task.step);
                        add::<S, f32, 1>(s, &[*factor], from, task.step, count, sums);
                    }
                }
                k += rows;
                if let Some(long) = long.filter(|_| k.is_multiple_of(BLOCK) || k == plan.k.total) {
                    long.add(s, sums, whole);
                    pack::zero(s, sums, whole);
                }
            }
            let sums = long.map_or(sums, |long| long.total);
            let destination = Destination::new(plan, 0, task.call.sink);
            let sums = Sums { data: sums, pitch: count, m: 0, n: columns.start, rows: 1, cols: count };
            destination.finish(s, &sums);
        }
    }
}

/// Adds rows of the matrix, each times its factor, to the sums.
///
/// # Safety
/// Each of the rows, `step` words apart, must have `count` readable words, and `sums` `count` writable ones.
#[inline(always)]
pub(super) unsafe fn add<S: Simd, T: Element, const COUNT: usize>(
    s: S,
    factors: &[T::V<S>; COUNT],
    from: *const T,
    step: isize,
    count: usize,
    sums: *mut T,
) {
    let mut at = 0;
    while at < count {
        let some = s.mask_first(count - at);
        let whole = count - at >= S::LANES;
        let to = sums.wrapping_add(at);
        // SAFETY: by this function's contract the sums and all rows have `count` words, where a whole vector or the mask
        // ends.
        unsafe {
            let mut sum = if whole { T::load(s, to) } else { T::load_masked(s, to, some) };
            for (row, factor) in factors.iter().enumerate() {
                let from = from.wrapping_offset(row.cast_signed() * step).wrapping_add(at);
                let right = if whole { T::load(s, from) } else { T::load_masked(s, from, some) };
                sum = T::mul_add(s, *factor, right, sum);
            }
            if whole { T::store(s, to, sum) } else { T::store_masked(s, to, some, sum) }
        }
        at += S::LANES;
    }
}
