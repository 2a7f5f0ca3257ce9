//! How the loops around the register tile are cut into jobs.
//!
//! In: a plan and how many threads there are. Out: a [`Cut`]. Always: how many jobs there are changes nothing in any sum.

use crate::contract::drive::Call;
use crate::contract::halves;
use crate::contract::kernel::WIDE;
use crate::contract::pack::Source;
use crate::contract::plan::{Left, Plan, Right};
use crate::machine::MACHINE;

/// Most rows of a job whose sums must wait for further blocks of K.
const ROWS: usize = 512;
/// Most words of waiting sums in a job: a quarter of a second-level cache.
const WAITING: usize = MACHINE.l2 / 4;
/// Most words of a right operand that every thread packs for itself.
const REPEATED: usize = MACHINE.l2 / 8;
/// Most words of the panels of a job that wait in a second-level cache, of which they take a quarter.
const PANELS: usize = MACHINE.l2 / 4;

/// How the work is cut: `halves` × `row_parts` × `column_parts` jobs per batch index.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Vectors per panel.
    pub(super) vectors: usize,
    pub(super) tiles: usize,
    pub(super) panels: usize,
    pub(super) row_parts: usize,
    pub(super) column_parts: usize,
    /// 2 if each half of the blocks of K has sums of its own.
    pub(super) halves: usize,
    /// Whether sums are handed on rather than stored.
    is_handed_on: bool,
}

impl Cut {
    pub(super) fn new(call: &Call<'_>, plan: &Plan<'_>, is_kept: bool) -> Cut {
        let m = plan.m.total;
        let vectors = vectors(call, plan);
        let width = vectors * call.lanes;
        let tiles = m.div_ceil(call.rows);
        let panels = plan.n.total.div_ceil(width);
        let halves = if !is_kept && halves::are_apart(plan) { 2 } else { 1 };
        let is_handed_on = call.sink.is_some();
        let mut cut = Cut { vectors, tiles, panels, row_parts: 1, column_parts: 1, halves, is_handed_on };
        if plan.blocks() > 1 && halves == 1 {
            cut.row_parts = m.div_ceil(ROWS).min(tiles);
            let most = WAITING / (m.div_ceil(cut.row_parts) + call.rows) / width;
            cut.column_parts = panels.div_ceil(most.max(1));
        }
        cut.share_out(call.threads, plan, is_kept);
        // Parts of equally many rows are better than parts of equally many tiles.
        cut.tiles = cut.row_parts * m.div_ceil(cut.row_parts).div_ceil(call.rows);
        cut
    }

    /// Jobs per batch index.
    pub(super) fn parts(&self) -> usize {
        self.halves * self.row_parts * self.column_parts
    }

    /// Cuts further until every thread has as much to do as the others, or nearly so.
    fn share_out(&mut self, threads: usize, plan: &Plan<'_>, is_kept: bool) {
        // What a loop keeps is in the cache of every thread, and so are the rows of its last turn.
        let rows_first = is_kept || plan.left == Left::Packed || self.outer_rows(threads, plan);
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
        (across || tall) && self.tiles >= 4 * threads && plan.n.total * plan.k.total <= REPEATED
    }

    /// Whether a job of `columns` columns goes through its rows once, and meets all panels with every row tile: sums that are
    /// handed on are written, and what the epilogue reads is read, in the order in which rows lie. Otherwise it is better that
    /// a panel is in the first cache: sums are stored as they are, or wait for further blocks of K in a cache anyway.
    pub(super) fn goes_by_rows(&self, plan: &Plan<'_>, columns: usize) -> bool {
        let one = plan.right == Right::Packed && plan.blocks() == 1;
        one && self.is_handed_on && plan.run * columns <= PANELS
    }
}

/// Vectors of a panel: one row runs over as many as there are whole ones.
fn vectors(call: &Call<'_>, plan: &Plan<'_>) -> usize {
    let whole = |vectors: &usize| plan.n.total >= vectors * call.lanes;
    let one = plan.m.total == 1 && plan.right != Right::Packed;
    if one { [WIDE, WIDE / 2].into_iter().find(whole).unwrap_or(2) } else { 2 }
}
