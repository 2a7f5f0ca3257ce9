//! Convolutions with 3 × 3 filters by minimal filtering: of two, three or four sums in each direction, four, five or six products
//! instead of six, nine or twelve.
//!
//! In: a convolution whose windows move by one, or its gradient by input. Out: its outputs. Always: filters and patches are
//! transformed, multiplied as a matrix product over channels for each point of a patch, and the products are transformed back
//! while they are in cache. Channels and rows lie in the lanes of vectors meanwhile, so that the transforms shuffle nothing.
//! What is transformed back differs from plain sums by some 1e-6 of the largest one; an infinite element gives NaN in all sums
//! of its patches.
//!
//! Filters that are parameters of a session are transformed once. Otherwise either they are transformed first, and a job is a
//! strip of patches; or, where there are more filters than patches, the patches are, and a job is a panel of filters.

mod cut;
mod filters;
mod points;
mod transforms;

use core::ops::Range;

use super::Axis;
use super::drive::{CALL, Call, JOB};
use super::finish::{Destination, Sums};
use super::kernel::{self, Ahead, Block, PANEL, Rows, Steps};
use super::layout::Place;
use super::plan::{Plan, share};
use crate::kept::{Form, Packing, kept};
use crate::scratch::{LINE, Scratch, lend};
use crate::{Kernel, Simd, pool, run};
use cut::{Cut, Sizes};
use filters::Filters;
use points::TEMP;
use transforms::TAPS;

/// Does the work if it is of this kind.
pub(super) fn winograd(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    let setup = &setup;
    let filters = setup.kept();
    let by_panels = setup.cut.by_panels;
    lend(&CALL, |scratch| {
        let list = (2 * setup.filters.channels).next_multiple_of(LINE);
        let patches = if by_panels { setup.cut.strips * setup.strip_words() } else { 0 };
        let fresh = if by_panels || filters.is_some() { 0 } else { setup.panels * setup.panel_words() };
        let (memory, _) = scratch.provide(list + patches + fresh, 0, Place::NOWHERE);
        let patches_at = memory.wrapping_add(list);
        let fresh_at = patches_at.wrapping_add(patches);
        let list = memory.cast::<isize>();
        for channel in 0..setup.filters.channels {
            // SAFETY: the list has two words, an offset, for each channel.
            unsafe { list.add(channel).write((channel * setup.width()).cast_signed()) }
        }
        let task = Task { setup, list, patches: patches_at, filters: filters.unwrap_or(fresh_at) };
        let parallel = |count: usize, kind: Kind| pool::parallel(call.threads, count, &Part { task: &task, kind });
        if fresh > 0 {
            parallel(setup.panels, Kind::Filters(fresh_at));
        }
        if by_panels {
            parallel(setup.groups() * setup.cut.down, Kind::Patches);
            parallel(setup.panels, Kind::Panels(filters.is_none()));
        } else {
            parallel(plan.batch.total.div_ceil(setup.cut.images) * setup.cut.strips, Kind::Strips);
        }
    });
    true
}

struct Setup<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    filters: Filters,
    panels: usize,
    cut: Cut,
}

impl<'a> Setup<'a> {
    fn new(call: &'a Call<'a>, plan: &'a Plan<'a>, axes: &[Axis]) -> Option<Self> {
        let filters = Filters::new(plan, axes)?;
        if !plan.shares_left() {
            return None;
        }
        let width = PANEL * call.lanes;
        let (batch, rows) = (plan.batch.total, plan.m.total);
        let sizes = Sizes { batch, rows, threads: call.threads, tile: call.rows, width, lanes: call.lanes };
        let cut = Cut::new(&filters, &sizes)?;
        Some(Setup { call, plan, filters, panels: rows.div_ceil(width), cut })
    }

    /// Columns of a panel: rows of filters.
    fn width(&self) -> usize {
        PANEL * self.call.lanes
    }

    /// Vectors of channels.
    fn groups(&self) -> usize {
        self.filters.channels.div_ceil(self.call.lanes)
    }

