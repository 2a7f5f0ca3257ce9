//! How the loops around the register tile are cut into jobs.
//!
//! In: a plan and how many threads there are. Out: a [`Cut`]. Always: how many jobs there are changes nothing in any sum.

use crate::contract::drive::Call;
use crate::contract::kernel::{PANEL, WIDE};
use crate::contract::long_row::LongRow;
use crate::contract::pack::Source;
use crate::contract::plan::{Left, Plan, Right, held_words, worth};
use crate::contract::split;
use crate::machine::{Machine, machine};

/// Most rows of a job whose sums must wait for further blocks of K.
const ROWS: usize = 512;
/// Most words of waiting sums in a job: a quarter of a second-level cache.
fn waiting_words() -> usize {
    machine().l2 / 4
}
/// Most words of a right operand that every thread packs for itself.
fn repeated_words() -> usize {
    machine().l2 / 8
}
/// Most words of the panels of a job that wait in a second-level cache, of which they take a quarter.
fn panel_words() -> usize {
    machine().l2 / 4
}

/// Most words of a left operand that stays in a second-level cache beside an image.
fn words_beside() -> usize {
    machine().l2 / 2
}

/// Where jobs find the panels of the right operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Columns {
    /// In place, or where each of them packs them.
    Own,
    /// Among the copies of a session.
    Held,
    /// Where a loop keeps them, in the cache of every thread.
    Kept,
}

/// Most jobs of a thread's part of a product, and the least multiplications of one.
const JOBS: usize = 4;
fn job() -> usize {
    4 * worth()
}

/// Most panels whose sums are handed on together.
pub(super) const TOGETHER: usize = 4;

/// Words of panels that a first-level cache holds for several row tiles.
fn near_words() -> usize {
    machine().l1 / 4 * 3
}

/// What a job does.
pub(super) struct Part {
    pub(super) batch: usize,
    pub(super) half: usize,
    pub(super) row_part: usize,
    pub(super) column_part: usize,
}

/// How the work is cut: `halves` × `row_parts` × `column_parts` jobs per batch index.
#[derive(Clone, Copy)]
pub(in crate::contract) struct Cut {
    /// The columns of all panels.
    pub(super) columns: LongRow,
    /// Vectors per panel.
    pub(super) vectors: usize,
    pub(in crate::contract) tiles: usize,
    pub(super) panels: usize,
    pub(super) row_parts: usize,
    pub(super) column_parts: usize,
    /// 2 if each half of the blocks of K has sums of its own.
    pub(super) halves: usize,
    /// Whether sums are handed on rather than stored.
    is_handed_on: bool,
}

impl Cut {
    pub(super) fn new(call: &Call<'_>, plan: &Plan<'_>, columns: Columns) -> Cut {
        let m = plan.m.total;
        let vectors = vectors(call, plan);
        let width = vectors * call.lanes;
        let tiles = m.div_ceil(call.rows);
        let panels = plan.n.total.div_ceil(width);
        let halves = if columns != Columns::Kept && split::are_apart(plan) { 2 } else { 1 };
        let is_handed_on = call.sink.is_some();
        let whole = LongRow::whole(plan.n.total);
        let mut cut =
            Cut { columns: whole, vectors, tiles, panels, row_parts: 1, column_parts: 1, halves, is_handed_on };
        let alone = plan.batch.total == 1 && halves == 1 && columns != Columns::Kept;
        let outer_rows = call.threads > 1 && cut.outer_rows(call.threads, plan);
        let is_grid = call.threads > 1 && alone && !outer_rows;
        if is_grid {
            cut.make_grid(call.threads, plan, columns);
        }
        if plan.blocks() > 1 && halves == 1 {
            cut.limit_waiting(call, plan);
        }
        if is_grid {
            cut.make_jobs(call.threads, plan);
        }
        if !is_grid {
            // What a loop keeps is in the cache of every thread, and so are the rows of its last turn.
            let rows_first = columns == Columns::Kept || plan.left == Left::Packed || outer_rows;
            cut.double(call.threads, plan, rows_first);
        }
        // Parts of equally many rows are better than parts of equally many tiles.
        cut.tiles = cut.row_parts * m.div_ceil(cut.row_parts).div_ceil(call.rows);
        cut
    }

    /// Of a product whose right operand is gathered: its columns are those of a long row, in panels of so many vectors. Of a
    /// left operand that a second cache does not hold beside an image each row tile is read once, by a job of its own;
    /// otherwise threads shall have equally much to do.
    pub(in crate::contract) fn gathered(call: &Call<'_>, plan: &Plan<'_>, columns: LongRow, vectors: usize) -> Cut {
        let tiles = plan.m.total.div_ceil(call.rows);
        let panels = columns.length().div_ceil(vectors * call.lanes);
        let idle = |parts: usize| {
            let jobs = plan.batch.total * parts;
            (jobs.div_ceil(call.threads) * call.threads - jobs) * 1024 / jobs.max(1)
        };
        let by_tiles = plan.m.total * plan.k.total > words_beside() || idle(tiles) + 32 < idle(panels);
        // As few parts as make as many jobs for each thread.
        let parts = (1..call.threads).find(|parts| (plan.batch.total * parts).is_multiple_of(call.threads));
        let (row_parts, column_parts) =
            if by_tiles { (tiles, 1) } else { (1, parts.unwrap_or(call.threads).min(panels)) };
        Cut { columns, vectors, tiles, panels, row_parts, column_parts, halves: 1, is_handed_on: call.sink.is_some() }
    }

    /// Jobs per batch index.
    pub(super) fn parts(&self) -> usize {
        self.halves * self.row_parts * self.column_parts
    }

