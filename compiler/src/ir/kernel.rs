//! The kernel IR: what fuse makes, schedule refines, and both back ends print.
//!
//! A kernel is an iteration space of named axes, a list of scalars (loads through index maps, arithmetic on
//! them), and a skeleton that says which axes are parallel and which are reduced, and what is stored where.
//! It speaks of slots; a launch binds slots to buffers, so that equal kernels are one.

use super::attend::Attention;
use super::dim::{Dim, product};
use super::index::Index;
use super::precision::Factor;
use super::prim::{ArgOp, MapOp, ReduceOp, Scalar};
use super::recurrence::Recurrence;
use super::schedule::Schedule;
use super::ty::{Category, DType};

/// A kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// A word or two for people: `conv2d_relu`.
    pub name: String,
    /// The memory that it touches.
    pub slots: Vec<Slot>,
    /// The extents of the axes.
    pub axes: Vec<Dim>,
    /// In an order in which operands come first. A scalar varies with the axes that it mentions.
    pub scalars: Vec<Expr>,
    /// The loops.
    pub skeleton: Skeleton,
    /// The numbers that schedule chose.
    pub schedule: Schedule,
}

/// A range of memory that a kernel touches.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Slot {
    /// Its element type.
    pub dtype: DType,
    /// Its number of elements.
    pub len: Dim,
    /// Whether the kernel reads it.
    pub read: bool,
    /// Whether the kernel writes it.
    pub write: bool,
}

/// The number of a scalar of a kernel.
pub type ExprId = usize;

/// A scalar of a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Expr {
    /// An element of a slot where all guards hold, else `fill`. An `Atom::Value` in the index comes with a
    /// guard that keeps it inside.
    Load {
        /// Which slot.
        slot: usize,
        /// Which element.
        index: Index,
        /// When.
        guards: Vec<Guard>,
        /// What otherwise.
        fill: Scalar,
    },
    /// A literal.
    Const(Scalar),
    /// The value of a dimension (u32).
    Extent(Dim),
    /// The value of a non-negative index (u32).
    Index(Index),
    /// Whether all guards hold.
    Inside(Vec<Guard>),
    /// Elementwise arithmetic.
    Map(MapOp, Vec<ExprId>),
    /// To another element type.
    Convert(DType, ExprId),
    /// The finished accumulator `slot` of pass `pass` of a row kernel; of a contract kernel (0, 0) is the sum, of a recurrence (0, slot) one of a group; of an attention kernel (0, slot) is a result.
    Accumulated {
        /// Which pass.
        pass: usize,
        /// Which accumulator of it.
        slot: usize,
        /// Its element type.
        dtype: DType,
    },
}

/// What an [`Expr::Load`] reads.
#[derive(Clone, Copy)]
pub struct Load<'k> {
    /// From which slot.
    pub slot: usize,
    /// Which element.
    pub index: &'k Index,
    /// When.
    pub guards: &'k [Guard],
}

impl Expr {
    /// What is read, if this is a load.
    pub fn load(&self) -> Option<Load<'_>> {
        let Expr::Load { slot, index, guards, .. } = self else { return None };
        Some(Load { slot: *slot, index, guards })
    }

    /// Calls `see` with every index map, to change it.
    pub fn for_each_index(&mut self, see: &mut dyn FnMut(&mut Index)) {
        match self {
            Expr::Load { index, guards, .. } => {
                see(index);
                guards.iter_mut().for_each(|g| see(g.index_mut()));
            }
            Expr::Inside(guards) => guards.iter_mut().for_each(|g| see(g.index_mut())),
            Expr::Index(index) => see(index),
            Expr::Const(_) | Expr::Extent(_) | Expr::Map(..) | Expr::Convert(..) | Expr::Accumulated { .. } => {}
        }
    }

    /// Calls `see` with every scalar that this one uses.
    pub fn operands(&self, see: &mut dyn FnMut(ExprId)) {
        let guarded = |guards: &[Guard], see: &mut dyn FnMut(ExprId)| {
            guards.iter().for_each(|g| g.index().values(see));
        };
        match self {
            Expr::Load { index, guards, .. } => {
                index.values(see);
                guarded(guards, see);
            }
            Expr::Inside(guards) => guarded(guards, see),
            Expr::Index(index) => index.values(see),
            Expr::Map(_, args) => args.iter().for_each(|&a| see(a)),
            Expr::Convert(_, arg) => see(*arg),
            Expr::Const(_) | Expr::Extent(_) | Expr::Accumulated { .. } => {}
        }
    }
}

