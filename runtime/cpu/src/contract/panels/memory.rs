//! What a job has in scratch memory.
//!
//! In: how many rows and panels the job has. Out: [`Memory`]: regions for what it packs, and its sums. Always: regions do not
//! overlap, and what the job copies of an image and packs of the left operand comes first, so that a later job of the same
//! image or rows finds it there.

use super::cut::Cut;
use super::group_words;
use crate::Simd;
use crate::contract::layout::Place;
use crate::contract::pack::{self, BLOCK, TRANSPOSE};
use crate::contract::plan::{Plan, Right};
use crate::scratch::{LINE, Scratch};

/// Regions of the scratch memory of a job.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    /// The image, if jobs copy it, and after it row tiles of the left operand, if they pack them.
    pub(super) a: *mut f32,
    /// Words from k to k of all rows, or 0 where each block of K takes the place of the last one.
    pub(super) a_step: usize,
    /// Panels of the right operand: some, or all of the job.
    pub(super) b: *mut f32,
    /// Words from panel to panel, 0 unless there is room for all.
    pub(super) strip: usize,
    pub(super) temp: *mut f32,
    /// Sums: those of a tile with some panels, or all of the job if they wait.
    pub(super) c: *mut f32,
    /// Panels whose sums are handed on together.
    pub(super) together: usize,
    /// Words from row to row of sums.
    pub(super) pitch: usize,
    /// Where K is long, the sums of a tile in one block, and the words from waiting sums to what they lost.
    pub(super) long: Option<(*mut f32, usize)>,
}

impl Memory {
    /// Regions for `a` words of an image and of the left operand, `rows` rows and `panels` panels of `width` columns, which the job
    /// packs or finds, and a table of places for each operand.
    pub(super) fn new<'s>(
        scratch: &'s mut Scratch<Place>,
        (plan, cut): (&Plan<'_>, &Cut),
        a: usize,
        (rows, tile): (usize, usize),
        (panels, width, are_own): (usize, usize, bool),
    ) -> (Self, &'s mut [Place]) {
        let longest = plan.longest_block();
        let pitch = panels * width;
        let strip = if cut.goes_by_rows(plan, panels * width) { longest * width } else { 0 };
        let one_by_one = are_own && plan.right == Right::Packed && strip == 0;
        let together = if one_by_one { 1 } else { cut.together(plan, width) };
        let b = match plan.right {
            Right::Packed | Right::InPlace { .. } => {
                let most = (longest * width).max(panels * strip).max(group_words().min(longest * pitch));
                (most + LINE).next_multiple_of(LINE)
            }
            Right::Gathered => 0,
        };
        let c = match (cut.halves, plan.blocks()) {
            (2, _) => 0,
            (_, 1) => tile * width * together,
            _ => rows * pitch,
        };
        let pitch = if plan.blocks() == 1 { width * together } else { pitch };
        let (waiting, block) = if plan.is_long() { (2 * c, tile * width) } else { (c, 0) };
        let (base, table) = scratch.provide(a + b + TRANSPOSE + waiting + block, 2 * BLOCK, Place::NOWHERE);
        let temp = base.wrapping_add(a + b);
        let (b, sums) = (base.wrapping_add(a), temp.wrapping_add(TRANSPOSE));
        let long = plan.is_long().then_some((sums.wrapping_add(waiting), c));
        (Memory { a: base, a_step: 0, b, strip, temp, c: sums, together, pitch, long }, table)
    }

    /// Lets sums be those from a row and column on of a matrix of `rows` rows, `pitch` apart, behind which is what long ones lose.
    pub(super) fn lie_in(&mut self, matrix: *mut f32, (rows, pitch): (usize, usize), (row, column): (usize, usize)) {
        (self.c, self.pitch) = (matrix.wrapping_add(row * pitch + column), pitch);
        self.long = self.long.map(|(block, _)| (block, rows * pitch));
    }

    /// Long sums of `rows` rows of `columns` start at zero.
    ///
    /// # Safety
    /// Where there are long sums, `c` and what it loses must have `columns` words in each of `rows` rows, `pitch` apart.
    #[inline(always)]
    pub(super) unsafe fn start<S: Simd>(&self, s: S, rows: usize, columns: usize) {
        let Some((_, lost)) = self.long else { return };
        for row in 0..rows {
            let total = self.c.wrapping_add(row * self.pitch);
            // SAFETY: the sums and what they lose have `columns` words in each of `rows` rows, by this function's contract.
            unsafe {
                pack::zero(s, total, columns);
                pack::zero(s, total.wrapping_add(lost), columns);
            }
        }
    }
}
