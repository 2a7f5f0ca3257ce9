//! Rows and maps: which axis runs through the vector lanes, and which rows a workgroup shares.

use super::axes::lists;
use crate::ir::dim::product;
use crate::ir::kernel::{AccumulatorOp, Kernel, Skeleton};
use crate::ir::lanes;

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
        let price = lanes::price(kernel, axis);
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
