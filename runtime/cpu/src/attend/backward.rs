//! The derivatives: exponentials again from the largest score, the slopes of the scores, and the sums that they weigh.
//!
//! A kernel of queries has queries as rows and keys as columns; a kernel of keys the other way round, and it sums over the
//! query heads that share the keys.

use super::Attended;
use super::block::{self, Product};
use super::panels::{self, Wide};
use super::plan::{Axis, Matrix, Plan, Words};
use super::scores::{RowMask, power, seen};
use crate::{Simd, queue};
use core::ops::Range;

/// Where things lie in scratch memory.
pub(super) struct Room {
    /// Panels and rows of what blocks meet: by features, and by values.
    panels: [usize; 2],
    wide: [usize; 2],
    /// The rows of a block, by features and by values.
    rows: [usize; 2],
    /// Exponentials and slopes of a register tile.
    scores: usize,
    slopes: usize,
    sums: [usize; 2],
    /// Largest scores and deltas of rows, or of columns.
    numbers: [usize; 2],
    pub(super) end: usize,
}

/// The matrices of a query head, each with the factor of its packed rows: the scores' rows and columns, by features and by
/// values.
struct Sides {
    rows: [(Matrix, f32); 2],
    columns: [(Matrix, f32); 2],
}

impl Sides {
    #[inline(always)]
    fn new(plan: &Plan<'_>, head: usize) -> Sides {
        // Queries are scaled, on whichever side, so that a score is the same in all kernels.
        let queries = [(plan.input(0, head), plan.attend.scale), (plan.derivative(0, head), 1.0)];
        let keys = [(plan.input(1, head), 1.0), (plan.input(2, head), 1.0)];
        match is_of_keys(plan) {
            false => Sides { rows: queries, columns: keys },
            true => Sides { rows: keys, columns: queries },
        }
    }
}

fn is_of_keys(plan: &Plan<'_>) -> bool {
    matches!(plan.attend.part, Attended::Key)
}

impl Room {
    pub(super) fn new(plan: &Plan<'_>) -> Room {
        let mut words = Words::default();
        let widths = [plan.attend.features, plan.attend.values];
        let columns = Sides::new(plan, 0).columns;
        let most = plan.most();
        // Values of keys are not summed up in a kernel of queries.
        let rows = |plan: &Plan<'_>, k: usize| match k == 0 || is_of_keys(plan) {
            true => panels::wide_words(plan, &columns[k].0),
            false => 0,
        };
        let numbers = if is_of_keys(plan) { plan.columns.next_multiple_of(plan.tile) } else { most };
        Room {
            panels: widths.map(|width| words.take(panels::words(plan, width))),
            wide: [0, 1].map(|k| words.take(rows(plan, k))),
            rows: widths.map(|width| words.take(most * width)),
            scores: words.take(plan.tall * plan.tile),
            slopes: words.take(plan.tall * plan.tile),
            sums: widths.map(|width| words.take(most * plan.padded(width))),
            numbers: [0, 1].map(|_| words.take(numbers)),
            end: words.take(0),
        }
    }
}

/// What blocks meet, packed.
struct Packed {
    head: usize,
    wide: [Wide; 2],
}

/// Runs jobs.
///
/// # Safety
/// The memory must have the words of [`Room`], and nobody else may have the rows of these jobs.
#[inline(always)]
pub(super) unsafe fn jobs<S: Simd>(s: S, plan: &Plan<'_>, jobs: queue::Jobs<'_>, memory: *mut f32) {
    let room = Room::new(plan);
    let nothing = Wide { data: memory, row: 0 };
    let mut packed = Packed { head: usize::MAX, wide: [nothing; 2] };
    let of_keys = is_of_keys(plan);
    for job in jobs {
        let (head, rows) = plan.job(job);
        // The query heads of this job.
        let heads = if of_keys { head * plan.shared..(head + 1) * plan.shared } else { head..head + 1 };
        for (turn, query_head) in heads.enumerate() {
            let sides = Sides::new(plan, query_head);
            // SAFETY: the memory has the words of `Room`, by this function's contract; what the block meets is packed, and
            // its rows, numbers and sums are there, before it is computed.
            unsafe {
                let columns = if of_keys { query_head } else { query_head / plan.shared };
                if packed.head != columns {
                    packed = pack(s, plan, &sides, columns, &room, memory);
                }
                numbers(plan, query_head, &rows, &room, memory);
                if turn == 0 {
                    begin(s, plan, &sides, &rows, &room, memory);
                }
                block(s, plan, query_head, &rows, &packed, &room, memory);
            }
        }
        // SAFETY: the memory has the sums of these rows, which belong to this job, by this function's contract.
        unsafe { finish(s, plan, head, &rows, &room, memory) };
    }
}

