//! The loops around the register tile, for any contraction.
//!
//! In: a plan. Out: its outputs. Always: jobs (a batch index, some row tiles, some column panels) are independent, and
//! how many there are changes nothing in any sum.

use super::super::scratch::{LINE, Scratch, lend};
use super::super::{Isa, Kernel, Simd, pool, run};
use super::drive::{CALL, Call, JOB};
use super::epilogue::Sink;
use super::finish::{Destination, Sums};
use super::kernel::{self, WIDE};
use super::pack::{self, BLOCK, Panel, Source, TRANSPOSE};
use super::place::{Place, Walk};
use super::plan::{Left, Plan, Right, share};

/// Most rows of a job whose sums must wait for further blocks of K.
const ROWS: usize = 512;
/// Most words of waiting sums in a job: a quarter of a second-level cache.
const WAITING: usize = 1 << 17;

/// Computes any contraction.
pub(super) fn panels(call: &Call<'_>, plan: &Plan<'_>) {
    if plan.left != Left::Shared {
        jobs(call, plan, core::ptr::null());
        return;
    }
    lend(&CALL, |scratch| {
        let words = plan.m.total * plan.k.total + TRANSPOSE + 2 * LINE;
        let (memory, table) = scratch.provide(words, BLOCK, Place::NOWHERE);
        run(
            call.isa,
            Share {
                plan,
                memory,
                table,
                rows: call.rows,
            },
        );
        jobs(call, plan, memory);
    });
}

/// Cuts the work into jobs and runs them.
fn jobs(call: &Call<'_>, plan: &Plan<'_>, shared: *const f32) {
    let Call {
        isa,
        threads,
        sink,
        rows,
        lanes,
    } = *call;
    let vectors = if plan.m.total == 1 && plan.right != Right::Packed {
        WIDE
    } else {
        2
    };
    let tiles = plan.m.total.div_ceil(rows);
    let panels = plan.n.total.div_ceil(vectors * lanes);
    let mut cut = Cut {
        vectors,
        tiles,
        panels,
        row_parts: 1,
        column_parts: 1,
    };
    if plan.blocks() > 1 {
        cut.row_parts = plan.m.total.div_ceil(ROWS).min(tiles);
        let most = WAITING / (plan.m.total.div_ceil(cut.row_parts) + rows) / (vectors * lanes);
        cut.column_parts = panels.div_ceil(most.max(1));
    }
    while threads > 1 && plan.batch.total * cut.row_parts * cut.column_parts < 4 * threads {
        let columns_first = plan.left != Left::Packed && cut.column_parts < panels;
        if columns_first || cut.row_parts * 2 > tiles && cut.column_parts < panels {
            cut.column_parts = (cut.column_parts * 2).min(panels);
        } else if cut.row_parts * 2 <= tiles {
            cut.row_parts *= 2;
        } else {
            break;
        }
    }
    let count = plan.batch.total * cut.row_parts * cut.column_parts;
    let task = Task {
        isa,
        plan,
        shared,
        sink,
        cut,
    };
    pool::parallel(threads, count, &task);
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

struct Task<'a> {
    isa: Isa,
    plan: &'a Plan<'a>,
    shared: *const f32,
    sink: Option<&'a dyn Sink>,
    cut: Cut,
}

// SAFETY: `shared` is only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, jobs: core::ops::Range<usize>) {
        lend(&JOB, |scratch| {
            for job in jobs {
                run(
                    self.isa,
                    Job {
                        task: self,
                        job,
                        scratch,
                    },
                );
            }
        });
    }
}

/// Packs the whole left operand: for every block of K, for every row tile, `[k][row]`.
struct Share<'a> {
    plan: &'a Plan<'a>,
    memory: *mut f32,
    table: &'a mut [Place],
    rows: usize,
}

impl Kernel for Share<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let plan = self.plan;
        let temp = self
            .memory
            .wrapping_add((plan.m.total * plan.k.total + LINE).next_multiple_of(LINE));
        let source = Source::new(&plan.lhs, &plan.m, &plan.k);
        let tiles = plan.m.total.div_ceil(self.rows);
        for block in 0..plan.blocks() {
            let (k0, count) = plan.block(block);
            let table = &mut self.table[..count];
            source.table(k0, table);
            for tile in 0..tiles {
                let (first, end) = (
                    share(plan.m.total, tiles, tile),
                    share(plan.m.total, tiles, tile + 1),
                );
                let to = self.memory.wrapping_add(plan.m.total * k0 + first * count);
                let width = end - first;
                let panel = Panel {
                    source,
                    base: plan.lhs.origin(),
                    first,
                    width,
                    pitch: width,
                    k0,
                    count,
                    to,
                };
                // SAFETY: the memory has a word for each element, a vector more, and `TRANSPOSE` words after that.
                unsafe { pack::pack(s, &panel, table, temp) }
            }
        }
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
    tiles: (usize, usize),
    /// Column panels.
    panels: (usize, usize),
    left: Place,
    right: Place,
    a_source: Source<'a>,
    b_source: Source<'a>,
    shared: *const f32,
    destination: Destination<'a>,
    memory: Memory,
}

