//! Products whose columns leave much of their last vector empty: the operands change places.
//!
//! In: a plan whose left operand is kept packed by a session, and whose right one lies in rows of a few columns. Out: its
//! outputs. Always: columns are the rows of the register tile, and rows are in the lanes; each sum is the one that
//! [`super::panels`] makes, to the last bit, and is transposed before it is handed on.

use core::ops::Range;

use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::kernel::{self, Ahead, Block, PANEL, Rows, Steps, vectors_for};
use super::layout::{Place, Walk};
use super::plan::{Plan, doubled, share};
use super::{prepack, split};
use crate::machine::machine;
use crate::scratch::{LINE, Scratch, lend};
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, queue, run};

/// Most words of the sums of a panel, which wait in a first-level cache beside it.
fn waiting_words() -> usize {
    machine().l1 / 4
}

/// Does the work if it is of this kind.
pub(super) fn swapped(call: &Call<'_>, plan: &Plan<'_>) -> bool {
    if !suits(call, plan) {
        return false;
    }
    lend(&CALL, |scratch| {
        let width = PANEL * call.lanes;
        let turned = Plan { lhs: plan.rhs, rhs: plan.lhs, m: plan.n, n: plan.m, ..*plan };
        let Some(panels) = prepack::right(call.isa, &turned, width, prepack::room(scratch)) else {
            return false;
        };
        let count = plan.m.total.div_ceil(width);
        let jobs = plan.batch.total * count;
        let parts = doubled(1, plan.n.total / call.rows, jobs, call.threads);
        queue::balanced(call.threads, jobs * parts, &Task { call, plan, turned: &turned, panels, count, parts });
        true
    })
}

/// Whether it is of this kind, and whole vectors of rows are an eighth less than those of columns.
fn suits(call: &Call<'_>, plan: &Plan<'_>) -> bool {
    let (m, n, k) = (plan.m.total, plan.n.total, plan.k.total);
    let whole = |count: usize| count.next_multiple_of(call.lanes);
    let in_rows = plan.rhs.bounded().is_empty()
        && plan.n.count == 1
        && plan.rhs.strides[plan.n.number(0)] == 1
        && plan.rhs.even_run(&plan.k).0 == k;
    let sizes =
        m >= PANEL * call.lanes && k >= call.lanes && n >= call.rows && n * PANEL * call.lanes <= waiting_words();
    sizes
        && in_rows
        && whole(m).saturating_mul(n).saturating_mul(8) <= whole(n).saturating_mul(m).saturating_mul(7)
        && !plan.is_long()
        && !split::are_apart(plan)
}

struct Task<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    /// The plan with its operands in each other's places.
    turned: &'a Plan<'a>,
    /// The left operand, packed, and how many panels it is.
    panels: *const f32,
    count: usize,
    /// Jobs that share a panel.
    parts: usize,
}

// SAFETY: the packed operand is only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl queue::Work for Task<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&JOB, |scratch| run(self.call.isa, Jobs { task: self, jobs, scratch }));
    }
}

struct Jobs<'a> {
    task: &'a Task<'a>,
    jobs: queue::Jobs<'a>,
    scratch: &'a mut Scratch<Place>,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { task, jobs, scratch } = self;
        let (plan, width) = (task.plan, PANEL * S::LANES);
        let most = plan.n.total.div_ceil(task.parts);
        let pitch = most.next_multiple_of(S::LANES).next_multiple_of(LINE);
        let (waiting, _) = scratch.provide((most + pitch) * width, 0, Place::NOWHERE);
        let turned = waiting.wrapping_add(most * width);
        for job in jobs {
            let (rest, part) = (job / task.parts, job % task.parts);
            let (batch, panel) = (rest / task.count, rest % task.count);
            let columns = share(plan.n.total, task.parts, part)..share(plan.n.total, task.parts, part + 1);
            let rows = width.min(plan.m.total - panel * width);
            let piece = Piece { task, batch, panel, rows, columns, waiting, turned, pitch };
            // SAFETY: there is memory for the sums of a panel and as many columns, and for the same transposed; the columns and
            // the rows of the panel are some of the contraction's.
            unsafe {
                piece.sum(s);
                piece.hand_on(s, &Destination::new(plan, batch, task.call.sink));
            }
        }
    }
}

