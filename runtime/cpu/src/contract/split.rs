//! Products that sum over many rows, such as gradients by weights: each half of the rows has sums of its own.
//!
//! In: a plan, then the sums of both halves. Out: whether they are kept apart, then the outputs. Always: that depends on shapes
//! alone, so the order of summation does too. Threads that share the rows of other kernels find in their caches what they have
//! written of both operands, which they would not if each had some columns of the result.

use core::ops::Range;

use super::drive::Call;
use super::finish::{Destination, Sums};
use super::pack::Source;
use super::plan::{self, Plan, Right};
use crate::machine::machine;
use crate::{Kernel, Simd, pool, run};

/// Most words of the sums of a half: a quarter of a second-level cache.
fn most_words() -> usize {
    machine().l2 / 4
}
/// Multiplications from which on a second round of jobs is worth its start: eight times what a second thread is worth.
fn worth() -> usize {
    8 * plan::worth()
}

/// Whether the halves of K have sums of their own.
pub(super) fn are_apart(plan: &Plan<'_>) -> bool {
    let results = plan.m.total * plan.n.total;
    let rows = |source: Source<'_>| source.is_across() && source.side.bounded().is_empty();
    plan.batch.total == 1
        && plan.blocks() > 1
        && plan.right == Right::Packed
        && results <= most_words()
        && results * plan.k.total >= worth()
        && plan.k.total >= plan.m.total.max(plan.n.total)
        && rows(Source::new(&plan.lhs, &plan.m, &plan.k))
        && rows(Source::new(&plan.rhs, &plan.n, &plan.k))
}

/// Adds the sums of both halves, which have `pitch` words from row to row and follow each other, and hands them on.
pub(super) fn join(call: &Call<'_>, plan: &Plan<'_>, tiles: usize, (sums, pitch): (*mut f32, usize)) {
    let destination = Destination::new(plan, 0, call.sink);
    pool::parallel(call.threads, tiles, &Join { call, plan, destination, tiles, sums, pitch });
}

struct Join<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    destination: Destination<'a>,
    /// Row tiles.
    tiles: usize,
    sums: *mut f32,
    pitch: usize,
}

// SAFETY: each row is read and written by the job that has its tile, and there are several threads only where no two
// indices of an output meet in one word.
unsafe impl Sync for Join<'_> {}

impl pool::Task for Join<'_> {
    fn work(&self, some: Range<usize>) {
        run(self.call.isa, Tiles { join: self, some });
    }
}

struct Tiles<'a> {
    join: &'a Join<'a>,
    some: Range<usize>,
}

impl Kernel for Tiles<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Join { plan, ref destination, tiles, sums, pitch, .. } = *self.join;
        for tile in self.some {
            let first = plan.row(tiles, tile);
            let rows = plan.row(tiles, tile + 1) - first;
            let data = sums.wrapping_add(first * pitch);
            let second = data.wrapping_add(plan.m.total * pitch).cast_const();
            // SAFETY: `panels` provides two halves of `plan.m.total` rows of `pitch` words each: whole vectors, of which
            // the last may be of no column. The rows of a tile and all columns lie within the contraction.
            unsafe {
                for at in (0..rows * pitch).step_by(S::LANES) {
                    let (to, from) = (data.wrapping_add(at), second.wrapping_add(at));
                    s.store_raw_f(to, s.add_f(s.load_raw_f(to), s.load_raw_f(from)));
                }
                let sums = Sums { data, pitch, m: first, n: 0, rows, cols: plan.n.total };
                destination.finish(s, &sums);
            }
        }
    }
}