/// Regions of the scratch memory of a job.
#[derive(Clone, Copy)]
struct Memory {
    /// Row tiles of the left operand.
    a: *mut f32,
    /// One panel of the right operand.
    b: *mut f32,
    temp: *mut f32,
    /// Sums: one tile, or all of the job if they wait.
    c: *mut f32,
    /// Words from row to row of waiting sums.
    pitch: usize,
}

impl Kernel for Job<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Job { task, job, scratch } = self;
        let Task { plan, cut, .. } = *task;
        let parts = cut.row_parts * cut.column_parts;
        let (batch, part) = (job / parts, job % parts);
        let (row_part, column_part) = (part / cut.column_parts, part % cut.column_parts);
        let tiles = (
            share(cut.tiles, cut.row_parts, row_part),
            share(cut.tiles, cut.row_parts, row_part + 1),
        );
        let panels = (
            share(cut.panels, cut.column_parts, column_part),
            share(cut.panels, cut.column_parts, column_part + 1),
        );

        let rows =
            share(plan.m.total, cut.tiles, tiles.1) - share(plan.m.total, cut.tiles, tiles.0);
        let width = cut.vectors * S::LANES;
        let longest = plan.run.div_ceil(plan.per_run);
        let pitch = (panels.1 - panels.0) * width;
        let a_words = if plan.left == Left::Packed {
            (rows * longest + LINE).next_multiple_of(LINE)
        } else {
            0
        };
        let b_words = longest * width + LINE;
        let c_words = if plan.blocks() > 1 {
            rows * pitch
        } else {
            S::ROWS * width
        };
        let (base, table) = scratch.provide(
            a_words + b_words + TRANSPOSE + c_words,
            2 * BLOCK,
            Place::NOWHERE,
        );
        let b = base.wrapping_add(a_words);
        let temp = b.wrapping_add(b_words.next_multiple_of(LINE));
        let memory = Memory {
            a: base,
            b,
            temp,
            c: temp.wrapping_add(TRANSPOSE),
            pitch,
        };

        let mut left = plan.lhs.origin();
        let mut right = plan.rhs.origin();
        if plan.batch.count > 0 {
            left = left.plus(&Walk::new(&plan.lhs, &plan.batch, batch).place);
            right = right.plus(&Walk::new(&plan.rhs, &plan.batch, batch).place);
        }
        let scope = Scope {
            plan,
            cut,
            tiles,
            panels,
            left,
            right,
            a_source: Source::new(&plan.lhs, &plan.m, &plan.k),
            b_source: Source::new(&plan.rhs, &plan.n, &plan.k),
            shared: task.shared,
            destination: Destination::new(plan, batch, task.isa, task.sink),
            memory,
        };
        for block in 0..plan.blocks() {
            // SAFETY: the scratch memory has the sizes that the job's shapes ask for.
            unsafe { block_of_k(s, &scope, block, table) }
        }
    }
}

/// Where the register tile finds the rows of a tile.
#[derive(Clone, Copy)]
struct Rows {
    base: *const f32,
    /// Words per row of a preceding tile.
    per_row: isize,
    row: Option<isize>,
    step: isize,
}

#[inline(always)]
unsafe fn block_of_k<S: Simd>(s: S, scope: &Scope<'_>, block: usize, table: &mut [Place]) {
    let plan = scope.plan;
    let (k0, count) = plan.block(block);
    let (a_table, b_table) = table.split_at_mut(BLOCK);
    let (a_table, b_table) = (&mut a_table[..count], &mut b_table[..count]);
    // SAFETY: the caller's.
    let rows = unsafe { left_rows(s, scope, k0, count, a_table) };
    let width = scope.cut.vectors * S::LANES;
    let mut listed = false;
    for panel in scope.panels.0..scope.panels.1 {
        let first = panel * width;
        let cols = width.min(plan.n.total - first);
        let vectors = match cols.div_ceil(S::LANES) {
            3 => 4,
            5.. => WIDE,
            few => few,
        };
        let (mut b, mut b_step) = (
            scope.memory.b.cast_const(),
            (vectors * S::LANES).cast_signed(),
        );
        if let Right::InPlace { step } = plan.right
            && cols == width
        {
            let place = scope.right.offset + Walk::new(&plan.rhs, &plan.k, k0).place.offset;
            b = plan
                .rhs
                .data
                .as_ptr()
                .wrapping_offset(place + first.cast_signed());
            b_step = step;
        } else {
            if !listed {
                scope.b_source.table(k0, b_table);
                listed = true;
            }
            let to = scope.memory.b;
            let panel = Panel {
                source: scope.b_source,
                base: scope.right,
                first,
                width: cols,
                pitch: vectors * S::LANES,
                k0,
                count,
                to,
            };
            // SAFETY: the region has a panel and a line more.
            unsafe { pack::pack(s, &panel, b_table, scope.memory.temp) }
        }
        let strip = Strip {
            rows,
            b,
            b_step,
            first,
            cols,
            vectors,
            count,
            block,
        };
        // SAFETY: the caller's.
        unsafe { strip_of_tiles(s, scope, &strip) }
    }
}

