//! The loops around the register tile, for any contraction.
//!
//! In: a plan, and the image if the right operand is gathered. Out: its outputs. Always: jobs (a batch index, some row tiles,
//! some column panels) may run in any order, and how many there are changes nothing in any sum; a thread whose last job has
//! packed the same rows, or copied the same image, reads them again.

pub(super) mod cut;
mod memory;
mod strip;

use core::ops::Range;
use core::ptr;

use super::drive::{CALL, Call, JOB};
use super::finish::Destination;
use super::image::Gathered;
use super::kernel::vectors_for;
use super::layout::{Place, Walk};
use super::left::{self, Found};
use super::pack::{self, BLOCK, Panel, Panels, Source};
use super::pack_columns;
use super::pack_once::Steady;
use super::plan::{Left, Plan, Right, share};
use super::prepack;
use super::split;
use super::swapped;
use crate::machine::machine;
use crate::scratch::{LINE, Scratch, lend};
use crate::{Kernel, Simd, queue, run};
use cut::{Columns, Cut, Part, TOGETHER};
use memory::Memory;
use strip::{Strip, strip_of_tiles};

/// Most words of the right operand that are packed at a time where its rows lie along the columns: few enough for a
/// second-level cache, and so many that long pieces of rows are read.
fn group_words() -> usize {
    machine().l2 / 8
}

/// Computes any contraction.
pub(super) fn panels(call: &Call<'_>, plan: &Plan<'_>, kept: Option<&mut Steady>) {
    if swapped::swapped(call, plan) {
        return;
    }
    let nowhere = (ptr::null(), ptr::null());
    let dense = |whole, sums, cut| Task::<false> { call, plan, whole, gathered: None, sums, cut };
    if plan.left != Left::Packed && plan.right != Right::Packed {
        let cut = Cut::new(call, plan, Columns::Own);
        return dense(nowhere, ptr::null_mut(), cut).run();
    }
    lend(&CALL, |scratch| {
        let width = cut::vectors(call, plan) * call.lanes;
        let (mut whole, mut columns) = (nowhere, Columns::Own);
        if plan.right == Right::Packed {
            if let Some(right) = prepack::right(call.isa, plan, width, prepack::room(scratch)) {
                (whole.1, columns) = (right, Columns::Held);
            }
            if let Some(kept) = kept.filter(|_| plan.batch.total == 1) {
                columns = Columns::Kept;
                if whole.1.is_null() {
                    whole.1 = kept.panels(call.isa, plan, width);
                }
            }
        }
        let cut = Cut::new(call, plan, columns);
        if plan.is_left_small() {
            if let Some(left) = prepack::left(call, plan, cut.tiles) {
                whole.0 = left;
            } else if plan.batch.total > 1 && plan.shares_left() {
                // What all batch indices read is packed for all of them.
                let (memory, _) = scratch.provide(left::words(plan), 0, Place::NOWHERE);
                left::share(call, plan, cut.tiles, memory);
                whole.0 = memory;
            }
        }
        if cut.halves == 1 {
            return dense(whole, ptr::null_mut(), cut).run();
        }
        let pitch = cut.panels * width;
        let (sums, _) = scratch.provide(if plan.is_long() { 4 } else { 2 } * plan.m.total * pitch, 0, Place::NOWHERE);
        dense(whole, sums, cut).run();
        split::join(call, plan, cut.tiles, (sums, pitch));
    });
}

/// Computes a contraction whose right operand is gathered, and whose left one is packed at `left`, or read in place, or, where
/// that is null, packed by jobs, which can do so for at most [`BLOCK`] indices of K.
pub(super) fn gathered(call: &Call<'_>, plan: &Plan<'_>, left: *const f32, gathered: Gathered<'_>, cut: Cut) {
    debug_assert!(!left.is_null() || plan.left != Left::Packed || plan.k.total <= BLOCK, "jobs pack a block of K");
    let whole = (left, ptr::null());
    Task::<true> { call, plan, whole, gathered: Some(gathered), sums: ptr::null_mut(), cut }.run();
}

/// The work of a call, which is compiled once more where the right operand is `GATHERED`.
struct Task<'a, const GATHERED: bool> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    /// Both whole operands, packed, or null.
    whole: (*const f32, *const f32),
    gathered: Option<Gathered<'a>>,
    /// The sums of both halves of K, if they are apart.
    sums: *mut f32,
    cut: Cut,
}

// SAFETY: packed operands, the list of a gathered one and the copy that serves all are only read while jobs run, and each job
// has sums of its own.
unsafe impl<const GATHERED: bool> Sync for Task<'_, GATHERED> {}

impl<const GATHERED: bool> Task<'_, GATHERED> {
    fn run(&self) {
        queue::balanced(self.call.threads, self.plan.batch.total * self.cut.parts(), self);
    }
}

