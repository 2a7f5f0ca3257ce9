//! Convolutions with 3 × 3 filters by minimal filtering: four sums in each direction from six products instead of twelve.
//!
//! In: a convolution whose windows move by one, or its gradient by input. Out: its outputs. Always: filters and patches are
//! transformed, multiplied as 36 matrix products over channels, and the products are transformed back while they are in cache.
//! What is transformed back differs from plain sums by some 1e-6 of the largest one; an infinite element gives NaN in all sums
//! of its patches.
//!
//! Filters that are parameters of a session are transformed once. Otherwise either they are transformed first, and a job is a
//! strip of patches; or, where there are more filters than patches, the patches are, and a job is a tile of rows.

mod filters;
mod points;
mod transforms;

use core::ops::Range;

use super::super::kept::kept;
use super::super::scratch::{LINE, Scratch, lend};
use super::super::{Kernel, Simd, pool, run};
use super::Axis;
use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::kernel::{self, Block, Rows, Steps};
use super::place::Place;
use super::plan::Plan;
use filters::Filters;
use points::TEMP;
use transforms::{PATCH, STEP, TAPS};

/// Products of a patch.
const POINTS: usize = PATCH * PATCH;
/// Fewest channels, and fewest rows, which pay for the transforms.
const LEAST: usize = 16;
/// Most vectors of a strip.
const VECTORS: usize = 4;
/// Most words of transformed filters, and of transformed patches, that wait in a second-level cache.
const FILTERS: usize = 1 << 18;
const PATCHES: usize = 1 << 19;

