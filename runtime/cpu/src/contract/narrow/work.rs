//! The loops around the units.
//!
//! In: rows, panels, and where results go. Out: the outputs. Always: jobs (a batch index, some rows, some panels) are
//! independent, and how many there are changes nothing in any sum.

use core::ops::Range;

use super::rows::{Room, Rows};
use super::unit::{Block, Unit};
use super::{Depth, MAX_AXES, Precision, WIDTH, panels, widened};
use crate::contract::drive::{Call, JOB};
use crate::contract::epilogue::Target;
use crate::contract::finish::{Destination, Goal, Sums};
use crate::contract::layout::Place;
use crate::contract::plan::{Plan, share};
use crate::machine::machine;
use crate::scratch::{LINE, lend};
use crate::{Kernel, Simd, queue, run};

/// Words of the parameter, as often as they are read, below which a second thread costs more than it saves: 8 in a cycle.
fn worth() -> usize {
    8 * machine().thread
}
/// Rows that threads do not share.
const TILE: usize = 16;
/// Most words of rows at a time: half of a second-level cache.
fn held_words() -> usize {
    machine().l2 / 2
}
/// Most sums at a time.
fn sum_words() -> usize {
    machine().l2 / 16
}

/// Where results go.
pub(super) enum Goals<'a> {
    /// Without a batch, but for so many axes of one index.
    Plain { targets: &'a [Target], axes: usize },
    /// As planned.
    Planned(&'a Plan<'a>),
}

/// A product, but for the panels.
pub(super) struct Work<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) unit: Unit,
    pub(super) precision: Precision,
    pub(super) data: Rows<'a>,
    pub(super) batches: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: Depth,
    /// Whether rows here are columns of the result.
    pub(super) is_transposed: bool,
    pub(super) goals: Goals<'a>,
    /// Whether no two indices meet in one word of an output.
    pub(super) apart: bool,
}

// SAFETY: the operands are only read, and jobs write the outputs at disjoint indices, in parallel only if they are apart.
unsafe impl Sync for Work<'_> {}

impl Work<'_> {
    /// Multiplies with `panels`.
    pub(super) fn run(&self, panels: *const u32) {
        let passes = self.batches * self.unit.passes(self.rows);
        let large = passes * self.columns * self.depth.words >= worth();
        let threads = if self.apart && large { self.call.threads } else { 1 };
        let all = self.columns.div_ceil(WIDTH);
        let tiles = self.rows.div_ceil(TILE);
        // Threads that share the rows round each of them once.
        let cut = match threads {
            ..=1 => (1, 1),
            _ if self.batches >= threads => (1, 1),
            _ if tiles / 2 >= threads => (threads, 1),
            _ => (1, threads.min(all)),
        };
        let task = Task { work: self, panels, all, tiles, cut };
        queue::balanced(threads, self.batches * cut.0 * cut.1, &task);
    }
}

struct Task<'a> {
    work: &'a Work<'a>,
    panels: *const u32,
    /// Panels.
    all: usize,
    /// Row tiles.
    tiles: usize,
    /// Parts of the rows, and of the panels.
    cut: (usize, usize),
}

// SAFETY: the work is `Sync`, and the panels are only read for as long as the task runs.
unsafe impl Sync for Task<'_> {}

impl queue::Work for Task<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        for job in jobs {
            let (batch, part) = (job / (self.cut.0 * self.cut.1), job % (self.cut.0 * self.cut.1));
            let (row, column) = (part / self.cut.1, part % self.cut.1);
            let rows = |part| (share(self.tiles, self.cut.0, part) * TILE).min(self.work.rows);
            let panels = |part| share(self.all, self.cut.1, part);
            let part = Part {
                work: self.work,
                panels: self.panels,
                batch,
                rows: rows(row)..rows(row + 1),
                some: panels(column)..panels(column + 1),
            };
            part.run();
        }
    }
}