/// Packs what blocks of a head meet.
///
/// # Safety
/// The memory must have the words of [`Room`].
#[inline(always)]
unsafe fn pack<S: Simd>(s: S, plan: &Plan<'_>, sides: &Sides, head: usize, room: &Room, memory: *mut f32) -> Packed {
    let mut packed = Packed { head, wide: [Wide { data: memory, row: 0 }; 2] };
    for (k, (from, factor)) in sides.columns.iter().enumerate() {
        // SAFETY: the sides are matrices of the plan's, and the memory has the words of `Room`, by this function's
        // contract, which counts all panels of each and the copies that are made of its rows.
        unsafe {
            panels::pack(s, plan, from, *factor, memory.add(room.panels[k]));
            if k == 0 || is_of_keys(plan) {
                packed.wide[k] = panels::wide(s, plan, from, memory.add(room.wide[k]));
            }
        }
    }
    packed
}

/// Copies largest scores and deltas: of the block's rows, or of all columns.
///
/// # Safety
/// The memory must have the words of [`Room`], and `rows` must be those of a job.
#[inline(always)]
unsafe fn numbers(plan: &Plan<'_>, head: usize, rows: &Range<usize>, room: &Room, memory: *mut f32) {
    let queries = if is_of_keys(plan) { 0..plan.columns } else { rows.clone() };
    for (k, to) in room.numbers.into_iter().enumerate() {
        let from = plan.derivative(1 + k, head);
        for (n, row) in queries.clone().enumerate() {
            // SAFETY: the plan has checked that a number for each query lies within the slice; the memory has the words of
            // `Room`, by this function's contract, which counts a number for each row of a job or for each column.
            unsafe { memory.add(to + n).write(from.data.wrapping_offset(row.cast_signed() * from.row).read()) };
        }
    }
}

/// Copies the block's rows, and clears the sums.
///
/// # Safety
/// The memory must have the words of [`Room`], and `rows` must be those of a job.
#[inline(always)]
unsafe fn begin<S: Simd>(s: S, plan: &Plan<'_>, sides: &Sides, rows: &Range<usize>, room: &Room, memory: *mut f32) {
    for (k, (from, factor)) in sides.rows.iter().enumerate() {
        // SAFETY: the rows are of a matrix of the plan's, and the memory has the words of `Room`, by this function's
        // contract, which counts `most` rows and their sums, and no job has more.
        unsafe {
            block::copy(s, from, rows.start, rows.len(), *factor, memory.add(room.rows[k]), from.columns);
            memory.add(room.sums[k]).write_bytes(0, rows.len() * plan.padded(from.columns));
        }
    }
}

/// Adds what a block of rows meets to its sums.
///
/// # Safety
/// The memory must have the words of [`Room`], with the block's rows, numbers and sums, and what `packed` says of the head.
#[inline(always)]
unsafe fn block<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    head: usize,
    rows: &Range<usize>,
    packed: &Packed,
    room: &Room,
    memory: *mut f32,
) {
    let widths = [plan.attend.features, plan.attend.values];
    let count = rows.len();
    let tiles = count.div_ceil(plan.tall);
    let (start, end) = (seen(plan, rows.start).start, seen(plan, rows.end - 1).end);
    for first in (start / plan.tile * plan.tile..end).step_by(plan.tile) {
        for tile in 0..tiles {
            let at = count * tile / tiles..count * (tile + 1) / tiles;
            // Of the tile's columns those that some row sees.
            let low = seen(plan, rows.start + at.start).start.saturating_sub(first) / S::LANES * S::LANES;
            let high = plan.tile.min(seen(plan, rows.start + at.end - 1).end.saturating_sub(first));
            if low >= high {
                continue;
            }
            let results = [room.scores, room.slopes].map(|at| memory.wrapping_add(at + low));
            for (k, c) in results.into_iter().enumerate() {
                let product = Product {
                    rows: at.len(),
                    vectors: (high - low).div_ceil(S::LANES),
                    terms: widths[k],
                    a: memory.wrapping_add(room.rows[k] + at.start * widths[k]),
                    a_row: widths[k],
                    b: memory.wrapping_add(room.panels[k] + first * widths[k] + low),
                    b_step: plan.tile.cast_signed(),
                    c,
                    c_row: plan.tile,
                    add: false,
                };
                // SAFETY: the block's rows have `widths[k]` words, panels a tile for each of them, and each result a tile
                // for each row of a register tile, by this function's contract.
                unsafe { block::multiply(s, &product) };
            }
            let place =
                Tile { head, first, low, high, rows: rows.start + at.start..rows.start + at.end, start: at.start };
            // SAFETY: `results` now has columns `low..high` of these rows; the memory has their numbers.
            unsafe { slopes(s, plan, &place, room, memory) };
            // Slopes weigh features; exponentials weigh cotangents.
            let weights = [results[1], results[0]];
            for k in 0..if is_of_keys(plan) { 2 } else { 1 } {
                let wide = plan.padded(widths[k]);
                let from = packed.wide[k];
                let product = Product {
                    rows: at.len(),
                    vectors: wide / S::LANES,
                    terms: high - low,
                    a: weights[k],
                    a_row: plan.tile,
                    b: from.data.wrapping_offset((first + low).cast_signed() * from.row),
                    b_step: from.row,
                    c: memory.wrapping_add(room.sums[k] + at.start * wide),
                    c_row: wide,
                    add: true,
                };
                // SAFETY: weights have columns `low..high` in each row, `from` has as many rows of whole vectors, and the
                // sums have `wide` words in each row, by this function's contract.
                unsafe { block::multiply(s, &product) };
            }
        }
    }
}

