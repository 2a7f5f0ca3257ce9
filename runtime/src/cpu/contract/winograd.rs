//! Convolutions with 3 × 3 filters by minimal filtering: four sums in each direction from six products instead of twelve.
//!
//! In: a convolution whose windows move by one, or its gradient by input. Out: its outputs. Always: filters and patches are
//! transformed, multiplied as 36 matrix products over channels, and the products are transformed back while they are in cache.
//! What is transformed back differs from plain sums by some 1e-6 of the largest one; an infinite element gives NaN in all sums
//! of its patches.
//!
//! Filters that are parameters of a session are transformed once. Otherwise either they are transformed first, and a job is a strip of patches; or, where there are more filters than
//! patches, the patches are, and a job is a tile of rows.

use core::ops::Range;

use super::super::kept::kept;
use super::super::scratch::{LINE, Scratch, lend};
use super::super::vectors::MAX_LANES;
use super::super::{Kernel, Simd, pool, run};
use super::Axis;
use super::drive::{CALL, Call, JOB};
use super::filters::Filters;
use super::finish::{Destination, Sums};
use super::kernel::{self, Block, Rows, Steps};
use super::place::Place;
use super::plan::Plan;
use super::transforms::{self, PATCH, STEP, TAPS};

/// Products of a patch.
const POINTS: usize = PATCH * PATCH;
/// Fewest channels, and fewest rows, which pay for the transforms.
const LEAST: usize = 16;
/// Most vectors of a strip.
const VECTORS: usize = 4;
/// Most words of transformed filters, and of transformed patches, that wait in a second-level cache.
const FILTERS: usize = 1 << 18;
const PATCHES: usize = 1 << 19;
/// Words that a job transforms in.
const TEMP: usize = 64 * MAX_LANES;

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
        let (deep, vectors, total) = strips(&filters, lanes)?;
        let (products, sums) = (POINTS * total * lanes, TAPS * TAPS * filters.y.sums * filters.x.sums);
        let (transformed, patches) = (POINTS * rows * filters.channels, POINTS * filters.channels * total * lanes);
        let by_tiles = transformed > FILTERS;
        let once = plan.rhs.ignores(plan.moving());
        // A transform costs about half of the products with it.
        if 3 * products > 2 * sums || by_tiles && (patches > PATCHES || plan.batch.total > 1) {
            return None;
        }
        let (tiles, strips) = (rows.div_ceil(call.rows), filters.y.patches.div_ceil(deep));
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

/// Rows of patches in a strip and its vectors, of which all strips together need fewest; and how many those are.
fn strips(filters: &Filters, lanes: usize) -> Option<(usize, usize, usize)> {
    let (across, down) = (filters.x.patches, filters.y.patches);
    let vectors = |deep: usize| (deep * across).div_ceil(lanes);
    let total = |deep: usize| down / deep * vectors(deep) + if down % deep > 0 { vectors(down % deep) } else { 0 };
    // Two vectors use a register tile best.
    let fits = (1..=down).filter(|&deep| vectors(deep) <= VECTORS);
    fits.map(|deep| (deep, vectors(deep), total(deep))).min_by_key(|&(_, vectors, total)| (total, vectors.abs_diff(2)))
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
                        filters(s, task.setup, tile, temp, to);
                    }
                }
                Kind::Patches => {
                    let (temp, _) = scratch.provide(TEMP, 0, Place::NOWHERE);
                    for strip in 0..task.setup.strips {
                        let to = task.patches.wrapping_add(strip * task.setup.strip_words());
                        patches(s, task.setup, strip, range.clone(), task.image, temp, to);
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
            patches(s, setup, strip, 0..setup.filters.channels, from, memory.temp, transformed);
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
                filters(s, setup, tile, memory.temp, own);
            }
            let rows = if fresh { own } else { task.filters.wrapping_add(tile * setup.tile_words()) };
            for strip in 0..setup.strips {
                let transformed = task.patches.wrapping_add(strip * setup.strip_words());
                meet(s, setup, (tile, strip), (rows, transformed), memory, &destination);
            }
        }
    }
}

