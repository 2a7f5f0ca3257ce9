//! Rows and maps: which axis runs through the vector lanes, and which rows a workgroup shares.

use super::axes::lists;
use crate::ir::dim::{Dim, product};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{AccumulatorOp, Expr, Kernel, Skeleton, Store};

/// Rows of at least this many elements are reduced by a whole workgroup.
const COOPERATE: i64 = 64;

/// Chooses the axis that is contiguous for most loads and stores, and makes it the innermost of its list.
pub(super) fn choose(kernel: &mut Kernel) {
    let Skeleton::Row { parallel, reduced, passes, .. } = &kernel.skeleton else { return };
    let positions = passes.iter().flat_map(|p| &p.accumulators).any(|a| matches!(a.op, AccumulatorOp::Arg(_)));
    let mut best: Option<(i64, usize)> = None;
    for &axis in parallel.iter().chain(reduced) {
        // Positions are counted along the reduced axes one after the other.
        if positions && reduced.contains(&axis) {
            continue;
        }
        let score = score(kernel, axis, reduced.contains(&axis));
        if best.is_none_or(|(s, _)| score >= s) {
            best = Some((score, axis));
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

/// How well loads and stores run along an axis, in rough units of one instruction per vector.
fn score(kernel: &Kernel, axis: usize, is_reduced: bool) -> i64 {
    let mut score = 0;
    for scalar in &kernel.scalars {
        if let Expr::Load { index, guards, .. } = scalar {
            score += match lane_stride(kernel, index, axis) {
                Some(stride) if stride.is(0) => 1,
                Some(stride) if stride.is(1) && guards.is_empty() => 2,
                Some(stride) if stride.is(1) => 0,
                Some(_) => -6,
                None => -8,
            };
        }
    }
    let Skeleton::Row { passes, stores, .. } = &kernel.skeleton else { return score };
    let inner = passes.iter().flat_map(|p| &p.stores);
    let outer: &[Store] = if is_reduced { &[] } else { stores };
    for store in inner.chain(outer) {
        score += if store.index.stride(axis).is_some_and(|s| s.is(1)) { 3 } else { -8 };
    }
    let extent = kernel.axes[axis].as_const().unwrap_or(64);
    let idle = match extent {
        ..=3 => 12,
        4..=7 => 6,
        8..=15 => 2,
        _ => 0,
    };
    // Sums along the lanes end with a reduction across them.
    score - idle - i64::from(is_reduced)
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
