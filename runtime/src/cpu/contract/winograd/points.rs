//! Filters, patches and their products, transformed between memory and memory.
//!
//! In: filters as they lie, a padded image, or products. Out: for each of 36 points the transformed filters or patches of each
//! channel, or sums. Always: the lanes of a vector are rows of filters, or patches.

use core::ops::Range;

use super::super::super::Simd;
use super::super::super::vectors::MAX_LANES;
use super::Setup;
use super::filters::Filters;
use super::transforms::{self, PATCH, STEP, TAPS};

/// Words that are transformed in.
pub(super) const TEMP: usize = 64 * MAX_LANES;

/// Transforms the filters of a row tile: for each point, for each channel, all rows.
///
/// # Safety
/// `temp` must have [`TEMP`] words, and `to` those of a tile.
#[inline(always)]
pub(super) unsafe fn filters<S: Simd>(s: S, setup: &Setup<'_>, tile: usize, temp: *mut f32, to: *mut f32) {
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
///
/// # Safety
/// `temp` must have [`TEMP`] words, `image` all channels and what transposing reads beyond, and `to` the words of a strip.
#[inline(always)]
pub(super) unsafe fn patches<S: Simd>(
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

/// Transforms the products of a row with a vector of patches back, into rows of sums that begin with row `from`.
///
/// # Safety
/// `temp` must have [`TEMP`] words; the products must be those of a vector, and `to` must have the sums of a strip.
#[inline(always)]
pub(super) unsafe fn sums<S: Simd>(
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
