//! Filters, patches and their products, transformed between memory and memory.
//!
//! In: filters as they lie, rows of an image, or products. Out: for each point the transformed filters or patches, or sums.
//! Always: the lanes of a vector are rows of filters, or channels of a patch; what is transformed is loaded and stored by whole
//! vectors.

use core::marker::PhantomData;
use core::ops::Range;

use super::filters;
use super::transforms::{Four, Minimal, TAPS, Three, Two};
use super::{Memory, Setup};
use crate::contract::layout::{Place, Side};
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd};

/// Words that filters are transformed in, and rows of an image are copied in.
pub(super) const TEMP: usize =
    if 4 * MAX_LANES * MAX_LANES > filters::TEMP { 4 * MAX_LANES * MAX_LANES } else { filters::TEMP };

/// Work that differs by the transform.
trait Transform: Copy {
    /// Does the work.
    ///
    /// # Safety
    /// The memory must be as the work says, for `T`.
    unsafe fn run<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(self, s: S);
}

/// Work with its transform.
struct With<W, T, const STEP: usize, const PATCH: usize>(W, PhantomData<T>);

impl<W: Transform, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize> Kernel for With<W, T, STEP, PATCH> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        // SAFETY: only `transform` makes this, by whose contract the memory is as the work says.
        unsafe { self.0.run::<S, T, STEP, PATCH>(s) }
    }
}

/// Does the work with the transform of so many sums, as a function of its own, compiled once.
///
/// # Safety
/// The memory must be as the work says, for the transform of `step`.
#[inline(always)]
unsafe fn transform<S: Simd>(s: S, step: usize, work: impl Transform) {
    match step {
        2 => s.call(With::<_, Two, 2, 4>(work, PhantomData)),
        3 => s.call(With::<_, Three, 3, 5>(work, PhantomData)),
        4 => s.call(With::<_, Four, 4, 6>(work, PhantomData)),
        _ => unreachable!("cuts are made for these steps"),
    }
}

/// Transforms the filters of a panel: for each point, for each channel, all of its rows.
///
/// # Safety
/// `temp` must have [`TEMP`] words, `to` those of a panel, and `panel` must be one of the setup's.
#[inline(always)]
pub(super) unsafe fn filters<S: Simd>(s: S, setup: &Setup<'_>, panel: usize, temp: *mut f32, to: *mut f32) {
    const WEIGHTS: usize = TAPS * TAPS;
    let Setup { plan, filters, cut, .. } = setup;
    let transposed = temp.wrapping_add(2 * MAX_LANES * MAX_LANES);
    let (rows, width) = (setup.rows(panel), setup.width());
    let point_step = filters.channels * width;
    for first in rows.clone().step_by(S::LANES) {
        let count = S::LANES.min(rows.end - first);
        let mut lines = [temp.cast_const(); MAX_LANES];
        for (row, line) in lines.iter_mut().enumerate() {
            *line = temp.wrapping_add(row.min(count - 1) * 2 * MAX_LANES);
        }
        let to = to.wrapping_add(first - rows.start);
        for channel in 0..filters.channels {
            // SAFETY: `Filters::new` has found nine weights for each row and channel, within the reach that `Side` has
            // checked; `temp` has `TEMP` words: a line of 2 · `MAX_LANES` for each row, and as many for what is transposed. The
            // panel at `to` has a vector of these rows for each point and channel, by this function's contract.
            unsafe {
                for row in 0..count {
                    let line = temp.wrapping_add(row * 2 * MAX_LANES);
                    filters.weights(&plan.lhs, first + row, channel).copy_to_nonoverlapping(line, WEIGHTS);
                }
                let mut at = 0;
                while at < WEIGHTS {
                    let count = S::LANES.min(WEIGHTS - at);
                    s.transpose_raw_f(lines.as_ptr(), at, transposed.wrapping_add(at * S::LANES), S::LANES, count);
                    at += S::LANES;
                }
                let taps = core::array::from_fn(|y| core::array::from_fn(|x| filters.tap(y, x)));
                let to = to.wrapping_add(channel * width);
                transform(s, cut.step, Filter { transposed, taps, to, step: point_step });
            }
        }
    }
}

/// Transforms a vector of filters. There must be nine vectors at `transposed`, at which each tap has a number, and at `to` one
/// for each point, `step` words apart.
#[derive(Clone, Copy)]
struct Filter {
    transposed: *const f32,
    taps: [[usize; TAPS]; TAPS],
    to: *mut f32,
    step: usize,
}