impl<const GATHERED: bool> queue::Work for Task<'_, GATHERED> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&JOB, |scratch| {
            let mut filled = Filled::default();
            for job in jobs {
                let (scratch, filled) = (&mut *scratch, &mut filled);
                run(self.call.isa, Job { task: self, job, scratch, filled });
            }
        });
    }
}

/// One job.
struct Job<'a, const GATHERED: bool> {
    task: &'a Task<'a, GATHERED>,
    job: usize,
    scratch: &'a mut Scratch<Place>,
    filled: &'a mut Filled,
}

/// What earlier jobs of a thread have left in its memory.
#[derive(Default)]
struct Filled {
    /// Whose rows of the left operand are packed for all of K: a batch index and a part of the rows.
    rows: Option<(usize, usize)>,
    /// Whose image is copied: a batch index.
    image: Option<usize>,
}

/// What a job does in all its blocks of K.
struct Scope<'a, const GATHERED: bool> {
    plan: &'a Plan<'a>,
    cut: Cut,
    /// Lanes of a vector.
    lanes: usize,
    /// Blocks of K.
    blocks: Range<usize>,
    /// Row tiles.
    tiles: Range<usize>,
    /// Column panels.
    panels: Range<usize>,
    left: Place,
    right: Place,
    /// Whether an earlier job has packed the rows.
    is_packed: bool,
    a_source: Source<'a>,
    b_source: Source<'a>,
    /// The whole operands, packed, as in [`Task`].
    whole: (*const f32, *const f32),
    /// The list of a gathered right operand, and where that starts for the batch index.
    gathered: Option<(Gathered<'a>, *const f32)>,
    destination: Destination<'a>,
    memory: Memory,
}

impl<const GATHERED: bool> Kernel for Job<'_, GATHERED> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Job { task, job, scratch, filled } = self;
        let Task { call, plan, cut, whole, sums, gathered } = *task;
        let gathered = gathered.filter(|_| GATHERED);
        let Part { batch, half, row_part, column_part } = cut.part(job);
        let tiles = share(cut.tiles, cut.row_parts, row_part)..share(cut.tiles, cut.row_parts, row_part + 1);
        let panels =
            share(cut.panels, cut.column_parts, column_part)..share(cut.panels, cut.column_parts, column_part + 1);
        let rows = plan.row(cut.tiles, tiles.end) - plan.row(cut.tiles, tiles.start);
        let width = cut.vectors * S::LANES;
        let packs = plan.left == Left::Packed && whole.0.is_null();
        let keeps = packs && cut.keeps_rows(call.threads, plan, rows);
        let rows_of = packs.then_some(if keeps { plan.k.total } else { plan.longest_block() });
        let copied = gathered.map_or(0, |gathered| gathered.own_words());
        let packed = rows_of.map_or(0, |depth| (rows * depth + LINE).next_multiple_of(LINE));
        let a = copied + packed;
        let columns = (panels.len(), width, whole.1.is_null());
        let (mut memory, table) = Memory::new(scratch, (plan, &cut), a, (rows, S::ROWS), columns);
        let right = plan.at_batch(&plan.rhs, batch);
        let gathered = gathered.map(|gathered| {
            let fills = copied > 0 && filled.image.replace(batch) != Some(batch);
            // SAFETY: `Memory::new` has made `own_words` words at `a`, behind which rows are packed.
            (gathered, unsafe { gathered.start(s, &plan.rhs, right.offset, memory.a, fills) })
        });
        memory.a = memory.a.wrapping_add(copied);
        memory.a_step = if keeps { rows } else { 0 };
        let key = keeps.then_some((row_part, batch));
        let is_packed = keeps && filled.rows == key;
        filled.rows = key;
        if cut.halves == 2 {
            let row = half * plan.m.total + plan.row(cut.tiles, tiles.start);
            memory.lie_in(sums, (2 * plan.m.total, cut.panels * width), (row, panels.start * width));
        }
        // SAFETY: where sums are long, those of the job or of both halves have these columns in each row of the job,
        // `pitch` words apart, and so has what they lose.
        unsafe { memory.start(s, rows, panels.len() * width) }
        let scope = Scope::<GATHERED> {
            plan,
            cut,
            lanes: S::LANES,
            blocks: share(plan.blocks(), cut.halves, half)..share(plan.blocks(), cut.halves, half + 1),
            tiles,
            panels,
            left: plan.at_batch(&plan.lhs, batch),
            right,
            is_packed,
            a_source: Source::new(&plan.lhs, &plan.m, &plan.k),
            b_source: Source::new(&plan.rhs, &plan.n, &plan.k),
            whole,
            gathered,
            destination: Destination::new(plan, batch, call.sink),
            memory,
        };
        for block in scope.blocks.clone() {
            // SAFETY: `Memory::new` has made the regions and the table for the rows and panels of this job, with `packed`
            // words of rows, which the thread has filled in an earlier job if they are packed; `panels` has made the sums of
            // halves and the packed operands; `block` is one of the plan's.
            unsafe { block_of_k(s, &scope, block, table) }
        }
    }
}

