//! Neighbours: elements beside each other that one invocation of a GPU has.
//!
//! In: a kernel. Out: along which axis it has them, how many there may be, and which loads and stores of four are one access
//! of four words. Always: they do not go beyond the end of an axis; buffers begin on multiples of four words; nobody else
//! writes into the words of elements that share one.

use super::dim::Dim;
use super::index::{Atom, Index};
use super::kernel::{Expr, ExprId, Guard, Kernel, Pass, Skeleton, Store, innermost};
use super::ty::DType;
use super::varying::Varying;
use super::workgroup::{RowGroup, Sides, Workgroup};

/// Words of one access.
pub const FOUR: u32 = 4;
/// Elements of one access, which are counted as positions are.
pub const NEIGHBOURS: usize = FOUR as usize;

/// Loads and stores of a kernel whose invocations have four neighbours.
pub struct Fours<'k> {
    kernel: &'k Kernel,
    varying: Varying,
    dtypes: Vec<DType>,
    /// The axis along which they lie.
    pub axis: usize,
}

impl<'k> Fours<'k> {
    /// Those of a row kernel, if an axis is a multiple of four, whether a workgroup shares the reduction of a row or not.
    pub fn of(kernel: &'k Kernel, cooperative: bool) -> Option<Fours<'k>> {
        let Skeleton::Row { parallel, reduced, .. } = &kernel.skeleton else { return None };
        let axis = match cooperative {
            true => *reduced.last()?,
            false => *order(kernel.schedule.vector, parallel).last()?,
        };
        let fits = kernel.axes[axis].is_multiple_of(FOUR);
        fits.then(|| Fours { kernel, varying: Varying::of(kernel), dtypes: kernel.dtypes(), axis })
    }

    /// Those of a contraction in tiles, whose invocations have four sums along the columns, if the last axis of these is a multiple
    /// of four.
    fn of_tiles(kernel: &'k Kernel) -> Option<Fours<'k>> {
        let sides = Sides::of(kernel)?;
        let axis = innermost(&sides.columns, &kernel.axes)?;
        let fours = Fours { kernel, varying: Varying::of(kernel), dtypes: kernel.dtypes(), axis };
        Some(fours).filter(|fours| kernel.axes[axis].is_multiple_of(FOUR) && fours.has_any())
    }

    /// Those of a kernel whose schedule says that it has four neighbours of a word each.
    pub fn scheduled(kernel: &'k Kernel) -> Option<Fours<'k>> {
        match kernel.schedule.workgroup? {
            Workgroup::Rows(RowGroup { neighbours, cooperative, .. }) => {
                Fours::of(kernel, cooperative).filter(|_| neighbours == FOUR && !is_packed(kernel))
            }
            Workgroup::Tiles(_) => Fours::of_tiles(kernel),
            Workgroup::Attend(_) | Workgroup::Recur(_) => None,
        }
    }

    /// Whether a scalar is a load of four neighbours at once.
    pub fn is_load(&self, id: ExprId) -> bool {
        match &self.kernel.scalars[id] {
            Expr::Load { slot, index, guards, fill: _ } => {
                self.is_one(self.kernel.slots[*slot].dtype, index) && guards.iter().all(|guard| self.is_common(guard))
            }
            Expr::Const(_) | Expr::Extent(_) | Expr::Index(_) | Expr::Inside(_) => false,
            Expr::Map(..) | Expr::Convert(..) | Expr::Accumulated { .. } => false,
        }
    }

    /// Whether a store at each of four neighbours is one of all of them.
    pub fn is_store(&self, store: &Store) -> bool {
        self.is_one(self.dtypes[store.value], &store.index)
    }

    /// Whether there is such a load or store.
    pub fn has_any(&self) -> bool {
        let loads = (0..self.kernel.scalars.len()).any(|id| self.is_load(id));
        loads || self.stores().into_iter().any(|(_, is_four)| is_four)
    }

    /// Whether memory in some slots is best seen as vectors of four words: some loads or stores of it are of four neighbours,
    /// and no store is of one element.
    pub fn sees(&self, is_of: &dyn Fn(usize) -> bool) -> bool {
        let stored = self.stores().into_iter().filter(|(store, _)| is_of(store.slot));
        let (fours, single): (Vec<_>, Vec<_>) = stored.partition(|(_, is_four)| *is_four);
        let is_loaded =
            |(id, scalar): (ExprId, &Expr)| self.is_load(id) && scalar.load().is_some_and(|l| is_of(l.slot));
        single.is_empty() && (!fours.is_empty() || self.kernel.scalars.iter().enumerate().any(is_loaded))
    }

    /// All stores, and whether they are of four neighbours.
    fn stores(&self) -> Vec<(&Store, bool)> {
        let (passes, stores, reduced) = match &self.kernel.skeleton {
            Skeleton::Row { passes, stores, reduced, .. } => (passes, stores, reduced),
            Skeleton::Contract { stores, .. } => {
                return stores.iter().map(|store| (store, self.is_store(store))).collect();
            }
            Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => return vec![],
        };
        let at_ends = !reduced.contains(&self.axis);
        let inner = passes.iter().flat_map(|Pass { stores, .. }| stores).map(|store| (store, self.is_store(store)));
        inner.chain(stores.iter().map(|store| (store, at_ends && self.is_store(store)))).collect()
    }

    /// Whether a guard holds at all of four neighbours or at none.
    pub fn is_common(&self, guard: &Guard) -> bool {
        let is_still = !self.varying.index_with(guard.index(), self.axis);
        is_still || matches!(guard, Guard::Within(index, extent) if extent.is_multiple_of(FOUR) && self.begins(index))
    }

    /// Whether four neighbours are four words from a multiple of four on.
    fn is_one(&self, dtype: DType, index: &Index) -> bool {
        dtype.bits() == u32::BITS && self.begins(index)
    }

    /// Whether an index is at four neighbours a multiple of four and the three numbers behind it.
    fn begins(&self, index: &Index) -> bool {
        let begins = |(atom, c): &(Atom, Dim)| *atom == Atom::Axis(self.axis) || c.is_multiple_of(FOUR);
        self.varying.lane_stride(index, self.axis).is_some_and(|stride| stride.is(1))
            && index.base.is_multiple_of(FOUR)
            && index.terms.iter().all(begins)
    }
}

/// Parallel axes with that one last whose neighbours belong into neighbouring invocations.
pub fn order(vector: Option<usize>, parallel: &[usize]) -> Vec<usize> {
    let mut order = parallel.to_vec();
    if let Some(at) = vector.and_then(|axis| parallel.iter().position(|&other| other == axis)) {
        let axis = order.remove(at);
        order.push(axis);
    }
    order
}

/// Whether the neighbours of an invocation are those that share a word, as its schedule says.
pub fn is_packed(kernel: &Kernel) -> bool {
    let of_word = packed(kernel);
    let is_own = |group| matches!(group, Workgroup::Rows(rows) if rows.neighbours == of_word);
    of_word > 1 && kernel.schedule.workgroup.is_some_and(is_own)
}

/// How many neighbouring elements of a map share a word that nobody else writes into; one where it stores none such.
pub fn packed(kernel: &Kernel) -> u32 {
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

/// Whether so many positions, from the first on, are neighbours in memory and begin with a word, as those after them do.
fn fills_words(kernel: &Kernel, store: &Store, order: &[usize], of_word: u32) -> bool {
    let index = &store.index;
    let begins = |(atom, c): &(Atom, Dim)| matches!(atom, Atom::Axis(_)) || c.is_multiple_of(of_word);
    if !(index.is_affine() && index.base.is_multiple_of(of_word) && index.terms.iter().all(begins)) {
        return false;
    }
    // Positions lie one behind the other as far as these axes go, from the last one on.
    let mut before = Dim::from(1);
    for &axis in order.iter().rev() {
        let extent = &kernel.axes[axis];
        let is_dense = index.stride(axis).is_some_and(|stride| stride == before);
        let is_apart = before.is_multiple_of(of_word) && index.stride(axis).is_some_and(|s| s.is_multiple_of(of_word));
        if !(is_dense || is_apart || extent.is(1)) {
            return false;
        }
        before = before * extent.clone();
    }
    true
}