/// Some rows of a batch index, and some panels.
struct Part<'a> {
    work: &'a Work<'a>,
    panels: *const u32,
    batch: usize,
    rows: Range<usize>,
    some: Range<usize>,
}

impl Part<'_> {
    fn run(&self) {
        let Work { call, unit, precision, depth, ref goals, is_transposed, .. } = *self.work;
        let row = unit.row(precision, depth);
        // A line more, so that rows do not share cache sets.
        let pitch = row.next_multiple_of(LINE) + LINE;
        let blocks = self.rows.len().div_ceil((held_words() / pitch).max(TILE));
        let rows = self.rows.len().div_ceil(blocks.max(1)).next_multiple_of(TILE).min(self.rows.len());
        let panels = (sum_words() / WIDTH / rows.max(1)).clamp(1, self.some.len().max(1));
        let sums = rows * panels * WIDTH;
        let wide = if matches!(unit, Unit::Widened) { widened::ROOM } else { 0 };
        let transposed = if is_transposed { sums } else { 0 };
        let sizes = [rows * pitch, sums, transposed, rows.next_multiple_of(LINE), wide, depth.k];
        lend(&JOB, |scratch| {
            let (memory, _) = scratch.provide(sizes.iter().sum(), 0, Place::NOWHERE);
            let start = |number: usize| memory.wrapping_add(sizes[..number].iter().sum());
            let is_wide = matches!(unit, Unit::Vectors | Unit::Widened);
            let room = Room { words: memory.cast(), row, pitch, is_wide, scales: start(3), buffer: start(5) };
            let memory = Memory { room, sums: start(1), transposed: start(2), wide: start(4) };
            let size = (rows, panels);
            match *goals {
                Goals::Plain { targets, axes } => {
                    let goal = Goal { batch: &[0; MAX_AXES][..axes], targets, sink: call.sink };
                    run(call.isa, Blocks { part: self, goal, memory, size });
                }
                Goals::Planned(plan) => {
                    let destination = Destination::new(plan, self.batch, call.sink);
                    run(call.isa, Blocks { part: self, goal: destination.goal(), memory, size });
                }
            }
        });
    }
}

/// Regions of the scratch memory.
struct Memory {
    room: Room,
    /// Sums of a block, and if needed the same with rows and columns exchanged.
    sums: *mut f32,
    transposed: *mut f32,
    /// Room for what is widened, if the unit does so.
    wide: *mut f32,
}

/// A part, block by block.
struct Blocks<'a> {
    part: &'a Part<'a>,
    goal: Goal<'a>,
    memory: Memory,
    /// Most rows and panels of a block.
    size: (usize, usize),
}

impl Kernel for Blocks<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Blocks { part, ref memory, size, .. } = self;
        let Work { unit, precision, ref data, depth, .. } = *part.work;
        for row in part.rows.clone().step_by(size.0.max(1)) {
            let rows = size.0.min(part.rows.end - row);
            // SAFETY: these rows are some of the operand's, which was checked when `data` was made, and `Part::run` has
            // provided the room for `size.0` rows.
            unsafe { data.round(s, precision, depth.k, (part.batch, row, rows), &memory.room) }
            for panel in part.some.clone().step_by(size.1) {
                let panels = size.1.min(part.some.end - panel);
                let b = part.panels.wrapping_add(panel * WIDTH * depth.padded);
                let (a, pitch) = (memory.room.words.cast_const(), memory.room.pitch);
                let straight = self.straight(row, panel, panels);
                let (c, c_pitch) = straight.unwrap_or((memory.sums, panels * WIDTH));
                let wide = memory.wide;
                let block = Block { a, pitch, rows, b, panels, depth, c, c_pitch, wide };
                // SAFETY: the rows are rounded for this unit, the panels are some of the parameter's, and the sums lie
                // within the output or have room, which `Part::run` has provided for `size` rows and panels, as it has for
                // what is widened.
                unsafe {
                    unit.multiply(s, precision, &block);
                    if precision == Precision::Int8 {
                        self.scale(s, &block, panel * WIDTH);
                    }
                    if straight.is_none() {
                        self.finish(s, (row, rows), (panel * WIDTH, panels * WIDTH));
                    }
                }
            }
        }
    }
}

