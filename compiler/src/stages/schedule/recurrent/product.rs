//! Products that a recurrence can run.
//!
//! In: a kernel. Out: its parts, if it is such a product. Always: it stores its sums as they are, or each with an addend of the
//! same position, row-major; it rounds no operand.

use crate::ir::Dim;
use crate::ir::index::{Atom, Index, is_nonnegative};
use crate::ir::kernel::{Expr, Kernel, Load, Operand, Skeleton, Slot, Store};
use crate::ir::prim::MapOp;

/// A product of two matrices. Slots and axes are those of its kernel.
pub(super) struct Product<'a> {
    pub(super) slots: &'a [Slot],
    pub(super) lhs: usize,
    /// What a turn adds to the start of the left operand.
    pub(super) start: Index,
    pub(super) out: usize,
    /// What is added to the sums.
    pub(super) addend: Option<usize>,
    pub(super) matrix: usize,
    pub(super) rhs: &'a Operand,
    pub(super) rows: Option<Dim>,
    pub(super) columns: &'a Dim,
    pub(super) depth: &'a Dim,
    pub(super) strides: [Dim; 2],
}

impl<'a> Product<'a> {
    pub(super) fn of(kernel: &'a Kernel) -> Option<Product<'a>> {
        let Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } = &kernel.skeleton else { return None };
        let ([n], [k], [store]) = (n.as_slice(), k.as_slice(), stores.as_slice()) else { return None };
        let (columns, depth) = (&kernel.axes[*n], &kernel.axes[*k]);
        let at = |inner: usize, width: &Dim| match m.as_slice() {
            [] => Some(Index::axis(inner)),
            [m] => Some(Index::axis(inner).plus(&Index::axis(*m).times(width))),
            _ => None,
        };
        let addend = addend(kernel, store)?;
        let still = |atom: &Atom| !matches!(atom, Atom::Loop(0) | Atom::Value(_));
        // Operands that are rounded, or widened, have kernels of their own.
        let computed = kernel.slots.iter().all(|slot| !slot.dtype.is_stored());
        let whole = kernel.schedule.narrow.is_none() && computed && rhs.index.is_affine();
        let plain = batch.is_empty() && lhs.windows.is_empty() && rhs.windows.is_empty() && whole;
        let strides = [rhs.index.stride(*n)?, rhs.index.stride(*k)?];
        let is_turn = |(atom, _): &(Atom, Dim)| matches!(atom, Atom::Loop(_));
        let (turns, places) = lhs.index.terms.iter().cloned().partition(is_turn);
        let fits = Index { base: lhs.index.base.clone(), terms: places } == at(*k, depth)?
            && store.index == at(*n, columns)?
            && !rhs.index.any(&|atom| !still(atom))
            && strides.iter().all(is_nonnegative);
        (plain && fits).then(|| Product {
            slots: &kernel.slots,
            lhs: lhs.slot,
            start: Index { base: Dim::default(), terms: turns },
            out: store.slot,
            addend,
            matrix: rhs.slot,
            rhs,
            rows: m.first().map(|m| kernel.axes[*m].clone()),
            columns,
            depth,
            strides,
        })
    }

    /// How many times `columns` columns the sums have, and how many times the left operand.
    pub(super) fn times(&self, columns: &Dim) -> Option<[usize; 2]> {
        let times = |width: &Dim| {
            let times = usize::try_from(width.exact_div(columns)?.as_const()?).ok()?;
            (times > 0).then_some(times)
        };
        Some([times(self.columns)?, times(self.depth)?])
    }
}

/// What is added to a sum before it is stored: nothing, or the element of a slot at the same position.
fn addend(kernel: &Kernel, store: &Store) -> Option<Option<usize>> {
    let is_sum = |id: usize| matches!(kernel.scalars[id], Expr::Accumulated { .. });
    let same = |load: &Load<'_>| *load.index == store.index && load.guards.is_empty();
    let of = |id: usize| kernel.scalars[id].load().filter(same).map(|load| load.slot);
    match &kernel.scalars[store.value] {
        Expr::Accumulated { .. } => Some(None),
        Expr::Map(MapOp::Add, args) => match args.as_slice() {
            [sum, other] | [other, sum] if is_sum(*sum) => of(*other).map(Some),
            _ => None,
        },
        Expr::Map(..)
        | Expr::Load { .. }
        | Expr::Const(_)
        | Expr::Extent(_)
        | Expr::Index(_)
        | Expr::Inside(_)
        | Expr::Convert(..) => None,
    }
}
