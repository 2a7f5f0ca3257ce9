//! Convolutions and their gradients by input: the image is read where it lies, or in a padded copy.
//!
//! In: a contraction whose columns are the rows of an image, one after the other. Out: its outputs. Always: columns between
//! the rows of the image are computed too, as if the image were one long row, and dropped; nothing is packed for each window,
//! and a left operand that is contiguous along K is read where it lies.

use core::ops::Range;

use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::image::Image;
use super::kernel::{self, Ahead, Block, PANEL, Rows, Steps};
use super::long_row::LongRow;
use super::pack::{self, BLOCK, Panel, Source, TRANSPOSE};
use super::place::{Group, Place};
use super::plan::{HELD, Left, Plan};
use super::{Axis, Role};
use crate::kept::{Form, Packing, kept};
use crate::machine::MACHINE;
use crate::scratch::{LINE, Scratch, lend};
use crate::{Kernel, Simd, pool, run};

/// Most indices of K, which are all listed: a list of two words for each in a sixteenth of a second-level cache.
const LONGEST: usize = MACHINE.l2 / 16 / 2;
/// Most words of a left operand that stays in a second-level cache beside an image.
const KEPT: usize = MACHINE.l2 / 2;
/// Most words of an image that every job copies for itself.
const OWN: usize = MACHINE.l3;
/// Most words of an image that is copied once.
const ONCE: usize = 4 * MACHINE.l3;
/// Words ahead at which a packed left operand is asked for, which may come from memory: hardware stops at the end of a page.
const AHEAD: usize = 1 << 10;

/// Does the work if it is of this kind.
pub(super) fn implicit(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    let staged = if setup.once { setup.image.copy_words(PANEL * call.lanes) } else { 0 };
    let list = (2 * plan.k.total).next_multiple_of(LINE);
    let kept = setup.kept();
    let left = if setup.in_place.is_some() { 0 } else { setup.left_words() };
    lend(&CALL, |scratch| {
        let (memory, _) = scratch.provide(left + list + staged, 0, Place::NOWHERE);
        let copy = memory.wrapping_add(left + list);
        let list = memory.wrapping_add(left).cast::<isize>();
        // SAFETY: the list has two words, an offset, for each index of K.
        unsafe { setup.image.list(axes, list) };
        let setup = &setup;
        if setup.in_place.is_none() {
            pool::parallel(call.threads, setup.tiles, &Lefts { setup, left: memory });
        }
        if setup.once {
            pool::parallel(call.threads, setup.image.channels(), &Copies { setup, copy });
        }
        let task = Task { setup, left: kept.unwrap_or(memory), packed: kept.is_some() || left > 0, list, copy };
        pool::parallel(call.threads, plan.batch.total * setup.parts, &task);
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    image: Image<'a>,
    /// The distance of the left operand's rows, if it is read where it lies.
    in_place: Option<isize>,
    row: LongRow,
    vectors: usize,
    panels: usize,
    tiles: usize,
    /// Whether a job is a row tile and not a panel.
    by_tiles: bool,
    /// Jobs per batch index.
    parts: usize,
    /// Whether one copy serves all batch indices.
    once: bool,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        let (image, row) = Image::find(&plan.rhs, axes)?;
        if let Image::InPlace(side) | Image::Spread(_, side) = &image {
            let n = Group::merged(axes, Role::N, &[side]);
            let k = Group::merged(axes, Role::K, &[&plan.lhs, side]);
            if n.count + k.count <= 2 {
                return None;
            }
        }
        let in_place = in_place(plan);
        let small = in_place.is_some() || plan.m.total * plan.k.total <= HELD;
        if plan.k.total > LONGEST || !small || !plan.shares_left() {
            return None;
        }
        let copied = image.is_copied();
        // Whole vectors are read, so what is not a copy must have one.
        let vectors = match row.length() / call.lanes {
            0 if !copied => return None,
            1 if !copied => 1,
            0..2 => row.length().div_ceil(call.lanes),
            2.. => PANEL,
        };
        let panels = row.length().div_ceil(vectors * call.lanes);
        let once = copied && plan.rhs.ignores(plan.moving());
        let tiles = plan.m.total.div_ceil(call.rows);
        let mut setup =
            Setup { call, plan, image, in_place, row, vectors, panels, tiles, by_tiles: false, parts: panels, once };
        if setup.image.copy_words(PANEL * call.lanes) > if once { ONCE } else { OWN } {
            return None;
        }
        // What is larger is read once; else the threads shall have equally much to do.
        let idle = |parts: usize| {
            let jobs = plan.batch.total * parts;
            (jobs.div_ceil(call.threads) * call.threads - jobs) * 1024 / jobs.max(1)
        };
        setup.by_tiles = plan.m.total * plan.k.total > KEPT || idle(tiles) + 32 < idle(panels);
        setup.parts = if setup.by_tiles { tiles } else { panels };
        Some(setup)
    }

    /// Words of the packed left operand, and of what packing needs.
    fn left_words(&self) -> usize {
        (self.plan.m.total * self.plan.k.total + LINE).next_multiple_of(LINE)
    }

    /// The packed left operand that the session keeps, if that would otherwise be read where it lies.
    fn kept(&self) -> Option<*const f32> {
        let (plan, rows) = (self.plan, self.call.rows.cast_signed());
        let numbers = &[plan.m.total.cast_signed(), plan.k.total.cast_signed(), self.in_place?, rows];
        let from = plan.lhs.data.as_ptr().wrapping_offset(plan.lhs.base);
        let pack = |left: *mut f32| pool::parallel(self.call.threads, self.tiles, &Lefts { setup: self, left });
        kept(from, Form { packing: Packing::FilterTiles, words: self.left_words(), numbers }, pack)
    }
}

/// The distance of the left operand's rows, if each is contiguous along all of K.
fn in_place(plan: &Plan<'_>) -> Option<isize> {
    match plan.left {
        Left::InPlace { row, step: 1 } if plan.lhs.even_run(&plan.k).0 == plan.k.total => Some(row),
        Left::InPlace { .. } | Left::Packed => None,
    }
}

/// Packs the left operand.
struct Lefts<'a> {
    setup: &'a Setup<'a>,
    left: *mut f32,
}

