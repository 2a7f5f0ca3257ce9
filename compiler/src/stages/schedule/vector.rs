//! Rows and maps: which axis runs through the vector lanes, or through neighbouring invocations.

use super::axes::lists;
use crate::ir::kernel::{AccumulatorOp, Kernel, Skeleton};
use crate::ir::lanes;

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
