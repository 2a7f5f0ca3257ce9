//! Tensors with several named dimensions: in comes a slice and its extents, checked once, out goes
//! a value that keeps them together. Always: the slice has as many elements as the extents say.
//!
//! Extents that the signature fixes at the end are part of the element: `f32[B, T, 64]` is a
//! `View<[f32; 64], 2>`.

use alloc::{boxed::Box, vec::Vec};
use core::ops::Index;

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Result};

/// What tensors hold: numbers, truth values, and arrays of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no element of a tensor",
    label = "elements are `f32`, `f64`, `i8` to `i64`, `u8` to `u64`, `bool`, `f16` and `bf16` of the crate `half`, and arrays \
             of them",
    note = "other numbers are converted one by one, as by `data.iter().map(|&x| x as f32).collect::<Vec<f32>>()`, and \
            nested vectors are made flat by `nested.concat()`"
)]
pub trait Element {}

impl Element for f32 {}
impl Element for f64 {}
#[cfg(feature = "half")]
impl Element for half::f16 {}
#[cfg(feature = "half")]
impl Element for half::bf16 {}
impl Element for u8 {}
impl Element for i8 {}
impl Element for u16 {}
impl Element for i16 {}
impl Element for u32 {}
impl Element for i32 {}
impl Element for u64 {}
impl Element for i64 {}
impl Element for bool {}
impl<T: Element, const N: usize> Element for [T; N] {}

/// A borrowed tensor: `R` leading extents over elements of type `T`, row-major.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View<'a, T, const R: usize> {
    data: &'a [T],
    dims: [usize; R],
}

impl<'a, T, const R: usize> View<'a, T, R> {
    /// `data` with extents `dims`.
    ///
    /// # Errors
    /// If `data` does not have as many elements as `dims` say.
    pub fn new(data: &'a [T], dims: [usize; R]) -> Result<Self>
    where
        T: Element,
    {
        View::checked(data, dims)
    }

    fn checked(data: &'a [T], dims: [usize; R]) -> Result<Self> {
        // Extents that multiply to more than can be counted belong to no data, unless there is none.
        let product = match dims.contains(&0) {
            true => Some(0),
            false => dims.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent)),
        };
        if product != Some(data.len()) {
            let needed = product.unwrap_or(usize::MAX);
            return Err(Error::Length { argument: "view", found: data.len(), needed, multiple: false });
        }
        Ok(View { data, dims })
    }

    /// The elements, row-major.
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// The extents.
    pub fn dims(&self) -> [usize; R] {
        self.dims
    }
}

impl<'a, T: Pod, const N: usize> From<&'a [[T; N]]> for View<'a, T, 2> {
    fn from(rows: &'a [[T; N]]) -> Self {
        View { data: rows.as_flattened(), dims: [rows.len(), N] }
    }
}

impl<'a, T: Pod, const N: usize, const M: usize> From<&'a [[T; N]; M]> for View<'a, T, 2> {
    fn from(rows: &'a [[T; N]; M]) -> Self {
        View { data: rows.as_flattened(), dims: [M, N] }
    }
}

impl<T, const R: usize> Index<[usize; R]> for View<'_, T, R> {
    type Output = T;

    fn index(&self, index: [usize; R]) -> &T {
        &self.data[position(index, self.dims)]
    }
}

/// An owned tensor: `R` leading extents over elements of type `T`, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T, const R: usize> {
    data: Vec<T>,
    dims: [usize; R],
}

impl<T, const R: usize> Tensor<T, R> {
    /// `data` with extents `dims`.
    ///
    /// # Errors
    /// If `data` does not have as many elements as `dims` say.
    pub fn new(data: Vec<T>, dims: [usize; R]) -> Result<Self> {
        View::checked(&data, dims)?;
        Ok(Tensor { data, dims })
    }

    /// The tensor, borrowed.
    pub fn view(&self) -> View<'_, T, R> {
        View { data: &self.data, dims: self.dims }
    }

    /// The elements, row-major.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// The elements, row-major, to be written.
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The elements alone.
    pub fn into_data(self) -> Vec<T> {
        self.data
    }

    /// The extents.
    pub fn dims(&self) -> [usize; R] {
        self.dims
    }
}

impl<T, const R: usize> Index<[usize; R]> for Tensor<T, R> {
    type Output = T;

    fn index(&self, index: [usize; R]) -> &T {
        &self.data[position(index, self.dims)]
    }
}

fn position<const R: usize>(index: [usize; R], dims: [usize; R]) -> usize {
    index.iter().zip(&dims).fold(0, |position, (&index, &extent)| {
        assert!(index < extent, "index {index} is outside an extent of {extent}");
        position * extent + index
    })
}

