//! Attention and its derivatives: scores are made tile by tile, used, and forgotten.
//!
//! In: queries, keys and values as strided arrays, a mask, an order of positions. Out: for every query the sum of the values
//! weighed by the softmax of its scores, its largest score, and the reciprocal of the softmax's sum; or the derivatives. Always:
//! every kernel that a derivative goes with rounds a score in the same way, so that none exceeds the largest of its query;
//! memory grows with the number of queries and keys, not with their product; nothing is allocated after the first call at a
//! size; results do not depend on the number of threads.
//!
//! The scheme is that of Dao et al., *FlashAttention*, 2022: the softmax runs along with its largest score, and derivatives
//! compute exponentials again from the largest score. The kernel of keys sums over queries by itself, so that no two
//! jobs write one word.

mod backward;
mod block;
mod output;
mod panels;
mod plan;
mod scores;
mod short;
mod short_backward;
mod single;
#[cfg(test)]
mod tests;

use super::contract::Output;
use super::isa::Set;
use super::scratch::{Scratch, lend};
use super::{Family, Kernel, Simd, queue, run};
use core::cell::Cell;
use plan::{Plan, RESULTS, is_short};

/// What is computed, as the first, the second and the third result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attended {
    /// The output; the largest score of each query; and the reciprocal of the sum of the exponentials of its scores less the
    /// largest. Both numbers are 0 where a query sees no key.
    Output,
    /// The cotangent of the queries.
    Query,
    /// The cotangent of the keys, and that of the values; and that of the queries, where it has places.
    Key,
}

/// An array: the element at an index is `data[base + Σ strides·index]`.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a, T = f32> {
    /// Where it lies.
    pub data: &'a [T],
    /// The word where all indices are 0.
    pub base: isize,
    /// Words per step of each of the heads' axes, then of queries, keys, features and values.
    pub strides: &'a [isize],
}

/// What is done to scores.
#[derive(Clone, Copy, Debug)]
pub enum Mask<'a> {
    /// Nothing.
    None,
    /// They are added to.
    Added(Strided<'a>),
    /// They count where this is not 0.
    Seen(Strided<'a, u32>),
}

/// Attention over heads.
#[derive(Clone, Copy, Debug)]
pub struct Attend<'a> {
    /// What is computed.
    pub part: Attended,
    /// The extents of the heads' axes: those of keys and values, then those of the query heads that share them. At most 8.
    pub heads: &'a [usize],
    /// How many of them are the first kind.
    pub batch: usize,
    /// Queries of a head.
    pub queries: usize,
    /// Keys of a head.
    pub keys: usize,
    /// Features of queries and keys.
    pub features: usize,
    /// Features of values.
    pub values: usize,
    /// Whether query `t` sees only keys up to `t`.
    pub causal: bool,
    /// The factor of scores.
    pub scale: f32,
    /// Queries, keys and values.
    pub inputs: [Strided<'a>; 3],
    /// For derivatives: the cotangent of the output times the reciprocal of the sum, the largest score, and the sum of the first
    /// times the output.
    pub derivative: Option<[Strided<'a>; 3]>,
    /// Which scores count.
    pub mask: Mask<'a>,
}

thread_local! {
    static SCRATCH: Cell<Scratch<()>> = Cell::default();
}

/// Computes `attend` on at most `threads` threads into the places of its results.
///
/// # Panics
/// If something reaches outside its slice, which the compiler has excluded.
pub fn attend<I: Family>(isa: I, threads: usize, attend: &Attend<'_>, results: [&mut [Output<'_>]; RESULTS]) {
    drive(isa.set(), threads, attend, results);
}

fn drive(isa: Set, threads: usize, attend: &Attend<'_>, results: [&mut [Output<'_>]; RESULTS]) {
    let (rows, lanes) = isa.register_tile();
    let compute = |attend: &Attend<'_>, results: [&mut [Output<'_>]; RESULTS]| {
        let plan = Plan::new(attend, results, rows, lanes);
        queue::balanced(plan.threads(threads), plan.jobs(), &Task { isa, plan: &plan });
    };
    // Of long heads, blocks of queries and blocks of keys are different jobs.
    let all_cotangents = attend.part == Attended::Key && !results[2].is_empty();
    if !all_cotangents || is_short(attend, lanes) {
        return compute(attend, results);
    }
    let [keys, values, queries] = results;
    compute(&Attend { part: Attended::Query, ..*attend }, [queries, &mut [], &mut []]);
    compute(attend, [keys, values, &mut []]);
}

struct Task<'a> {
    isa: Set,
    plan: &'a Plan<'a>,
}

impl queue::Work for Task<'_> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        lend(&SCRATCH, |scratch| {
            let (memory, _) = scratch.provide(self.plan.words(), 0, ());
            run(self.isa, Jobs { plan: self.plan, jobs, memory });
        });
    }
}

struct Jobs<'a> {
    plan: &'a Plan<'a>,
    jobs: queue::Jobs<'a>,
    /// As many words as the plan asks for.
    memory: *mut f32,
}

impl Kernel for Jobs<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Jobs { plan, jobs, memory } = self;
        // SAFETY: the plan was made for the lanes and rows of `S`, the memory has the words that it asks for, and it has
        // checked that what it describes lies within the slices; two jobs write different words, or run on one thread.
        unsafe {
            match plan.attend.part {
                Attended::Output if plan.single => single::jobs(s, plan, jobs, memory),
                Attended::Output if plan.short => short::jobs(s, plan, jobs, memory),
                Attended::Query | Attended::Key if plan.short => short_backward::jobs(s, plan, jobs, memory),
                Attended::Output => output::jobs(s, plan, jobs, memory),
                Attended::Query | Attended::Key => backward::jobs(s, plan, jobs, memory),
            }
        }
    }
}