/// Transforms the filters of a row tile: for each point, for each channel, all rows.
#[inline(always)]
unsafe fn filters<S: Simd>(s: S, setup: &Setup<'_>, tile: usize, temp: *mut f32, to: *mut f32) {
    const WEIGHTS: usize = TAPS * TAPS;
    let Setup { plan, filters, .. } = setup;
    let first = plan.row(setup.tiles, tile);
    let rows = plan.row(setup.tiles, tile + 1) - first;
    let turned = temp.wrapping_add(2 * MAX_LANES * MAX_LANES);
    let mut lines = [temp.cast_const(); MAX_LANES];
    for (row, line) in lines.iter_mut().enumerate() {
        *line = temp.wrapping_add(row.min(rows - 1) * 2 * MAX_LANES);
    }
    let mask = s.mask_first(rows);
    for channel in 0..filters.channels {
        // SAFETY: the operand has nine weights for each row and channel; the buffer has the words of two transposed matrices.
        unsafe {
            for row in 0..rows {
                let line = temp.wrapping_add(row * 2 * MAX_LANES);
                filters.weights(&plan.lhs, first + row, channel).copy_to_nonoverlapping(line, WEIGHTS);
            }
            let mut at = 0;
            while at < WEIGHTS {
                let count = S::LANES.min(WEIGHTS - at);
                s.transpose_raw_f(lines.as_ptr(), at, turned.wrapping_add(at * S::LANES), S::LANES, count);
                at += S::LANES;
            }
            let mut weights = [[s.splat_f(0.0); TAPS]; TAPS];
            for (y, weights) in weights.iter_mut().enumerate() {
                for (x, weight) in weights.iter_mut().enumerate() {
                    *weight = s.load_raw_f(turned.wrapping_add(filters.tap(y, x) * S::LANES));
                }
            }
            let mut half = [[s.splat_f(0.0); TAPS]; PATCH];
            for column in 0..TAPS {
                let line = [weights[0][column], weights[1][column], weights[2][column]];
                for (half, element) in half.iter_mut().zip(transforms::filter_line(s, line)) {
                    half[column] = element;
                }
            }
            for (row, line) in half.into_iter().enumerate() {
                let to = to.wrapping_add(row * PATCH * setup.tile_step() + channel * rows);
                for (column, element) in transforms::filter_line(s, line).into_iter().enumerate() {
                    s.store_masked_raw_f(to.wrapping_add(column * setup.tile_step()), mask, element);
                }
            }
        }
    }
}

/// Transforms the patches of a strip: for each point, for each channel, all patches.
#[inline(always)]
unsafe fn patches<S: Simd>(
    s: S,
    setup: &Setup<'_>,
    strip: usize,
    channels: Range<usize>,
    image: *const f32,
    temp: *mut f32,
    to: *mut f32,
) {
    let filters = &setup.filters;
    let all = setup.patches(strip);
    let width = setup.vectors * S::LANES;
    let mut first = all.start;
    while first < all.end {
        let mut places = [image; MAX_LANES];
        for (lane, place) in places.iter_mut().enumerate() {
            let patch = (first + lane).min(all.end - 1);
            let (y, x) = (patch / filters.x.patches, patch % filters.x.patches);
            *place = image.wrapping_add(STEP * (y * filters.pitch + x));
        }
        for channel in channels.clone() {
            let to = to.wrapping_add(channel * width + first - all.start);
            // SAFETY: the image has the patches of each channel, and more after the last one.
            unsafe { patch(s, filters, &places, channel * filters.channel, temp, (to, setup.strip_step())) }
        }
        first += S::LANES;
    }
}

