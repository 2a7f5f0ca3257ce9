//! Convolutions and their gradients by input: the image is read where it lies.
//!
//! In: a contraction whose columns are the rows of an image, one after the other. Out: its outputs. Always: columns between
//! the rows of the image are computed too, as if the image were one long row, and dropped; nothing of the image is packed
//! but its padding.

use core::ops::Range;

use super::super::scratch::{LINE, Scratch, lend};
use super::super::{Kernel, Simd, pool, run};
use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::kernel::{self, Block, Rows, Steps};
use super::long_row::LongRow;
use super::pack::{self, BLOCK, Panel, Source, TRANSPOSE};
use super::place::{Group, Place, Side, Walk};
use super::plan::{Plan, SHARED, share};
use super::stage::{Stage, image};
use super::{Axis, Role};

/// Vectors of a panel.
const VECTORS: usize = 2;
/// Most indices of K, which are all listed.
const LONGEST: usize = 1 << 14;

/// Does the work if it is of this kind.
pub(super) fn spread(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    let staged = if setup.once { setup.copy_words(call.lanes) } else { 0 };
    let left = (plan.m.total * plan.k.total + LINE).next_multiple_of(LINE) + TRANSPOSE;
    let list = (2 * plan.k.total).next_multiple_of(LINE);
    lend(&CALL, |scratch| {
        let (memory, table) = scratch.provide(left + list + staged, BLOCK, Place::NOWHERE);
        let copy = memory.wrapping_add(left + list);
        let list = memory.wrapping_add(left).cast::<isize>();
        let setup = &setup;
        run(call.isa, Prepare { setup, left: memory, list, copy, table });
        let task = Task { setup, left: memory, list, copy };
        pool::parallel(call.threads, plan.batch.total * setup.parts, &task);
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    stage: Option<Stage>,
    /// The right operand, or its copy.
    image: Side<'a>,
    k: Group,
    row: LongRow,
    vectors: usize,
    panels: usize,
    /// Jobs per batch index.
    parts: usize,
    tiles: usize,
    /// Whether one copy serves all batch indices.
    once: bool,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        let (stage, image) = image(plan, axes)?;
        let n = Group::merged(axes, Role::N, &[&image]);
        let k = Group::merged(axes, Role::K, &[&plan.lhs, &image]);
        let row = LongRow::new(&image, &n)?;
        let small = plan.k.total <= LONGEST && plan.m.total * plan.k.total <= SHARED;
        let plain = n.count + k.count <= 2;
        if n.count > 2 || plain || !small || !plan.lhs.ignores(plan.moving()) {
            return None;
        }
        // Whole vectors are read, so what is not a copy must have one.
        let vectors = match row.length() / call.lanes {
            0 if stage.is_none() => return None,
            1 if stage.is_none() => 1,
            0..2 => row.length().div_ceil(call.lanes),
            2.. => VECTORS,
        };
        let panels = row.length().div_ceil(vectors * call.lanes);
        let mut parts = 1;
        while plan.batch.total * parts < 2 * call.threads && call.threads > 1 && parts < panels {
            parts = (parts * 2).min(panels);
        }
        let once = stage.is_some() && plan.rhs.ignores(plan.moving());
        let tiles = plan.m.total.div_ceil(call.rows);
        Some(Setup { call, plan, stage, image, k, row, vectors, panels, parts, tiles, once })
    }

    /// Words of a copy, with what whole vectors read beyond its end.
    fn copy_words(&self, lanes: usize) -> usize {
        let beyond = VECTORS * lanes;
        self.stage.as_ref().map_or(0, |stage| (stage.words + beyond).next_multiple_of(LINE))
    }
}

/// Packs the left operand, lists K, and copies the image if one copy serves all.
struct Prepare<'a> {
    setup: &'a Setup<'a>,
    left: *mut f32,
    list: *mut isize,
    copy: *mut f32,
    table: &'a mut [Place],
}

impl Kernel for Prepare<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Prepare { setup, left, list, copy, table } = self;
        let plan = setup.plan;
        let source = Source::new(&plan.lhs, &plan.m, &plan.k);
        let temp = left.wrapping_add((plan.m.total * plan.k.total + LINE).next_multiple_of(LINE));
        for tile in 0..setup.tiles {
            let (first, end) = (plan.row(setup.tiles, tile), plan.row(setup.tiles, tile + 1));
            let width = end - first;
            let mut k0 = 0;
            while k0 < plan.k.total {
                let count = BLOCK.min(plan.k.total - k0);
                let table = &mut table[..count];
                source.table(k0, table);
                let to = left.wrapping_add(first * plan.k.total + k0 * width);
                let base = plan.lhs.origin();
                let panel = Panel { source, base, first, width, pitch: width, k0, count, to };
                // SAFETY: the memory has a word for each element, a line and `TRANSPOSE` more; what a block writes beyond
                // its end, the next one overwrites.
                unsafe { pack::pack(s, &panel, table, temp) }
                k0 += count;
            }
        }
        let mut walk = Walk::new(&setup.image, &setup.k, 0);
        for at in 0..plan.k.total {
            // SAFETY: the list has an offset for each index of K.
            unsafe { list.add(at).write(walk.place.offset) };
            walk.advance(1);
        }
        if let (Some(stage), true) = (&setup.stage, setup.once) {
            // SAFETY: the copy has the words that the stage asks for, and more.
            unsafe {
                copy.write_bytes(0, setup.copy_words(S::LANES));
                stage.fill(s, &plan.rhs, plan.rhs.origin(), copy);
            }
        }
    }
}

