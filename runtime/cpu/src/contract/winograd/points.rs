//! Filters, patches and their products, transformed between memory and memory.
//!
//! In: filters as they lie, rows of an image, or products. Out: for each point the transformed filters or patches, or sums.
//! Always: the lanes of a vector are rows of filters, or channels of a patch; what is transformed is loaded and stored by whole
//! vectors.

use core::ops::Range;

use super::filters;
use super::transforms::{Minimal, TAPS};
use super::{Memory, Setup};
use crate::Simd;
use crate::contract::place::{Place, Side};
use crate::vectors::MAX_LANES;

/// Words that filters are transformed in, and rows of an image are copied in.
pub(super) const TEMP: usize =
    if 4 * MAX_LANES * MAX_LANES > filters::TEMP { 4 * MAX_LANES * MAX_LANES } else { filters::TEMP };

/// Transforms the filters of a panel: for each point, for each channel, all of its rows.
///
/// # Safety
/// `temp` must have [`TEMP`] words, and `to` those of a panel.
#[inline(always)]
pub(super) unsafe fn filters<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    setup: &Setup<'_>,
    panel: usize,
    temp: *mut f32,
    to: *mut f32,
) {
    const WEIGHTS: usize = TAPS * TAPS;
    let Setup { plan, filters, .. } = setup;
    let turned = temp.wrapping_add(2 * MAX_LANES * MAX_LANES);
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
            // SAFETY: the operand has nine weights for each row and channel; the buffer has the words of two transposed
            // matrices, and the panel a vector for each point and channel.
            unsafe {
                for row in 0..count {
                    let line = temp.wrapping_add(row * 2 * MAX_LANES);
                    filters.weights(&plan.lhs, first + row, channel).copy_to_nonoverlapping(line, WEIGHTS);
                }
                let mut at = 0;
                while at < WEIGHTS {
                    let count = S::LANES.min(WEIGHTS - at);
                    s.transpose_raw_f(lines.as_ptr(), at, turned.wrapping_add(at * S::LANES), S::LANES, count);
                    at += S::LANES;
                }
                let mut half = [[s.splat_f(0.0); TAPS]; PATCH];
                for x in 0..TAPS {
                    let line =
                        core::array::from_fn(|y| s.load_raw_f(turned.wrapping_add(filters.tap(y, x) * S::LANES)));
                    for (half, element) in half.iter_mut().zip(&T::filter_line(s, line)) {
                        half[x] = *element;
                    }
                }
                for (row, line) in half.iter().enumerate() {
                    let to = to.wrapping_add(row * PATCH * point_step + channel * width);
                    for (column, element) in T::filter_line(s, *line).iter().enumerate() {
                        s.store_raw_f(to.wrapping_add(column * point_step), *element);
                    }
                }
            }
        }
    }
}

/// Transforms rows of patches of a vector of channels into the strips that they are of, the first of which is at `to`.
///
/// # Safety
/// `memory` must be that of a job, and `to` must have the words of the strips.
#[inline(always)]
pub(super) unsafe fn patches<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    setup: &Setup<'_>,
    from: (&Side<'_>, Place),
    (group, mut rows): (usize, Range<usize>),
    memory: Memory,
    to: *mut f32,
) {
    let Setup { filters, cut, .. } = setup;
    let width = cut.across * STEP + PATCH - STEP;
    let start = rows.start / cut.deep;
    while !rows.is_empty() {
        let end = rows.end.min(rows.start + cut.copied);
        let positions = rows.start * STEP..end * STEP + PATCH - STEP;
        // SAFETY: the image has the rows of `copied` rows of patches.
        unsafe { filters.fill(s, from, group * S::LANES, (positions, width), memory.temp, memory.image) };
        for row in rows.start..end {
            let strip = to.wrapping_add((row / cut.deep - start) * setup.strip_words());
            for x in 0..cut.across {
                let patch = (row % cut.deep) * cut.across + x;
                let at = memory.image.wrapping_add(((row - rows.start) * width + x) * STEP * S::LANES);
                let to = strip.wrapping_add(patch * setup.patch_step() + group * S::LANES);
                // SAFETY: the patch lies within the rows that were copied, and the strip has a vector for each point.
                unsafe {
                    transform_patch::<S, T, STEP, PATCH>(s, (at, width * S::LANES), (to, setup.strip_step()));
                }
            }
        }
        rows.start = end;
    }
}

