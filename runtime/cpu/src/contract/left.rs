//! Where the register tile finds the left operand.
//!
//! In: a plan and a block of K. Out: the start of a row tile and how its rows lie. Always: a packed tile is `[k][row]`, tiles
//! follow each other within a block, and blocks follow each other.

use core::ops::Range;

use super::drive::{Call, JOB};
use super::kernel::Rows;
use super::layout::{Place, Walk};
use super::pack::{self, BLOCK, Panel, Source, TRANSPOSE};
use super::plan::{Left, Plan};
use crate::isa::Set;
use crate::machine::machine;
use crate::scratch::{LINE, lend};
use crate::{Kernel, Simd, pool, run};

/// Words below which packing on a second thread costs more than it saves: 4 in a cycle.
fn worth() -> usize {
    4 * machine().thread
}

/// The rows of a block of K.
#[derive(Clone, Copy)]
pub(super) struct Found {
    base: *const f32,
    /// Words per row of the preceding tiles.
    per_row: isize,
    /// The distances of rows and of k, unless packed.
    lies: Option<(isize, isize)>,
}

impl Found {
    /// The block of `count` from `k0` on, of the batch index at `left`, in place or in the copy of all.
    #[inline(always)]
    pub(super) fn new(plan: &Plan<'_>, left: Place, whole: *const f32, (k0, count): (usize, usize)) -> Self {
        let Left::InPlace { row, step } = plan.left else {
            return Found::packed(whole.wrapping_add(plan.m.total * k0), count);
        };
        debug_assert!(whole.is_null(), "rows in place are not packed");
        let offset = left.offset + Walk::new(&plan.lhs, &plan.k, k0).place.offset;
        let base = plan.lhs.data.as_ptr().wrapping_offset(offset);
        Found { base, per_row: row, lies: Some((row, step)) }
    }

    /// A packed block of `count`.
    #[inline(always)]
    pub(super) fn packed(base: *const f32, count: usize) -> Self {
        Found { base, per_row: count.cast_signed(), lies: None }
    }

    /// Where the tile starts whose first row is `first`.
    #[inline(always)]
    pub(super) fn tile(&self, first: usize) -> *const f32 {
        self.base.wrapping_offset(first.cast_signed() * self.per_row)
    }

    /// How the rows of a tile of `rows` rows lie.
    #[inline(always)]
    pub(super) fn rows(&self, rows: usize) -> Rows {
        match self.lies {
            None => Rows::Near(rows.cast_signed()),
            Some((row, step)) if row == 1 || rows == 1 => Rows::Near(step),
            Some((row, _)) => Rows::Even(row),
        }
    }
}

/// Words of the packed left operand, and a line more.
pub(super) fn words(plan: &Plan<'_>) -> usize {
    (plan.m.total * plan.k.total + LINE).next_multiple_of(LINE)
}

/// Packs the whole left operand into `memory` on all threads of the call.
pub(super) fn share(call: &Call<'_>, plan: &Plan<'_>, tiles: usize, memory: *mut f32) {
    let threads = if plan.m.total * plan.k.total < worth() { 1 } else { call.threads };
    pool::parallel(threads, tiles, &Task { isa: call.isa, plan, tiles, memory });
}

struct Task<'a> {
    isa: Set,
    plan: &'a Plan<'a>,
    tiles: usize,
    memory: *mut f32,
}

// SAFETY: each tile is written by the job that packs it; pieces of tiles beyond whose end less than a line is the same job's go
// by way of memory of its own.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, some: Range<usize>) {
        let Task { isa, plan, tiles, memory } = *self;
        lend(&JOB, |scratch| {
            let own = BLOCK.min(plan.k.total) * plan.m.total.div_ceil(tiles) + LINE;
            let (temp, table) = scratch.provide(TRANSPOSE + own, BLOCK, Place::NOWHERE);
            run(isa, Share { plan, memory, temp, table, tiles, some });
        });
    }
}

/// Packs some tiles of the left operand.
struct Share<'a> {
    plan: &'a Plan<'a>,
    memory: *mut f32,
    /// The words that transposition needs, and those of a tile with a line more.
    temp: *mut f32,
    table: &'a mut [Place],
    /// Row tiles.
    tiles: usize,
    /// Those to pack.
    some: Range<usize>,
}

impl Kernel for Share<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Share { plan, memory, temp, table, tiles, some } = self;
        let source = Source::new(&plan.lhs, &plan.m, &plan.k);
        let base = plan.lhs.origin();
        for block in 0..plan.blocks() {
            let (start, whole) = plan.block(block);
            let mut listed = usize::MAX;
            for (tile, k0) in
                some.clone().flat_map(|tile| (start..start + whole).step_by(BLOCK).map(move |k0| (tile, k0)))
            {
                let count = BLOCK.min(start + whole - k0);
                let table = &mut table[..count];
                if listed != k0 {
                    source.table(k0, table);
                    listed = k0;
                }
                let first = plan.row(tiles, tile);
                let width = plan.row(tiles, tile + 1) - first;
                let to = memory.wrapping_add(plan.m.total * start + first * whole + (k0 - start) * width);
                // Packing writes a vector beyond the end of a piece, and where this job ends another thread writes.
                let left = (plan.row(tiles, some.end) - first - width) * whole + (start + whole - k0 - count) * width;
                let last = left < LINE;
                let at = if last { temp.wrapping_add(TRANSPOSE) } else { to };
                let panel = Panel { source, base, first, width, pitch: width, k0, count, to: at };
                // SAFETY: `memory` has a word for each element and a line more, and `temp` after the `TRANSPOSE` words
                // those of a tile of `BLOCK` indices and a line more, so that a vector may be written after them.
                unsafe {
                    pack::pack(s, &panel, table, temp);
                    if last {
                        pack::copy(s, at, 1, width * count, to);
                    }
                }
            }
        }
    }
}
