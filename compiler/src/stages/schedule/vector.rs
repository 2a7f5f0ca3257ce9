//! Rows and maps: which axis runs through the vector lanes, and which rows a workgroup shares.

use super::axes::lists;
use crate::ir::dim::{Dim, product};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{AccumulatorOp, Expr, Kernel, Skeleton, Store};

/// Rows of at least this many elements are reduced by a whole workgroup.
const COOPERATE: i64 = 64;

/// Chooses the axis along which an element costs least, and makes it the innermost of its list.
pub(super) fn choose(kernel: &mut Kernel) {
    let Skeleton::Row { parallel, reduced, passes, .. } = &kernel.skeleton else { return };
    let positions = passes.iter().flat_map(|p| &p.accumulators).any(|a| matches!(a.op, AccumulatorOp::Arg(_)));
    let mut best: Option<(i64, usize)> = None;
    for &axis in parallel.iter().chain(reduced) {
        // Positions are counted along the reduced axes one after the other.
        if positions && reduced.contains(&axis) {
            continue;
        }
        let price = price(kernel, axis, reduced.contains(&axis));
        if best.is_none_or(|(least, _)| price <= least) {
            best = Some((price, axis));
        }
    }
    let elements = product(reduced.iter().map(|&a| &kernel.axes[a]));
    kernel.schedule.cooperative = !reduced.is_empty() && elements.as_const().is_none_or(|n| n >= COOPERATE);
    kernel.schedule.vector = best.map(|(_, axis)| axis);
    if let Some((_, axis)) = best {
        for list in lists(&mut kernel.skeleton) {
            if let Some(at) = list.iter().position(|&a| a == axis) {
                list.remove(at);
                list.push(axis);
            }
        }
    }
}

/// The innermost axis of a scatter.
pub(super) fn innermost(kernel: &mut Kernel) {
    if let Skeleton::Scatter { inner, .. } = &kernel.skeleton {
        kernel.schedule.vector = inner.last().copied();
    }
}

/// Lanes of the widest vectors.
const LANES: i64 = 16;

/// Estimated instructions for 1,000 elements if an axis runs through the lanes.
fn price(kernel: &Kernel, axis: usize, is_reduced: bool) -> i64 {
    // The loop itself, and arithmetic.
    let mut vector = 3;
    for scalar in &kernel.scalars {
        vector += match scalar {
            Expr::Load { index, guards, .. } => match lane_stride(kernel, index, axis).and_then(|s| s.as_const()) {
                Some(0) => 1,
                // A guard that is the same in all lanes is a branch.
                Some(1) if !guards.iter().any(|guard| guard.index().mentions(axis)) => 1 + guards.len() as i64,
                Some(1) => 8,
                Some(_) | None => 18,
            },
            Expr::Map(op, _) => match op.arity() {
                1 => 8,
                _ => 1,
            },
            Expr::Index(_) | Expr::Inside(_) | Expr::Convert(..) => 1,
            Expr::Const(_) | Expr::Extent(_) | Expr::Accumulated { .. } => 0,
        };
    }
    let Skeleton::Row { passes, stores, .. } = &kernel.skeleton else { return vector };
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

/// The distance between neighbouring lanes; `None` where it is not constant.
fn lane_stride(kernel: &Kernel, index: &Index, axis: usize) -> Option<Dim> {
    let data = index.terms.iter().any(|(atom, _)| match atom {
        Atom::Value(v) => varies(kernel, *v, axis),
        Atom::Axis(_) | Atom::Loop(_) | Atom::Div(..) | Atom::Mod(..) => false,
    });
    if data { None } else { index.stride(axis) }
}

/// Whether a scalar varies with an axis.
fn varies(kernel: &Kernel, id: usize, axis: usize) -> bool {
    let own = match &kernel.scalars[id] {
        Expr::Load { index, .. } | Expr::Index(index) => index.mentions(axis),
        Expr::Inside(_) => true,
        Expr::Const(_) | Expr::Extent(_) | Expr::Map(..) | Expr::Convert(..) | Expr::Accumulated { .. } => false,
    };
    let mut below = false;
    kernel.scalars[id].operands(&mut |o| below |= varies(kernel, o, axis));
    own || below
}