    /// What job number `job` does.
    pub(super) fn part(&self, job: usize) -> Part {
        let (batch, part) = (job / self.parts(), job % self.parts());
        let of_half = self.row_parts * self.column_parts;
        let (half, part) = (part / of_half, part % of_half);
        Part { batch, half, row_part: part / self.column_parts, column_part: part % self.column_parts }
    }

    /// Whether one of `threads` threads that packs `rows` rows packs all of K, because its next job may need them too.
    pub(super) fn keeps_rows(&self, threads: usize, plan: &Plan<'_>, rows: usize) -> bool {
        let again = self.column_parts > 1 && plan.batch.total * self.parts() > threads;
        self.halves == 1 && again && rows * plan.k.total <= held_words()
    }

    /// How many panels of `width` columns a row tile meets before it hands their sums on, where they are not packed one by one: what
    /// that costs beside the sums is most where K is short, and a first-level cache holds several.
    pub(super) fn together(&self, plan: &Plan<'_>, width: usize) -> usize {
        let whole = self.is_handed_on && self.halves == 1 && plan.blocks() == 1;
        if whole { (near_words() / (plan.k.total * width).max(1)).clamp(1, TOGETHER) } else { 1 }
    }

    /// As many parts as there are threads, or nearly so, in as many rows and columns of parts as make the largest one take the least time, with what
    /// it packs and reads.
    fn make_grid(&mut self, threads: usize, plan: &Plan<'_>, columns: Columns) {
        let Machine { pack, read, .. } = *machine();
        let left = if plan.left == Left::Packed { pack } else { read };
        let packs_right = plan.right == Right::Packed && columns == Columns::Own;
        let right = if packs_right { pack } else { read };
        let panel = plan.n.total.div_ceil(self.panels);
        let cost = |&(rows, columns): &(usize, usize)| {
            let (m, n) = (plan.m.total.div_ceil(rows), self.panels.div_ceil(columns) * panel);
            m * n + m * left + n * right
        };
        // Of those that are alike the one with the fewest rows, all of which a thread reads for each panel.
        let grids = (1..=threads.min(self.tiles)).rev().map(|rows| (rows, (threads / rows).min(self.panels)));
        if let Some((rows, columns)) = grids.min_by_key(cost) {
            (self.row_parts, self.column_parts) = (rows, columns);
        }
    }

    /// Cuts the part of each thread into jobs, some of which others can do where it is late, unless each of them would pack the
    /// same rows again.
    fn make_jobs(&mut self, threads: usize, plan: &Plan<'_>) {
        let rows = plan.m.total.div_ceil(self.row_parts);
        if plan.left == Left::Packed && rows * plan.k.total > held_words() {
            return;
        }
        let work = plan.m.total * plan.n.total * plan.k.total / self.parts();
        let most = (JOBS * threads / self.parts()).max(1);
        self.column_parts = (self.column_parts * (work / job()).clamp(1, most)).min(self.panels);
    }

    /// Cuts further until the sums of a part, which wait for the next block of K, fit.
    fn limit_waiting(&mut self, call: &Call<'_>, plan: &Plan<'_>) {
        let m = plan.m.total;
        self.row_parts = (self.row_parts * m.div_ceil(self.row_parts).div_ceil(ROWS)).min(self.tiles);
        let rows = m.div_ceil(self.row_parts) + call.rows;
        let most = (waiting_words() / rows / (self.vectors * call.lanes)).max(1);
        let columns = self.panels.div_ceil(self.column_parts);
        self.column_parts = (self.column_parts * columns.div_ceil(most)).min(self.panels);
    }

    /// Cuts further until every thread has as much to do as the others, or nearly so.
    fn double(&mut self, threads: usize, plan: &Plan<'_>, rows_first: bool) {
        loop {
            let jobs = plan.batch.total * self.parts();
            if threads <= 1 || jobs >= threads && (jobs.is_multiple_of(threads) || jobs >= 4 * threads) {
                return;
            }
            let more_columns = self.column_parts < self.panels;
            let more_rows = self.row_parts * 2 <= self.tiles;
            if more_columns && !(rows_first && more_rows) {
                self.column_parts = (self.column_parts * 2).min(self.panels);
            } else if more_rows {
                self.row_parts *= 2;
            } else {
                return;
            }
        }
    }

    /// Whether to cut the rows, although every part then packs the same columns: a thread finds a gradient that it has written
    /// in its own cache when it comes to update the parameters, which it does for some of the rows; and of many rows it need
    /// not read those that others have written.
    fn outer_rows(&self, threads: usize, plan: &Plan<'_>) -> bool {
        let across = plan.right != Right::Packed || Source::new(&plan.rhs, &plan.n, &plan.k).is_across();
        let tall = plan.m.total > plan.n.total;
        (across || tall) && self.tiles >= 4 * threads && plan.n.total * plan.k.total <= repeated_words()
    }

    /// Whether a job of `columns` columns goes through its rows once, and meets all panels with every row tile: sums that are
    /// handed on are written, and what the epilogue reads is read, in the order in which rows lie. Otherwise it is better that
    /// a panel is in the first cache: sums are stored as they are, or wait for further blocks of K in a cache anyway.
    pub(super) fn goes_by_rows(&self, plan: &Plan<'_>, columns: usize) -> bool {
        let one = plan.right == Right::Packed && plan.blocks() == 1;
        one && self.is_handed_on && plan.run * columns <= panel_words()
    }
}

/// Vectors of a panel: one row runs over as many as there are whole ones.
pub(super) fn vectors(call: &Call<'_>, plan: &Plan<'_>) -> usize {
    let whole = |vectors: &usize| plan.n.total >= vectors * call.lanes;
    let one = plan.m.total == 1 && plan.right != Right::Packed;
    if one { [WIDE, WIDE / 2].into_iter().find(whole).unwrap_or(PANEL) } else { PANEL }
}
