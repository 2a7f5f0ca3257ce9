//! The derivatives of short heads, with queries along the lanes.
//!
//! In: a plan whose queries and keys are a few hundred at most. Out: the cotangent of the queries, a panel after the other,
//! or those of keys and values, and of queries too, a head after the other. Always: exponentials and slopes of a panel are made
//! once, and read as columns by what belongs to queries and as rows by what belongs to keys.

use super::Attended;
use super::block;
use super::plan::{Axis, Plan, Words};
use super::scores::{LaneMask, power};
use super::short::{Lies, Numbers, Panel, Product, VECTORS, multiply, seen, transpose};
use crate::{Full, Simd, queue};

/// Where things lie in scratch memory: by features, and by values.
struct Room {
    /// Keys and values.
    keys: [usize; 2],
    /// Queries and cotangents: of a panel, or of the head.
    rows: [usize; 2],
    transposed: [usize; 2],
    /// Exponentials and slopes.
    scores: [usize; 2],
    /// Sums of keys and values, and of a panel of queries.
    sums: [usize; 2],
    queries: usize,
    end: usize,
}

fn is_of_keys(plan: &Plan<'_>) -> bool {
    matches!(plan.attend.part, Attended::Key)
}

impl Room {
    fn new(plan: &Plan<'_>) -> Room {
        let (attend, width, mut words) = (plan.attend, VECTORS * plan.lanes, Words::default());
        let widths = [attend.features, attend.values];
        let (rows, sums) = if is_of_keys(plan) { (attend.queries, attend.keys) } else { (width, 0) };
        let queries = if !is_of_keys(plan) || plan.with_queries() { width } else { 0 };
        Room {
            keys: widths.map(|n| words.take(attend.keys * plan.padded(n))),
            rows: widths.map(|n| words.take(rows * plan.padded(n))),
            transposed: widths.map(|n| words.take(width * n)),
            scores: [(); 2].map(|()| words.take(width * attend.keys)),
            sums: widths.map(|n| words.take(sums * plan.padded(n))),
            queries: words.take(queries * plan.padded(attend.features)),
            end: words.take(0),
        }
    }
}

/// The words of scratch memory.
pub(super) fn words(plan: &Plan<'_>) -> usize {
    Room::new(plan).end
}

/// Runs jobs: a panel of a head, or a head.
///
/// # Safety
/// The memory must have the words that [`words`] says, and nobody else may have the panels or heads of these jobs.
#[inline(always)]
pub(super) unsafe fn jobs<S: Simd>(s: S, plan: &Plan<'_>, jobs: queue::Jobs<'_>, memory: *mut f32) {
    let room = Room::new(plan);
    // SAFETY: the memory has the words of `room`, and nobody else has the panels or heads of these jobs, by this function's
    // contract.
    unsafe {
        match is_of_keys(plan) {
            true => jobs.for_each(|head| of_keys(s, plan, head, &room, memory)),
            false => of_queries(s, plan, jobs, &room, memory),
        }
    }
}

/// The cotangents of queries, a panel after the other.
///
/// # Safety
/// The memory must have the words of `room`, and nobody else may have the panels of these jobs.
#[inline(always)]
unsafe fn of_queries<S: Simd>(s: S, plan: &Plan<'_>, jobs: queue::Jobs<'_>, room: &Room, memory: *mut f32) {
    let mut copied = usize::MAX;
    for job in jobs {
        let (head, panel) = plan.panel(job);
        // SAFETY: the memory has the words of `room`, and nobody else has the panel, by this function's contract; keys and
        // slopes are written before they are weighed.
        unsafe {
            if copied != head / plan.shared {
                keys(s, plan, head, room, memory);
                copied = head / plan.shared;
            }
            slopes(s, plan, head, &panel, room, (0, memory));
            weigh_keys(s, plan, (head, 0), &panel, room, memory);
        }
    }
}

/// The cotangents of a panel's queries, to the places of that result of a head: slopes weigh keys.
///
/// # Safety
/// The memory must have the words of `room`, with the panel's slopes and the head's keys, and sums of a panel of queries;
/// the result must be that of queries, and nobody else may have the panel.
#[inline(always)]
unsafe fn weigh_keys<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    (head, result): (usize, usize),
    panel: &Panel,
    room: &Room,
    memory: *mut f32,
) {
    let (attend, features) = (plan.attend, plan.padded(plan.attend.features));
    let product = Product {
        rows: panel.count,
        vectors: features / S::LANES,
        terms: panel.seen,
        until: attend.causal.then_some(panel.first),
        a: memory.wrapping_add(room.scores[1]),
        lies: Lies::Columns(VECTORS * S::LANES),
        b: memory.wrapping_add(room.keys[0]),
        b_step: features,
        c: memory.wrapping_add(room.queries),
        c_row: features,
        add: false,
    };
    // SAFETY: the memory has a panel of slopes for each key, keys of whole vectors, and as wide sums of a panel of queries,
    // by this function's contract; the targets are the plan's, and nobody else has these queries.
    unsafe {
        multiply(s, &product);
        for target in plan.targets(result, head, Axis::Queries, Axis::Features) {
            for r in 0..panel.count {
                let sums = core::slice::from_raw_parts(product.c.add(r * features), attend.features);
                block::store(s, &target, panel.first + r, sums, attend.scale);
            }
        }
    }
}