/// A register tile: the columns `low..high` of the tile from `first` on.
struct Tile {
    head: usize,
    first: usize,
    low: usize,
    high: usize,
    rows: Range<usize>,
    /// The first row within the block.
    start: usize,
}

/// Makes exponentials of scores, and slopes of the products of cotangents and values.
///
/// # Safety
/// The memory must have the words of [`Room`], with the scores and products of the tile and the numbers of its rows or
/// columns, and the tile must have at most `plan.tall` rows, and columns within a tile.
#[inline(always)]
unsafe fn slopes<S: Simd>(s: S, plan: &Plan<'_>, tile: &Tile, room: &Room, memory: *mut f32) {
    let mask = RowMask::new(plan, tile.head);
    let columns = tile.high - tile.low;
    let first = tile.first + tile.low;
    for (r, row) in tile.rows.clone().enumerate() {
        let at = r * plan.tile + tile.low;
        // SAFETY: the memory has `plan.tile` scores and as many slopes for each row of a register tile, apart from each
        // other, of which `columns` from `low` on are the tile's, and two numbers for each of its columns, or for each row
        // of the block, by this function's contract.
        let (scores, slopes, largest, deltas) = unsafe {
            let numbers =
                |k: usize, at: usize, len: usize| core::slice::from_raw_parts(memory.add(room.numbers[k] + at), len);
            let (from, len) = if is_of_keys(plan) { (first, columns) } else { (tile.start + r, 1) };
            (
                core::slice::from_raw_parts_mut(memory.add(room.scores + at), columns),
                core::slice::from_raw_parts_mut(memory.add(room.slopes + at), columns),
                numbers(0, from, len),
                numbers(1, from, len),
            )
        };
        let seen = seen(plan, row);
        let counted = seen.start.saturating_sub(first).min(columns)..seen.end.saturating_sub(first).min(columns);
        scores[..counted.start].fill(f32::NEG_INFINITY);
        scores[counted.end..].fill(f32::NEG_INFINITY);
        mask.apply(s, &mut scores[counted.clone()], row, first + counted.start);
        let of_columns = largest.len() == columns && is_of_keys(plan);
        let row = (s.splat_f(largest[0]), s.splat_f(deltas[0]));
        crate::sweep!(S, j, at, columns, {
            let (largest, delta) = match of_columns {
                true => (s.load_f(largest, j, at), s.load_f(deltas, j, at)),
                false => row,
            };
            let p = power(s, s.sub_f(s.load_f(scores, j, at), largest));
            s.store_f(scores, j, at, p);
            let slope = s.mul_f(p, s.sub_f(s.load_f(slopes, j, at), delta));
            s.store_f(slopes, j, at, slope);
        });
    }
}

/// Stores the block's sums.
///
/// # Safety
/// The memory must have the words of [`Room`], and nobody else may have the rows, which must be those of a job.
#[inline(always)]
unsafe fn finish<S: Simd>(s: S, plan: &Plan<'_>, head: usize, rows: &Range<usize>, room: &Room, memory: *mut f32) {
    let widths = [plan.attend.features, plan.attend.values];
    let of_keys = is_of_keys(plan);
    let axis = if of_keys { Axis::Keys } else { Axis::Queries };
    for (k, columns) in [Axis::Features, Axis::Values].into_iter().enumerate() {
        let wide = plan.padded(widths[k]);
        let factor = if k == 0 { plan.attend.scale } else { 1.0 };
        // Jobs of keys count heads without those that share.
        let head = if of_keys { head * plan.shared } else { head };
        for target in plan.targets(k, head, axis, columns) {
            for (r, row) in rows.clone().enumerate() {
                // SAFETY: the sums have `wide` words, no fewer than `widths[k]`, for each row of a job, and nobody else has
                // the rows, by this function's contract.
                unsafe {
                    let sums = core::slice::from_raw_parts(memory.add(room.sums[k] + r * wide), widths[k]);
                    block::store(s, &target, row, sums, factor);
                }
            }
        }
    }
}
