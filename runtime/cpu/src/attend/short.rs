//! Short heads: scores with queries along the lanes.
//!
//! In: a plan whose queries and keys are a few hundred at most. Out: the output, and two numbers of each query. Always: a panel
//! of two vectors of queries meets all keys that it sees at once. So the softmax is arithmetic between vectors, with nothing to
//! reduce across lanes and nothing to scale again, and the products read the scores as they were written, as rows or as columns.

use super::block;
use super::plan::{Axis, Matrix, Plan, Words};
use super::scores::{LaneMask, power};
use crate::contract::kernel::{self, Ahead, Block, Rows, Steps};
use crate::vectors::MAX_LANES;
use crate::{Full, Simd, queue};

/// Vectors of a panel.
pub(super) const VECTORS: usize = 2;

/// Where things lie in scratch memory.
struct Room {
    keys: usize,
    values: usize,
    queries: usize,
    transposed: usize,
    scores: usize,
    sums: usize,
    end: usize,
}

impl Room {
    fn new(plan: &Plan<'_>) -> Room {
        let (attend, width, mut words) = (plan.attend, VECTORS * plan.lanes, Words::default());
        let [features, values] = [attend.features, attend.values].map(|n| plan.padded(n));
        Room {
            keys: words.take(attend.keys * features),
            values: words.take(attend.keys * values),
            queries: words.take(width * features),
            transposed: words.take(width * attend.features),
            scores: words.take(width * attend.keys),
            sums: words.take(width * values),
            end: words.take(0),
        }
    }
}

/// The words of scratch memory.
pub(super) fn words(plan: &Plan<'_>) -> usize {
    Room::new(plan).end
}

/// A panel of queries.
#[derive(Clone, Copy)]
pub(super) struct Panel {
    /// The first query.
    pub(super) first: usize,
    /// How many.
    pub(super) count: usize,
    /// Whole vectors that hold them.
    pub(super) vectors: usize,
    /// How many keys some of them see.
    pub(super) seen: usize,
}

impl Panel {
    pub(super) fn new(plan: &Plan<'_>, number: usize) -> Panel {
        let attend = plan.attend;
        let first = number * VECTORS * plan.lanes;
        let count = (attend.queries - first).min(VECTORS * plan.lanes);
        let seen = if attend.causal { attend.keys.min(first + count) } else { attend.keys };
        Panel { first, count, vectors: count.div_ceil(plan.lanes), seen }
    }
}

/// Runs jobs, each of which is a panel of a head.
///
/// # Safety
/// The memory must have the words that [`words`] says, and nobody else may have the panels of these jobs.
#[inline(always)]
pub(super) unsafe fn jobs<S: Simd>(s: S, plan: &Plan<'_>, jobs: queue::Jobs<'_>, memory: *mut f32) {
    let (room, attend) = (Room::new(plan), plan.attend);
    let [features, values] = [attend.features, attend.values].map(|n| plan.padded(n));
    let at = |word: usize| memory.wrapping_add(word);
    let mut copied = usize::MAX;
    for job in jobs {
        let (head, panel) = plan.panel(job);
        // SAFETY: the memory has the words of `Room`, by this function's contract: rows of whole vectors for all keys and
        // values, and a panel's queries, those transposed, a panel of scores for each key, and sums. What a product reads is
        // written before it, and the queries belong to this job.
        unsafe {
            if copied != head / plan.shared {
                block::copy(s, &plan.input(1, head), 0, attend.keys, 1.0, at(room.keys), features);
                block::copy(s, &plan.input(2, head), 0, attend.keys, 1.0, at(room.values), values);
                copied = head / plan.shared;
            }
            transpose(s, plan, &plan.input(0, head), &panel, attend.scale, at(room.queries), at(room.transposed));
            let scores = Product {
                rows: panel.seen,
                vectors: panel.vectors,
                terms: attend.features,
                until: None,
                a: at(room.keys),
                lies: Lies::Rows(features),
                b: at(room.transposed),
                b_step: VECTORS * S::LANES,
                c: at(room.scores),
                c_row: VECTORS * S::LANES,
                add: false,
            };
            multiply(s, &scores);
            let mask = LaneMask::new(plan, head);
            let numbers = softmax(s, plan, &panel, &mask, at(room.scores));
            let weighed = Product {
                rows: panel.count,
                vectors: values / S::LANES,
                terms: panel.seen,
                until: attend.causal.then_some(panel.first),
                a: at(room.scores),
                lies: Lies::Columns(VECTORS * S::LANES),
                b: at(room.values),
                b_step: values,
                c: at(room.sums),
                c_row: values,
                add: false,
            };
            multiply(s, &weighed);
            finish(s, plan, head, &panel, (at(room.sums), values), &numbers);
        }
    }
}

