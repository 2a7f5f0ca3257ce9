//! The loops around the register tile.
//!
//! In: a plan. Out: its outputs. Always: jobs (a batch index, some row tiles, some column panels) may run in any order; a job
//! packs its panels of a block of K once, and each group of its row tiles once.

use core::ops::Range;

use super::cut::{Cut, Part};
use super::tile::{self, Block};
use crate::contract::drive::{Call, JOB};
use crate::contract::finish::{Destination, Sums};
use crate::contract::layout::{Place, Walk};
use crate::contract::pack::{self, BLOCK, Panel, Panels, Source, TRANSPOSE};
use crate::contract::plan::{Left, Plan, Right, reads_right_in_place};
use crate::machine::machine;
use crate::scratch::{LINE, Scratch, lend};
use crate::{Kernel, Simd, queue, run};

/// Most elements of the rows that are packed at a time, in an eighth of a second-level cache: they stay there beside the panels
/// that stream through it.
fn group() -> usize {
    machine().l2 / 16
}
/// Most elements of a left operand that is read in place by any number of columns, in a quarter of a first-level cache.
fn near() -> usize {
    machine().l1 / 8
}
/// Panels that read a left operand in place, whatever its size.
const FEW: usize = 2;

/// Computes any contraction.
pub(super) fn blocks(call: &Call<'_, f64>, plan: &Plan<'_, f64>) {
    let plan = &plan.blocked(left(call, plan), right(call, plan));
    let waits = Destination::new(plan, 0, call.sink).straight().is_none();
    let cut = Cut::new(call, plan, waits);
    queue::balanced(call.threads, plan.batch.total * cut.parts(), &Task { call, plan, cut });
}

/// How the tile reads the left operand.
fn left(call: &Call<'_, f64>, plan: &Plan<'_, f64>) -> Left {
    let (m, k) = (&plan.m, plan.k.total);
    let (run, step) = plan.lhs.even_run(&plan.k);
    let even = plan.lhs.bounded().is_empty() && m.count <= 1 && run == k;
    if even && (plan.n.total <= FEW * call.lanes || m.total * k <= near()) {
        let row = if m.count == 0 { 1 } else { plan.lhs.strides[m.number(0)] };
        return Left::InPlace { row, step };
    }
    Left::Packed
}

/// How the tile reads the right operand.
fn right(call: &Call<'_, f64>, plan: &Plan<'_, f64>) -> Right {
    let (n, k) = (&plan.n, plan.k.total);
    let (run, step) = plan.rhs.even_run(&plan.k);
    let even = plan.rhs.bounded().is_empty() && n.count == 1 && plan.rhs.strides[n.number(0)] == 1 && run == k;
    if even && reads_right_in_place(plan.m.total, k.saturating_mul(2), step, call.rows) {
        return Right::InPlace { step };
    }
    Right::Packed
}

struct Task<'a> {
    call: &'a Call<'a, f64>,
    plan: &'a Plan<'a, f64>,
    cut: Cut,
}

impl queue::Work for Task<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&JOB, |scratch| {
            for job in jobs {
                let scratch = &mut *scratch;
                run(self.call.isa, Job { task: self, part: self.cut.part(job), scratch });
            }
        });
    }
}

/// One job.
struct Job<'a> {
    task: &'a Task<'a>,
    part: Part,
    scratch: &'a mut Scratch<Place>,
}

/// Regions of the scratch memory of a job.
#[derive(Clone, Copy)]
struct Memory {
    /// Row tiles of the left operand.
    a: *mut f64,
    /// Panels of the right operand.
    b: *mut f64,
    temp: *mut f64,
    /// Sums: one tile, or all of the job if they wait.
    c: *mut f64,
    /// Elements from row to row of sums.
    pitch: usize,
}

/// What a job does in all its blocks of K.
struct Scope<'a> {
    plan: &'a Plan<'a, f64>,
    part: Part,
    /// Row tiles of the whole product.
    tiles: usize,
    /// Row tiles that are packed at a time.
    group: usize,
    /// The place of the batch index in both operands.
    places: (Place, Place),
    sources: (Source<'a, f64>, Source<'a, f64>),
    destination: Destination<'a, f64>,
    memory: Memory,
}

