//! Gradients of convolutions by weight: sums over whole images.
//!
//! In: a contraction whose innermost K axes are the rows of an image in the right operand, and contiguous in the left one.
//! Out: its outputs. Always: the operands change places. The image is read where it lies, as the left one of a register tile,
//! down one long row; the other operand is packed, with zeros where the long row is between two rows of the image. The sums
//! wait until all of K is done and are then transposed. What lies between the rows is multiplied by zero, so an infinite
//! element there gives NaN.

use core::ops::Range;

use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::kernel::{self, Ahead, Block, PANEL, Rows, Steps};
use super::layout::{Group, Place, Side, Walk};
use super::long_row::LongRow;
use super::pack::{BLOCK, PITCH, TRANSPOSE, copy, zero};
use super::padded::{Padded, image};
use super::plan::{CHAIN, Plan, share};
use super::{Axis, Role};
use crate::machine::machine;
use crate::scratch::{LINE, Scratch, lend};
use crate::sums::LongSums;
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, pool, run};

/// Most words of waiting sums.
fn waiting_words() -> usize {
    machine().l2 / 2
}

/// Does the work if it is of this kind.
pub(super) fn implicit_by_filters(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    let words = (2 * plan.n.total).next_multiple_of(LINE);
    let copied = if setup.once { setup.copy_words() } else { 0 };
    lend(&CALL, |scratch| {
        let (memory, _) = scratch.provide(words + copied, 0, Place::NOWHERE);
        let (list, copy) = (memory.cast::<isize>(), memory.wrapping_add(words));
        let mut walk = Walk::new(&setup.image, &setup.n, 0);
        for at in 0..plan.n.total {
            // SAFETY: the list has two words, an offset, for each of `plan.n.total` columns.
            unsafe { list.add(at).write(walk.place.offset) };
            walk.advance(1);
        }
        let setup = &setup;
        if setup.once {
            run(call.isa, Copy { setup, base: plan.rhs.base, to: copy });
        }
        let count = plan.batch.total * setup.panels * setup.parts;
        pool::parallel(call.threads, count, &Task { setup, list, copy });
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    padded: Option<Padded>,
    /// The right operand, or its copy.
    image: Side<'a>,
    n: Group,
    /// The K axes outside of the long row.
    outer: Group,
    k: Group,
    row: LongRow,
    /// Row tiles of the transposed product, over N.
    tiles: usize,
    /// Panels of the transposed product, over M.
    panels: usize,
    /// Jobs per panel.
    parts: usize,
    /// Whether one copy serves all batch indices.
    once: bool,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        if !plan.lhs.bounded().is_empty() || plan.n.total * plan.m.total > waiting_words() {
            return None;
        }
        let (padded, image) = image(&plan.rhs, axes)?;
        let n = Group::merged(axes, Role::N, &[&image]);
        let k = Group::merged(axes, Role::K, &[&plan.lhs, &image]);
        let row = LongRow::new(&image, &k)?;
        let (count, inner) = (k.count.checked_sub(2)?, k.number(k.count - 1));
        // Columns that are contiguous themselves are better packed along.
        let last = n.count.saturating_sub(1);
        let along = image.strides[n.number(last)] == 1 && n.extent[last] >= call.lanes;
        if plan.lhs.strides[inner] != 1 || along || row.pitch > BLOCK / 2 {
            return None;
        }
        let once = padded.is_some() && plan.rhs.ignores(plan.moving());
        let tiles = plan.n.total.div_ceil(call.rows);
        let panels = plan.m.total.div_ceil(PANEL * call.lanes);
        let mut parts = 1;
        while plan.batch.total * panels * parts < call.threads && parts < tiles {
            parts = (parts * 2).min(tiles);
        }
        let outer = Group { count, total: k.total / (row.rows * row.inner), ..k };
        Some(Setup { call, plan, padded, image, n, outer, k, row, tiles, panels, parts, once })
    }

    fn copy_words(&self) -> usize {
        self.padded.as_ref().map_or(0, |padded| padded.words.next_multiple_of(LINE))
    }

    /// Blocks of the long row.
    fn blocks(&self) -> usize {
        let LongRow { rows, inner, pitch } = self.row;
        rows.div_ceil(((BLOCK - inner) / pitch + 1).min(rows))
    }

    fn tile(&self, number: usize) -> usize {
        share(self.plan.n.total, self.tiles, number)
    }
}

/// Copies the right operand of a batch index.
struct Copy<'a> {
    setup: &'a Setup<'a>,
    base: isize,
    to: *mut f32,
}

