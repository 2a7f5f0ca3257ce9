//! The output, and what is known of each query: scores of a tile, the softmax as far as it is known, and the sum of values.

use super::block::{self, Product};
use super::panels::{self, Wide};
use super::plan::{Axis, Matrix, Plan, Words};
use super::scores::{RowMask, power, seen};
use crate::{Simd, queue};
use core::ops::Range;

/// Where things lie in scratch memory.
#[derive(Default)]
pub(super) struct Room {
    keys: usize,
    values: usize,
    queries: usize,
    scores: usize,
    sums: usize,
    state: usize,
    pub(super) end: usize,
}

impl Room {
    pub(super) fn new(plan: &Plan<'_>) -> Room {
        let (attend, mut words) = (plan.attend, Words::default());
        let wide = plan.padded(attend.values);
        Room {
            keys: words.take(panels::words(plan, attend.features)),
            values: words.take(panels::wide_words(plan, &plan.input(2, 0))),
            queries: words.take(plan.most() * attend.features),
            scores: words.take(plan.tall * plan.tile),
            sums: words.take(plan.most() * wide),
            state: words.take(2 * plan.most()),
            end: words.take(0),
        }
    }
}

/// Runs jobs.
///
/// # Safety
/// The memory must have the words of [`Room`], and nobody else may have the rows of these jobs.
#[inline(always)]
pub(super) unsafe fn jobs<S: Simd>(s: S, plan: &Plan<'_>, jobs: queue::Jobs<'_>, memory: *mut f32) {
    let room = Room::new(plan);
    let (mut packed, mut values) = (usize::MAX, Wide { data: memory, row: 0 });
    for job in jobs {
        let (head, rows) = plan.job(job);
        let (keys, unpacked) = (plan.input(1, head), plan.input(2, head));
        // SAFETY: the memory has the words of `Room`, which counts all panels of the keys and, if they are copied, all rows
        // of the values, and the rows belong to this job, by this function's contract.
        unsafe {
            if packed != head / plan.shared {
                panels::pack(s, plan, &keys, 1.0, memory.add(room.keys));
                values = panels::wide(s, plan, &unpacked, memory.add(room.values));
                packed = head / plan.shared;
            }
            block(s, plan, head, rows, values, &unpacked, &room, memory);
        }
    }
}

/// The results of a block of rows.
///
/// # Safety
/// The memory must have the words of [`Room`], with the panels of the head's keys, `values` must be all of its values, and
/// nobody else may have the rows.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "one place in the driver")]
unsafe fn block<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    head: usize,
    rows: Range<usize>,
    values: Wide,
    unpacked: &Matrix,
    room: &Room,
    memory: *mut f32,
) {
    let attend = plan.attend;
    let (count, wide) = (rows.len(), plan.padded(unpacked.columns));
    // SAFETY: the memory has the words of `Room`, by this function's contract: apart from each other, the queries, sums and
    // numbers of `most` rows, and no block has more.
    let (sums, state) = unsafe {
        block::copy(
            s,
            &plan.input(0, head),
            rows.start,
            count,
            attend.scale,
            memory.add(room.queries),
            attend.features,
        );
        let sums = core::slice::from_raw_parts_mut(memory.add(room.sums), count * wide);
        (sums, core::slice::from_raw_parts_mut(memory.add(room.state), 2 * count))
    };
    sums.fill(0.0);
    let (most, total) = state.split_at_mut(count);
    most.fill(f32::NEG_INFINITY);
    total.fill(0.0);
    let tiles = count.div_ceil(plan.tall);
    for first in (0..seen(plan, rows.end - 1).end).step_by(plan.tile) {
        for tile in 0..tiles {
            let at = count * tile / tiles..count * (tile + 1) / tiles;
            let columns = plan.tile.min(seen(plan, rows.start + at.end - 1).end.saturating_sub(first));
            if columns > 0 {
                let tile = Tile { head, start: rows.start, rows: at, first, columns };
                // SAFETY: the memory holds the queries of the block and, as `values`, the operands of this head, by this
                // function's contract; the tile has at most `tall` rows of the block and `tile` columns that there are.
                unsafe { meet(s, plan, &tile, values, (&mut *sums, &mut *most, &mut *total), room, memory) };
            }
        }
    }
    for (row, (most, total)) in most.iter().zip(total.iter()).enumerate() {
        let sums = &sums[row * wide..][..attend.values];
        // SAFETY: nobody else has the row, by this function's contract, and `sums` has a number for each value.
        unsafe { finish(s, plan, head, rows.start + row, sums, *most, *total) };
    }
}

/// Rows of a block, and columns from `first` on.
struct Tile {
    head: usize,
    /// The first row of the block.
    start: usize,
    /// Within the block.
    rows: Range<usize>,
    first: usize,
    columns: usize,
}