/// A condition on the position.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Guard {
    /// `0 ≤ index < extent`
    Within(Index, Dim),
    /// `index` is a multiple of a positive number.
    Multiple(Index, i64),
}

impl Guard {
    /// The index that it looks at.
    pub fn index(&self) -> &Index {
        match self {
            Guard::Within(index, _) | Guard::Multiple(index, _) => index,
        }
    }

    /// The same, to change it.
    pub fn index_mut(&mut self) -> &mut Index {
        match self {
            Guard::Within(index, _) | Guard::Multiple(index, _) => index,
        }
    }
}

/// A write of a scalar. All scalars that the stores of a position need are known before the first one is made: a
/// store may be in the place of a load.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Store {
    /// Which slot.
    pub slot: usize,
    /// Which element; injective over the axes that are looped over.
    pub index: Index,
    /// What.
    pub value: ExprId,
}

/// The loops of a kernel.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Skeleton {
    /// For every position of the parallel axes: the passes, one after the other, each over all reduced axes,
    /// then the stores of the row. Without reduced axes and passes this is a map.
    Row {
        /// Outermost first.
        parallel: Vec<usize>,
        /// Outermost first.
        reduced: Vec<usize>,
        /// One after the other.
        passes: Vec<Pass>,
        /// After the passes, once for each row.
        stores: Vec<Store>,
    },
    /// For every position of batch, m and n the sum over k of the product of two operands, then the stores.
    Contract {
        /// Axes of both operands and the result.
        batch: Vec<usize>,
        /// Axes of the left operand and the result.
        m: Vec<usize>,
        /// Axes of the right operand and the result.
        n: Vec<usize>,
        /// Summed axes.
        k: Vec<usize>,
        /// Does not vary with n.
        lhs: Operand,
        /// Does not vary with m.
        rhs: Operand,
        /// Values of `Accumulated` and of loads that vary with batch, m and n.
        stores: Vec<Store>,
    },
    /// `out[outer, index[source], inner] += value[outer, source, inner]` over zeros, sources in order.
    Scatter {
        /// Axes before the indexed one.
        outer: Vec<usize>,
        /// The indexed axis of the result; only the store's index mentions it.
        target: usize,
        /// Summed axes.
        source: Vec<usize>,
        /// Axes after the indexed one.
        inner: Vec<usize>,
        /// The target position (u32), which varies with the source axes; out of range is dropped.
        index: ExprId,
        /// The addend and where it goes.
        store: Store,
    },
    /// For every query the sum of values, weighed by the softmax of its scores; or the derivatives of that.
    Attend(Box<Attention>),
    /// All turns of a loop in which a product and a map of its sums take turns (CPU).
    Recur(Box<Recurrence>),
}

/// A loop over the reduced axes of a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Pass {
    /// Filled by the loop; usable in later passes.
    pub accumulators: Vec<Accumulator>,
    /// Made at every position of the loop.
    pub stores: Vec<Store>,
}

/// A reduction of a scalar.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Accumulator {
    /// How values combine.
    pub op: AccumulatorOp,
    /// What is combined.
    pub value: ExprId,
}

/// How values combine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccumulatorOp {
    /// By an associative operation.
    Reduce(ReduceOp),
    /// To the row-major position (u32) of the first extreme over the reduced axes.
    Arg(ArgOp),
}