/// Finds or packs the rows of the job for a block of K.
#[inline(always)]
unsafe fn left_rows<S: Simd>(
    s: S,
    scope: &Scope<'_>,
    k0: usize,
    count: usize,
    table: &mut [Place],
) -> Rows {
    let plan = scope.plan;
    let m = plan.m.total;
    match plan.left {
        Left::InPlace { row, step } => {
            let offset = scope.left.offset + Walk::new(&plan.lhs, &plan.k, k0).place.offset;
            Rows {
                base: plan.lhs.data.as_ptr().wrapping_offset(offset),
                per_row: row,
                row: Some(row),
                step,
            }
        }
        Left::Shared => Rows {
            base: scope.shared.wrapping_add(m * k0),
            per_row: count.cast_signed(),
            row: None,
            step: 0,
        },
        Left::Packed => {
            scope.a_source.table(k0, table);
            let start = share(m, scope.cut.tiles, scope.tiles.0);
            for tile in scope.tiles.0..scope.tiles.1 {
                let (first, end) = (
                    share(m, scope.cut.tiles, tile),
                    share(m, scope.cut.tiles, tile + 1),
                );
                let (to, width) = (
                    scope.memory.a.wrapping_add((first - start) * count),
                    end - first,
                );
                let panel = Panel {
                    source: scope.a_source,
                    base: scope.left,
                    first,
                    width,
                    pitch: width,
                    k0,
                    count,
                    to,
                };
                // SAFETY: the region has the job's rows of a block and a line more.
                unsafe { pack::pack(s, &panel, table, scope.memory.temp) }
            }
            let base = scope.memory.a.cast_const().wrapping_sub(start * count);
            Rows {
                base,
                per_row: count.cast_signed(),
                row: None,
                step: 0,
            }
        }
    }
}

/// A panel and the rows that meet it.
struct Strip {
    rows: Rows,
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
    let plan = scope.plan;
    let blocks = plan.blocks();
    let start = share(plan.m.total, scope.cut.tiles, scope.tiles.0);
    let width = strip.vectors * S::LANES;
    let straight = if blocks == 1 && strip.cols == width {
        scope.destination.straight()
    } else {
        None
    };
    for tile in scope.tiles.0..scope.tiles.1 {
        let first = share(plan.m.total, scope.cut.tiles, tile);
        let rows = share(plan.m.total, scope.cut.tiles, tile + 1) - first;
        let (c, c_row) = if let Some(target) = straight {
            let offset = first.cast_signed() * target.row + strip.first.cast_signed();
            (target.origin.wrapping_offset(offset), target.row)
        } else if blocks == 1 {
            (scope.memory.c, width.cast_signed())
        } else {
            let column = strip.first - scope.panels.0 * scope.cut.vectors * S::LANES;
            (
                scope
                    .memory
                    .c
                    .wrapping_add((first - start) * scope.memory.pitch + column),
                scope.memory.pitch.cast_signed(),
            )
        };
        let block = kernel::Block {
            k: strip.count,
            a: strip
                .rows
                .base
                .wrapping_offset(first.cast_signed() * strip.rows.per_row),
            rows: match strip.rows.row {
                None => kernel::Rows::Near(rows.cast_signed()),
                Some(1) => kernel::Rows::Near(strip.rows.step),
                Some(_) if rows == 1 => kernel::Rows::Near(strip.rows.step),
                Some(row) => kernel::Rows::Even(row),
            },
            b: strip.b,
            steps: kernel::Steps::Even(strip.b_step),
            c,
            c_row,
            add: strip.block > 0,
        };
        // SAFETY: the plan has checked the operands, and the sums are within the job's scratch memory or the output.
        unsafe {
            kernel::tile(s, rows, strip.vectors, block);
            if straight.is_none() && strip.block + 1 == blocks {
                let sums = Sums {
                    data: c,
                    pitch: c_row.unsigned_abs(),
                    m: first,
                    n: strip.first,
                    rows,
                    cols: strip.cols,
                };
                scope.destination.finish(s, &sums);
            }
        }
    }
}
