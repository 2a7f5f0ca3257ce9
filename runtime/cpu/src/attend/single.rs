//! A query or two against many keys, as in decoding: keys and values are read once, where they lie.

use super::block;
use super::output::{advance, finish};
use super::plan::{Matrix, Plan};
use super::scores::{RowMask, seen};
use crate::{Simd, queue};

/// Keys whose scores are known at a time.
const KEYS: usize = 512;
/// Vectors of sums at a time.
const WIDE: usize = 4;

/// The words of scratch memory.
pub(super) fn words(plan: &Plan<'_>) -> usize {
    plan.padded(plan.attend.features) + KEYS + plan.padded(plan.attend.values)
}

/// Runs jobs, each of which is a head.
///
/// # Safety
/// The memory must have the words that [`words`] says, and nobody else may have these heads.
#[inline(always)]
pub(super) unsafe fn jobs<S: Simd>(s: S, plan: &Plan<'_>, jobs: queue::Jobs<'_>, memory: *mut f32) {
    let (features, values) = (plan.attend.features, plan.attend.values);
    let wide = plan.padded(values);
    // SAFETY: the memory has the words that `words` counts, by this function's contract: those of a query, of `KEYS` scores
    // and of `wide` sums, which follow each other.
    let (query, scores, sums) = unsafe {
        let rest = memory.add(plan.padded(features));
        (memory, core::slice::from_raw_parts_mut(rest, KEYS), core::slice::from_raw_parts_mut(rest.add(KEYS), wide))
    };
    for head in jobs {
        let [q, k, v] = [0, 1, 2].map(|n| plan.input(n, head));
        let mask = RowMask::new(plan, head);
        for row in 0..plan.rows {
            // SAFETY: the first words of the memory are those of a query, by this function's contract, and `row` is one of
            // the head's; scores and sums lie behind them.
            let query = unsafe {
                block::copy(s, &q, row, 1, plan.attend.scale, query, features);
                core::slice::from_raw_parts(query, features)
            };
            let (mut most, mut total) = (f32::NEG_INFINITY, 0.0);
            sums.fill(0.0);
            let end = seen(plan, row).end;
            for first in (0..end).step_by(KEYS) {
                let scores = &mut scores[..KEYS.min(end - first)];
                // SAFETY: the plan has checked that keys and values lie within their slices, and takes this way only where
                // each of their rows is contiguous; there is a key and a value for each of the scores from `first` on.
                unsafe {
                    products(s, &k, first, query, scores);
                    mask.apply(s, scores, row, first);
                    advance(s, scores, &mut most, &mut total, sums);
                    weigh(s, &v, first, scores, sums);
                }
            }
            // SAFETY: the head belongs to this job, by this function's contract, and the sums are a number for each value.
            unsafe { finish(s, plan, head, row, &sums[..values], most, total) };
        }
    }
}

/// The products of a query with keys from `first` on.
///
/// # Safety
/// `keys` must be a matrix of the plan's with contiguous rows, one for each of `scores` from `first` on.
#[inline(always)]
unsafe fn products<S: Simd>(s: S, keys: &Matrix, first: usize, query: &[f32], scores: &mut [f32]) {
    let mut buffer = [0.0; 8];
    for start in (0..scores.len()).step_by(8) {
        let count = (scores.len() - start).min(8);
        let mut sums = [s.splat_f(0.0); 8];
        for (lane, sum) in sums.iter_mut().enumerate() {
            let at = (first + start + lane.min(count - 1)).cast_signed();
            // SAFETY: the plan has checked that keys lie within their slice; key `at` is one of them and contiguous, by
            // this function's contract.
            let key = unsafe { core::slice::from_raw_parts(keys.data.wrapping_offset(at * keys.row), keys.columns) };
            crate::sweep!(S, j, part, query.len(), {
                *sum = s.mul_add_f(s.load_f(query, j, part), s.load_f(key, j, part), *sum);
            });
        }
        // SAFETY: the buffer has the 8 words that are written.
        unsafe { s.add_up_raw_f(sums, buffer.as_mut_ptr()) };
        scores[start..start + count].copy_from_slice(&buffer[..count]);
    }
}

/// Adds values from `first` on, each times its weight.
///
/// # Safety
/// `values` must be a matrix of the plan's with contiguous rows, one for each of `weights` from `first` on.
#[inline(always)]
unsafe fn weigh<S: Simd>(s: S, values: &Matrix, first: usize, weights: &[f32], sums: &mut [f32]) {
    let width = values.columns;
    let mut from = 0;
    while from < width {
        let mut partial = [s.splat_f(0.0); WIDE];
        for (j, weight) in weights.iter().enumerate() {
            let at = (first + j).cast_signed();
            let row = values.data.wrapping_offset(at * values.row);
            // SAFETY: the plan has checked that values lie within their slice; value `at` is one of them and contiguous, by
            // this function's contract.
            let row = unsafe { core::slice::from_raw_parts(row, width) };
            let weight = s.splat_f(*weight);
            for (n, partial) in partial.iter_mut().enumerate() {
                let at = from + n * S::LANES;
                if at + S::LANES <= width {
                    *partial = s.mul_add_f(weight, s.load_f(row, at, crate::Full), *partial);
                } else if at < width {
                    let part = crate::Part::new(width - at);
                    *partial = s.mul_add_f(weight, s.load_f(row, at, part), *partial);
                }
            }
        }
        for (n, partial) in partial.into_iter().enumerate() {
            let at = from + n * S::LANES;
            if at < width {
                let before = s.load_f(sums, at, crate::Full);
                s.store_f(sums, at, crate::Full, s.add_f(before, partial));
            }
        }
        from += WIDE * S::LANES;
    }
}
