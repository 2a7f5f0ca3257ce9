//! Which algorithms can compute a contraction on a CPU.
//!
//! In: a contraction. Out: those that suit it at some values of its named dimensions, by what is known of its axes and strides.
//! Always: none is left out that suits; the one that does everything comes last.

use super::dim::Dim;
use super::kernel::{Kernel, Operand, Skeleton, Store};
use super::precision::Factor;
use super::ty::DType;

/// A way to sum products. Each but the last says at run time whether it suits the extents and strides of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Algorithm {
    /// Dot products of few rows with many, both contiguous along K.
    Dot,
    /// Two small matrices, read where they lie.
    Small,
    /// A convolution whose channels have filters of their own.
    Depthwise,
    /// Minimal filtering of 3 × 3 filters: Winograd's.
    Winograd,
    /// A convolution as a product whose right operand is gathered through a list of offsets (implicit GEMM).
    Implicit,
    /// The gradient of a convolution by its filters: the same with the image as left operand.
    ImplicitByFilters,
    /// A row times a matrix that is read once, in its order (GEMV).
    Gemv,
    /// The blocked product with packed operands (GEMM), which does everything.
    Blocked,
}

impl Algorithm {
    /// All, in the order in which a call asks them.
    pub const ALL: [Algorithm; 8] = [
        Algorithm::Dot,
        Algorithm::Small,
        Algorithm::Depthwise,
        Algorithm::Winograd,
        Algorithm::Implicit,
        Algorithm::ImplicitByFilters,
        Algorithm::Gemv,
        Algorithm::Blocked,
    ];

    /// Its name in dumps.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Dot => "dot",
            Algorithm::Small => "small",
            Algorithm::Depthwise => "depthwise",
            Algorithm::Winograd => "winograd",
            Algorithm::Implicit => "implicit",
            Algorithm::ImplicitByFilters => "implicit_by_filters",
            Algorithm::Gemv => "gemv",
            Algorithm::Blocked => "blocked",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

/// The parts of a contraction.
#[derive(Clone, Copy)]
pub struct Product<'k> {
    /// The whole.
    pub kernel: &'k Kernel,
    /// Axes of both operands and the result.
    pub batch: &'k [usize],
    /// Axes of the left operand and the result.
    pub m: &'k [usize],
    /// Axes of the right operand and the result.
    pub n: &'k [usize],
    /// Summed axes.
    pub k: &'k [usize],
    /// Does not vary with n.
    pub lhs: &'k Operand,
    /// Does not vary with m.
    pub rhs: &'k Operand,
    /// What is stored of each sum.
    pub stores: &'k [Store],
}

/// The algorithms that can compute a kernel, in order; none if it is no contraction.
pub fn possible(kernel: &Kernel) -> Vec<Algorithm> {
    let Some(product) = Product::of(kernel) else { return vec![] };
    if product.dtype() != DType::F32 {
        return vec![Algorithm::Blocked];
    }
    Algorithm::ALL.into_iter().filter(|algorithm| product.can(*algorithm)).collect()
}

impl<'k> Product<'k> {
    /// The parts, if the kernel is of this kind.
    pub fn of(kernel: &'k Kernel) -> Option<Product<'k>> {
        let Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } = &kernel.skeleton else { return None };
        Some(Product { kernel, batch, m, n, k, lhs, rhs, stores })
    }

    /// The type that both operands are computed in, and that of the sums.
    pub fn dtype(&self) -> DType {
        self.kernel.product_dtype(self.lhs, self.rhs)
    }

    /// The operand whose elements are of a type of memory, which it is widened from, and that type.
    pub fn stored(&self) -> Option<(Factor, DType)> {
        let of = |operand: &Operand| self.kernel.slots[operand.slot].dtype;
        let all = [(Factor::Left, of(self.lhs)), (Factor::Right, of(self.rhs))];
        all.into_iter().find(|(_, dtype)| dtype.is_stored())
    }

