//! Convolutions of large images by strips of rows, whose copies stay in a cache.
//!
//! In: a contraction whose right operand is an image that would be copied whole. Out: its outputs. Always: a strip is the same
//! contraction of fewer rows, which one thread computes; no sum is other than without strips.

use core::ops::Range;

use super::drive::Call;
use super::epilogue::{Sink, Tile};
use super::layout::MAX_AXES;
use super::plan::{Plan, share};
use super::{Axis, Role};
use crate::machine::machine;
use crate::pool;

/// Words of the copy of a strip, or nearly so: a second-level cache holds them beside what is made of them. A copy of twice as
/// many is worth strips.
fn strip_words() -> usize {
    machine().l2 / 32
}

/// Least rows of a strip: what it reads of rows that belong to its neighbours shall be little.
const ROWS: usize = 4;

/// Computes a strip on one thread.
type Compute = fn(&Call<'_>, &Plan<'_>, &[Axis]);

/// Runs `compute` for strips of rows, for a copy of `words` words; whether it could.
pub(super) fn row_strips(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis], words: usize, compute: Compute) -> bool {
    let columns = axes.iter().filter(|axis| axis.role == Role::N && axis.extent > 1).count();
    if words <= 2 * strip_words() || plan.batch.total != 1 || plan.n.count != 2 || columns != 2 {
        return false;
    }
    let rows = plan.n.extent[0];
    let strips = words.div_ceil(strip_words()).next_multiple_of(call.threads);
    if rows < ROWS * strips {
        return false;
    }
    pool::parallel(call.threads, strips, &Task { call, plan, axes, strips, compute });
    true
}

struct Task<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    axes: &'a [Axis],
    strips: usize,
    compute: Compute,
}

impl pool::Task for Task<'_> {
    fn work(&self, strips: Range<usize>) {
        let rows = |strip| share(self.plan.n.extent[0], self.strips, strip);
        strips.for_each(|strip| self.strip(rows(strip)..rows(strip + 1)));
    }
}

impl Task<'_> {
    /// Computes some rows.
    fn strip(&self, rows: Range<usize>) {
        let mut plan = *self.plan;
        let (axis, first, inner) = (plan.n.number(0), rows.start.cast_signed(), plan.n.extent[1]);
        (plan.n.extent[0], plan.n.total) = (rows.len(), rows.len() * inner);
        plan.rhs.base += first * plan.rhs.strides[axis];
        for window in &mut plan.rhs.windows[..self.plan.rhs.bounded().len()] {
            window.base += first * window.strides[axis];
        }
        let mut axes = [Axis { extent: 1, role: Role::N }; MAX_AXES];
        axes[..self.axes.len()].copy_from_slice(self.axes);
        axes[axis].extent = rows.len();
        let axes = &axes[..self.axes.len()];
        let Some(sink) = self.call.sink else {
            for output in &mut plan.outputs[..self.plan.targets] {
                output.base += first * output.strides[axis];
            }
            return (self.compute)(&Call { threads: 1, ..*self.call }, &plan, axes);
        };
        let beyond = Beyond { sink, columns: rows.start * inner };
        (self.compute)(&Call { threads: 1, sink: Some(&beyond), ..*self.call }, &plan, axes);
    }
}

/// Hands on the sums of a strip as those of the whole.
struct Beyond<'a> {
    sink: &'a dyn Sink,
    /// Columns before the strip.
    columns: usize,
}

impl Sink for Beyond<'_> {
    fn finish(&self, tile: &mut Tile<'_>) {
        tile.area.n += self.columns;
        self.sink.finish(tile);
    }
}
