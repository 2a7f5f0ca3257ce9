//! How a product of f64 is cut into jobs.
//!
//! In: a plan and how many threads there are. Out: a [`Cut`]. Always: how many jobs there are changes nothing in any sum.

use crate::contract::drive::Call;
use crate::contract::pack::BLOCK;
use crate::contract::plan::{Plan, share};
use crate::machine::{Machine, machine};
use core::ops::Range;

/// Most elements of the right operand that a job packs at a time, in half of what it may take of the last cache.
fn packed() -> usize {
    machine().l3 / 4
}
/// Most sums of a job that wait for further blocks of K, in as much.
fn waiting() -> usize {
    machine().l3 / 4
}
/// Most rows of a job whose sums wait.
const ROWS: usize = 512;

/// How the work is cut: `row_parts` × `column_parts` jobs per batch index.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Row tiles.
    pub(super) tiles: usize,
    /// Column panels, each a vector wide.
    pub(super) panels: usize,
    row_parts: usize,
    column_parts: usize,
}

/// What a job does.
pub(super) struct Part {
    pub(super) batch: usize,
    /// Row tiles.
    pub(super) tiles: Range<usize>,
    /// Column panels.
    pub(super) panels: Range<usize>,
}

impl Cut {
    /// For sums that wait between blocks of K, or do not because they go straight to the output.
    pub(super) fn new(call: &Call<'_, f64>, plan: &Plan<'_, f64>, waits: bool) -> Cut {
        let m = plan.m.total;
        let (tiles, panels) = (m.div_ceil(call.rows), plan.n.total.div_ceil(call.lanes));
        let mut cut = Cut { tiles, panels, row_parts: 1, column_parts: 1 };
        let (batch, threads) = (plan.batch.total, call.threads);
        if threads > 1 && !batch.is_multiple_of(threads) && batch < 4 * threads {
            cut.make_grid(threads, plan);
        }
        let mut most = packed() / BLOCK / call.lanes;
        if waits && plan.blocks() > 1 {
            cut.row_parts = (cut.row_parts * m.div_ceil(cut.row_parts).div_ceil(ROWS)).min(tiles);
            let rows = m.div_ceil(cut.row_parts) + call.rows;
            most = most.min(waiting() / rows / call.lanes);
        }
        let columns = panels.div_ceil(cut.column_parts);
        cut.column_parts = (cut.column_parts * columns.div_ceil(most.max(1))).min(panels);
        // Parts of equally many rows are better than parts of equally many tiles.
        cut.tiles = cut.row_parts * m.div_ceil(cut.row_parts).div_ceil(call.rows);
        cut
    }

    /// Jobs per batch index.
    pub(super) fn parts(&self) -> usize {
        self.row_parts * self.column_parts
    }

    /// What job number `job` does.
    pub(super) fn part(&self, job: usize) -> Part {
        let (batch, part) = (job / self.parts(), job % self.parts());
        let (row, column) = (part / self.column_parts, part % self.column_parts);
        let some = |total, parts, number| share(total, parts, number)..share(total, parts, number + 1);
        let (tiles, panels) = (some(self.tiles, self.row_parts, row), some(self.panels, self.column_parts, column));
        Part { batch, tiles, panels }
    }

    /// As many parts as there are threads, or nearly so, in as many rows and columns of parts as make the largest one take the
    /// least time, with what it packs.
    fn make_grid(&mut self, threads: usize, plan: &Plan<'_, f64>) {
        let Machine { pack, .. } = *machine();
        let cost = |&(rows, columns): &(usize, usize)| {
            let (m, n) = (plan.m.total.div_ceil(rows), plan.n.total.div_ceil(columns));
            m * n + (m + n) * pack
        };
        let grids = (1..=threads.min(self.tiles)).map(|rows| (rows, (threads / rows).min(self.panels)));
        if let Some((rows, columns)) = grids.min_by_key(cost) {
            (self.row_parts, self.column_parts) = (rows, columns);
        }
    }
}
