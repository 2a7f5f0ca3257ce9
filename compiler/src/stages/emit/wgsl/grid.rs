//! How rows or elements are spread over invocations, as schedule has chosen it.

use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Kernel, Skeleton, Store};
use crate::ir::ty::DType;
use crate::ir::workgroup::RowGroup;

/// A kernel of rows or elements.
pub(super) struct Grid {
    /// Of one workgroup.
    pub(super) group: RowGroup,
    /// Rows or elements.
    pub(super) items: Dim,
    /// Positions of the reduced axes.
    pub(super) reduced: Dim,
    /// Neighbouring elements of an invocation.
    pub(super) neighbours: u32,
    vector: Option<usize>,
}

impl Grid {
    pub(super) fn new(kernel: &Kernel, group: RowGroup, items: &[usize], reduced: &[usize]) -> Grid {
        let extent = |axes: &[usize]| product(axes.iter().map(|&axis| &kernel.axes[axis]));
        let (items, reduced) = (extent(items), extent(reduced));
        Grid { group, items, reduced, neighbours: neighbours(kernel), vector: kernel.schedule.vector }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        match self.group.cooperative {
            true => self.items.clone(),
            false => self.items.ceil_div((self.group.invocations * self.neighbours).into()),
        }
    }

    /// The parallel axes with that one last whose neighbours belong into neighbouring invocations.
    pub(super) fn order(&self, parallel: &[usize]) -> Vec<usize> {
        order(self.vector, parallel)
    }
}

fn order(vector: Option<usize>, parallel: &[usize]) -> Vec<usize> {
    let mut order = parallel.to_vec();
    if let Some(at) = vector.and_then(|axis| parallel.iter().position(|&other| other == axis)) {
        let axis = order.remove(at);
        order.push(axis);
    }
    order
}

/// How many neighbouring elements an invocation of a map has: as many as share a word, where it stores some that do and no
/// other invocation writes into these words; otherwise one.
pub(super) fn neighbours(kernel: &Kernel) -> u32 {
    let Skeleton::Row { parallel, reduced, passes, stores } = &kernel.skeleton else { return 1 };
    let dtypes = kernel.dtypes();
    let mut stored = stores.iter().filter(|store| dtypes[store.value].is_stored());
    match stored.next() {
        Some(first) if passes.is_empty() && reduced.is_empty() => {
            let of_word = DType::F32.bits() / dtypes[first.value].bits();
            let order = order(kernel.schedule.vector, parallel);
            let own = |store: &Store| {
                dtypes[store.value] == dtypes[first.value] && fills_words(kernel, &store.index, &order, of_word)
            };
            if own(first) && stored.all(own) { of_word } else { 1 }
        }
        _ => 1,
    }
}

/// Whether so many positions, from the first on, are neighbours in memory and begin with a word, as those after them do.
fn fills_words(kernel: &Kernel, index: &Index, order: &[usize], of_word: u32) -> bool {
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
