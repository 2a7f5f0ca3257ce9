//! What rows and maps cost on a CPU, by the axis that runs through the lanes of vectors.
//!
//! In: a kernel and an axis. Out: how many instructions its elements take. Always: an estimate for vectors of the widest
//! machine, by which axes are compared and by which it is told what is worth a second thread.

use super::kernel::{Expr, Kernel, Skeleton, Store};
use super::varying::Varying;

/// Lanes of the widest vectors.
pub const LANES: i64 = 16;

/// Estimated instructions for 1,000 elements of rows or a map if an axis runs through the lanes.
pub fn price(kernel: &Kernel, axis: usize) -> i64 {
    // The loop itself, and arithmetic.
    let mut vector = 3;
    let varying = Varying::of(kernel);
    for scalar in &kernel.scalars {
        vector += match scalar {
            Expr::Load { index, guards, .. } => match varying.lane_stride(index, axis).and_then(|s| s.as_const()) {
                Some(0) => 1,
                // A guard that is the same in all lanes is a branch.
                Some(1) if !guards.iter().any(|guard| guard.index().mentions(axis)) => 1 + guards.len() as i64,
                Some(1) => 8,
                Some(_) | None => 18,
            },
            Expr::Map(op, _) => op.cost(),
            Expr::Index(_) | Expr::Inside(_) | Expr::Convert(..) => 1,
            Expr::Const(_) | Expr::Extent(_) | Expr::Accumulated { .. } => 0,
        };
    }
    let Skeleton::Row { reduced, passes, stores, .. } = &kernel.skeleton else { return vector };
    let is_reduced = reduced.contains(&axis);
    let inner = passes.iter().flat_map(|p| &p.stores);
    let outer: &[Store] = if is_reduced { &[] } else { stores };
    for store in inner.chain(outer) {
        vector += if store.index.stride(axis).is_some_and(|s| s.is(1)) { 1 } else { 24 };
    }
    let extent = kernel.axes[axis].as_const().unwrap_or(64).max(1);
    let rounds = (extent + LANES - 1) / LANES;
    // Sums along the lanes end with a reduction across them.
    let across = if is_reduced { 8 * passes.iter().map(|p| p.accumulators.len() as i64).sum::<i64>() } else { 0 };
    (rounds * vector + across) * 1000 / extent
}