/// Does the work if it is of this kind.
pub(super) fn winograd(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    let setup = &setup;
    let filters = setup.kept();
    lend(&CALL, |scratch| {
        let image = if setup.once { setup.image_words() } else { 0 };
        let patches = if setup.by_tiles { setup.strips * setup.strip_words() } else { 0 };
        let fresh = if setup.by_tiles || filters.is_some() { 0 } else { setup.tiles * setup.tile_words() };
        let (image_at, _) = scratch.provide(image + patches + fresh, 0, Place::NOWHERE);
        let patches_at = image_at.wrapping_add(image);
        let fresh_at = patches_at.wrapping_add(patches);
        let task = Task { setup, image: image_at, patches: patches_at, filters: filters.unwrap_or(fresh_at) };
        let parallel = |count: usize, kind: Kind| pool::parallel(call.threads, count, &Part { task: &task, kind });
        if setup.once {
            parallel(setup.filters.channels, Kind::Image);
        }
        if fresh > 0 {
            parallel(setup.tiles, Kind::Filters(fresh_at));
        }
        if setup.by_tiles {
            parallel(setup.filters.channels, Kind::Patches);
            parallel(setup.tiles, Kind::Tiles(filters.is_none()));
        } else {
            parallel(plan.batch.total * setup.strips, Kind::Strips);
        }
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    filters: Filters,
    tiles: usize,
    /// Rows of patches in a strip, its vectors, and how many strips there are.
    deep: usize,
    vectors: usize,
    strips: usize,
    by_tiles: bool,
    /// Whether one image serves all batch indices.
    once: bool,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        let filters = Filters::new(plan, axes)?;
        let (rows, lanes) = (plan.m.total, call.lanes);
        if filters.channels < LEAST || rows < LEAST || !plan.lhs.ignores(plan.moving()) {
            return None;
        }
        let (batch, tiles) = (plan.batch.total, rows.div_ceil(call.rows));
        let whole = strips(&filters, lanes, |strips, vectors| strips * vectors)?;
        let parted = strips(&filters, lanes, |strips, vectors| (batch * strips).div_ceil(call.threads) * vectors)?;
        let (products, sums) = (POINTS * whole.cost * lanes, TAPS * TAPS * filters.y.sums * filters.x.sums);
        let (transformed, patches) = (POINTS * rows * filters.channels, products * filters.channels);
        // Threads shall have equally much to do, and what is shared shall stay in their caches.
        let even = whole.cost * tiles.div_ceil(call.threads) < parted.cost * tiles;
        let by_tiles = transformed > FILTERS || batch == 1 && 2 * patches <= PATCHES && even;
        let once = plan.rhs.ignores(plan.moving());
        // A transform costs about half of the products with it.
        if 3 * products > 2 * sums || by_tiles && (patches > PATCHES || batch > 1) {
            return None;
        }
        let Cut { deep, vectors, .. } = if by_tiles { whole } else { parted };
        let strips = filters.y.patches.div_ceil(deep);
        Some(Setup { call, plan, filters, tiles, deep, vectors, strips, by_tiles, once })
    }

    /// Words of a copy of the image, with what transposing reads beyond.
    fn image_words(&self) -> usize {
        (self.filters.channels * self.filters.channel + 2 * LINE).next_multiple_of(LINE)
    }

    /// Words from point to point of a strip, and of all of its transformed patches.
    fn strip_step(&self) -> usize {
        uneven(self.filters.channels * self.vectors * self.call.lanes)
    }

    fn strip_words(&self) -> usize {
        POINTS * self.strip_step()
    }

    /// Words from point to point of a row tile, and of all of its transformed filters.
    fn tile_step(&self) -> usize {
        uneven(self.filters.channels * self.call.rows)
    }

    fn tile_words(&self) -> usize {
        POINTS * self.tile_step()
    }

    /// Words of the products of a tile with a strip.
    fn product_words(&self) -> usize {
        POINTS * self.call.rows * self.vectors * self.call.lanes
    }

    /// Words of the sums of a tile and a strip.
    fn sum_words(&self) -> usize {
        (self.call.rows * self.deep * STEP * self.filters.x.sums).next_multiple_of(LINE)
    }

    /// The transformed filters that the session keeps, if they are its parameters.
    fn kept(&self) -> Option<*const f32> {
        let Setup { call, plan, filters, tiles, .. } = self;
        let form = [
            5,
            plan.m.total.cast_signed(),
            filters.channels.cast_signed(),
            filters.row,
            filters.filter,
            filters.tap(0, 0).cast_signed(),
            filters.tap(0, 1).cast_signed(),
            call.rows.cast_signed(),
            call.lanes.cast_signed(),
        ];
        let pack = |to: *mut f32| {
            let nothing = core::ptr::null_mut();
            let task = Task { setup: self, image: nothing, patches: nothing, filters: nothing };
            pool::parallel(call.threads, *tiles, &Part { task: &task, kind: Kind::Filters(to) });
        };
        kept(filters.weights(&plan.lhs, 0, 0), &form, tiles * self.tile_words(), pack)
    }

    /// The patches of a strip.
    fn patches(&self, strip: usize) -> Range<usize> {
        let (across, down) = (self.filters.x.patches, self.filters.y.patches);
        strip * self.deep * across..((strip + 1) * self.deep).min(down) * across
    }
}

/// An odd number of cache lines, so that the points of a patch do not share cache sets.
fn uneven(words: usize) -> usize {
    (words.div_ceil(LINE) | 1) * LINE
}

/// How patches are cut into strips.
#[derive(Clone, Copy)]
struct Cut {
    /// Rows of patches, and vectors of patches.
    deep: usize,
    vectors: usize,
    cost: usize,
}

/// The cut that costs least, by the number of its strips and their vectors.
fn strips(filters: &Filters, lanes: usize, cost: impl Fn(usize, usize) -> usize) -> Option<Cut> {
    let (across, down) = (filters.x.patches, filters.y.patches);
    let cuts =
        (1..=down).map(|deep| (deep, (deep * across).div_ceil(lanes))).filter(|&(_, vectors)| vectors <= VECTORS);
    let cuts = cuts.map(|(deep, vectors)| Cut { deep, vectors, cost: cost(down.div_ceil(deep), vectors) });
    // Two vectors use a register tile best.
    cuts.min_by_key(|cut| (cut.cost, cut.vectors.abs_diff(2)))
}

/// What jobs share.
struct Task<'a> {
    setup: &'a Setup<'a>,
    /// The padded image, if one serves all.
    image: *mut f32,
    /// All transformed patches, if jobs are tiles.
    patches: *mut f32,
    /// All transformed filters, unless every tile transforms its own.
    filters: *const f32,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Copies channels of the image.
    Image,
    /// Transforms the filters of row tiles to this place.
    Filters(*mut f32),
    /// Transforms the patches of channels.
    Patches,
    /// Computes strips of all rows.
    Strips,
    /// Computes tiles of rows at all places, and transforms their filters if they are not there.
    Tiles(bool),
}