    /// The rows of filters of a panel.
    fn rows(&self, panel: usize) -> Range<usize> {
        panel * self.width()..self.plan.m.total.min((panel + 1) * self.width())
    }

    /// The patches of a strip that are of one image.
    fn patches(&self, strip: usize) -> usize {
        self.cut.deep.min(self.cut.down - strip * self.cut.deep) * self.cut.across
    }

    /// The most patches of a strip.
    fn most_patches(&self) -> usize {
        self.cut.images * self.cut.deep * self.cut.across
    }

    /// The sums of a strip of one image, which are neighbours.
    fn pixels(&self, strip: usize) -> Range<usize> {
        let at = |strip: usize| (strip * self.cut.deep * self.cut.step).min(self.filters.y.sums) * self.filters.x.sums;
        at(strip)..at(strip + 1)
    }

    /// Words from patch to patch of transformed patches, and from point to point of a strip.
    fn patch_step(&self) -> usize {
        uneven(self.filters.channels)
    }

    fn strip_step(&self) -> usize {
        uneven(self.most_patches() * self.patch_step())
    }

    fn strip_words(&self) -> usize {
        self.cut.points() * self.strip_step()
    }

    fn panel_words(&self) -> usize {
        self.cut.points() * self.filters.channels * self.width()
    }

    /// Words from point to point of the products of a panel with a strip.
    fn product_step(&self) -> usize {
        uneven(self.most_patches() * self.width())
    }

    /// Words from row to row of the sums of a panel and a strip.
    fn sum_pitch(&self) -> usize {
        uneven(self.pixels(0).len())
    }

    /// The transformed filters that the session keeps, if they are its parameters.
    fn kept(&self) -> Option<*const f32> {
        let Setup { call, plan, filters, panels, cut } = self;
        let numbers = &[
            plan.m.total.cast_signed(),
            filters.channels.cast_signed(),
            filters.row,
            filters.filter,
            filters.tap(0, 0).cast_signed(),
            filters.tap(0, 1).cast_signed(),
            call.lanes.cast_signed(),
            cut.step.cast_signed(),
        ];
        let pack = |to: *mut f32| {
            let task = Task { setup: self, list: core::ptr::null(), patches: core::ptr::null_mut(), filters: to };
            pool::parallel(call.threads, *panels, &Part { task: &task, kind: Kind::Filters(to) });
        };
        let words = panels * self.panel_words();
        kept(filters.weights(&plan.lhs, 0, 0), Form { packing: Packing::Winograd, words, numbers }, pack)
    }
}

/// An odd number of cache lines, so that neighbours in the other direction do not share cache sets.
fn uneven(words: usize) -> usize {
    (words.div_ceil(LINE) | 1) * LINE
}

/// What jobs share.
struct Task<'a> {
    setup: &'a Setup<'a>,
    /// Where each channel is in a panel.
    list: *const isize,
    /// All transformed patches, if jobs are panels.
    patches: *mut f32,
    /// All transformed filters, unless every panel transforms its own.
    filters: *const f32,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Transforms the filters of panels to this place.
    Filters(*mut f32),
    /// Transforms rows of patches of vectors of channels.
    Patches,
    /// Computes strips of all rows of filters.
    Strips,
    /// Computes panels at all places, and transforms their filters if they are not there.
    Panels(bool),
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
        let setup = task.setup;
        // SAFETY: `winograd`, and `kept` for filters, have provided the memory that jobs share in the sizes of the setup,
        // count the jobs by it, and start a kind after those whose words it reads; filters go to the words of their panel,
        // by way of `TEMP` words of scratch memory.
        unsafe {
            match kind {
                Kind::Filters(to) => {
                    let (temp, _) = scratch.provide(TEMP, 0, Place::NOWHERE);
                    for panel in range {
                        let to = to.wrapping_add(panel * setup.panel_words());
                        points::filters(s, setup, panel, temp, to);
                    }
                }
                Kind::Patches => all_patches(s, task, range, scratch),
                Kind::Strips => by_strips(s, task, range, scratch),
                Kind::Panels(fresh) => by_panels(s, task, range, fresh, scratch),
            }
        }
    }
}

