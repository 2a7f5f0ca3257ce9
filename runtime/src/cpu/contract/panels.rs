//! The loops around the register tile, for any contraction.
//!
//! In: a plan. Out: its outputs. Always: jobs (a batch index, some row tiles, some column panels) are independent, and
//! how many there are changes nothing in any sum.

use core::ops::Range;

use super::super::scratch::{LINE, Scratch, lend};
use super::super::{Kernel, Simd, pool, run};
use super::across;
use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::hold;
use super::kernel::{self, Block, WIDE};
use super::left::{self, Found};
use super::pack::{self, BLOCK, Panel, Panels, Source, TRANSPOSE};
use super::place::{Place, Walk};
use super::plan::{Left, Plan, Right, share};
use super::turns::Steady;

/// Most rows of a job whose sums must wait for further blocks of K.
const ROWS: usize = 512;
/// Most words of waiting sums in a job: a quarter of a second-level cache.
const WAITING: usize = 1 << 17;
/// Most words of the right operand that are packed at a time where its rows lie along the columns: few enough for a
/// second-level cache, and so many that long pieces of rows are read.
const GROUP: usize = 1 << 16;
/// Most words of a right operand that every thread packs for itself.
const REPEATED: usize = 1 << 16;

/// Computes any contraction.
pub(super) fn panels(call: &Call<'_>, plan: &Plan<'_>, kept: Option<&mut Steady>) {
    let is_kept = kept.is_some() && plan.right == Right::Packed && plan.batch.total == 1;
    let cut = Cut::new(call, plan, is_kept);
    let count = plan.batch.total * cut.row_parts * cut.column_parts;
    if plan.left != Left::Shared && plan.right != Right::Packed {
        let (left, right) = (core::ptr::null(), core::ptr::null());
        pool::parallel(call.threads, count, &Task { call, plan, left, right, cut });
        return;
    }
    lend(&CALL, |scratch| {
        let (tiles, width) = (cut.tiles, cut.vectors * call.lanes);
        let mut right = core::ptr::null();
        if plan.right == Right::Packed {
            right = hold::right(call.isa, plan, width, hold::room(scratch)).unwrap_or(right);
        }
        if let Some(kept) = kept.filter(|_| is_kept && right.is_null()) {
            right = kept.panels(call.isa, plan, width);
        }
        let mut left = core::ptr::null();
        if plan.left == Left::Shared {
            left = hold::left(call, plan, tiles).unwrap_or_else(|| {
                let (memory, _) = scratch.provide(left::words(plan), 0, Place::NOWHERE);
                left::share(call, plan, tiles, memory);
                memory
            });
        }
        pool::parallel(call.threads, count, &Task { call, plan, left, right, cut });
    });
}

/// How the work is cut: `row_parts` × `column_parts` jobs per batch index.
#[derive(Clone, Copy)]
struct Cut {
    /// Vectors per panel.
    vectors: usize,
    tiles: usize,
    panels: usize,
    row_parts: usize,
    column_parts: usize,
}

impl Cut {
    fn new(call: &Call<'_>, plan: &Plan<'_>, is_kept: bool) -> Cut {
        let m = plan.m.total;
        let vectors = if m == 1 && plan.right != Right::Packed { WIDE } else { 2 };
        let width = vectors * call.lanes;
        let tiles = m.div_ceil(call.rows);
        let panels = plan.n.total.div_ceil(width);
        let mut cut = Cut { vectors, tiles, panels, row_parts: 1, column_parts: 1 };
        if plan.blocks() > 1 {
            cut.row_parts = m.div_ceil(ROWS).min(tiles);
            let most = WAITING / (m.div_ceil(cut.row_parts) + call.rows) / width;
            cut.column_parts = panels.div_ceil(most.max(1));
        }
        cut.share_out(call.threads, plan, is_kept);
        // Parts of equally many rows are better than parts of equally many tiles.
        cut.tiles = cut.row_parts * m.div_ceil(cut.row_parts).div_ceil(call.rows);
        cut
    }