impl Blocks<'_> {
    /// Where the sums of whole panels go without a copy: to the only output, if nothing is done with them before.
    #[inline(always)]
    fn straight(&self, row: usize, panel: usize, panels: usize) -> Option<(*mut f32, usize)> {
        let [target] = self.goal.targets else { return None };
        let pitch = usize::try_from(target.row).ok()?;
        let whole = (panel + panels) * WIDTH <= self.part.work.columns && pitch >= panels * WIDTH;
        // What is scaled afterwards is read again.
        let once = self.part.work.precision == Precision::Bf16;
        let plain = once && self.goal.sink.is_none() && !self.part.work.is_transposed && target.column == 1;
        (whole && plain).then(|| (target.origin.wrapping_add(row * pitch + panel * WIDTH), pitch))
    }

    /// Makes numbers of sums of bytes, of the columns from `first` on.
    ///
    /// # Safety
    /// `block` must have the sums of rows whose scales are in the room, with panels of the parameter from column `first`
    /// on, behind which there are scales and sums of columns.
    #[inline(always)]
    unsafe fn scale<S: Simd>(&self, s: S, block: &Block, first: usize) {
        let Work { columns, depth, .. } = *self.part.work;
        let (scales, offsets) = panels::behind(self.part.panels, columns, depth);
        let width = block.panels * WIDTH;
        for row in 0..block.rows {
            // SAFETY: the block has sums of `width` columns in each row, the room has a scale for each row, and behind the
            // panels there are a scale and a sum for every column of a panel, by this function's contract.
            unsafe {
                let own = s.splat_f(self.memory.room.scales.wrapping_add(row).read());
                for column in (0..width).step_by(S::LANES) {
                    let at = block.c.wrapping_add(row * block.c_pitch + column);
                    let sum = s.load_raw_i(at.cast_const().cast());
                    let sum = s.sub_i(sum, s.load_raw_i(offsets.wrapping_add(first + column)));
                    let scale = s.mul_f(own, s.load_raw_f(scales.wrapping_add(first + column)));
                    s.store_raw_f(at, s.mul_f(s.f_from_i(sum), scale));
                }
            }
        }
    }

    /// Hands the sums of a block on.
    ///
    /// # Safety
    /// The sums must be `rows` written rows of `width` words, their rows and columns must begin within the product, whose
    /// outputs were checked, and if it is transposed the other region must have as many words.
    #[inline(always)]
    unsafe fn finish<S: Simd>(&self, s: S, (row, rows): (usize, usize), (column, width): (usize, usize)) {
        let cols = width.min(self.part.work.columns - column);
        if !self.part.work.is_transposed {
            let sums = Sums { data: self.memory.sums, pitch: width, m: row, n: column, rows, cols };
            // SAFETY: `rows` rows of `width` sums are written, by this function's contract; `cols` of their columns lie
            // within the contraction, which lies within its outputs, as `product` has checked.
            unsafe { self.goal.finish(s, &sums) }
            return;
        }
        for r in 0..rows {
            for c in 0..cols {
                // SAFETY: both regions have `rows` · `width` words, by this function's contract, and `cols` is at most
                // `width`.
                unsafe {
                    let sum = self.memory.sums.wrapping_add(r * width + c).read();
                    self.memory.transposed.wrapping_add(c * rows + r).write(sum);
                }
            }
        }
        let sums = Sums { data: self.memory.transposed, pitch: rows, m: column, n: row, rows: cols, cols: rows };
        // SAFETY: `cols` rows of `rows` sums were just written, which lie within the contraction, whose rows are columns
        // here; it lies within its outputs, as `product` has checked.
        unsafe { self.goal.finish(s, &sums) }
    }
}