impl Transform for Filter {
    #[inline(always)]
    unsafe fn run<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(self, s: S) {
        let Filter { transposed, taps, to, step } = self;
        let mut half = [[s.splat_f(0.0); TAPS]; PATCH];
        // SAFETY: `transposed` has a vector for each tap, and `to` one for each of `PATCH` · `PATCH` points, as this work says.
        unsafe {
            for x in 0..TAPS {
                let line = core::array::from_fn(|y| s.load_raw_f(transposed.wrapping_add(taps[y][x] * S::LANES)));
                for (half, element) in half.iter_mut().zip(&T::filter_line(s, line)) {
                    half[x] = *element;
                }
            }
            for (row, line) in half.iter().enumerate() {
                for (column, element) in T::filter_line(s, *line).iter().enumerate() {
                    s.store_raw_f(to.wrapping_add((row * PATCH + column) * step), *element);
                }
            }
        }
    }
}

/// Transforms rows of patches of a vector of channels into the strips that they are of, the first of which is at `to`.
///
/// # Safety
/// `memory` must be that of a job, `to` must have the words of the strips, and `from` must be the image at one of its batch
/// indices; `group` must be one of the setup's vectors of channels, and `rows` some of its rows of patches.
#[inline(always)]
pub(super) unsafe fn patches<S: Simd>(
    s: S,
    setup: &Setup<'_>,
    from: (&Side<'_>, Place),
    (group, mut rows): (usize, Range<usize>),
    memory: Memory,
    to: *mut f32,
) {
    let Setup { filters, cut, .. } = setup;
    let (step, beside) = (cut.step, TAPS - 1);
    let width = cut.across * step + beside;
    let start = rows.start / cut.deep;
    while !rows.is_empty() {
        let end = rows.end.min(rows.start + cut.copied);
        let positions = rows.start * step..end * step + beside;
        // SAFETY: these are at most `copied` rows of patches, for whose positions the image in `memory` has vectors, and
        // `temp` has `TEMP` words; the group's first channel is one of those of `from`, by this function's contract.
        unsafe { filters.fill(s, from, group * S::LANES, (positions, width), memory.temp, memory.image) };
        for row in rows.start..end {
            let strip = to.wrapping_add((row / cut.deep - start) * setup.strip_words());
            let first = (row % cut.deep) * cut.across;
            let patches = Patches {
                count: cut.across,
                from: memory.image.wrapping_add((row - rows.start) * width * step * S::LANES),
                pitch: width * S::LANES,
                to: strip.wrapping_add(first * setup.patch_step() + group * S::LANES),
                step: setup.strip_step(),
                next: setup.patch_step(),
            };
            // SAFETY: the patches lie within the rows that were copied, `width` vectors apart, and the strip at `to` has
            // `strip_step` words for each point, and in them `patch_step` for each patch, by this function's contract.
            unsafe { transform(s, step, patches) }
        }
        rows.start = end;
    }
}

/// Transforms a row of patches of a vector of channels. Their `STEP · count + 2` vectors must be at `from`, in as many rows as
/// a patch has, `pitch` words apart, and a vector at `to` for each patch, `next` words apart, and point, `step` words apart.
#[derive(Clone, Copy)]
struct Patches {
    count: usize,
    from: *const f32,
    pitch: usize,
    to: *mut f32,
    step: usize,
    next: usize,
}

impl Transform for Patches {
    #[inline(always)]
    unsafe fn run<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(self, s: S) {
        let Patches { count, from, pitch, to, step, next } = self;
        for patch in 0..count {
            let from = from.wrapping_add(patch * STEP * S::LANES);
            // SAFETY: there are the vectors of so many patches at `from`, and room for each at `to`, as this work says.
            unsafe { transform_patch::<S, T, STEP, PATCH>(s, (from, pitch), (to.wrapping_add(patch * next), step)) }
        }
    }
}

/// Transforms a vector of patches, from a place in the image, with the distance of its rows, to the points.
///
/// # Safety
/// `from` must be valid for reading `PATCH` rows of `PATCH` vectors, `pitch` words apart, and `to` for writing `PATCH` ·
/// `PATCH` vectors, `step` words apart.
#[inline(always)]
unsafe fn transform_patch<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    (from, pitch): (*const f32, usize),
    (to, step): (*mut f32, usize),
) {
    let mut half = [[s.splat_f(0.0); PATCH]; PATCH];
    for column in 0..PATCH {
        // SAFETY: the patch has `PATCH` rows of `PATCH` vectors, `pitch` words apart, by this function's contract.
        let line =
            core::array::from_fn(|row| unsafe { s.load_raw_f(from.wrapping_add(row * pitch + column * S::LANES)) });
        for (half, element) in half.iter_mut().zip(&T::patch_line(s, line)) {
            half[column] = *element;
        }
    }
    for (row, line) in half.iter().enumerate() {
        for (column, element) in T::patch_line(s, *line).iter().enumerate() {
            // SAFETY: `to` has a vector for each of `PATCH` · `PATCH` points, `step` words apart, by this function's
            // contract.
            unsafe { s.store_raw_f(to.wrapping_add((row * PATCH + column) * step), *element) }
        }
    }
}