impl AccumulatorOp {
    /// The value that changes nothing: what an accumulator starts from.
    pub fn neutral(self, dtype: DType) -> Scalar {
        let (least, greatest) = dtype.integers();
        let extreme = |low: bool| match dtype.category() {
            Category::Float => Scalar::Float(dtype, if low { f64::NEG_INFINITY } else { f64::INFINITY }),
            Category::Signed | Category::Unsigned => Scalar::Int(dtype, if low { least } else { greatest }),
            Category::Bool => Scalar::Bool(!low),
        };
        match self {
            AccumulatorOp::Reduce(ReduceOp::Sum) => Scalar::of(dtype, 0.0),
            AccumulatorOp::Reduce(ReduceOp::Prod) => Scalar::of(dtype, 1.0),
            AccumulatorOp::Reduce(ReduceOp::Max) | AccumulatorOp::Arg(ArgOp::Max) => extreme(true),
            AccumulatorOp::Reduce(ReduceOp::Min) | AccumulatorOp::Arg(ArgOp::Min) => extreme(false),
        }
    }
}

/// An operand of a contraction: the element at `index + Σ windows`, or 0 where a window is left.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operand {
    /// Which slot.
    pub slot: usize,
    /// Affine.
    pub index: Index,
    /// Coordinates that may leave the data.
    pub windows: Vec<Reach>,
}

impl Operand {
    /// Whether it is the same in all turns of the loop around.
    pub fn is_still(&self) -> bool {
        self.index.is_still() && self.windows.iter().all(|window| window.index.is_still())
    }

    /// How many elements lie one after the other in memory along the last of some axes: one if it has another stride.
    pub fn run(&self, extents: &[Dim], axes: &[usize]) -> i64 {
        let stride = |axis: usize| {
            let through = |reach: &Reach| {
                let steps = reach.index.stride(axis)?.as_const()? / reach.divisor.max(1);
                Some(steps * reach.stride.as_const()?)
            };
            let windows: Option<i64> = self.windows.iter().map(through).sum();
            Some(self.index.stride(axis)?.as_const()? + windows?)
        };
        match innermost(axes, extents) {
            Some(axis) if stride(axis) == Some(1) => extents[axis].as_const().unwrap_or(i64::MAX),
            _ => 1,
        }
    }

    /// Whether it is contiguous along summed axes and not along its own, or not as far.
    pub fn is_along_terms(&self, extents: &[Dim], terms: &[usize], own: &[usize]) -> bool {
        self.run(extents, terms) > self.run(extents, own)
    }

    /// Whether it varies with an axis.
    pub fn mentions(&self, axis: usize) -> bool {
        self.index.mentions(axis) || self.windows.iter().any(|window| window.index.mentions(axis))
    }
}

/// The last of some axes that has more than one position.
pub fn innermost(axes: &[usize], extents: &[Dim]) -> Option<usize> {
    axes.iter().copied().rev().find(|&axis| !extents[axis].is(1))
}

/// A coordinate `index / divisor`, valid where that is whole and within `0..extent`, times `stride`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reach {
    /// Affine.
    pub index: Index,
    /// At least one.
    pub divisor: i64,
    /// The coordinate's range.
    pub extent: Dim,
    /// Elements from one coordinate to the next.
    pub stride: Dim,
}

impl Kernel {
    /// The type that the operands of a product are computed in, and that of its sums: one of them may be of a type of memory.
    pub fn product_dtype(&self, lhs: &Operand, rhs: &Operand) -> DType {
        let [left, right] = [lhs, rhs].map(|operand| self.slots[operand.slot].dtype);
        if left.is_stored() { right } else { left }
    }

    /// Every scalar that is stored or accumulated.
    pub fn uses(&mut self) -> Vec<&mut ExprId> {
        match &mut self.skeleton {
            Skeleton::Row { passes, stores, .. } => {
                let mut uses: Vec<&mut ExprId> = stores.iter_mut().map(|s| &mut s.value).collect();
                for pass in passes {
                    uses.extend(pass.accumulators.iter_mut().map(|a| &mut a.value));
                    uses.extend(pass.stores.iter_mut().map(|s| &mut s.value));
                }
                uses
            }
            Skeleton::Contract { stores, .. } => stores.iter_mut().map(|s| &mut s.value).collect(),
            Skeleton::Scatter { index, store, .. } => vec![index, &mut store.value],
            Skeleton::Attend(attention) => {
                let Attention { reads, mask, stores, .. } = &mut **attention;
                reads.iter_mut().chain(mask).chain(stores.iter_mut().map(|s| &mut s.value)).collect()
            }
            Skeleton::Recur(own) => own.stores.iter_mut().map(|s| &mut s.value).collect(),
        }
    }