// SAFETY: each job writes the words of its row tiles only: what would go beyond a tile goes by way of scratch memory.
unsafe impl Sync for Lefts<'_> {}

impl pool::Task for Lefts<'_> {
    fn work(&self, tiles: Range<usize>) {
        lend(&JOB, |scratch| run(self.setup.call.isa, PackTiles { task: self, tiles, scratch }));
    }
}

struct PackTiles<'a> {
    task: &'a Lefts<'a>,
    tiles: Range<usize>,
    scratch: &'a mut Scratch<Place>,
}

impl Kernel for PackTiles<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let PackTiles { task, tiles, scratch } = self;
        let (setup, plan) = (task.setup, task.setup.plan);
        let source = Source::new(&plan.lhs, &plan.m, &plan.k);
        // What a block writes beyond its end, the next one overwrites; what would reach the next tile goes by way of `last`.
        let (temp, table) = scratch.provide(TRANSPOSE + (BLOCK + 1) * LINE, BLOCK, Place::NOWHERE);
        let last = temp.wrapping_add(TRANSPOSE);
        for tile in tiles {
            let (first, end) = (plan.row(setup.tiles, tile), plan.row(setup.tiles, tile + 1));
            let width = end - first;
            let mut k0 = 0;
            while k0 < plan.k.total {
                let count = BLOCK.min(plan.k.total - k0);
                let table = &mut table[..count];
                source.table(k0, table);
                let place = task.left.wrapping_add(first * plan.k.total + k0 * width);
                let ends = (plan.k.total - k0 - count) * width < LINE;
                let to = if ends { last } else { place };
                let base = plan.lhs.origin();
                let panel = Panel { source, base, first, width, pitch: width, k0, count, to };
                // SAFETY: `left` has the words of all tiles, and `last` those of a block and a line more; what is written
                // beyond a block is in `last`, or of a later block of this tile. `temp` has `TRANSPOSE` words.
                unsafe {
                    pack::pack(s, &panel, table, temp);
                    if ends {
                        pack::copy(s, last, 1, count * width, place);
                    }
                }
                k0 += count;
            }
        }
    }
}

/// Copies the one image of all batch indices.
struct Copies<'a> {
    setup: &'a Setup<'a>,
    copy: *mut f32,
}

// SAFETY: each channel has words of its own.
unsafe impl Sync for Copies<'_> {}

impl pool::Task for Copies<'_> {
    fn work(&self, channels: Range<usize>) {
        run(self.setup.call.isa, CopyChannels { task: self, channels });
    }
}

struct CopyChannels<'a> {
    task: &'a Copies<'a>,
    channels: Range<usize>,
}

impl Kernel for CopyChannels<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let setup = self.task.setup;
        // SAFETY: `implicit` has provided `copy_words` for the one copy, and counts the jobs by its channels.
        unsafe { setup.image.fill(s, &setup.plan.rhs, setup.plan.rhs.origin(), self.channels, self.task.copy) }
    }
}