/// Memory of a job.
#[derive(Clone, Copy)]
struct Memory {
    temp: *mut f32,
    /// Rows of the image, of a vector of channels.
    image: *mut f32,
    /// Products of a panel with a strip.
    products: *mut f32,
    /// Their sums, a vector of rows for each pixel.
    pixels: *mut f32,
    /// The same, row after row.
    sums: *mut f32,
}

/// Scratch memory, and `more` words after it.
fn memory(setup: &Setup<'_>, scratch: &mut Scratch<Place>, more: usize) -> (Memory, *mut f32) {
    let (cut, lanes) = (&setup.cut, setup.call.lanes);
    let beside = TAPS - 1;
    let image = (cut.copied * cut.step + beside) * (cut.across * cut.step + beside) * lanes;
    let products = cut.points() * setup.product_step();
    let pixels = (setup.pixels(0).len() + lanes) * lanes;
    let sums = setup.width() * setup.sum_pitch();
    let sizes = [TEMP, image, products, pixels, sums].map(|words| words.next_multiple_of(LINE));
    let (start, _) = scratch.provide(sizes.iter().sum::<usize>() + more, 0, Place::NOWHERE);
    let after = |count: usize| start.wrapping_add(sizes[..count].iter().sum());
    (Memory { temp: start, image: after(1), products: after(2), pixels: after(3), sums: after(4) }, after(5))
}

/// Jobs are rows of patches, of one vector of channels after the other.
///
/// # Safety
/// `task.patches` must have the words of all strips, and `jobs` must be vectors of channels times rows of patches.
#[inline(always)]
unsafe fn all_patches<S: Simd>(s: S, task: &Task<'_>, mut jobs: Range<usize>, scratch: &mut Scratch<Place>) {
    let Setup { plan, cut, .. } = task.setup;
    let (memory, _) = memory(task.setup, scratch, 0);
    while !jobs.is_empty() {
        let (group, row) = (jobs.start / cut.down, jobs.start % cut.down);
        let end = cut.down.min(row + jobs.len());
        let to = task.patches.wrapping_add(row / cut.deep * task.setup.strip_words());
        // SAFETY: `task.patches` has the words of all strips by this function's contract, of which `to` is the one of the
        // first row, and `memory` has been made for this setup.
        unsafe {
            let from = (&plan.rhs, plan.rhs.origin());
            points::patches(s, task.setup, from, (group, row..end), memory, to);
        }
        jobs.start += end - row;
    }
}

/// Jobs are strips of all rows of filters.
///
/// # Safety
/// `task` must have the list of channels and all transformed filters, and `jobs` must be groups of images times strips.
#[inline(always)]
unsafe fn by_strips<S: Simd>(s: S, task: &Task<'_>, jobs: Range<usize>, scratch: &mut Scratch<Place>) {
    let setup = task.setup;
    let Setup { plan, cut, .. } = setup;
    let (memory, transformed) = memory(setup, scratch, setup.strip_words());
    for job in jobs {
        let (first, strip) = (job / cut.strips * cut.images, job % cut.strips);
        let images = first..plan.batch.total.min(first + cut.images);
        let rows = strip * cut.deep..cut.down.min((strip + 1) * cut.deep);
        let patches = setup.patches(strip) * images.len();
        // SAFETY: `transformed` has the words of a strip of all its images, and `memory` those of its products with a
        // panel; by this function's contract the list and the filters of all panels are written.
        unsafe {
            for batch in images.clone() {
                let from = (&plan.rhs, plan.at_batch(&plan.rhs, batch));
                let to = transformed.wrapping_add((batch - first) * setup.patches(strip) * setup.patch_step());
                for group in 0..setup.groups() {
                    points::patches(s, setup, from, (group, rows.clone()), memory, to);
                }
            }
            for panel in 0..setup.panels {
                let filters = task.filters.wrapping_add(panel * setup.panel_words());
                multiply(s, task, (panel, patches), (filters, transformed), memory.products);
                for batch in images.clone() {
                    let products = memory.products.wrapping_add((batch - first) * setup.patches(strip) * setup.width());
                    let memory = Memory { products, ..memory };
                    let destination = Destination::new(plan, batch, setup.call.sink);
                    hand_on(s, setup, (panel, strip), memory, &destination);
                }
            }
        }
    }
}