impl Kernel for Copy<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        if let Some(padded) = &self.setup.padded {
            // SAFETY: `implicit_by_filters` and every job that copies for itself provide `copy_words`, at least those of
            // the padded copy, which are zeros before it is filled; `base` is the place of a batch index.
            unsafe {
                self.to.write_bytes(0, padded.words);
                padded.fill(s, &self.setup.plan.rhs, self.base, self.to);
            }
        }
    }
}

struct Task<'a> {
    setup: &'a Setup<'a>,
    list: *const isize,
    copy: *const f32,
}

// SAFETY: the pointers are only read while jobs run.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, jobs: Range<usize>) {
        lend(&JOB, |scratch| {
            for job in jobs {
                run(self.setup.call.isa, Job { task: self, job, scratch });
            }
        });
    }
}

struct Job<'a> {
    task: &'a Task<'a>,
    job: usize,
    scratch: &'a mut Scratch<Place>,
}

/// Regions of scratch memory.
#[derive(Clone, Copy)]
struct Memory {
    /// A block of the packed operand.
    b: *mut f32,
    temp: *mut f32,
    /// Waiting sums, a row for each row of the image operand.
    c: *mut f32,
    /// Where K is long, the sums of a tile in one block, and the words from waiting sums to what they lost.
    long: Option<(*mut f32, usize)>,
}

/// What a job works on.
struct Scope<'a> {
    task: &'a Task<'a>,
    /// Row tiles.
    tiles: Range<usize>,
    /// The first column, and how many.
    first: usize,
    cols: usize,
    vectors: usize,
    memory: Memory,
}

impl Kernel for Job<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Job { task, job, scratch } = self;
        let setup = task.setup;
        let plan = setup.plan;
        let (rest, part) = (job / setup.parts, job % setup.parts);
        let (batch, panel) = (rest / setup.panels, rest % setup.panels);
        let tiles = share(setup.tiles, setup.parts, part)..share(setup.tiles, setup.parts, part + 1);
        let width = PANEL * S::LANES;
        let first = panel * width;
        let cols = width.min(plan.m.total - first);
        let rows = (setup.tile(tiles.end) - setup.tile(tiles.start)).next_multiple_of(S::LANES);
        let own = setup.padded.is_some() && !setup.once;
        let copied = if own { setup.copy_words() } else { 0 };
        let b_words = (BLOCK + 1) * width;
        let (sums, is_long) = (rows * width, setup.outer.total * setup.blocks() > CHAIN);
        // The sums, the sums transposed and, where K is long, what the sums lost and those of a tile.
        let waiting = if is_long { 3 * sums + S::ROWS * width } else { 2 * sums };
        let (b, _) = scratch.provide(b_words + TRANSPOSE + waiting + copied, 0, Place::NOWHERE);
        let temp = b.wrapping_add(b_words);
        let c = temp.wrapping_add(TRANSPOSE);
        let copy = c.wrapping_add(waiting);
        let long = is_long.then_some((c.wrapping_add(3 * sums), 2 * sums));

        let left = plan.at_batch(&plan.lhs, batch);
        let right = plan.at_batch(&plan.rhs, batch);
        if own {
            Copy { setup, base: right.offset, to: copy }.run(s);
        }
        let image = match &setup.padded {
            Some(_) if own => copy.cast_const().wrapping_offset(setup.image.base),
            Some(_) => task.copy.wrapping_offset(setup.image.base),
            None => plan.rhs.data.as_ptr().wrapping_offset(right.offset),
        };
        let vectors = cols.div_ceil(S::LANES);
        let scope = Scope { task, tiles, first, cols, vectors, memory: Memory { b, temp, c, long } };
        // SAFETY: the scratch memory has a block of the panel, the words of transposition, the sums of the job, up to whole
        // vectors of rows, as many transposed, and where they are long what they lose and a tile. `image` is in place, or
        // in a copy that is filled, and `task.list` has its columns.
        unsafe {
            if let Some((_, lost)) = long {
                zero(s, c, sums);
                zero(s, c.wrapping_add(lost), sums);
            }
            sum(s, &scope, left.offset, image);
            let destination = Destination::new(plan, batch, setup.call.sink);
            hand_on(s, &scope, c.wrapping_add(rows * width), &destination);
        }
    }
}

