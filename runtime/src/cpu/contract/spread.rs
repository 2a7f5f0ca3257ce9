//! Convolutions and their gradients by input: the image is read where it lies.
//!
//! In: a contraction whose columns are the rows of an image, one after the other. Out: its outputs. Always: columns between
//! the rows of the image are computed too, as if the image were one long row, and dropped; nothing of the image is packed
//! but its padding.

use core::ops::Range;

use super::super::scratch::{LINE, Scratch, lend};
use super::super::{Isa, Kernel, Simd, pool, run};
use super::drive::{CALL, Call, JOB};
use super::epilogue::Sink;
use super::finish::{Destination, Sums};
use super::kernel::{self, Block, Rows, Steps};
use super::pack::{self, BLOCK, Panel, Source, TRANSPOSE};
use super::place::{Group, Place, Side, Walk};
use super::plan::{Plan, SHARED, share};
use super::stage::{Stage, stage};
use super::{Axis, Role};

/// Vectors of a panel.
const VECTORS: usize = 2;
/// Most indices of K, which are all listed.
const LONGEST: usize = 1 << 14;

/// A long row that contains the rows of an image.
#[derive(Clone, Copy)]
pub(super) struct LongRow {
    pub(super) rows: usize,
    /// Elements of a row that count.
    pub(super) inner: usize,
    /// Elements from row to row.
    pub(super) pitch: usize,
}

impl LongRow {
    /// The two innermost axes of `group` as one long row of `side`, if not too much of it lies between the rows.
    pub(super) fn new(side: &Side<'_>, group: &Group) -> Option<Self> {
        let last = group.count.checked_sub(1)?;
        if side.strides[group.axis[last]] != 1 {
            return None;
        }
        let inner = group.extent[last];
        if last == 0 {
            return Some(LongRow {
                rows: 1,
                inner,
                pitch: inner,
            });
        }
        let pitch = usize::try_from(side.strides[group.axis[last - 1]]).ok()?;
        let row = LongRow {
            rows: group.extent[last - 1],
            inner,
            pitch,
        };
        (pitch >= inner && row.rows * inner * 8 >= row.length() * 5).then_some(row)
    }

    pub(super) fn length(&self) -> usize {
        (self.rows - 1) * self.pitch + self.inner
    }
}

/// Does the work if it is of this kind.
pub(super) fn spread(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Call {
        isa,
        threads,
        sink,
        rows,
        lanes,
    } = *call;
    let (stage, image) = if plan.rhs.sights().is_empty() {
        (
            None,
            Side {
                data: plan.rhs.data,
                ..plan.rhs
            },
        )
    } else if let Some((stage, image)) = stage(&plan.rhs, axes) {
        (Some(stage), image)
    } else {
        return false;
    };
    let n = Group::merged(axes, Role::N, &[&image]);
    let k = Group::merged(axes, Role::K, &[&plan.lhs, &image]);
    let elements = plan.m.total * plan.k.total;
    if n.count > 2 || n.count + k.count <= 2 || plan.k.total > LONGEST || elements > SHARED {
        return false;
    }
    let Some(row) = LongRow::new(&image, &n) else {
        return false;
    };
    let shared = plan.lhs.ignores(plan.moving());
    // Whole vectors are read, so what is not a copy must have one.
    let vectors = match row.length() / lanes {
        0 if stage.is_none() => return false,
        1 if stage.is_none() => 1,
        0..2 => row.length().div_ceil(lanes),
        2.. => VECTORS,
    };
    if !shared {
        return false;
    }
    let panels = row.length().div_ceil(vectors * lanes);
    let once = stage.is_some() && plan.rhs.ignores(plan.moving());
    let mut parts = 1;
    while threads > 1 && plan.batch.total * parts < 2 * threads && parts < panels {
        parts = (parts * 2).min(panels);
    }
    let setup = Setup {
        isa,
        plan,
        stage: stage.as_ref(),
        image,
        k,
        row,
        vectors,
        panels,
        parts,
        tiles: plan.m.total.div_ceil(rows),
        once,
        sink,
    };
    let staged = if once { setup.copy_words(lanes) } else { 0 };
    let left = (elements + LINE).next_multiple_of(LINE) + TRANSPOSE;
    let list = (2 * plan.k.total).next_multiple_of(LINE);
    lend(&CALL, |scratch| {
        let (memory, table) = scratch.provide(left + list + staged, BLOCK, Place::NOWHERE);
        let list = memory.wrapping_add(left).cast::<isize>();
        let copy = memory.wrapping_add(left + 2 * plan.k.total.next_multiple_of(LINE / 2));
        run(
            isa,
            Prepare {
                setup: &setup,
                left: memory,
                list,
                copy,
                table,
            },
        );
        let task = Task {
            setup: &setup,
            left: memory,
            list,
            copy,
        };
        pool::parallel(threads, plan.batch.total * parts, &task);
    });
    true
}

