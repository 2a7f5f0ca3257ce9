//! Arrays on a device: arguments that are there already, and results that stay.
//!
//! Comes in: values, or a buffer of the program's own. Goes out: what methods such as `scores_encode` read and write without a copy.
//! Always holds: an array is a piece of a buffer that a kernel can bind.

use super::arena::{Piece, create_storage, read_back};
use super::device::Gpu;
use crate::encoded::{Encode, Encoded};
use crate::error::{Error, Result};
use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;
use precast_cpu::Words;

/// Elements on a GPU: what `&[T]` is to a function on a CPU, and, with `N` extents, what [`View<T, N>`](crate::View) is. A number
/// or an array alone is a `GpuArray` without extents.
///
/// For every function of a model, its session on a GPU has a method that records the function into a
/// [`wgpu::CommandEncoder`](https://docs.rs/wgpu/latest/wgpu/struct.CommandEncoder.html), reads its arguments from such arrays and
/// writes its results into others. It can be one that the program records other work into, too, such as a frame; [`Gpu::submit`] makes
/// one.
///
/// A session keeps the arrays of the last call of each function.
///
/// Numbers lie in the buffer one behind the other in the machine's order of bytes; a `bool` is a `u32` that is 0 or 1.
///
/// # Examples
/// ```no_run
/// use precast::gpu::GpuArray;
/// use precast::prelude::*;
///
/// model! {
///     pub struct Net { layer: Linear(784, 10) }
///
///     impl Net {
///         pub fn scores(&self, x: f32[B, 784]) -> f32[B, 10] { self.layer(x) }
///     }
/// }
///
/// # fn main() -> precast::Result<()> {
/// let gpu = Gpu::new()?;
/// let net = Net::init(0).on(&gpu)?;
/// let mut session = net.session();
/// let images = GpuArray::from_slice(&gpu, &[[0.5; 784]; 64])?;
/// let scores = GpuArray::new(&gpu, [64])?;
/// gpu.submit(|encoder| session.scores_encode(encoder, &images, &scores))?;
/// let scores: Vec<[f32; 10]> = scores.read()?;
/// # Ok(())
/// # }
/// ```
pub struct GpuArray<T, const N: usize = 1> {
    gpu: Gpu,
    piece: Piece,
    dims: [usize; N],
    words: usize,
    elements: PhantomData<T>,
}

impl<T: Encode, const N: usize> GpuArray<T, N> {
    /// Zeros, with these extents.
    ///
    /// # Errors
    /// If the device has no such memory.
    pub fn new(gpu: &Gpu, dims: [usize; N]) -> Result<Self> {
        let words = words_of::<T, N>(dims)?;
        let buffer = create_storage(gpu, "array", words)?;
        let piece = Piece { bytes: 0..buffer.size(), buffer };
        Ok(Self { gpu: gpu.clone(), piece, dims, words, elements: PhantomData })
    }