    /// Cuts further until every thread has as much to do as the others, or nearly so.
    fn share_out(&mut self, threads: usize, plan: &Plan<'_>, is_kept: bool) {
        // What a loop keeps is in the cache of every thread, and so are the rows of its last turn.
        let rows_first = is_kept || plan.left == Left::Packed || self.outer_rows(threads, plan);
        loop {
            let jobs = plan.batch.total * self.row_parts * self.column_parts;
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
}

struct Task<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    /// The whole left operand, packed, if it is shared.
    left: *const f32,
    /// The whole right operand, packed, or null.
    right: *const f32,
    cut: Cut,
}

// SAFETY: the packed operands are only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, jobs: Range<usize>) {
        lend(&JOB, |scratch| {
            for job in jobs {
                let scratch = &mut *scratch;
                run(self.call.isa, Job { task: self, job, scratch });
            }
        });
    }
}

/// One job.
struct Job<'a> {
    task: &'a Task<'a>,
    job: usize,
    scratch: &'a mut Scratch<Place>,
}

/// What a job does in all its blocks of K.
struct Scope<'a> {
    plan: &'a Plan<'a>,
    cut: Cut,
    /// Row tiles.
    tiles: Range<usize>,
    /// Column panels.
    panels: Range<usize>,
    left: Place,
    right: Place,
    a_source: Source<'a>,
    b_source: Source<'a>,
    /// The whole operands, packed, as in [`Task`].
    whole: (*const f32, *const f32),
    destination: Destination<'a>,
    memory: Memory,
}

/// Regions of the scratch memory of a job.
#[derive(Clone, Copy)]
struct Memory {
    /// Row tiles of the left operand.
    a: *mut f32,
    /// Some panels of the right operand.
    b: *mut f32,
    temp: *mut f32,
    /// Sums: one tile, or all of the job if they wait.
    c: *mut f32,
    /// Words from row to row of waiting sums.
    pitch: usize,
}

impl Memory {
    /// Regions for `rows` rows and `panels` panels of `width` columns, and a table of places for each operand.
    fn new<'s>(
        scratch: &'s mut Scratch<Place>,
        plan: &Plan<'_>,
        (rows, tile): (usize, usize),
        (panels, width): (usize, usize),
    ) -> (Self, &'s mut [Place]) {
        let longest = plan.run.div_ceil(plan.per_run);
        let pitch = panels * width;
        let packed = plan.left == Left::Packed;
        let a = if packed { (rows * longest + LINE).next_multiple_of(LINE) } else { 0 };
        let b = ((longest * width).max(GROUP.min(longest * pitch)) + LINE).next_multiple_of(LINE);
        let c = if plan.blocks() > 1 { rows * pitch } else { tile * width };
        let (base, table) = scratch.provide(a + b + TRANSPOSE + c, 2 * BLOCK, Place::NOWHERE);
        let temp = base.wrapping_add(a + b);
        let (b, c) = (base.wrapping_add(a), temp.wrapping_add(TRANSPOSE));
        (Memory { a: base, b, temp, c, pitch }, table)
    }
}

impl Kernel for Job<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Job { task, job, scratch } = self;
        let Task { call, plan, cut, left, right } = *task;
        let parts = cut.row_parts * cut.column_parts;
        let (batch, part) = (job / parts, job % parts);
        let (row_part, column_part) = (part / cut.column_parts, part % cut.column_parts);
        let tiles = share(cut.tiles, cut.row_parts, row_part)..share(cut.tiles, cut.row_parts, row_part + 1);
        let panels =
            share(cut.panels, cut.column_parts, column_part)..share(cut.panels, cut.column_parts, column_part + 1);
        let rows = plan.row(cut.tiles, tiles.end) - plan.row(cut.tiles, tiles.start);
        let width = cut.vectors * S::LANES;
        let (memory, table) = Memory::new(scratch, plan, (rows, S::ROWS), (panels.len(), width));
        let scope = Scope {
            plan,
            cut,
            tiles,
            panels,
            left: plan.at_batch(&plan.lhs, batch),
            right: plan.at_batch(&plan.rhs, batch),
            a_source: Source::new(&plan.lhs, &plan.m, &plan.k),
            b_source: Source::new(&plan.rhs, &plan.n, &plan.k),
            whole: (left, right),
            destination: Destination::new(plan, batch, call.isa, call.sink),
            memory,
        };
        for block in 0..plan.blocks() {
            // SAFETY: the scratch memory has the sizes that the job's shapes ask for.
            unsafe { block_of_k(s, &scope, block, table) }
        }
    }
}