/// Runs down all of K.
///
/// # Safety
/// `scope.memory` must have a block of the panel, the words of transposition, and the sums of the job's tiles, with what
/// they lose and a tile more if they are long; `image` and `left` must be where both operands start for a batch index.
#[inline(always)]
unsafe fn sum<S: Simd>(s: S, scope: &Scope<'_>, left: isize, image: *const f32) {
    let setup = scope.task.setup;
    let (plan, row) = (setup.plan, setup.row);
    let outer_axis = setup.k.number(setup.k.count - 2);
    let step = plan.lhs.strides[outer_axis];
    let blocks = setup.blocks();
    let mut lefts = Walk::new(&plan.lhs, &setup.outer, 0);
    let mut rights = Walk::new(&setup.image, &setup.outer, 0);
    let start = setup.tile(scope.tiles.start);
    let width = scope.vectors * S::LANES;
    for outer in 0..setup.outer.total {
        for block in 0..blocks {
            let (from, to) = (share(row.rows, blocks, block), share(row.rows, blocks, block + 1));
            let piece = LongRow { rows: to - from, ..row };
            let left = left + lefts.place.offset + from.cast_signed() * step;
            // SAFETY: by this function's contract `memory.b` has the rows of a block and `memory.temp` `TRANSPOSE` words,
            // and `left` is where the piece starts, which is at most a block long.
            unsafe { pack(s, scope, left, step, &piece) };
            let a = image.wrapping_offset(rights.place.offset).wrapping_add(from * row.pitch);
            for tile in scope.tiles.clone() {
                let first = setup.tile(tile);
                let waiting = scope.memory.c.wrapping_add((first - start) * width);
                let c = scope.memory.long.map_or(waiting, |(block, _)| block);
                let adds = outer + block > 0 && scope.memory.long.is_none();
                let block = Block {
                    k: piece.length(),
                    a,
                    rows: Rows::Listed(scope.task.list.wrapping_add(first)),
                    b: scope.memory.b,
                    steps: Steps::Even(width.cast_signed()),
                    ahead: Ahead::nothing(scope.memory.b),
                    c,
                    c_row: width.cast_signed(),
                    before: adds.then_some((waiting.cast_const(), width.cast_signed())),
                };
                let rows = setup.tile(tile + 1) - first;
                // SAFETY: the list has an offset for each row of the tile, from where the piece of the long row lies within
                // the image; `memory.b` has been packed with a row for each k of it, and `c` has the sums of the tile, or
                // of one block of it, by this function's contract.
                unsafe { kernel::tile(s, rows, scope.vectors, block) }
                if let Some((block, lost)) = scope.memory.long {
                    let sums = LongSums { total: waiting, lost: waiting.wrapping_add(lost) };
                    // SAFETY: `block` has the sums of the tile, `waiting` and what it loses as many by this function's
                    // contract, and a row is whole vectors.
                    unsafe { sums.add(s, block, rows * width) }
                }
            }
        }
        lefts.advance(1);
        rights.advance(1);
    }
}