/// Rows of numbers of type `T`: arrays of them, and arrays of such arrays.
#[diagnostic::on_unimplemented(
    message = "rows of `{Self}` are not made of `{T}`",
    label = "the slice holds `{T}`",
    note = "convert the numbers first: `let flat: Vec<f32> = data.iter().map(|&x| x as f32).collect();`"
)]
pub trait RowOf<T>: Pod {}

/// Numbers are rows of one.
macro_rules! numbers {
    ($($(#[$condition:meta])* $number:ty,)*) => { $($(#[$condition])* impl RowOf<$number> for $number {})* };
}

numbers! {
    f32,
    f64,
    i8,
    u8,
    i16,
    u16,
    i32,
    u32,
    i64,
    u64,
    #[cfg(feature = "half")]
    half::f16,
    #[cfg(feature = "half")]
    half::bf16,
}

#[diagnostic::do_not_recommend]
impl<T, Row: RowOf<T>, const N: usize> RowOf<T> for [Row; N] where [Row; N]: Pod {}

/// A flat slice as elements with fixed extents: `rows::<[[f32; 28]; 28], _>(&pixels)?`. They are what the slice holds, of the
/// same type, and nothing is copied.
///
/// # Errors
/// If the length of `flat` is no multiple of the elements that one `Row` has.
pub fn rows<Row: RowOf<T>, T: Pod>(flat: &[T]) -> Result<&[Row]> {
    let needed = (size_of::<Row>() / size_of::<T>().max(1)).max(1);
    bytemuck::try_cast_slice(flat).map_err(|_| Error::Length {
        argument: "slice",
        found: flat.len(),
        needed,
        multiple: true,
    })
}

/// The words of values of 4 or 8 bytes.
#[inline]
pub fn words<T: Pod>(values: &[T]) -> &[f32] {
    bytemuck::cast_slice(values)
}

/// The words of values of 4 or 8 bytes, to be written.
#[inline]
pub fn words_mut<T: Pod>(values: &mut [T]) -> &mut [f32] {
    bytemuck::cast_slice_mut(values)
}

/// Words as the values that they are; those of 8 bytes begin on a boundary of 8, as pools do and parts of them that the
/// memory plan makes.
#[inline]
pub fn values<T: Pod>(words: &[f32]) -> &[T] {
    // No words may lie on no boundary.
    if words.is_empty() { &[] } else { bytemuck::cast_slice(words) }
}

/// Words as the values that they are, to be written.
#[inline]
pub fn values_mut<T: Pod>(words: &mut [f32]) -> &mut [T] {
    if words.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(words) }
}

/// The values of fewer than 4 bytes with which words begin: as many as these extents say.
#[inline]
pub fn elements<'a, T: Pod>(words: &'a [f32], extents: &[usize]) -> &'a [T] {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    bytemuck::cast_slice(&bytes[..bytes_of::<T>(extents)])
}

/// The values of fewer than 4 bytes with which words begin, to be written.
#[inline]
pub fn elements_mut<'a, T: Pod>(words: &'a mut [f32], extents: &[usize]) -> &'a mut [T] {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(words);
    bytemuck::cast_slice_mut(&mut bytes[..bytes_of::<T>(extents)])
}

/// The bytes of so many values; of none where an extent is zero, however large others are.
fn bytes_of<T>(extents: &[usize]) -> usize {
    extents.iter().fold(size_of::<T>(), |bytes, &extent| bytes.saturating_mul(extent))
}

/// A view of values that compiled code has counted.
#[inline]
pub fn view<T, const R: usize>(data: &[T], dims: [usize; R]) -> View<'_, T, R> {
    debug_assert_eq!(data.len(), dims.iter().product::<usize>(), "the plan counts elements by their extents");
    View { data, dims }
}

/// The only value of a result without dimensions.
#[inline]
pub fn scalar<T: Pod>(words: &[f32]) -> T {
    let bytes: &[u8] = bytemuck::cast_slice(words);
    bytemuck::pod_read_unaligned(&bytes[..size_of::<T>()])
}

/// Zeros on the heap, to be written over.
///
/// # Errors
/// If memory runs out.
pub fn zeros<T: Zeroable>(len: usize) -> Result<Vec<T>> {
    let words = len.saturating_mul(size_of::<T>()).div_ceil(size_of::<f32>());
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::Memory { words })
}

/// A tensor of zeros, to be written over.
///
/// # Errors
/// If memory runs out.
pub fn tensor<T: Zeroable, const R: usize>(function: &'static str, dims: [usize; R]) -> Result<Tensor<T, R>> {
    Ok(Tensor { data: zeros(crate::bind::product(function, &dims)?)?, dims })
}