/// Adds what the rows of a register tile see in a tile of columns to their sums, largest scores and totals.
///
/// # Safety
/// The memory must have the words of [`Room`], with the block's queries and the panels of the head's keys, `values` must be
/// all of its values, and `tile` must have 1 to `plan.tall` rows and columns of one tile that there are.
#[inline(always)]
unsafe fn meet<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    tile: &Tile,
    values: Wide,
    (sums, most, total): (&mut [f32], &mut [f32], &mut [f32]),
    room: &Room,
    memory: *mut f32,
) {
    let (attend, wide) = (plan.attend, plan.padded(plan.attend.values));
    let Tile { head, start, rows: at, first, columns } = tile;
    let (first, columns, mask) = (*first, *columns, RowMask::new(plan, *head));
    let scores = memory.wrapping_add(room.scores);
    let product = Product {
        rows: at.len(),
        vectors: columns.div_ceil(S::LANES),
        terms: attend.features,
        a: memory.wrapping_add(room.queries + at.start * attend.features),
        a_row: attend.features,
        b: memory.wrapping_add(room.keys + first * attend.features),
        b_step: plan.tile.cast_signed(),
        c: scores,
        c_row: plan.tile,
        add: false,
    };
    // SAFETY: the queries have `features` words for each row, the panel of keys a tile for each feature, and the scores a
    // tile for each row of a register tile, by this function's contract.
    unsafe { block::multiply(s, &product) };
    for (r, row) in at.clone().enumerate() {
        // SAFETY: the scores have `plan.tile` words, no fewer than `columns`, for each row of a register tile, by this
        // function's contract, and no other reference into them lives.
        let scores = unsafe { core::slice::from_raw_parts_mut(scores.add(r * plan.tile), columns) };
        let counted = columns.min(seen(plan, start + row).end.saturating_sub(first));
        mask.apply(s, &mut scores[..counted], start + row, first);
        scores[counted..].fill(f32::NEG_INFINITY);
        let sums = &mut sums[row * wide..][..wide];
        advance(s, scores, &mut most[row], &mut total[row], sums);
    }
    let product = Product {
        rows: at.len(),
        vectors: wide / S::LANES,
        terms: columns,
        a: scores,
        a_row: plan.tile,
        b: values.data.wrapping_offset(first.cast_signed() * values.row),
        b_step: values.row,
        c: sums[at.start * wide..].as_mut_ptr(),
        c_row: wide,
        add: true,
    };
    // SAFETY: the scores have `columns` words in each row, the values as many rows of whole vectors from `first` on, by
    // this function's contract, and `sums` `wide` words for each row of the tile.
    unsafe { block::multiply(s, &product) };
}

/// Makes powers of scores and scales what was summed up before, where the largest score has grown.
#[inline(always)]
pub(super) fn advance<S: Simd>(s: S, scores: &mut [f32], most: &mut f32, total: &mut f32, sums: &mut [f32]) {
    let here = block::largest(s, scores);
    // Not `f32::max`, which forgets NaN.
    let new = if here <= *most { *most } else { here };
    if new == f32::NEG_INFINITY {
        scores.fill(0.0);
        return;
    }
    if new != *most {
        if *most != f32::NEG_INFINITY {
            let mut factor = [0.0];
            s.store_f(&mut factor, 0, block::one(), power(s, s.splat_f(*most - new)));
            *total *= factor[0];
            block::scale(s, sums, factor[0]);
        }
        *most = new;
    }
    let (shift, mut sum) = (s.splat_f(new), s.splat_f(0.0));
    crate::sweep!(S, j, at, scores.len(), {
        let weight = power(s, s.sub_f(s.load_f(scores, j, at), shift));
        s.store_f(scores, j, at, weight);
        sum = s.select_at_f(at, s.add_f(sum, weight), sum);
    });
    *total += s.reduce_add_f(sum);
}

/// Stores the result of a query.
///
/// # Safety
/// `row` must be one of the head's queries, which nobody else may have, and `sums` must have a number for each value.
#[inline(always)]
pub(super) unsafe fn finish<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    head: usize,
    row: usize,
    sums: &[f32],
    most: f32,
    total: f32,
) {
    let nothing = most == f32::NEG_INFINITY;
    let factor = if nothing { 0.0 } else { 1.0 / total };
    for target in plan.targets(0, head, Axis::Queries, Axis::Values) {
        // SAFETY: the target is one of the plan's, `row` one of its queries, which nobody else has, and `sums` has a number
        // for each value, by this function's contract.
        unsafe { block::store(s, &target, row, sums, factor) };
    }
    let largest = if nothing { 0.0 } else { most };
    for (result, number) in [(1, largest), (2, factor)] {
        for target in plan.targets(result, head, Axis::Queries, Axis::Values) {
            // SAFETY: the plan has checked that a number for each query lies within the slice, and nobody else has this
            // one, by this function's contract.
            unsafe { target.data.wrapping_offset(row.cast_signed() * target.row).write(number) };
        }
    }
}