impl Kernel for Job<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Job { task: Task { call, plan, cut }, part, scratch } = self;
        let depth = plan.longest_block();
        let group = (group() / (depth.max(1) * S::ROWS)).clamp(1, part.tiles.len().max(1));
        let destination = Destination::new(plan, part.batch, call.sink);
        let rows = plan.row(cut.tiles, part.tiles.end) - plan.row(cut.tiles, part.tiles.start);
        let packs = plan.left == Left::Packed;
        let a = if packs { (group * S::ROWS * depth + LINE).next_multiple_of(LINE) } else { 0 };
        let panels = if plan.right == Right::Packed { part.panels.len() } else { 1 };
        let b = (panels * S::LANES * depth + LINE).next_multiple_of(LINE);
        let (c, pitch) = match (destination.straight(), plan.blocks()) {
            (Some(_), _) => (0, 0),
            (None, 1) => (S::ROWS * S::LANES, S::LANES),
            (None, _) => (rows * part.panels.len() * S::LANES, part.panels.len() * S::LANES),
        };
        let (base, table) = scratch.provide(2 * (a + b + TRANSPOSE + c), 2 * BLOCK, Place::NOWHERE);
        let a_words: *mut f64 = base.cast();
        let temp = a_words.wrapping_add(a + b);
        let memory = Memory { a: a_words, b: a_words.wrapping_add(a), temp, c: temp.wrapping_add(TRANSPOSE), pitch };
        let scope = Scope {
            plan,
            places: (plan.at_batch(&plan.lhs, part.batch), plan.at_batch(&plan.rhs, part.batch)),
            part,
            tiles: cut.tiles,
            group,
            sources: (Source::new(&plan.lhs, &plan.m, &plan.k), Source::new(&plan.rhs, &plan.n, &plan.k)),
            destination,
            memory,
        };
        for block in 0..plan.blocks() {
            // SAFETY: the regions are those of the job, made above, and `block` is one of the plan's.
            unsafe { block_of_k(s, &scope, block, table) }
        }
    }
}

/// Does the work of a job in one block of K.
///
/// # Safety
/// `scope.memory` must have a group of row tiles and the panels of the job, or one where panels lie in place, of the longest
/// block with a line more, what transposition needs, and sums where they do not go straight to the output. `table` must have
/// twice [`BLOCK`] places.
#[inline(always)]
unsafe fn block_of_k<S: Simd>(s: S, scope: &Scope<'_>, block: usize, table: &mut [Place]) {
    let (k0, count) = scope.plan.block(block);
    let (a_table, b_table) = table.split_at_mut(BLOCK);
    let (a_table, b_table) = (&mut a_table[..count], &mut b_table[..count]);
    if scope.plan.left == Left::Packed {
        scope.sources.0.table(k0, a_table);
    }
    // SAFETY: `memory.b` has the panels that are packed, of the block and a line more, and `memory.temp` what transposition
    // needs, by this function's contract.
    unsafe { pack_panels(s, scope, k0, b_table) }
    let tiles = scope.part.tiles.clone();
    for start in tiles.clone().step_by(scope.group) {
        let group = start..tiles.end.min(start + scope.group);
        // SAFETY: `memory.a` has a group of row tiles of the block and a line more, by this function's contract.
        unsafe { pack_rows(s, scope, group.clone(), k0, a_table) }
        for panel in scope.part.panels.clone() {
            // SAFETY: the rows and the panel are packed, or lie in place, and there is memory for sums, by this function's
            // contract.
            unsafe { strip(s, scope, group.clone(), panel, (block, k0, count)) }
        }
    }
}

impl Scope<'_> {
    /// The first row of a tile of the product.
    #[inline(always)]
    fn row(&self, tile: usize) -> usize {
        self.plan.row(self.tiles, tile)
    }

    /// The first of the panels of the job that are packed: all, or only one that is not whole.
    fn first_packed(&self, lanes: usize) -> usize {
        match self.plan.right {
            Right::InPlace { .. } => self.part.panels.end.min(self.plan.n.total / lanes).max(self.part.panels.start),
            Right::Packed | Right::Gathered => self.part.panels.start,
        }
    }
}

/// Packs the panels of the job that do not lie in place.
///
/// # Safety
/// `scope.memory.b` must have these panels for each place of `table`, which must have the block's number of places, and a line
/// more, and `scope.memory.temp` [`TRANSPOSE`] elements.
#[inline(always)]
unsafe fn pack_panels<S: Simd>(s: S, scope: &Scope<'_>, k0: usize, table: &mut [Place]) {
    let first = scope.first_packed(S::LANES);
    if first >= scope.part.panels.end {
        return;
    }
    let source = scope.sources.1;
    source.table(k0, table);
    let columns = first * S::LANES..scope.plan.n.total.min(scope.part.panels.end * S::LANES);
    let panels = Panels { source, base: scope.places.1, columns, width: S::LANES, k0, to: scope.memory.b };
    // SAFETY: by this function's contract there are the panels, of a vector each, for each place of the block, and a line
    // more, and `temp` has `TRANSPOSE` elements.
    unsafe { pack::panels(s, &panels, table, scope.memory.temp) }
}

