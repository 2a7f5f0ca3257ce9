//! Which invocations have whole words of elements of which several share one, so that they need no atomic operations.
//!
//! Comes in: a kernel. Goes out: how many neighbours an invocation stores together. Always holds: nobody else writes into the
//! words that it has; buffers begin with words.

use crate::ir::Dim;
use crate::ir::index::Atom;
use crate::ir::kernel::{Kernel, Skeleton, Store};
use crate::ir::ty::DType;

/// How many neighbouring elements an invocation of a map has: as many as share a word, where it stores some that do, and
/// otherwise one.
pub(super) fn neighbours(kernel: &Kernel) -> u32 {
    match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, passes, stores } if passes.is_empty() && reduced.is_empty() => {
            let (order, shared) = (order(kernel.schedule.vector, parallel), shared(kernel, stores));
            let Some(&(_, of_word)) = shared.first() else { return 1 };
            let own = |&(store, other)| other == of_word && fills_words(kernel, store, &order, of_word);
            if shared.iter().all(own) { of_word } else { 1 }
        }
        // What these store has 32 bits, but for rows, whose invocations do not have whole words.
        Skeleton::Row { .. } | Skeleton::Contract { .. } | Skeleton::Scatter { .. } => 1,
        Skeleton::Attend(_) | Skeleton::Recur(_) => 1,
    }
}

/// The stores of elements that share words, and how many a word holds.
fn shared<'k>(kernel: &Kernel, stores: &'k [Store]) -> Vec<(&'k Store, u32)> {
    let dtypes = kernel.dtypes();
    let of = |store: &'k Store| {
        let dtype = dtypes[store.value];
        dtype.is_stored().then(|| (store, DType::U32.bits() / dtype.bits()))
    };
    stores.iter().filter_map(of).collect()
}

/// Parallel axes with that one last whose neighbours belong into neighbouring invocations.
pub(super) fn order(vector: Option<usize>, parallel: &[usize]) -> Vec<usize> {
    let mut order = parallel.to_vec();
    if let Some(at) = vector.and_then(|axis| parallel.iter().position(|&other| other == axis)) {
        let axis = order.remove(at);
        order.push(axis);
    }
    order
}

/// Whether so many positions, from the first on, are neighbours in memory and begin with a word, as those after them do.
fn fills_words(kernel: &Kernel, store: &Store, order: &[usize], of_word: u32) -> bool {
    let index = &store.index;
    let begins = |(atom, c): &(Atom, Dim)| matches!(atom, Atom::Axis(_)) || is_multiple(c, of_word);
    if !(index.is_affine() && is_multiple(&index.base, of_word) && index.terms.iter().all(begins)) {
        return false;
    }
    // Positions lie one behind the other as far as these axes go, from the last one on.
    let mut before = Dim::from(1);
    for &axis in order.iter().rev() {
        let extent = &kernel.axes[axis];
        let is_dense = index.stride(axis).is_some_and(|stride| stride == before);
        let is_apart = is_multiple(&before, of_word) && index.stride(axis).is_some_and(|s| is_multiple(&s, of_word));
        if !(is_dense || is_apart || extent.is(1)) {
            return false;
        }
        before = before * extent.clone();
    }
    true
}

fn is_multiple(dim: &Dim, of: u32) -> bool {
    dim.is(0) || dim.exact_div(&Dim::from(i64::from(of))).is_some()
}