/// Transforms a vector of patches, from a place in the image, with the distance of its rows, to the points.
#[inline(always)]
unsafe fn transform_patch<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    (from, pitch): (*const f32, usize),
    (to, step): (*mut f32, usize),
) {
    let mut half = [[s.splat_f(0.0); PATCH]; PATCH];
    for column in 0..PATCH {
        // SAFETY: the caller vouches for the patch.
        let line =
            core::array::from_fn(|row| unsafe { s.load_raw_f(from.wrapping_add(row * pitch + column * S::LANES)) });
        for (half, element) in half.iter_mut().zip(&T::patch_line(s, line)) {
            half[column] = *element;
        }
    }
    for (row, line) in half.iter().enumerate() {
        for (column, element) in T::patch_line(s, *line).iter().enumerate() {
            // SAFETY: the caller vouches for a vector at each point.
            unsafe { s.store_raw_f(to.wrapping_add((row * PATCH + column) * step), *element) }
        }
    }
}

/// Transforms the products of a panel with a strip back, into sums by rows of filters.
///
/// # Safety
/// `memory` must be that of a job, with the products of the panel and the strip.
#[inline(always)]
pub(super) unsafe fn sums<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    setup: &Setup<'_>,
    (panel, strip): (usize, usize),
    memory: Memory,
) {
    let Setup { filters, cut, .. } = setup;
    let (rows, pixels) = (setup.rows(panel), setup.pixels(strip));
    let (pitch, across) = (setup.sum_pitch(), filters.x.sums);
    for first in (0..rows.len()).step_by(S::LANES) {
        for patch in 0..setup.patches(strip) {
            let products = memory.products.wrapping_add(patch * setup.width() + first);
            let (y, x) = (patch / cut.across * STEP, patch % cut.across * STEP);
            let place = memory.pixels.wrapping_add((y * across + x) * S::LANES);
            let some = (STEP.min(pixels.len() / across - y), STEP.min(across - x));
            // SAFETY: the memory has a vector for each pixel.
            unsafe {
                sums_of_patch::<S, T, STEP, PATCH>(s, (products, setup.product_step()), (place, across), some);
            }
        }
        let count = S::LANES.min(rows.len() - first);
        let sums = memory.sums.wrapping_add(first * pitch);
        // SAFETY: the memory has vectors beyond the last pixel, and rows of whole vectors of sums.
        unsafe { by_rows(s, memory.pixels, pixels.len(), (sums, pitch), count) }
    }
}

/// Transforms a vector of products back, into the pixels of a patch that there are.
#[inline(always)]
unsafe fn sums_of_patch<S: Simd, T: Minimal<STEP, PATCH>, const STEP: usize, const PATCH: usize>(
    s: S,
    (products, step): (*const f32, usize),
    (to, across): (*mut f32, usize),
    (rows, columns): (usize, usize),
) {
    let mut half = [[s.splat_f(0.0); STEP]; PATCH];
    for (row, half) in half.iter_mut().enumerate() {
        // SAFETY: the caller vouches for a vector at each point.
        let line = core::array::from_fn(|column| unsafe {
            s.load_raw_f(products.wrapping_add((row * PATCH + column) * step))
        });
        *half = T::sums_line(s, line);
    }
    for column in 0..STEP {
        let line = T::sums_line(s, half.map(|half| half[column]));
        for (row, element) in line.iter().enumerate() {
            if row < rows && column < columns {
                // SAFETY: the caller vouches for the pixels that there are.
                unsafe { s.store_raw_f(to.wrapping_add((row * across + column) * S::LANES), *element) }
            }
        }
    }
}

/// Turns vectors of rows, one for each pixel, into rows of pixels.
#[inline(always)]
unsafe fn by_rows<S: Simd>(s: S, vectors: *const f32, pixels: usize, (to, pitch): (*mut f32, usize), rows: usize) {
    for first in (0..pixels).step_by(S::LANES) {
        let mut lines = [vectors; MAX_LANES];
        for (lane, line) in lines.iter_mut().enumerate() {
            *line = vectors.wrapping_add((first + lane) * S::LANES);
        }
        // SAFETY: the caller vouches for vectors beyond the last pixel, and for whole vectors of sums.
        unsafe { s.transpose_raw_f(lines.as_ptr(), 0, to.wrapping_add(first), pitch, rows) }
    }
}