#[inline(always)]
unsafe fn block_of_k<S: Simd>(s: S, scope: &Scope<'_>, block: usize, table: &mut [Place]) {
    let plan = scope.plan;
    let (k0, count) = plan.block(block);
    let (a_table, b_table) = table.split_at_mut(BLOCK);
    let (a_table, b_table) = (&mut a_table[..count], &mut b_table[..count]);
    // SAFETY: the caller's.
    let found = unsafe { left_rows(s, scope, (k0, count), a_table) };
    let width = scope.cut.vectors * S::LANES;
    let mut packed = 0..0;
    for panel in scope.panels.clone() {
        let first = panel * width;
        let cols = width.min(plan.n.total - first);
        let vectors = match cols.div_ceil(S::LANES) {
            3 => 4,
            5.. => WIDE,
            few => few,
        };
        let pitch = vectors * S::LANES;
        let mut strip =
            Strip { found, b: scope.memory.b, b_step: pitch.cast_signed(), first, cols, vectors, count, block };
        if !scope.whole.1.is_null() {
            strip.b = scope.whole.1.wrapping_add(hold::panel(plan, width, panel, (k0, count)));
            // SAFETY: the caller's.
            unsafe { strip_of_tiles(s, scope, &strip) }
            continue;
        }
        match plan.right {
            Right::InPlace { step } if cols == width => {
                let place = scope.right.offset + Walk::new(&plan.rhs, &plan.k, k0).place.offset;
                let from = plan.rhs.data.as_ptr().wrapping_offset(place);
                (strip.b, strip.b_step) = (from.wrapping_add(first), step);
            }
            Right::InPlace { .. } => {
                scope.b_source.table(k0, b_table);
                let (source, base, to) = (scope.b_source, scope.right, scope.memory.b);
                let panel = Panel { source, base, first, width: cols, pitch, k0, count, to };
                // SAFETY: the region has a panel and a line more.
                unsafe { pack::pack(s, &panel, b_table, scope.memory.temp) }
            }
            Right::Packed => {
                if packed.is_empty() {
                    scope.b_source.table(k0, b_table);
                }
                if !packed.contains(&panel) {
                    // SAFETY: the caller's.
                    packed = unsafe { some_panels(s, scope, panel, k0, b_table) };
                }
                strip.b = strip.b.wrapping_add((panel - packed.start) * width * count);
            }
        }
        // SAFETY: the caller's.
        unsafe { strip_of_tiles(s, scope, &strip) }
    }
}

/// Packs the panels of a block of K from `panel` on, as many as go at a time.
#[inline(always)]
unsafe fn some_panels<S: Simd>(s: S, scope: &Scope<'_>, panel: usize, k0: usize, table: &[Place]) -> Range<usize> {
    let width = scope.cut.vectors * S::LANES;
    let many = if scope.b_source.is_across() { GROUP / (width * table.len()).max(1) } else { 1 };
    let some = panel..scope.panels.end.min(panel + many.max(1));
    let columns = some.start * width..scope.plan.n.total.min(some.end * width);
    let panels = Panels { source: scope.b_source, base: scope.right, columns, width, k0, to: scope.memory.b };
    // SAFETY: the region has so many panels and a line more.
    unsafe { pack::panels(s, &panels, table, scope.memory.temp) }
    some
}