/// One large value on the heap, to be written over; it is never on the stack.
///
/// # Errors
/// If memory runs out.
pub fn zero<T: Zeroable>() -> Result<Box<T>> {
    bytemuck::allocation::try_zeroed_box()
        .map_err(|()| Error::Memory { words: size_of::<T>().div_ceil(size_of::<f32>()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_view_is_checked_and_indexed() {
        let data = [0, 1, 2, 3, 4, 5];
        let view = View::new(&data, [2, 3]).unwrap();
        assert_eq!((view[[1, 0]], view[[0, 2]]), (3, 2));
        let error = View::new(&data, [2, 2]).unwrap_err();
        assert_eq!(error.to_string(), "`view` has 6 elements, but 4 are needed");
        assert!(View::new(&data, [usize::MAX, 2]).is_err());
        assert_eq!(View::from(&[[1.0, 2.0], [3.0, 4.0]]).dims(), [2, 2]);
    }

    #[test]
    fn flat_slices_convert_with_a_check() {
        let flat = [1.0f32, 2.0, 3.0, 4.0];
        assert_eq!(rows::<[f32; 2], _>(&flat).unwrap(), [[1.0, 2.0], [3.0, 4.0]]);
        let error = rows::<[f32; 3], _>(&flat).unwrap_err();
        assert_eq!(error.to_string(), "`slice` has 4 elements, but a multiple of 3 is needed");
        assert_eq!(rows::<f32, _>(&flat).unwrap(), flat);
        assert_eq!(rows::<[[u8; 2]; 1], u8>(&[1, 2, 3, 4]).unwrap(), [[[1, 2]], [[3, 4]]]);
    }

    #[test]
    fn values_of_8_bytes_are_two_words() {
        let data = [[0.1f64, 0.2], [0.3, 0.4]];
        assert_eq!(words(&data).len(), 8);
        assert_eq!(values::<[f64; 2]>(words(&data)), data);
        assert_eq!((scalar::<f64>(words(&data)), scalar::<f64>(&words(&data)[2..])), (0.1, 0.2));
        assert_eq!((scalar::<f32>(&[1.5, 2.0]), scalar::<u32>(&[f32::from_bits(7)])), (1.5, 7));
        let mut out = zeros::<f64>(3).unwrap();
        values_mut::<f64>(words_mut(&mut out))[2] = -1.0;
        assert_eq!(values::<f64>(words(&out)), [0.0, 0.0, -1.0]);
        assert_eq!(*zero::<[f64; 2]>().unwrap(), [0.0; 2]);
        assert!(matches!(zeros::<f64>(usize::MAX / 8), Err(Error::Memory { words }) if words == usize::MAX / 8 * 2));
        assert_eq!(View::new(&data, [1, 2]).unwrap()[[0, 1]], [0.3, 0.4]);
        assert_eq!(rows::<[f64; 2], _>(data.as_flattened()).unwrap(), data);
        assert!(values::<f64>(&[]).is_empty() && values::<[f64; 2]>(&[]).is_empty());
    }

    #[test]
    fn values_of_fewer_bytes_are_those_that_words_begin_with() {
        let mut words = [0.0f32; 3];
        elements_mut::<[i8; 3]>(&mut words, &[3])[2] = [-7, 8, 9];
        assert_eq!(elements::<i8>(&words, &[3, 3]), [0, 0, 0, 0, 0, 0, -7, 8, 9]);
        assert_eq!(elements::<[i8; 3]>(&words, &[3])[2], [-7, 8, 9]);
        assert_eq!(elements::<[u16; 5]>(&words, &[]), [[0, 0, 0, 0x08f9, 9]]);
        assert!(elements::<u8>(&words, &[usize::MAX, usize::MAX, 0]).is_empty());
        assert!(elements::<u16>(&[], &[0]).is_empty() && elements_mut::<u16>(&mut [], &[0]).is_empty());
        elements_mut::<u16>(&mut words, &[1])[0] = 0xfffe;
        assert_eq!((scalar::<u16>(&words), scalar::<i8>(&words), scalar::<[i8; 2]>(&words)), (0xfffe, -2, [-2, -1]));
        assert_eq!(
            (zeros::<bool>(3).unwrap(), zeros::<[u8; 3]>(2).unwrap()),
            (alloc::vec![false; 3], alloc::vec![[0; 3]; 2])
        );
        let error = zeros::<u8>(usize::MAX).unwrap_err();
        assert!(matches!(error, Error::Memory { words } if words == usize::MAX / 4 + 1));
    }

    #[test]
    fn large_values_are_made_on_the_heap() {
        let large = zero::<[[f32; 4096]; 4096]>().unwrap();
        assert_eq!(large[4095][4095], 0.0);
        assert!(zeros::<[f32; 4096]>(usize::MAX / 4096).is_err());
    }
}