struct Part<'a> {
    task: &'a Task<'a>,
    kind: Kind,
}

// SAFETY: the indices of each kind of work have words of their own, and what is shared is only read by the next kind.
unsafe impl Sync for Part<'_> {}

impl pool::Task for Part<'_> {
    fn work(&self, range: Range<usize>) {
        lend(&JOB, |scratch| run(self.task.setup.call.isa, Work { part: self, range, scratch }));
    }
}

struct Work<'a> {
    part: &'a Part<'a>,
    range: Range<usize>,
    scratch: &'a mut Scratch<Place>,
}

impl Kernel for Work<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Work { part: &Part { task, kind }, range, scratch } = self;
        // SAFETY: `winograd` has provided the memory that is shared, and has checked the shapes.
        unsafe {
            match kind {
                Kind::Image => {
                    let plan = task.setup.plan;
                    if range.end == task.setup.filters.channels {
                        slack(task.setup, task.image);
                    }
                    task.setup.filters.fill(s, &plan.rhs, plan.rhs.origin(), range, task.image);
                }
                Kind::Filters(to) => {
                    let (temp, _) = scratch.provide(TEMP, 0, Place::NOWHERE);
                    for tile in range {
                        let to = to.wrapping_add(tile * task.setup.tile_words());
                        points::filters(s, task.setup, tile, temp, to);
                    }
                }
                Kind::Patches => {
                    let (temp, _) = scratch.provide(TEMP, 0, Place::NOWHERE);
                    for strip in 0..task.setup.strips {
                        let to = task.patches.wrapping_add(strip * task.setup.strip_words());
                        points::patches(s, task.setup, strip, range.clone(), task.image, temp, to);
                    }
                }
                Kind::Strips => by_strips(s, task, range, scratch),
                Kind::Tiles(fresh) => by_tiles(s, task, range, fresh, scratch),
            }
        }
    }
}

/// Writes zeros where transposing reads beyond the last channel.
unsafe fn slack(setup: &Setup<'_>, image: *mut f32) {
    let used = setup.filters.channels * setup.filters.channel;
    // SAFETY: the caller provides the words of an image.
    unsafe { image.wrapping_add(used).write_bytes(0, setup.image_words() - used) }
}

/// Memory of a job for one tile and one strip.
#[derive(Clone, Copy)]
struct Memory {
    temp: *mut f32,
    products: *mut f32,
    sums: *mut f32,
}

/// Scratch memory, and `more` words after it.
fn memory(setup: &Setup<'_>, scratch: &mut Scratch<Place>, more: usize) -> (Memory, *mut f32) {
    let (products, sums) = (setup.product_words(), setup.sum_words());
    let (temp, _) = scratch.provide(TEMP + products + sums + more, 0, Place::NOWHERE);
    let at = temp.wrapping_add(TEMP);
    let sums_at = at.wrapping_add(products);
    (Memory { temp, products: at, sums: sums_at }, sums_at.wrapping_add(sums))
}