/// Finds or packs the rows of the job for a block of K.
#[inline(always)]
unsafe fn left_rows<S: Simd>(s: S, scope: &Scope<'_>, (k0, count): (usize, usize), table: &mut [Place]) -> Found {
    let plan = scope.plan;
    if plan.left != Left::Packed {
        return Found::new(plan, scope.left, scope.whole.0, (k0, count));
    }
    scope.a_source.table(k0, table);
    let start = plan.row(scope.cut.tiles, scope.tiles.start);
    if plan.lhs.sights().is_empty() && plan.m.count == 1 && scope.a_source.is_across() {
        let row = |tile: usize| plan.row(scope.cut.tiles, scope.tiles.start + tile);
        let from = plan.lhs.data.as_ptr().wrapping_offset(scope.left.offset);
        let tiles = (scope.tiles.len(), &row as &dyn Fn(usize) -> usize);
        let rows = across::Rows { from, table, first: start, tiles, to: scope.memory.a };
        // SAFETY: as below.
        unsafe { across::pack(s, &rows) }
        return Found::packed(scope.memory.a.cast_const().wrapping_sub(start * count), count);
    }
    for tile in scope.tiles.clone() {
        let first = plan.row(scope.cut.tiles, tile);
        let width = plan.row(scope.cut.tiles, tile + 1) - first;
        let to = scope.memory.a.wrapping_add((first - start) * count);
        let (source, base) = (scope.a_source, scope.left);
        let panel = Panel { source, base, first, width, pitch: width, k0, count, to };
        // SAFETY: the region has the job's rows of a block and a line more.
        unsafe { pack::pack(s, &panel, table, scope.memory.temp) }
    }
    Found::packed(scope.memory.a.cast_const().wrapping_sub(start * count), count)
}

/// A panel and the rows that meet it.
struct Strip {
    found: Found,
    b: *const f32,
    b_step: isize,
    first: usize,
    cols: usize,
    vectors: usize,
    count: usize,
    block: usize,
}

#[inline(always)]
unsafe fn strip_of_tiles<S: Simd>(s: S, scope: &Scope<'_>, strip: &Strip) {
    let (plan, memory) = (scope.plan, &scope.memory);
    let blocks = plan.blocks();
    let start = plan.row(scope.cut.tiles, scope.tiles.start);
    let width = strip.vectors * S::LANES;
    let last = strip.block + 1 == blocks;
    let straight = if last && strip.cols == width { scope.destination.straight() } else { None };
    let column = strip.first - scope.panels.start * scope.cut.vectors * S::LANES;
    for tile in scope.tiles.clone() {
        let first = plan.row(scope.cut.tiles, tile);
        let rows = plan.row(scope.cut.tiles, tile + 1) - first;
        let (waiting, pitch) = if blocks == 1 {
            (memory.c, width)
        } else {
            (memory.c.wrapping_add((first - start) * memory.pitch + column), memory.pitch)
        };
        let (c, c_row) = match straight {
            Some(target) => {
                let offset = first.cast_signed() * target.row + strip.first.cast_signed();
                (target.origin.wrapping_offset(offset), target.row)
            }
            None => (waiting, pitch.cast_signed()),
        };
        let block = Block {
            k: strip.count,
            a: strip.found.tile(first),
            rows: strip.found.rows(rows),
            b: strip.b,
            steps: kernel::Steps::Even(strip.b_step),
            c,
            c_row,
            before: (strip.block > 0).then_some((waiting.cast_const(), pitch.cast_signed())),
        };
        // SAFETY: the plan has checked the operands, and the sums are within the job's scratch memory or the output.
        unsafe { kernel::tile(s, rows, strip.vectors, block) }
        if last && straight.is_none() {
            let (n, cols) = (strip.first, strip.cols);
            let sums = Sums { data: waiting, pitch, m: first, n, rows, cols };
            // SAFETY: the sums are written, and lie within the contraction.
            unsafe { scope.destination.finish(s, &sums) }
        }
    }
}