/// Does the work of a job in one block of K.
///
/// # Safety
/// `scope.memory` must have the regions of [`Memory::new`] for the rows and panels of the job, or the sums of halves, where the
/// job packs its rows with a word for each of them and index of a block, or of K if `a_step` is not 0, and a line more; if
/// they are packed, they must be there. `table` must have twice [`BLOCK`] places, and `scope.whole` the packed operands of the
/// plan where they are not null; `block` must be one of the plan's.
#[inline(always)]
unsafe fn block_of_k<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    block: usize,
    table: &mut [Place],
) {
    let plan = scope.plan;
    let (k0, count) = plan.block(block);
    // Only what is packed has places, of a block at most.
    let (a_table, b_table) = table.split_at_mut(BLOCK);
    let (a_table, b_table) = (&mut a_table[..count.min(BLOCK)], &mut b_table[..count.min(BLOCK)]);
    // SAFETY: where rows are packed, `memory.a` has a word for each row of the job and index of a block, or of K, and a line
    // more, or the packed rows, and `memory.temp` has `TRANSPOSE` words, by this function's contract.
    let found = unsafe { left_rows(s, scope, (k0, count), a_table) };
    if scope.packs() {
        scope.b_source.table(k0, b_table);
    }
    // A job packs its panels one after the other, each before its first row tile; where there is memory for all of them, the
    // other row tiles find them.
    let many = if scope.memory.strip == 0 { scope.at_a_time(count) } else { 1 };
    let at_once = if scope.memory.strip == 0 { scope.tiles.len() } else { 1 };
    let (block, panels, together) = ((block, k0, count), scope.panels.clone(), scope.memory.together);
    for tile in scope.tiles.clone().step_by(at_once.max(1)) {
        for panel in panels.clone().step_by(together) {
            let mut strips = [scope.strip(found, panel, block); TOGETHER];
            let strips = &mut strips[..together.min(panels.end - panel)];
            for (number, strip) in strips.iter_mut().enumerate().skip(1) {
                *strip = scope.strip(found, panel + number, block);
            }
            let number = (panel - panels.start) % many;
            // SAFETY: `memory.b` has `many` panels of a block and a line more, or `strip` words for each panel of the job,
            // `memory.temp` `TRANSPOSE` words, and `memory.c` the sums of the job, by this function's contract; the rows are
            // found, and the panels are packed or lie in place; those that are packed without room for all are one.
            unsafe {
                if tile == scope.tiles.start && number == 0 {
                    for (strip, panel) in strips.iter().zip(panel..) {
                        pack_panels(s, scope, strip, panel..panels.end.min(panel + many), k0, b_table);
                    }
                }
                strips[0].b = strips[0].b.wrapping_add(number * scope.width() * count);
                strip_of_tiles(s, scope, strips, tile..tile + at_once);
            }
        }
    }
}

impl<const GATHERED: bool> Scope<'_, GATHERED> {
    /// The gathered right operand, if this is compiled for one.
    #[inline(always)]
    fn gathered(&self) -> Option<(Gathered<'_>, *const f32)> {
        self.gathered.filter(|_| GATHERED)
    }

    fn width(&self) -> usize {
        self.cut.vectors * self.lanes
    }

    /// Whether the job packs its panels, rather than to find them.
    fn packs(&self) -> bool {
        let lies = match self.plan.right {
            Right::Packed => false,
            Right::InPlace { .. } => self.plan.n.total >= self.width(),
            Right::Gathered => true,
        };
        self.whole.1.is_null() && !lies
    }

    /// How many panels of `count` indices of K are packed at a time.
    fn at_a_time(&self, count: usize) -> usize {
        let across = self.packs() && self.plan.right == Right::Packed && self.b_source.is_across();
        // The rows of a large operand lie far apart.
        if across && self.plan.blocks() > 1 { (group_words() / (self.width() * count).max(1)).max(1) } else { 1 }
    }

    /// Where a panel is, or is to be packed.
    #[inline(always)]
    fn strip(&self, found: Found, panel: usize, (block, k0, count): (usize, usize, usize)) -> Strip {
        let (plan, width) = (self.plan, self.width());
        let first = panel * width;
        let cols = width.min(self.cut.columns.length() - first);
        let vectors = vectors_for(cols, self.lanes);
        let b = self.memory.b.wrapping_add((panel - self.panels.start) * self.memory.strip).cast_const();
        let b_step = (vectors * self.lanes).cast_signed();
        let mut strip = Strip { found, b, b_step, first, cols, skip: 0, vectors, count, block };
        if let Some((gathered, start)) = self.gathered() {
            // A copy has vectors beyond its last column; in place the last panel overlaps the one before, so that it ends
            // with the image.
            if !gathered.is_copied() {
                (strip.skip, strip.vectors) = (width - cols, self.cut.vectors);
            }
            strip.b = start.wrapping_add(first - strip.skip);
            return strip;
        }
        if !self.whole.1.is_null() {
            strip.b = self.whole.1.wrapping_add(prepack::panel(plan, width, panel, (k0, count)));
        } else if let (false, Right::InPlace { step }) = (self.packs(), plan.right) {
            // The last panel overlaps the one before, so that it ends with the operand.
            let place = self.right.offset + Walk::new(&plan.rhs, &plan.k, k0).place.offset;
            (strip.skip, strip.vectors) = (width - cols, self.cut.vectors);
            strip.b = plan.rhs.data.as_ptr().wrapping_offset(place).wrapping_add(first - strip.skip);
            strip.b_step = step;
        }
        strip
    }
}