/// Jobs are panels of filters at all places of one image.
///
/// # Safety
/// `task` must have the list of channels, all transformed patches, and unless `fresh` all transformed filters; there must
/// be one batch index.
#[inline(always)]
unsafe fn by_panels<S: Simd>(s: S, task: &Task<'_>, panels: Range<usize>, fresh: bool, scratch: &mut Scratch<Place>) {
    let setup = task.setup;
    let (memory, own) = memory(setup, scratch, if fresh { setup.panel_words() } else { 0 });
    let destination = Destination::new(setup.plan, 0, setup.call.sink);
    for panel in panels {
        // SAFETY: `own` has the words of a panel if it is fresh, and `memory` those of its products with a strip; by this
        // function's contract the list, the patches of all strips, and other filters are written.
        unsafe {
            if fresh {
                points::filters(s, setup, panel, memory.temp, own);
            }
            let filters = if fresh { own } else { task.filters.wrapping_add(panel * setup.panel_words()) };
            for strip in 0..setup.cut.strips {
                let transformed = task.patches.wrapping_add(strip * setup.strip_words());
                multiply(s, task, (panel, setup.patches(strip)), (filters, transformed), memory.products);
                hand_on(s, setup, (panel, strip), memory, &destination);
            }
        }
    }
}

/// Multiplies the patches of a strip with a panel of filters.
///
/// # Safety
/// `filters` must have the words of a panel, `transformed` so many patches at each point of a strip, `task` the list of
/// channels, and `products` room for the products at each point.
#[inline(always)]
unsafe fn multiply<S: Simd>(
    s: S,
    task: &Task<'_>,
    (panel, patches): (usize, usize),
    (filters, transformed): (*const f32, *const f32),
    products: *mut f32,
) {
    let setup = task.setup;
    let (channels, width) = (setup.filters.channels, setup.width());
    let vectors = setup.rows(panel).len().div_ceil(S::LANES);
    let tiles = patches.div_ceil(S::ROWS);
    for point in 0..setup.cut.points() {
        let at = filters.wrapping_add(point * channels * width);
        for tile in 0..tiles {
            let (first, end) = (share(patches, tiles, tile), share(patches, tiles, tile + 1));
            // Tiles ask for the filters of the next point one after the other.
            let next = at.wrapping_add(channels * (width + tile * LINE % width));
            let block = Block {
                k: channels,
                a: transformed.wrapping_add(point * setup.strip_step() + first * setup.patch_step()),
                rows: Rows::Even(setup.patch_step().cast_signed()),
                b: at,
                steps: Steps::Listed(task.list),
                ahead: Ahead { from: next, step: LINE },
                c: products.wrapping_add(point * setup.product_step() + first * width),
                c_row: width.cast_signed(),
                before: None,
            };
            // SAFETY: by this function's contract each patch has a word for each channel, the list leads to `width` words
            // of filters for each channel of this point, and `products` has `width` words for each patch.
            unsafe { kernel::tile(s, end - first, vectors, block) }
        }
    }
}

/// Transforms the products of a panel with a strip of an image back, and hands the sums on.
///
/// # Safety
/// `memory` must be that of a job, and its products those of the panel with the strip.
#[inline(always)]
unsafe fn hand_on<S: Simd>(
    s: S,
    setup: &Setup<'_>,
    (panel, strip): (usize, usize),
    memory: Memory,
    destination: &Destination<'_>,
) {
    let (pixels, rows) = (setup.pixels(strip), setup.rows(panel));
    let (pitch, count) = (setup.sum_pitch(), rows.len());
    let sums = Sums { data: memory.sums, pitch, m: rows.start, n: pixels.start, rows: count, cols: pixels.len() };
    // SAFETY: the products are written and `memory` is a job's, by this function's contract; the panel's rows and the
    // strip's pixels lie within the contraction.
    unsafe {
        points::sums(s, setup, (panel, strip), memory);
        destination.finish(s, &sums);
    }
}