/// Transforms a vector of patches.
#[inline(always)]
unsafe fn patch<S: Simd>(
    s: S,
    filters: &Filters,
    places: &[*const f32; MAX_LANES],
    offset: usize,
    temp: *mut f32,
    (to, step): (*mut f32, usize),
) {
    for row in 0..PATCH {
        let line = temp.wrapping_add(row * PATCH * S::LANES);
        // SAFETY: the caller vouches for the patches; the buffer has 36 vectors.
        unsafe { s.transpose_raw_f(places.as_ptr(), offset + row * filters.pitch, line, S::LANES, PATCH) }
    }
    let mut half = [[s.splat_f(0.0); PATCH]; PATCH];
    for column in 0..PATCH {
        let mut line = [s.splat_f(0.0); PATCH];
        for (row, element) in line.iter_mut().enumerate() {
            // SAFETY: as above.
            *element = unsafe { s.load_raw_f(temp.wrapping_add((row * PATCH + column) * S::LANES)) };
        }
        for (row, element) in transforms::patch_line(s, line).into_iter().enumerate() {
            half[row][column] = element;
        }
    }
    for (row, line) in half.into_iter().enumerate() {
        for (column, element) in transforms::patch_line(s, line).into_iter().enumerate() {
            // SAFETY: the caller vouches for a vector at each point.
            unsafe { s.store_raw_f(to.wrapping_add((row * PATCH + column) * step), element) }
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
                add: false,
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
            unsafe { sums(s, filters, some.clone(), (products, rows * width), memory.temp, (to, from)) }
        }
    }
    let cols = pitch;
    let sums = Sums { data: memory.sums, pitch, m: first, n: from * filters.x.sums, rows, cols };
    // SAFETY: the sums are written, and lie within the contraction.
    unsafe { destination.finish(s, &sums) }
}

/// Transforms the products of a row with a vector of patches back, into rows of sums that begin with row `from`.
#[inline(always)]
unsafe fn sums<S: Simd>(
    s: S,
    filters: &Filters,
    patches: Range<usize>,
    (products, step): (*const f32, usize),
    temp: *mut f32,
    (to, from): (*mut f32, usize),
) {
    let mut half = [[s.splat_f(0.0); STEP]; PATCH];
    for (row, half) in half.iter_mut().enumerate() {
        let mut line = [s.splat_f(0.0); PATCH];
        for (column, element) in line.iter_mut().enumerate() {
            // SAFETY: the caller vouches for a vector at each point.
            *element = unsafe { s.load_raw_f(products.wrapping_add((row * PATCH + column) * step)) };
        }
        *half = transforms::sums_line(s, line);
    }
    let mut lines = [temp.cast_const(); STEP * STEP];
    for column in 0..STEP {
        let line = core::array::from_fn(|row| half[row][column]);
        for (row, element) in transforms::sums_line(s, line).into_iter().enumerate() {
            let at = temp.wrapping_add((row * STEP + column) * MAX_LANES);
            lines[row * STEP + column] = at;
            // SAFETY: the buffer has 16 vectors, twice.
            unsafe { s.store_raw_f(at, element) }
        }
    }
    // Of each patch the sums come together, row after row.
    let together = temp.wrapping_add(STEP * STEP * MAX_LANES);
    for at in (0..STEP * STEP).step_by(S::LANES) {
        // SAFETY: as above.
        unsafe {
            s.transpose_raw_f(lines[at..].as_ptr(), 0, together.wrapping_add(at), STEP * STEP, S::LANES);
        }
    }
    let (mut y, mut x) = (patches.start / filters.x.patches, patches.start % filters.x.patches);
    for patch in 0..patches.len() {
        let count = STEP.min(filters.x.sums - STEP * x);
        for row in 0..STEP.min(filters.y.sums - STEP * y) {
            let sums = together.wrapping_add((patch * STEP + row) * STEP);
            let to = to.wrapping_add((STEP * y + row - from) * filters.x.sums + STEP * x);
            // SAFETY: the caller vouches for the sums of a strip.
            unsafe {
                if count == STEP {
                    to.cast::<[f32; STEP]>().write_unaligned(sums.cast::<[f32; STEP]>().read_unaligned());
                } else {
                    sums.copy_to_nonoverlapping(to, count);
                }
            }
        }
        x += 1;
        if x == filters.x.patches {
            (x, y) = (0, y + 1);
        }
    }
}
