//! Matrix products and convolutions: sums of products over named axes, all by one skeleton driven by numbers.
//!
//! In: axes with roles, two operands as affine index maps (optionally through windows), an epilogue. Out: for every point of
//! the Batch, M and N axes the sum over the K axes of left times right, handed to the epilogue while it is in cache. Always:
//! no allocation after the first call at a size, and results that do not depend on the number of threads.
//!
//! In general (`panels`) the right operand is packed into panels of two vectors by a block of K, the left one is read where it
//! lies (or packed, if its rows are not evenly spaced), and a register tile of `ROWS` × 2 vectors runs down K. The scheme is
//! that of Goto and van de Geijn, *Anatomy of high-performance matrix multiplication*, 2008. Before it, `drive` asks
//! algorithms that suit fewer shapes: `dot`, `few` and `gemv` where there are few rows, `small` for two small matrices,
//! `depthwise`, `winograd`, `implicit` and `implicit_by_filters` for convolutions. Of these `implicit` is the same loops with
//! a right operand that is gathered: an image, each k of which starts at an offset of its own; a large one is copied by strips
//! of rows (`row_strips`). Where columns would leave much of their vectors empty, operands change places (`swapped`).
//! Products of operands that are rounded to fewer bits first have a way of their own, `narrow`, and so have those of f64,
//! `wide`; all are planned and packed alike, whatever their elements are. An operand that is stored in fewer bits than it is
//! multiplied in is read where it lies or widened strip by strip (`stored`).

mod depthwise;
mod dilated;
mod dot;
mod drive;
mod element;
mod encoding;
mod epilogue;
mod few;
mod finish;
mod gemv;
mod image;
mod implicit;
mod implicit_by_filters;
pub(super) mod kernel;
mod layout;
mod left;
mod long_row;
mod narrow;
mod pack;
mod pack_columns;
mod pack_once;
mod padded;
mod panels;
mod phases;
mod plan;
mod prepack;
mod row_strips;
mod small;
mod split;
#[cfg(feature = "stored")]
mod stored;
mod swapped;
#[cfg(test)]
mod tests;
#[cfg(feature = "f64")]
mod wide;
mod winograd;

pub use drive::Algorithm;
pub use epilogue::{Epilogue, Plain, Tile};
pub(crate) use layout::{apart, reach};
pub use narrow::{Factor, Narrow, Precision, contract_narrow};
pub use pack_once::{Keeping, Steady};
#[cfg(feature = "stored")]
pub use stored::{Bf16, Encoding, F16, I8, Stored, contract_stored};
#[cfg(feature = "f64")]
pub use wide::contract_wide;

use super::Family;

/// What an axis is to a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// In both operands and in the result.
    Batch,
    /// In the left operand and in the result: rows.
    M,
    /// In the right operand and in the result: columns.
    N,
    /// In both operands, summed over.
    K,
}

/// One named axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// How many indices it has.
    pub extent: usize,
    /// What it is to the contraction.
    pub role: Role,
}

impl Axis {
    /// An axis of so many indices.
    pub const fn new(extent: usize, role: Role) -> Axis {
        Axis { extent, role }
    }
}

/// A dimension of an operand that several axes index together, such as the image row `y + dy - padding` of a convolution.
///
/// With `c = base + Σ strides·index`, the element is 0 unless `divisor` divides `c` and `0 ≤ c / divisor < extent`, and lies
/// `stride · c / divisor` words further on.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// `c` where all indices are 0.
    pub base: isize,
    /// What each axis adds to `c`.
    pub strides: &'a [isize],
    /// The step of the coordinate, at least 1.
    pub divisor: usize,
    /// How many elements the dimension has.
    pub extent: usize,
    /// Words from one element of the dimension to the next.
    pub stride: isize,
}

/// One factor: the element at an index is `data[base + Σ strides·index + Σ windows]`.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a, T = f32> {
    /// Where it lies.
    pub data: &'a [T],
    /// The word where all indices are 0.
    pub base: isize,
    /// Words per step of each axis; 0 on axes that it does not vary with.
    pub strides: &'a [isize],
    /// Up to four windows.
    pub windows: &'a [Window<'a>],
}

/// Where results go: the element at an index is `data[base + Σ strides·index]`.
///
/// All M axes must merge into one stride, and all N axes, and no two indices may meet in one word.
#[derive(Debug)]
pub struct Output<'a, T = f32> {
    /// Where it lies.
    pub data: &'a mut [T],
    /// The word where all indices are 0.
    pub base: isize,
    /// Words per step of each axis; 0 on K axes.
    pub strides: &'a [isize],
}

/// A sum of products over axes. At most 16 axes.
#[derive(Clone, Copy, Debug)]
pub struct Contract<'a, T = f32> {
    /// The axes, outer before inner within each role.
    pub axes: &'a [Axis],
    /// The left factor, which does not vary with N axes.
    pub lhs: Operand<'a, T>,
    /// The right factor, which does not vary with M axes.
    pub rhs: Operand<'a, T>,
}

/// More multiplications than any machine of 64 bits makes, and more words than it has; the same factor of 256 below the largest
/// number on one of 32 bits. What is planned in such numbers overflows nowhere.
pub(crate) const COUNTABLE: usize = 1 << (usize::BITS - 8);

/// Whether the product of extents, none of them taken for 0, is no more than that.
#[inline(always)]
pub(crate) fn countable(extents: impl Iterator<Item = usize>) -> bool {
    extents.fold(1usize, |all, extent| all.saturating_mul(extent.max(1))) <= COUNTABLE
}

/// Panics where a product of extents, with what is added to fill vectors and lines, might not fit a number: everything that
/// is planned counts in such products.
#[inline(always)]
fn check_extents(axes: &[Axis]) {
    assert!(countable(axes.iter().map(|axis| axis.extent)), "contract: more multiplications than can be counted");
}

/// Computes `contract` on at most `threads` threads, by the first of `algorithms` that suits it, in the order of
/// [`Algorithm::ALL`], and hands each tile of sums to `epilogue`. What none suits, a blocked product computes.
///
/// # Panics
/// If an operand or output reaches outside its slice, outputs overlap themselves, or there are more multiplications than can
/// be counted, which the compiler has excluded.
pub fn contract<I: Family, E: Epilogue>(
    isa: I,
    threads: usize,
    algorithms: &[Algorithm],
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    epilogue: &E,
) {
    contract_kept(isa, threads, algorithms, contract, outputs, epilogue, None);
}

/// The same, with a right operand that may be packed in `kept` already: the same one as when it was packed.
///
/// # Panics
/// As above.
pub fn contract_kept<I: Family, E: Epilogue>(
    isa: I,
    threads: usize,
    algorithms: &[Algorithm],
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    epilogue: &E,
    kept: Option<&mut Steady>,
) {
    check_extents(contract.axes);
    let finish = epilogue::Finish(isa, epilogue);
    let call = drive::call(isa.set(), threads, if E::PLAIN { None } else { Some(&finish) });
    drive::drive(&call, algorithms, contract, outputs, kept);
}