/// The cotangents of a head's keys and values, and those of queries if they have places.
///
/// # Safety
/// The memory must have the words of `room`, and nobody else may have the head.
#[inline(always)]
unsafe fn of_keys<S: Simd>(s: S, plan: &Plan<'_>, head: usize, room: &Room, memory: *mut f32) {
    let attend = plan.attend;
    let widths = [attend.features, attend.values];
    // SAFETY: the memory has the words of `room`, by this function's contract: rows of whole vectors for all keys and
    // queries, sums of all keys, and a panel of exponentials and of slopes for each key, which are written before they are
    // read. Nobody else has the head, and each target is one of the plan's.
    unsafe {
        keys(s, plan, head * plan.shared, room, memory);
        for (sums, width) in room.sums.into_iter().zip(widths) {
            memory.add(sums).write_bytes(0, attend.keys * plan.padded(width));
        }
        for query_head in head * plan.shared..(head + 1) * plan.shared {
            for number in 0..plan.panels() {
                let panel = Panel::new(plan, number);
                slopes(s, plan, query_head, &panel, room, (panel.first, memory));
                if plan.with_queries() {
                    weigh_keys(s, plan, (query_head, 2), &panel, room, memory);
                }
                // Slopes weigh queries; exponentials weigh cotangents.
                for (k, weights) in [(0, room.scores[1]), (1, room.scores[0])] {
                    let wide = plan.padded(widths[k]);
                    let product = Product {
                        rows: panel.seen,
                        vectors: wide / S::LANES,
                        terms: panel.count,
                        until: None,
                        a: memory.wrapping_add(weights),
                        lies: Lies::Rows(VECTORS * S::LANES),
                        b: memory.wrapping_add(room.rows[k] + panel.first * wide),
                        b_step: wide,
                        c: memory.wrapping_add(room.sums[k]),
                        c_row: wide,
                        add: true,
                    };
                    multiply(s, &product);
                }
            }
        }
        for (k, columns) in [Axis::Features, Axis::Values].into_iter().enumerate() {
            for target in plan.targets(k, head * plan.shared, Axis::Keys, columns) {
                for r in 0..attend.keys {
                    let at = memory.add(room.sums[k] + r * plan.padded(widths[k]));
                    block::store(s, &target, r, core::slice::from_raw_parts(at, widths[k]), 1.0);
                }
            }
        }
    }
}

/// Copies the keys and values of a query head.
///
/// # Safety
/// The memory must have the words of `room`.
#[inline(always)]
unsafe fn keys<S: Simd>(s: S, plan: &Plan<'_>, head: usize, room: &Room, memory: *mut f32) {
    for (k, to) in room.keys.into_iter().enumerate() {
        let from = plan.input(1 + k, head);
        // SAFETY: the matrix is the plan's, and the memory has the words of `room`, by this function's contract, which
        // counts whole vectors for each row of keys and of values.
        unsafe { block::copy(s, &from, 0, from.rows, 1.0, memory.add(to), plan.padded(from.columns)) };
    }
}

/// Makes the exponentials and the slopes of a panel, whose rows are copied to row `row` on; those of queries are scaled.
///
/// # Safety
/// The memory must have the words of `room`, with the head's keys and values, and room for the panel's rows from `row` on.
#[inline(always)]
unsafe fn slopes<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    head: usize,
    panel: &Panel,
    room: &Room,
    (row, memory): (usize, *mut f32),
) {
    let width = VECTORS * S::LANES;
    let at = |word: usize| memory.wrapping_add(word);
    let sides = [plan.input(0, head), plan.derivative(0, head)];
    for (k, (from, factor)) in sides.iter().zip([plan.attend.scale, 1.0]).enumerate() {
        let wide = plan.padded(from.columns);
        let product = Product {
            rows: panel.seen,
            vectors: panel.vectors,
            terms: from.columns,
            until: None,
            a: at(room.keys[k]),
            lies: Lies::Rows(wide),
            b: at(room.transposed[k]),
            b_step: width,
            c: at(room.scores[k]),
            c_row: width,
            add: false,
        };
        // SAFETY: the memory has the words of `room`, with keys and values of whole vectors, and room for the panel's rows
        // from `row` on, by this function's contract; `room` counts a panel for each column that is transposed and for each
        // key.
        unsafe {
            transpose(s, plan, from, panel, factor, at(room.rows[k] + row * wide), at(room.transposed[k]));
            multiply(s, &product);
        }
    }
    let mask = LaneMask::new(plan, head);
    let [largest, deltas] = [1, 2].map(|k| numbers(plan, k, head, panel));
    for vector in 0..panel.vectors {
        let first = panel.first + vector * S::LANES;
        let largest = s.load_f(&largest, vector * S::LANES, Full);
        let delta = s.load_f(&deltas, vector * S::LANES, Full);
        for key in 0..panel.seen {
            let [p_at, slope_at] = room.scores.map(|word| at(word + (key * VECTORS + vector) * S::LANES));
            // SAFETY: the memory has `VECTORS` vectors of exponentials and of slopes for each key, by this function's
            // contract, and the products have written those of all keys that are seen.
            unsafe {
                let mut p = power(s, s.sub_f(mask.apply(s, s.load_raw_f(p_at), key), largest));
                if plan.attend.causal && key > first {
                    p = s.select_f(seen(s, plan, first, key), p, s.splat_f(0.0));
                }
                s.store_raw_f(p_at, p);
                s.store_raw_f(slope_at, s.mul_f(p, s.sub_f(s.load_raw_f(slope_at), delta)));
            }
        }
    }
}

/// The largest scores (1) or deltas (2) of a panel.
#[inline(always)]
fn numbers(plan: &Plan<'_>, k: usize, head: usize, panel: &Panel) -> Numbers {
    let from = plan.derivative(k, head);
    let mut numbers = [0.0; _];
    for (r, number) in numbers[..panel.count].iter_mut().enumerate() {
        let at = (panel.first + r).cast_signed() * from.row;
        // SAFETY: the plan has checked that a number for each query lies within the slice, and a panel's queries are some
        // of them.
        *number = unsafe { from.data.wrapping_offset(at).read() };
    }
    numbers
}