#[inline(always)]
unsafe fn by_strips<S: Simd>(s: S, task: &Task<'_>, jobs: Range<usize>, scratch: &mut Scratch<Place>) {
    let setup = task.setup;
    let plan = setup.plan;
    let image = if setup.once { 0 } else { setup.image_words() };
    let (memory, own) = memory(setup, scratch, image + setup.strip_words());
    let transformed = own.wrapping_add(image);
    let mut copied = usize::MAX;
    for job in jobs {
        let (batch, strip) = (job / setup.strips, job % setup.strips);
        // SAFETY: the scratch memory has the words of an image and of a strip.
        unsafe {
            if !setup.once && copied != batch {
                if copied == usize::MAX {
                    slack(setup, own);
                }
                setup.filters.fill(s, &plan.rhs, plan.at_batch(&plan.rhs, batch), 0..setup.filters.channels, own);
                copied = batch;
            }
            let from = if setup.once { task.image } else { own };
            points::patches(s, setup, strip, 0..setup.filters.channels, from, memory.temp, transformed);
            let destination = Destination::new(plan, batch, setup.call.isa, setup.call.sink);
            for tile in 0..setup.tiles {
                let rows = task.filters.wrapping_add(tile * setup.tile_words());
                meet(s, setup, (tile, strip), (rows, transformed), memory, &destination);
            }
        }
    }
}

#[inline(always)]
unsafe fn by_tiles<S: Simd>(s: S, task: &Task<'_>, tiles: Range<usize>, fresh: bool, scratch: &mut Scratch<Place>) {
    let setup = task.setup;
    let (memory, own) = memory(setup, scratch, if fresh { setup.tile_words() } else { 0 });
    let destination = Destination::new(setup.plan, 0, setup.call.isa, setup.call.sink);
    for tile in tiles {
        // SAFETY: the scratch memory has the words of a tile's filters.
        unsafe {
            if fresh {
                points::filters(s, setup, tile, memory.temp, own);
            }
            let rows = if fresh { own } else { task.filters.wrapping_add(tile * setup.tile_words()) };
            for strip in 0..setup.strips {
                let transformed = task.patches.wrapping_add(strip * setup.strip_words());
                meet(s, setup, (tile, strip), (rows, transformed), memory, &destination);
            }
        }
    }
}

/// Multiplies a tile of filters with a strip of patches, transforms the products back and hands the sums on.
#[inline(always)]
unsafe fn meet<S: Simd>(
    s: S,
    setup: &Setup<'_>,
    (tile, strip): (usize, usize),
    (rows_at, patches_at): (*const f32, *const f32),
    memory: Memory,
    destination: &Destination<'_>,
) {
    let filters = &setup.filters;
    let first = setup.plan.row(setup.tiles, tile);
    let rows = setup.plan.row(setup.tiles, tile + 1) - first;
    let width = setup.vectors * S::LANES;
    let all = setup.patches(strip);
    let used = all.len().div_ceil(S::LANES);
    for vector in (0..used).step_by(2) {
        let at = vector * S::LANES;
        for point in 0..POINTS {
            let block = Block {
                k: filters.channels,
                a: rows_at.wrapping_add(point * setup.tile_step()),
                rows: Rows::Near(rows.cast_signed()),
                b: patches_at.wrapping_add(point * setup.strip_step() + at),
                steps: Steps::Even(width.cast_signed()),
                c: memory.products.wrapping_add(point * rows * width + at),
                c_row: width.cast_signed(),
                before: None,
            };
            // SAFETY: the caller vouches for both operands; the memory has the products of a tile.
            unsafe { kernel::tile(s, rows, 2.min(used - vector), block) }
        }
    }
    let from = strip * setup.deep * STEP;
    let deep = (setup.deep * STEP).min(filters.y.sums - from);
    let pitch = deep * filters.x.sums;
    for vector in 0..used {
        let some = all.start + vector * S::LANES..all.end.min(all.start + (vector + 1) * S::LANES);
        for row in 0..rows {
            let products = memory.products.wrapping_add(row * width + vector * S::LANES);
            let to = memory.sums.wrapping_add(row * pitch);
            // SAFETY: the products are written, and the memory has the sums of a tile.
            unsafe { points::sums(s, filters, some.clone(), (products, rows * width), memory.temp, (to, from)) }
        }
    }
    let cols = pitch;
    let sums = Sums { data: memory.sums, pitch, m: first, n: from * filters.x.sums, rows, cols };
    // SAFETY: the sums are written, and lie within the contraction.
    unsafe { destination.finish(s, &sums) }
}