/// Packs some row tiles, unless they lie in place.
///
/// # Safety
/// `scope.memory.a` must have these tiles for each place of `table`, which must be the block's, and a line more, and
/// `scope.memory.temp` [`TRANSPOSE`] elements.
#[inline(always)]
unsafe fn pack_rows<S: Simd>(s: S, scope: &Scope<'_>, tiles: Range<usize>, k0: usize, table: &[Place]) {
    if scope.plan.left != Left::Packed {
        return;
    }
    let start = scope.row(tiles.start);
    for tile in tiles {
        let (first, count) = (scope.row(tile), table.len());
        let width = scope.row(tile + 1) - first;
        let to = scope.memory.a.wrapping_add((first - start) * count);
        let (source, base) = (scope.sources.0, scope.places.0);
        let panel = Panel { source, base, first, width, pitch: width, k0, count, to };
        // SAFETY: by this function's contract `memory.a` has the tiles of the block and a line more, into which, or into the
        // next tile, which is packed later, a vector goes beyond this one, and `temp` has `TRANSPOSE` elements.
        unsafe { pack::pack(s, &panel, table, scope.memory.temp) }
    }
}

/// Sums some row tiles with a panel in a block of K, and hands sums on after the last block.
///
/// # Safety
/// The tiles and the panel must be packed in `scope.memory`, the tiles from its start on, unless they lie in place, and
/// `scope.memory.c` must have the sums of the job, or of a tile if there is one block, unless they go straight to the output.
#[inline(always)]
unsafe fn strip<S: Simd>(
    s: S,
    scope: &Scope<'_>,
    tiles: Range<usize>,
    panel: usize,
    (block, k0, count): (usize, usize, usize),
) {
    let (plan, memory) = (scope.plan, &scope.memory);
    let n = panel * S::LANES;
    let cols = S::LANES.min(plan.n.total - n);
    let (b, b_step) = match (plan.right, panel.checked_sub(scope.first_packed(S::LANES))) {
        (Right::InPlace { step }, None) => {
            let offset = scope.places.1.offset + Walk::new(&plan.rhs, &plan.k, k0).place.offset;
            (plan.rhs.data.as_ptr().wrapping_offset(offset).wrapping_add(n), step)
        }
        (_, number) => {
            let at = number.unwrap_or(0) * S::LANES * count;
            (memory.b.wrapping_add(at).cast_const(), S::LANES.cast_signed())
        }
    };
    let (straight, blocks) = (scope.destination.straight(), plan.blocks());
    let (start, group) = (scope.row(scope.part.tiles.start), scope.row(tiles.start));
    for tile in tiles {
        let m = scope.row(tile);
        let rows = scope.row(tile + 1) - m;
        let (a, a_steps) = match plan.left {
            Left::InPlace { row, step } => {
                let offset = scope.places.0.offset + Walk::new(&plan.lhs, &plan.k, k0).place.offset;
                let offset = offset + m.cast_signed() * row;
                (plan.lhs.data.as_ptr().wrapping_offset(offset), (row, step))
            }
            Left::Packed => (memory.a.wrapping_add((m - group) * count).cast_const(), (1, rows.cast_signed())),
        };
        let (c, c_row) = match straight {
            Some(target) => {
                let offset = m.cast_signed() * target.row + n.cast_signed();
                (target.origin.wrapping_offset(offset), target.row)
            }
            None if blocks == 1 => (memory.c, memory.pitch.cast_signed()),
            None => {
                let column = n - scope.part.panels.start * S::LANES;
                (memory.c.wrapping_add((m - start) * memory.pitch + column), memory.pitch.cast_signed())
            }
        };
        let work = Block { k: count, a, a_steps, b, b_step, c, c_row, cols, adds: block > 0 };
        // SAFETY: by this function's contract the rows and the panel are readable. The sums are those of a tile in the job's
        // memory, or in the output, which the plan has checked.
        unsafe { tile::tile(s, rows, &work) }
        if straight.is_none() && block + 1 == blocks {
            let sums = Sums { data: c.cast_const(), pitch: memory.pitch, m, n, rows, cols };
            // SAFETY: the last block is summed, so these are the sums of the tile's rows and the panel's columns.
            unsafe { scope.destination.finish(s, &sums) }
        }
    }
}