/// Copies a panel's rows times a factor to `rows`, and turns them: word `c · width + i` of `to` is column `c` of row `i`.
/// What stands for queries beyond the panel is anything.
///
/// # Safety
/// `from` must be a matrix of the plan's with the panel's rows, `rows` must be valid for writing whole vectors for each of
/// them, and `to` for a panel of each column.
#[inline(always)]
pub(super) unsafe fn transpose<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    from: &Matrix,
    panel: &Panel,
    factor: f32,
    rows: *mut f32,
    to: *mut f32,
) {
    let wide = plan.padded(from.columns);
    // SAFETY: the panel's rows are some of the matrix, and `rows` has `wide` words for each of them, by this function's
    // contract.
    unsafe { block::copy(s, from, panel.first, panel.count, factor, rows, wide) };
    for vector in 0..panel.vectors {
        let mut list = [rows.cast_const(); MAX_LANES];
        for (lane, row) in list.iter_mut().enumerate() {
            *row = rows.wrapping_add((vector * S::LANES + lane).min(panel.count - 1) * wide);
        }
        for column in (0..from.columns).step_by(S::LANES) {
            let to = to.wrapping_add(column * VECTORS * S::LANES + vector * S::LANES);
            let count = S::LANES.min(from.columns - column);
            // SAFETY: each of the list is a row of `wide` words, whole vectors, that was just written; `to` has `VECTORS`
            // vectors for each column, by this function's contract, of which `count` are left from `column` on.
            unsafe { s.transpose_raw_f(list.as_ptr(), column, to, VECTORS * S::LANES, count) };
        }
    }
}

/// How the left operand of a product lies.
#[derive(Clone, Copy)]
pub(super) enum Lies {
    /// Row after row, so far apart.
    Rows(usize),
    /// Column after column, so far apart.
    Columns(usize),
}

/// The operands of a product `c (+)= a · b` of any number of rows.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) rows: usize,
    /// Vectors of `c` and `b`.
    pub(super) vectors: usize,
    /// Terms of each sum.
    pub(super) terms: usize,
    /// Row `r` has no terms from this plus `r` plus one on.
    pub(super) until: Option<usize>,
    pub(super) a: *const f32,
    pub(super) lies: Lies,
    pub(super) b: *const f32,
    pub(super) b_step: usize,
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
    pub(super) add: bool,
}

/// Computes a product.
///
/// # Safety
/// `a` must have `rows` rows of `terms` words, which lie as it says, and `b` `terms` rows, and `c` valid rows of sums, of
/// `vectors` vectors each.
#[inline(always)]
pub(super) unsafe fn multiply<S: Simd>(s: S, product: &Product) {
    let tiles = product.rows.div_ceil(S::ROWS);
    for tile in 0..tiles {
        let (first, end) = (product.rows * tile / tiles, product.rows * (tile + 1) / tiles);
        let (a, rows) = match product.lies {
            Lies::Rows(row) => (product.a.wrapping_add(first * row), Rows::Even(row.cast_signed())),
            Lies::Columns(step) => (product.a.wrapping_add(first), Rows::Near(step.cast_signed())),
        };
        let terms = product.until.map_or(product.terms, |start| product.terms.min(start + end));
        for vector in (0..product.vectors).step_by(2) {
            let c = product.c.wrapping_add(first * product.c_row + vector * S::LANES);
            let c_row = product.c_row.cast_signed();
            let block = Block {
                k: terms,
                a,
                rows,
                b: product.b.wrapping_add(vector * S::LANES),
                steps: Steps::Even(product.b_step.cast_signed()),
                ahead: Ahead::nothing(product.b),
                c,
                c_row,
                before: product.add.then_some((c.cast_const(), c_row)),
            };
            // SAFETY: a tile has at most `S::ROWS` rows and 1 or 2 vectors of those that there are, and no more terms than
            // `terms`; the operands have these by this function's contract.
            unsafe { kernel::tile(s, end - first, (product.vectors - vector).min(2), block) };
        }
    }
}