/// Transforms the products of a panel with a strip back, into sums by rows of filters.
///
/// # Safety
/// `memory` must be that of a job, with the products of the panel and the strip, which must be some of the setup's.
#[inline(always)]
pub(super) unsafe fn sums<S: Simd>(s: S, setup: &Setup<'_>, (panel, strip): (usize, usize), memory: Memory) {
    let Setup { filters, cut, .. } = setup;
    let (rows, pixels) = (setup.rows(panel), setup.pixels(strip));
    let (pitch, across) = (setup.sum_pitch(), filters.x.sums);
    for first in (0..rows.len()).step_by(S::LANES) {
        let back = Back {
            patches: setup.patches(strip),
            by_row: cut.across,
            products: memory.products.wrapping_add(first),
            next: setup.width(),
            step: setup.product_step(),
            pixels: memory.pixels,
            size: (pixels.len() / across, across),
        };
        // SAFETY: the products have a vector for each patch and point, `product_step` words apart, by this function's
        // contract, and the memory has a vector for each pixel.
        unsafe { transform(s, cut.step, back) }
        let count = S::LANES.min(rows.len() - first);
        let sums = memory.sums.wrapping_add(first * pitch);
        // SAFETY: the memory that a job has holds `S::LANES` vectors beyond the last pixel, and for each row of a panel
        // `pitch` sums, which are whole vectors for all pixels.
        unsafe { by_rows(s, memory.pixels, pixels.len(), (sums, pitch), count) }
    }
}

/// Transforms products of patches back into their pixels, as far as there are such. There must be a vector at `products` for
/// each patch, `next` words apart, and point, `step` words apart, and one at `pixels` for each pixel of so many rows and
/// columns.
#[derive(Clone, Copy)]
struct Back {
    patches: usize,
    /// Patches in a row.
    by_row: usize,
    products: *const f32,
    next: usize,
    step: usize,
    pixels: *mut f32,
    size: (usize, usize),
}

impl Transform for Back {
    #[inline(always)]
    unsafe fn run<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(self, s: S) {
        let Back { patches, by_row, products, next, step, pixels, size: (down, across) } = self;
        for patch in 0..patches {
            let products = products.wrapping_add(patch * next);
            let (y, x) = (patch / by_row * STEP, patch % by_row * STEP);
            let place = pixels.wrapping_add((y * across + x) * S::LANES);
            let some = (STEP.min(down - y), STEP.min(across - x));
            // SAFETY: there is a vector for each point of a patch, and one for each pixel, of which the patch has `some` from
            // `y` and `x` on, as this work says.
            unsafe { sums_of_patch::<S, T, STEP, PATCH>(s, (products, step), (place, across), some) }
        }
    }
}

/// Transforms a vector of products back, into the pixels of a patch that there are.
///
/// # Safety
/// `products` must be valid for reading `PATCH` · `PATCH` vectors, `step` words apart, and `to` for writing `columns`
/// vectors, at most `STEP`, in each of `rows` rows, which are `across` vectors apart.
#[inline(always)]
unsafe fn sums_of_patch<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    (products, step): (*const f32, usize),
    (to, across): (*mut f32, usize),
    (rows, columns): (usize, usize),
) {
    let mut half = [[s.splat_f(0.0); STEP]; PATCH];
    for (row, half) in half.iter_mut().enumerate() {
        // SAFETY: there is a vector for each of `PATCH` · `PATCH` points, `step` words apart, by this function's contract.
        let line = core::array::from_fn(|column| unsafe {
            s.load_raw_f(products.wrapping_add((row * PATCH + column) * step))
        });
        *half = T::sums_line(s, line);
    }
    for column in 0..STEP {
        let line = T::sums_line(s, half.map(|half| half[column]));
        for (row, element) in line.iter().enumerate() {
            if row < rows && column < columns {
                // SAFETY: `to` has `rows` rows of `columns` vectors, by this function's contract, and this is one of them.
                unsafe { s.store_raw_f(to.wrapping_add((row * across + column) * S::LANES), *element) }
            }
        }
    }
}

/// Turns vectors of rows, one for each pixel, into rows of pixels.
///
/// # Safety
/// `vectors` must be valid for reading a vector for each pixel, and more up to a multiple of `S::LANES`, and `to` for
/// writing so many words in each of `rows` rows, at most `S::LANES`, which are `pitch` words apart.
#[inline(always)]
unsafe fn by_rows<S: Simd>(s: S, vectors: *const f32, pixels: usize, (to, pitch): (*mut f32, usize), rows: usize) {
    for first in (0..pixels).step_by(S::LANES) {
        let mut lines = [vectors; MAX_LANES];
        for (lane, line) in lines.iter_mut().enumerate() {
            *line = vectors.wrapping_add((first + lane) * S::LANES);
        }
        // SAFETY: from pixel `first` on there are `S::LANES` vectors, and in each of `rows` rows as many words, since both
        // go on to a multiple of `S::LANES`, by this function's contract.
        unsafe { s.transpose_raw_f(lines.as_ptr(), 0, to.wrapping_add(first), pitch, rows) }
    }
}