    /// How many terms each sum of a contraction has.
    pub fn terms(&self) -> Option<Dim> {
        let Skeleton::Contract { k, .. } = &self.skeleton else { return None };
        Some(product(k.iter().map(|&axis| &self.axes[axis])))
    }

    /// The operand of a contraction that is packed: the right one, or the parameter that is read in fewer bits.
    pub fn packed(&self) -> Option<&Operand> {
        let Skeleton::Contract { lhs, rhs, .. } = &self.skeleton else { return None };
        match self.schedule.narrow {
            Some((Factor::Left, _)) => Some(lhs),
            Some((Factor::Right, _)) | None => Some(rhs),
        }
    }

    /// Calls `see` with every index map, to change it.
    pub fn for_each_index(&mut self, see: &mut dyn FnMut(&mut Index)) {
        self.scalars.iter_mut().for_each(|scalar| scalar.for_each_index(see));
        self.for_each_place(see);
    }

    /// Calls `see` with every index map that is no scalar's, to change it.
    pub fn for_each_place(&mut self, see: &mut dyn FnMut(&mut Index)) {
        match &mut self.skeleton {
            Skeleton::Row { passes, stores, .. } => {
                let inner = passes.iter_mut().flat_map(|p| &mut p.stores);
                inner.chain(stores).for_each(|s| see(&mut s.index));
            }
            Skeleton::Contract { lhs, rhs, stores, .. } => {
                for operand in [lhs, rhs] {
                    see(&mut operand.index);
                    operand.windows.iter_mut().for_each(|w| see(&mut w.index));
                }
                stores.iter_mut().for_each(|s| see(&mut s.index));
            }
            Skeleton::Scatter { store, .. } => see(&mut store.index),
            Skeleton::Attend(attention) => attention.stores.iter_mut().for_each(|s| see(&mut s.index)),
            Skeleton::Recur(own) => {
                let stored = own.stores.iter_mut().map(|s| &mut s.index);
                stored.chain(&mut own.starts).chain([&mut own.start]).for_each(see);
            }
        }
    }

    /// Calls `see` with every dimension in axes, positions and schedule that is no divisor's, nor in what is divided, to change it.
    pub fn for_each_dim(&mut self, see: &mut dyn FnMut(&mut Dim)) {
        self.axes.iter_mut().for_each(&mut *see);
        for scalar in &mut self.scalars {
            match scalar {
                Expr::Extent(dim) => see(dim),
                Expr::Load { guards, .. } | Expr::Inside(guards) => {
                    for guard in guards {
                        if let Guard::Within(_, extent) = guard {
                            see(extent);
                        }
                    }
                }
                Expr::Const(_) | Expr::Index(_) | Expr::Map(..) | Expr::Convert(..) | Expr::Accumulated { .. } => {}
            }
        }
        self.for_each_index(&mut |index| {
            see(&mut index.base);
            index.terms.iter_mut().for_each(|(_, factor)| see(factor));
        });
        match &mut self.skeleton {
            Skeleton::Contract { lhs, rhs, .. } => {
                for window in lhs.windows.iter_mut().chain(&mut rhs.windows) {
                    see(&mut window.extent);
                    see(&mut window.stride);
                }
            }
            Skeleton::Recur(own) => [&mut own.count].into_iter().chain(&mut own.strides).for_each(&mut *see),
            Skeleton::Row { .. } | Skeleton::Scatter { .. } | Skeleton::Attend(_) => {}
        }
        self.schedule.rows.for_each_dim(see);
    }

    /// Every index map.
    pub fn indices(&self) -> Vec<Index> {
        let mut all = vec![];
        self.clone().for_each_index(&mut |index| all.push(index.clone()));
        all
    }
}