    /// Elements that lie in a buffer of the program's own, from a byte on, with these extents. Nothing is copied: whoever writes the
    /// buffer writes the array. It has to be a buffer of this device; wgpu does not tell, and takes another one for it, or panics.
    ///
    /// A call reads and writes different buffers, not different pieces of one. Where an entry point would see more buffers than it can
    /// bind, parameters and scratch memory included, arguments or results are copied, and so are results from the fifth on: the buffers
    /// of arguments then need the usage `COPY_SRC`, and those of results `COPY_DST`.
    ///
    /// # Errors
    /// If the buffer has not the usage `STORAGE`, `offset` is no multiple of the device's `min_storage_buffer_offset_alignment`, or
    /// the buffer is too short: its last 16 bytes that an array reaches have to be there as a whole.
    pub fn from_buffer(gpu: &Gpu, buffer: &wgpu::Buffer, offset: u64, dims: [usize; N]) -> Result<Self> {
        let words = words_of::<T, N>(dims)?;
        let size = (4 * words as u64).next_multiple_of(VECTOR).max(VECTOR);
        let alignment = u64::from(gpu.device().limits().min_storage_buffer_offset_alignment);
        let refused = |reason| Err(Error::Array { reason });
        if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
            return refused(format!(
                "kernels read an array, so its buffer needs the usage STORAGE, but it was made with {:?}",
                buffer.usage()
            ));
        }
        if !offset.is_multiple_of(alignment) {
            return refused(format!(
                "an array begins at byte {offset} of its buffer, but the device asks for a multiple of {alignment} \
                 (its limit `min_storage_buffer_offset_alignment`)"
            ));
        }
        match offset.checked_add(size).filter(|&end| end <= buffer.size()) {
            Some(end) => {
                let piece = Piece { buffer: buffer.clone(), bytes: offset..end };
                Ok(Self { gpu: gpu.clone(), piece, dims, words, elements: PhantomData })
            }
            None => refused(format!(
                "an array of {dims:?} takes {size} bytes from byte {offset} on, and its buffer has {}",
                buffer.size()
            )),
        }
    }

    /// The extents.
    pub fn dims(&self) -> [usize; N] {
        self.dims
    }

    /// The buffer in which it lies.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.piece.buffer
    }

    /// The byte of the buffer at which it begins.
    pub fn offset(&self) -> u64 {
        self.piece.bytes.start
    }

    /// Overwrites it, before what is submitted next: whole words, so that elements of fewer bits also overwrite, with zeros, what is
    /// behind them in the last one.
    ///
    /// # Errors
    /// If there are not as many values, or the device is lost.
    pub fn write(&self, values: &[T]) -> Result<()> {
        let expected: usize = self.dims.iter().product();
        if values.len() != expected {
            return Err(Error::Array { reason: format!("an array of {expected} elements was given {}", values.len()) });
        }
        self.gpu.ready()?;
        let words = Encoded::of(values)?;
        let bytes = bytemuck::cast_slice(words.words());
        self.gpu.scoped(|| self.gpu.queue().write_buffer(&self.piece.buffer, self.piece.bytes.start, bytes))
    }

    /// Waits for what was submitted, and gives the elements.
    ///
    /// # Errors
    /// If the buffer has not the usage `COPY_SRC`, or the device is lost.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read(&self) -> Result<Vec<T>> {
        super::mapping::wait(self.read_async())
    }

    /// The same without blocking.
    ///
    /// # Errors
    /// As for [`read`](GpuArray::read).
    pub async fn read_async(&self) -> Result<Vec<T>> {
        self.gpu.ready()?;
        let mut words = Words::zeroed(self.words)?;
        read_back(&self.gpu, &self.piece.buffer, (self.piece.bytes.start / 4) as usize, words.as_mut_slice()).await?;
        let (mut values, count) = (Vec::new(), self.dims.iter().product());
        values.try_reserve_exact(count).map_err(|_| Error::Memory { words: self.words })?;
        values.resize(count, T::ZERO);
        T::decode(words.as_slice(), &mut values);
        Ok(values)
    }

    /// What kernels bind, and how many words they see.
    #[doc(hidden)]
    pub fn __emitted_code_only_lent(&self) -> Lent<'_> {
        Lent { gpu: &self.gpu, piece: &self.piece, words: self.words }
    }
}

impl<T: Encode> GpuArray<T> {
    /// Brings elements to the device.
    ///
    /// # Errors
    /// If the device has no such memory.
    pub fn from_slice(gpu: &Gpu, values: &[T]) -> Result<Self> {
        let array = Self::new(gpu, [values.len()])?;
        array.write(values)?;
        Ok(array)
    }
}

impl<T, const N: usize> Clone for GpuArray<T, N> {
    /// The same elements, not copies of them.
    fn clone(&self) -> Self {
        Self { gpu: self.gpu.clone(), piece: self.piece.clone(), elements: PhantomData, ..*self }
    }
}

impl<T, const N: usize> Debug for GpuArray<T, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "GpuArray<{}>({:?})", core::any::type_name::<T>(), self.dims)
    }
}

/// An array whatever its elements are.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Lent<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) piece: &'a Piece,
    pub(super) words: usize,
}

/// Whether the array for a result has the extents that the result will have.
///
/// # Errors
/// If it has others.
#[doc(hidden)]
pub fn same_dims<const N: usize>(name: &str, found: [usize; N], expected: [usize; N]) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::Array {
            reason: format!("the result `{name}` has the extents {expected:?}, and its array {found:?}"),
        }),
    }
}

/// Bytes of the vectors as which kernels see buffers.
const VECTOR: u64 = 16;

/// The words of an array with these extents.
fn words_of<T: Encode, const N: usize>(dims: [usize; N]) -> Result<usize> {
    let count = dims.iter().try_fold(1, |product: usize, &extent| product.checked_mul(extent));
    let count = count.filter(|count| count.checked_mul(size_of::<T>()).is_some());
    let words = count.map_or(usize::MAX, T::words);
    // Kernels count words in 32 bits.
    if words <= i32::MAX as usize { Ok(words) } else { Err(Error::Memory { words }) }
}