/// Packs some rows of the image for the columns of the job, with zeros between them.
///
/// # Safety
/// `left` must be where the left operand has the first element of `piece`, whose rows must be `step` words apart there and
/// at most [`BLOCK`] long in all; `scope.memory` must have a row of the panel for each k of it, and the words of
/// transposition.
#[inline(always)]
unsafe fn pack<S: Simd>(s: S, scope: &Scope<'_>, left: isize, step: isize, piece: &LongRow) {
    let plan = scope.task.setup.plan;
    let temp = scope.memory.temp;
    let width = scope.vectors * S::LANES;
    let length = piece.length();
    let mut columns = Walk::new(&plan.lhs, &plan.m, scope.first);
    for group in 0..scope.vectors {
        let mut rows = [temp.cast_const(); MAX_LANES];
        for (lane, row) in rows.iter_mut().enumerate().take(S::LANES) {
            let to = temp.wrapping_add(lane * PITCH);
            *row = to;
            // SAFETY: the left operand has the elements of each row of the piece, by this function's contract and the
            // plan's check, and a row of the buffer is longer than a block, by a vector at least.
            unsafe {
                if group * S::LANES + lane >= scope.cols {
                    zero(s, to, length);
                    continue;
                }
                let from = plan.lhs.data.as_ptr().wrapping_offset(left + columns.place.offset);
                for y in 0..piece.rows {
                    let to = to.wrapping_add(y * piece.pitch);
                    copy(s, from.wrapping_offset(y.cast_signed() * step), 1, piece.inner, to);
                    // What follows the last row is not read.
                    if y + 1 < piece.rows {
                        zero(s, to.wrapping_add(piece.inner), piece.pitch - piece.inner);
                    }
                }
            }
            columns.advance(1);
        }
        let mut k = 0;
        while k < length {
            let count = S::LANES.min(length - k);
            let to = scope.memory.b.wrapping_add(k * width + group * S::LANES);
            // SAFETY: the buffer has whole vectors of a row for each lane, and the panel a row of all groups for each k, by
            // this function's contract.
            unsafe { s.transpose_raw_f(rows.as_ptr(), k, to, width, count) }
            k += count;
        }
    }
}

/// Transposes the waiting sums and hands them on.
///
/// # Safety
/// `scope.memory.c` must have the written sums of the job and room up to whole vectors of rows, and `to` as much room.
#[inline(always)]
unsafe fn hand_on<S: Simd>(s: S, scope: &Scope<'_>, to: *mut f32, destination: &Destination<'_>) {
    let setup = scope.task.setup;
    let (start, end) = (setup.tile(scope.tiles.start), setup.tile(scope.tiles.end));
    let width = scope.vectors * S::LANES;
    let pitch = (end - start).next_multiple_of(S::LANES);
    let mut row = 0;
    while row < end - start {
        let mut rows = [scope.memory.c.cast_const(); MAX_LANES];
        for (lane, at) in rows.iter_mut().enumerate() {
            *at = scope.memory.c.wrapping_add((row + lane.min(S::LANES - 1)) * width);
        }
        for group in 0..scope.vectors {
            let to = to.wrapping_add(group * S::LANES * pitch + row);
            // SAFETY: by this function's contract the sums and, transposed, `to` have rows and columns up to whole vectors.
            unsafe { s.transpose_raw_f(rows.as_ptr(), group * S::LANES, to, pitch, S::LANES) }
        }
        row += S::LANES;
    }
    let sums = Sums { data: to, pitch, m: scope.first, n: start, rows: scope.cols, cols: end - start };
    // SAFETY: all sums of the job are transposed to `to`; its tiles are columns of the contraction, its columns rows of it.
    unsafe { destination.finish(s, &sums) }
}