/// A number for each query of a panel.
pub(super) type Numbers = [f32; VECTORS * MAX_LANES];

/// Makes powers of scores, and for each query its largest score and the factor of its sums.
///
/// # Safety
/// `scores` must be valid for reading and writing `VECTORS` vectors for each of `panel.seen` keys.
#[inline(always)]
unsafe fn softmax<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    panel: &Panel,
    mask: &LaneMask<'_>,
    scores: *mut f32,
) -> [Numbers; 2] {
    let [mut largest, mut factors] = [[0.0; VECTORS * MAX_LANES]; 2];
    let never = s.splat_f(f32::NEG_INFINITY);
    for vector in 0..panel.vectors {
        let first = panel.first + vector * S::LANES;
        let row = |key: usize| scores.wrapping_add((key * VECTORS + vector) * S::LANES);
        let mut most = never;
        for key in 0..panel.seen {
            // SAFETY: `scores` has `VECTORS` vectors for each of `panel.seen` keys, by this function's contract.
            unsafe {
                let mut score = s.load_raw_f(row(key));
                if mask.is_some() || plan.attend.causal && key > first {
                    score = s.select_f(seen(s, plan, first, key), mask.apply(s, score, key), never);
                    s.store_raw_f(row(key), score);
                }
                most = s.at_least_f(score, most);
            }
        }
        let shift = s.select_f(s.eq_f(most, never), s.splat_f(0.0), most);
        let mut total = s.splat_f(0.0);
        for key in 0..panel.seen {
            // SAFETY: `scores` has `VECTORS` vectors for each of `panel.seen` keys, by this function's contract.
            unsafe {
                let weight = power(s, s.sub_f(s.load_raw_f(row(key)), shift));
                s.store_raw_f(row(key), weight);
                total = s.add_f(total, weight);
            }
        }
        // The power of the largest score is 1. NaN is not nothing.
        let nothing = s.eq_f(total, s.splat_f(0.0));
        let factor = s.select_f(nothing, s.splat_f(0.0), s.div_f(s.splat_f(1.0), total));
        s.store_f(&mut largest, vector * S::LANES, Full, shift);
        s.store_f(&mut factors, vector * S::LANES, Full, factor);
    }
    [largest, factors]
}

/// The lanes whose queries, from `first` on, see a key, as far as the order of positions goes.
#[inline(always)]
pub(super) fn seen<S: Simd>(s: S, plan: &Plan<'_>, first: usize, key: usize) -> S::M {
    if !plan.attend.causal || key <= first {
        return s.splat_m(true);
    }
    s.le_i(s.splat_i((key - first) as i32), s.iota_i())
}

/// Stores the results of a panel.
///
/// # Safety
/// `sums` must have `wide` words, no fewer than there are values, for each query of the panel, which nobody else may have.
#[inline(always)]
unsafe fn finish<S: Simd>(
    s: S,
    plan: &Plan<'_>,
    head: usize,
    panel: &Panel,
    (sums, wide): (*const f32, usize),
    numbers: &[Numbers; 2],
) {
    let [_, factors] = numbers;
    for target in plan.targets(0, head, Axis::Queries, Axis::Values) {
        for (r, factor) in factors[..panel.count].iter().enumerate() {
            // SAFETY: the sums have `wide` words, no fewer than there are values, for each query of the panel, and nobody
            // else has these queries, by this function's contract; the target is one of the plan's.
            unsafe {
                let sums = core::slice::from_raw_parts(sums.add(r * wide), plan.attend.values);
                block::store(s, &target, panel.first + r, sums, *factor);
            }
        }
    }
    for (result, numbers) in [1, 2].into_iter().zip(numbers) {
        for target in plan.targets(result, head, Axis::Queries, Axis::Values) {
            for (r, number) in numbers[..panel.count].iter().enumerate() {
                let at = (panel.first + r).cast_signed() * target.row;
                // SAFETY: the plan has checked that a number for each query lies within the slice, and nobody else has
                // those of the panel, by this function's contract.
                unsafe { target.data.wrapping_offset(at).write(*number) };
            }
        }
    }
}