/// The rows of a panel, and some columns.
struct Piece<'a> {
    task: &'a Task<'a>,
    batch: usize,
    panel: usize,
    rows: usize,
    columns: Range<usize>,
    /// Sums, `[column][row]`.
    waiting: *mut f32,
    /// The same, `[row][column]`, and words from row to row.
    turned: *mut f32,
    pitch: usize,
}

impl Piece<'_> {
    /// Sums down all of K.
    ///
    /// # Safety
    /// `waiting` must have whole vectors of the rows for each column, and the rows and columns be some of the contraction's.
    #[inline(always)]
    unsafe fn sum<S: Simd>(&self, s: S) {
        let Task { plan, turned, panels, .. } = *self.task;
        let vectors = vectors_for(self.rows, S::LANES);
        let width = (vectors * S::LANES).cast_signed();
        let tiles = self.columns.len().div_ceil(S::ROWS);
        let (_, step) = plan.rhs.even_run(&plan.k);
        let start = plan.at_batch(&plan.rhs, self.batch).offset + self.columns.start.cast_signed();
        let start = plan.rhs.data.as_ptr().wrapping_offset(start);
        let share_of_line = (PANEL * S::LANES).div_ceil(tiles).min(LINE);
        for number in 0..plan.blocks() {
            let (k0, count) = plan.block(number);
            let at = prepack::panel(turned, PANEL * S::LANES, self.panel, (k0, count));
            let b = panels.wrapping_add(at);
            let from = start.wrapping_offset(Walk::new(&plan.rhs, &plan.k, k0).place.offset);
            let next = Ahead { from: b.wrapping_offset(width * count.cast_signed()), step: share_of_line };
            for tile in 0..tiles {
                let (first, end) = (share(self.columns.len(), tiles, tile), share(self.columns.len(), tiles, tile + 1));
                let c = self.waiting.wrapping_offset(first.cast_signed() * width);
                let block = Block {
                    k: count,
                    a: from.wrapping_add(first),
                    rows: Rows::Near(step),
                    b,
                    steps: Steps::Even(width),
                    ahead: next.part(tile, count),
                    c,
                    c_row: width,
                    before: (number > 0).then_some((c.cast_const(), width)),
                };
                // SAFETY: the columns are neighbours in each row of the operand, `step` words apart; the packed panel has so many
                // vectors for each k of the block, and `waiting` for each column, by this function's contract.
                unsafe { kernel::tile(s, end - first, vectors, block) }
            }
        }
    }

    /// Transposes the sums, and hands them on.
    ///
    /// # Safety
    /// `waiting` must have the sums, and `turned` room for whole vectors of columns of each row.
    #[inline(always)]
    unsafe fn hand_on<S: Simd>(&self, s: S, destination: &Destination<'_>) {
        let (width, cols) = (vectors_for(self.rows, S::LANES) * S::LANES, self.columns.len());
        for column in (0..cols).step_by(S::LANES) {
            let mut sums = [self.waiting.cast_const(); MAX_LANES];
            for (lane, at) in sums.iter_mut().enumerate() {
                *at = self.waiting.wrapping_add((column + lane).min(cols - 1) * width);
            }
            for row in (0..width).step_by(S::LANES) {
                let to = self.turned.wrapping_add(row * self.pitch + column);
                // SAFETY: each column has whole vectors of sums, and `turned` of each row, by this function's contract.
                unsafe { s.transpose_raw_f(sums.as_ptr(), row, to, self.pitch, S::LANES) }
            }
        }
        let (m, n) = (self.panel * PANEL * S::LANES, self.columns.start);
        let sums = Sums { data: self.turned, pitch: self.pitch, m, n, rows: self.rows, cols };
        // SAFETY: all sums are transposed, and are of rows and columns of the contraction.
        unsafe { destination.finish(s, &sums) }
    }
}