struct Setup<'a> {
    isa: Isa,
    plan: &'a Plan<'a>,
    stage: Option<&'a Stage>,
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
    sink: Option<&'a dyn Sink>,
}

impl Setup<'_> {
    /// Words of a copy, with what whole vectors read beyond its end.
    fn copy_words(&self, lanes: usize) -> usize {
        let beyond = VECTORS * lanes;
        self.stage
            .map_or(0, |stage| (stage.words + beyond).next_multiple_of(LINE))
    }

    fn tile(&self, number: usize) -> usize {
        share(self.plan.m.total, self.tiles, number)
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
        let Prepare {
            setup,
            left,
            list,
            copy,
            table,
        } = self;
        let plan = setup.plan;
        let source = Source::new(&plan.lhs, &plan.m, &plan.k);
        let temp = left.wrapping_add((plan.m.total * plan.k.total + LINE).next_multiple_of(LINE));
        for tile in 0..setup.tiles {
            let (first, end) = (setup.tile(tile), setup.tile(tile + 1));
            let width = end - first;
            let mut k0 = 0;
            while k0 < plan.k.total {
                let count = BLOCK.min(plan.k.total - k0);
                let table = &mut table[..count];
                source.table(k0, table);
                let to = left.wrapping_add(first * plan.k.total + k0 * width);
                let base = plan.lhs.origin();
                let panel = Panel {
                    source,
                    base,
                    first,
                    width,
                    pitch: width,
                    k0,
                    count,
                    to,
                };
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
        if let (Some(stage), true) = (setup.stage, setup.once) {
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
        lend(&JOB, |scratch| {
            run(
                self.setup.isa,
                Jobs {
                    task: self,
                    jobs,
                    scratch,
                },
            )
        });
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
        let Jobs {
            task,
            jobs,
            scratch,
        } = self;
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
            let mut base = plan.rhs.origin();
            if plan.batch.count > 0 {
                base = base.plus(&Walk::new(&plan.rhs, &plan.batch, batch).place);
            }
            let image = match setup.stage {
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
            let destination = Destination::new(plan, batch, setup.isa, setup.sink);
            let panels =
                share(setup.panels, setup.parts, part)..share(setup.panels, setup.parts, part + 1);
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
    let start = if setup.stage.is_some() {
        from
    } else {
        to - width
    };
    let corner = (from / setup.row.pitch, from % setup.row.pitch);
    for tile in 0..setup.tiles {
        let first = setup.tile(tile);
        let rows = setup.tile(tile + 1) - first;
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
        unsafe {
            kernel::tile(s, rows, setup.vectors, block);
        }
        let (mut y, mut x) = corner;
        let mut column = from;
        while column < to {
            let cols = setup.row.inner.saturating_sub(x).min(to - column);
            if cols > 0 {
                let data = sums.wrapping_add(column - start);
                let n = y * setup.row.inner + x;
                let sums = Sums {
                    data,
                    pitch: width,
                    m: first,
                    n,
                    rows,
                    cols,
                };
                // SAFETY: the sums are written, and lie within the contraction.
                unsafe { destination.finish(s, &sums) }
            }
            column += setup.row.pitch - x;
            x = 0;
            y += 1;
        }
    }
}