struct Task<'a> {
    setup: &'a Setup<'a>,
    left: *const f32,
    list: *const isize,
    copy: *const f32,
}

// SAFETY: the pointers are only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, jobs: Range<usize>) {
        lend(&JOB, |scratch| run(self.setup.call.isa, Jobs { task: self, jobs, scratch }));
    }
}

struct Jobs<'a> {
    task: &'a Task<'a>,
    jobs: Range<usize>,
    scratch: &'a mut Scratch<Place>,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { task, jobs, scratch } = self;
        let setup = task.setup;
        let plan = setup.plan;
        let sums = (S::ROWS * VECTORS * S::LANES).next_multiple_of(LINE);
        let own = setup.stage.is_some() && !setup.once;
        let copied = if own { setup.copy_words(S::LANES) } else { 0 };
        let (sums, _) = scratch.provide(sums + copied, 0, Place::NOWHERE);
        let copy = sums.wrapping_add((S::ROWS * VECTORS * S::LANES).next_multiple_of(LINE));
        if own {
            // SAFETY: the scratch memory has these words after the sums.
            unsafe { copy.write_bytes(0, copied) };
        }
        let mut copied_batch = usize::MAX;
        for job in jobs {
            let (batch, part) = (job / setup.parts, job % setup.parts);
            let base = plan.at_batch(&plan.rhs, batch);
            let image = match &setup.stage {
                Some(stage) if own => {
                    if copied_batch != batch {
                        // SAFETY: as above; what is not written was zeroed at the beginning.
                        unsafe { stage.fill(s, &plan.rhs, base, copy) };
                        copied_batch = batch;
                    }
                    copy.cast_const().wrapping_offset(setup.image.base)
                }
                Some(_) => task.copy.wrapping_offset(setup.image.base),
                None => plan.rhs.data.as_ptr().wrapping_offset(base.offset),
            };
            let destination = Destination::new(plan, batch, setup.call.isa, setup.call.sink);
            let panels = share(setup.panels, setup.parts, part)..share(setup.panels, setup.parts, part + 1);
            for panel in panels {
                // SAFETY: the image, its list and the packed operand have the sizes that the plan says.
                unsafe { one_panel(s, task, panel, image, sums, &destination) }
            }
        }
    }
}

#[inline(always)]
unsafe fn one_panel<S: Simd>(
    s: S,
    task: &Task<'_>,
    panel: usize,
    image: *const f32,
    sums: *mut f32,
    destination: &Destination<'_>,
) {
    let setup = task.setup;
    let plan = setup.plan;
    let width = setup.vectors * S::LANES;
    let from = panel * width;
    let to = (from + width).min(setup.row.length());
    // The last panel of an image in place overlaps the one before, so that it ends with the image.
    let start = if setup.stage.is_some() { from } else { to - width };
    for tile in 0..setup.tiles {
        let first = plan.row(setup.tiles, tile);
        let rows = plan.row(setup.tiles, tile + 1) - first;
        let block = Block {
            k: plan.k.total,
            a: task.left.wrapping_add(first * plan.k.total),
            rows: Rows::Near(rows.cast_signed()),
            b: image.wrapping_add(start),
            steps: Steps::Listed(task.list),
            c: sums,
            c_row: width.cast_signed(),
            add: false,
        };
        // SAFETY: the packed rows, the list and the image are as long as the plan says; the sums have a register tile.
        unsafe { kernel::tile(s, rows, setup.vectors, block) }
        let tile = (first, rows, sums.cast_const(), width);
        // SAFETY: the sums are written.
        unsafe { pieces(s, setup, destination, tile, (start, from, to)) }
    }
}

/// Hands on the columns `from..to` of a tile that starts at column `start` of the long row, one row of the image at a time.
#[inline(always)]
unsafe fn pieces<S: Simd>(
    s: S,
    setup: &Setup<'_>,
    destination: &Destination<'_>,
    (m, rows, data, pitch): (usize, usize, *const f32, usize),
    (start, from, to): (usize, usize, usize),
) {
    let row = setup.row;
    let (mut y, mut x) = (from / row.pitch, from % row.pitch);
    let mut column = from;
    while column < to {
        let cols = row.inner.saturating_sub(x).min(to - column);
        if cols > 0 {
            let data = data.wrapping_add(column - start);
            let sums = Sums { data, pitch, m, n: y * row.inner + x, rows, cols };
            // SAFETY: the caller's; the columns lie within the contraction.
            unsafe { destination.finish(s, &sums) }
        }
        column += row.pitch - x;
        x = 0;
        y += 1;
    }
}
