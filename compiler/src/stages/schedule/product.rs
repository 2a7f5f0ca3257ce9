//! Contractions: which operand is left, which axes form rows and columns, and the algorithms that can compute them.

use crate::ir::algorithm;
use crate::ir::dim::Dim;
use crate::ir::index::Index;
use crate::ir::kernel::{Kernel, Skeleton, Store};

/// Puts the operand that runs along contiguous results to the right, and moves to the batch what does not form
/// one run of rows or columns in every result.
pub(super) fn orient(kernel: &mut Kernel) {
    let axes = kernel.axes.clone();
    let Skeleton::Contract { batch, m, n, lhs, rhs, stores, .. } = &mut kernel.skeleton else { return };
    let contiguous = |list: &[usize]| list.iter().any(|&a| !axes[a].is(1) && stores.iter().all(|s| stride(s, a).is(1)));
    if contiguous(m) && !contiguous(n) {
        std::mem::swap(m, n);
        std::mem::swap(lhs, rhs);
    }
    for list in [m, n] {
        list.retain(|&a| !axes[a].is(1));
        let (kept, moved) = run(list, stores, &axes);
        *list = kept;
        batch.extend(moved);
    }
    batch.sort_unstable();
}

/// The axes, in order, that form one run with the smallest strides in every store; and the others. Where strides of named
/// dimensions do not compare, the run ends with the last axis.
fn run(list: &[usize], stores: &[Store], axes: &[Dim]) -> (Vec<usize>, Vec<usize>) {
    let Some(first) = stores.first() else { return (list.to_vec(), vec![]) };
    let innermost = |&&a: &&usize| {
        list.iter().all(|&b| a == b || crate::ir::index::is_nonnegative(&(stride(first, b) - stride(first, a))))
    };
    let Some(&last) = list.iter().find(innermost).or(list.last()) else { return (vec![], vec![]) };
    let mut kept = vec![last];
    while let Some(&next) = list.iter().find(|&&a| {
        let inner = kept[0];
        !kept.contains(&a) && stores.iter().all(|s| stride(s, a) == stride(s, inner) * axes[inner].clone())
    }) {
        kept.insert(0, next);
    }
    let moved = list.iter().copied().filter(|a| !kept.contains(a)).collect();
    (kept, moved)
}

fn stride(store: &Store, axis: usize) -> Dim {
    let index: &Index = &store.index;
    index.stride(axis).unwrap_or_default()
}

/// The algorithms that a CPU asks: those that can compute it, as runtime orders them.
pub(super) fn algorithms(kernel: &mut Kernel) {
    kernel.schedule.algorithms = algorithm::possible(kernel);
}