    fn can(&self, algorithm: Algorithm) -> bool {
        match algorithm {
            Algorithm::Dot => self.is_plain() && self.runs_along(self.lhs, self.k) && self.runs_along(self.rhs, self.k),
            Algorithm::Small => self.is_plain() && self.runs_along(self.rhs, self.n),
            Algorithm::Depthwise => self.is_image() && self.batch.iter().any(|&axis| self.may_move_filters(axis)),
            Algorithm::Winograd => {
                let taps = self.k.iter().filter(|&&axis| may_be(self.extent(axis), 3));
                let channel_and_taps = self.longer(self.k) >= 3 && taps.count() >= 2;
                self.shares_filters() && self.longer(self.n) >= 2 && channel_and_taps
            }
            Algorithm::Implicit => self.is_image(),
            Algorithm::ImplicitByFilters => {
                self.is_image() && self.longer(self.k) >= 2 && self.runs_along(self.lhs, self.k)
            }
            Algorithm::Gemv => self.is_row() && self.runs_along(self.rhs, self.n),
            Algorithm::Blocked => true,
        }
    }

    fn extent(&self, axis: usize) -> &Dim {
        &self.kernel.axes[axis]
    }

    /// How many axes may have more than one index.
    fn longer(&self, list: &[usize]) -> usize {
        list.iter().filter(|&&axis| may_have_more(self.extent(axis))).count()
    }

    /// Whether it may be a product of two matrices without a batch.
    fn is_plain(&self) -> bool {
        let plain = self.lhs.windows.is_empty() && self.rhs.windows.is_empty();
        plain && self.batch.iter().all(|&axis| may_be(self.extent(axis), 1))
    }

    /// Whether it may have one row, and no batch.
    fn is_row(&self) -> bool {
        self.m.iter().chain(self.batch).all(|&axis| may_be(self.extent(axis), 1))
    }

    /// Whether the right operand has windows, or what may be left of them.
    fn is_image(&self) -> bool {
        !self.rhs.windows.is_empty() || self.longer(self.n) > 1 || self.longer(self.k) > 1
    }

    /// Whether an image may meet the same filters at all batch indices.
    fn shares_filters(&self) -> bool {
        self.is_image() && !self.batch.iter().any(|&axis| self.moves_filters(axis))
    }

    /// Whether filters may differ along a batch axis.
    fn may_move_filters(&self, axis: usize) -> bool {
        may_have_more(self.extent(axis)) && (self.lhs.index.mentions(axis) || is_windowed(self.lhs, axis))
    }

    /// Whether filters differ along a batch axis. A window there that never leaves the data is a stride at run time, which may
    /// cancel another.
    fn moves_filters(&self, axis: usize) -> bool {
        let stands = self.lhs.index.stride(axis).is_none_or(|stride| may_be(&stride, 0));
        !may_be(self.extent(axis), 1) && !is_windowed(self.lhs, axis) && !stands
    }

    /// Whether neighbours along the innermost axis of a list may be neighbours in an operand without windows there.
    fn runs_along(&self, operand: &Operand, list: &[usize]) -> bool {
        let Some(&last) = list.last().filter(|&&axis| !may_be(self.extent(axis), 1)) else { return true };
        is_windowed(operand, last) || operand.index.stride(last).is_none_or(|stride| may_be(&stride, 1))
    }
}

/// Whether an axis moves a window of an operand.
fn is_windowed(operand: &Operand, axis: usize) -> bool {
    operand.windows.iter().any(|window| window.index.mentions(axis))
}

/// Whether a dimension is a number at some values of the named ones.
fn may_be(dim: &Dim, number: i64) -> bool {
    dim.as_const().is_none_or(|dim| dim == number)
}

fn may_have_more(extent: &Dim) -> bool {
    extent.as_const().is_none_or(|extent| extent > 1)
}