struct Task<'a> {
    setup: &'a Setup<'a>,
    /// The packed left operand, if it is packed.
    left: *const f32,
    packed: bool,
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
        let sums = (S::ROWS * PANEL * S::LANES).next_multiple_of(LINE);
        let own = !setup.once && setup.image.is_copied();
        let copied = if own { setup.image.copy_words(PANEL * S::LANES) } else { 0 };
        let (memory, _) = scratch.provide(sums + copied, 0, Place::NOWHERE);
        let copy = memory.wrapping_add(sums);
        let mut copied_batch = usize::MAX;
        for job in jobs {
            let (batch, part) = (job / setup.parts, job % setup.parts);
            let base = plan.at_batch(&plan.rhs, batch);
            if own && copied_batch != batch {
                // SAFETY: the scratch memory has `copy_words` after the sums, and these are all channels of a batch index.
                unsafe { setup.image.fill(s, &plan.rhs, base, 0..setup.image.channels(), copy) };
                copied_batch = batch;
            }
            let image = setup.image.start(&plan.rhs, base, if own { copy } else { task.copy });
            let destination = Destination::new(plan, batch, setup.call.sink);
            let others = if setup.by_tiles { setup.panels } else { setup.tiles };
            for other in 0..others {
                let (tile, panel) = if setup.by_tiles { (part, other) } else { (other, part) };
                // SAFETY: `image` is in place, or in a copy that is filled, with what whole vectors read beyond its end;
                // the list and the packed left operand of `task` are those of this setup, and `memory` has the sums of a
                // tile.
                unsafe { one_tile(s, task, (tile, panel), image, memory, &destination) }
            }
        }
    }
}

/// Sums a row tile with a panel of the long row, and hands the sums on.
///
/// # Safety
/// `image` must be where the image of `task.setup` starts for the batch index of `destination`, and a copy must have two
/// vectors more than it needs; `task` must have the list of K and, if packed, the left operand. `sums` must have a tile.
#[inline(always)]
unsafe fn one_tile<S: Simd>(
    s: S,
    task: &Task<'_>,
    (tile, panel): (usize, usize),
    image: *const f32,
    sums: *mut f32,
    destination: &Destination<'_>,
) {
    let setup = task.setup;
    let plan = setup.plan;
    let width = setup.vectors * S::LANES;
    let from = panel * width;
    let to = (from + width).min(setup.row.length());
    let copied = setup.image.is_copied();
    // The last panel of an image in place overlaps the one before, so that it ends with the image.
    let start = if copied { from } else { to - width };
    let vectors = if copied { (to - from).div_ceil(S::LANES) } else { setup.vectors };
    let first = plan.row(setup.tiles, tile);
    let rows = plan.row(setup.tiles, tile + 1) - first;
    let (a, lie, ahead) = match setup.in_place {
        Some(distance) if !task.packed => {
            let offset = plan.lhs.base + first.cast_signed() * distance;
            (plan.lhs.data.as_ptr().wrapping_offset(offset), Rows::Even(distance), Ahead::nothing(image))
        }
        Some(_) | None => {
            let a = task.left.wrapping_add(first * plan.k.total);
            (a, Rows::Near(rows.cast_signed()), Ahead { from: a.wrapping_add(AHEAD), step: rows })
        }
    };
    let block = Block {
        k: plan.k.total,
        a,
        rows: lie,
        b: image.wrapping_add(start),
        steps: Steps::Listed(task.list),
        ahead,
        c: sums,
        c_row: width.cast_signed(),
        before: None,
    };
    // SAFETY: by this function's contract the list has an offset for each index of K, from where the image has the panel's
    // columns: in place the panel ends with the long row, and a copy has two vectors more. The rows are packed, or the plan
    // has checked them in place, and `sums` has a register tile.
    unsafe { kernel::tile(s, rows, vectors, block) }
    let tile = (first, rows, sums.cast_const(), width);
    // SAFETY: the tile's rows, `width` words apart, are written up to column `to`, which is within the long row.
    unsafe { pieces(s, setup, destination, tile, (start, from, to)) }
}

/// Hands on the columns `from..to` of a tile that starts at column `start` of the long row, one row of the image at a time.
///
/// # Safety
/// `data` must have the sums of `rows` rows of the contraction from `m` on, `pitch` words apart, up to column `to`, which
/// must be at most the length of the long row.
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
            // SAFETY: the sums are written by this function's contract, and these columns of the long row, which are of one
            // row of the image, lie within the contraction.
            unsafe { destination.finish(s, &sums) }
        }
        column += row.pitch - x;
        x = 0;
        y += 1;
    }
}