/// Packs some panels after each other, from where the strip of the first one says.
///
/// # Safety
/// If the job packs, `strip.b` must be valid for writing so many panels for each place of `table`, which must be the block's,
/// and a line more, and `scope.memory.temp` must have [`pack::TRANSPOSE`] words.
#[inline(always)]
unsafe fn pack_panels<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    strip: &Strip,
    some: Range<usize>,
    k0: usize,
    table: &[Place],
) {
    if !scope.packs() {
        return;
    }
    let width = scope.width();
    let columns = some.start * width..scope.plan.n.total.min(some.end * width);
    let panels = Panels { source: scope.b_source, base: scope.right, columns, width, k0, to: strip.b.cast_mut() };
    // SAFETY: by this function's contract there are the panels, of whole vectors, for each place of the block, and a line
    // more, and `temp` has `TRANSPOSE` words.
    unsafe { pack::panels(s, &panels, table, scope.memory.temp) }
}

/// Finds or packs the rows of the job for a block of K.
///
/// # Safety
/// If the job packs its rows, `scope.memory.a` must have a word for each of them and index of the block, or of K if its step
/// is not 0, and a line more, and `scope.memory.temp` [`pack::TRANSPOSE`] words; if they are packed, they must be in it. `table`
/// must have `count` places, at most [`BLOCK`], if the job packs.
#[inline(always)]
unsafe fn left_rows<S: Simd, const GATHERED: bool>(
    s: S,
    scope: &Scope<'_, GATHERED>,
    (k0, count): (usize, usize),
    table: &mut [Place],
) -> Found {
    let plan = scope.plan;
    let whole = scope.whole.0;
    if plan.left != Left::Packed || !whole.is_null() {
        return Found::new(plan, scope.left, whole, (k0, count));
    }
    let start = plan.row(scope.cut.tiles, scope.tiles.start);
    let a = scope.memory.a.wrapping_add(k0 * scope.memory.a_step);
    let found = Found::packed(a.cast_const().wrapping_sub(start * count), count);
    if scope.is_packed {
        return found;
    }
    scope.a_source.table(k0, table);
    if plan.lhs.bounded().is_empty() && plan.m.count == 1 && scope.a_source.is_across() {
        let row = |tile: usize| plan.row(scope.cut.tiles, scope.tiles.start + tile);
        let from = plan.lhs.data.as_ptr().wrapping_offset(scope.left.offset);
        let tiles = (scope.tiles.len(), &row as &dyn Fn(usize) -> usize);
        let rows = pack_columns::Rows { from, table, first: start, tiles, to: a };
        // SAFETY: without windows `Side` has checked every row at every place, `memory.a` has a word for each row of the
        // job and place, by this function's contract, and the tiles of a plan have one of two widths.
        unsafe { pack_columns::pack(s, &rows) }
        return found;
    }
    for tile in scope.tiles.clone() {
        let first = plan.row(scope.cut.tiles, tile);
        let width = plan.row(scope.cut.tiles, tile + 1) - first;
        let to = a.wrapping_add((first - start) * count);
        let (source, base) = (scope.a_source, scope.left);
        let panel = Panel { source, base, first, width, pitch: width, k0, count, to };
        // SAFETY: by this function's contract `memory.a` has the job's rows of the block and a line more, into which, or into
        // the next tile or block, which are packed later, a vector goes beyond this one, and `temp` has `TRANSPOSE` words.
        unsafe { pack::pack(s, &panel, table, scope.memory.temp) }
    }
    found
}
