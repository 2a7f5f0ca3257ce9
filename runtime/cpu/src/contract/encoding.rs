//! How elements of an operand are stored, and how they are read.
//!
//! In: elements in memory. Out: vectors of the numbers that they stand for, which f32 holds all of. Always: nothing is rounded;
//! what is infinite or no number stays so.

#[cfg(feature = "stored")]
use super::stored::{Bf16, F16, I8};
use crate::Simd;
#[cfg(feature = "stored")]
use crate::bits::{f_from_bf16, f_from_f16, i_from_i8};

/// Elements that are read as f32: those of `Bits`, which f32 itself is the simplest of.
pub(super) trait Stream: 'static {
    /// An element in memory.
    type Bits: Copy + Send + Sync + 'static;
    /// Whether elements are f32 already, of which a session may keep copies in another order.
    const KEEPS: bool = false;

    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// `p` must be valid for reading `LANES` elements.
    unsafe fn load<S: Simd>(s: S, p: *const Self::Bits) -> S::F;
    /// Reads the first `count` elements and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` must be valid for reading `count` elements, at most `LANES`.
    unsafe fn load_first<S: Simd>(s: S, p: *const Self::Bits, count: usize) -> S::F;
}

impl Stream for f32 {
    type Bits = f32;
    const KEEPS: bool = true;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const f32) -> S::F {
        // SAFETY: `p` is valid for reading `LANES` words by this method's contract.
        unsafe { s.load_raw_f(p) }
    }
    #[inline(always)]
    unsafe fn load_first<S: Simd>(s: S, p: *const f32, count: usize) -> S::F {
        // SAFETY: `p` is valid for reading `count` words by this method's contract, where the mask ends.
        unsafe { s.load_masked_raw_f(p, s.mask_first(count)) }
    }
}

#[cfg(feature = "stored")]
impl Stream for Bf16 {
    type Bits = u16;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const u16) -> S::F {
        // SAFETY: `p` is valid for reading `LANES` elements by this method's contract.
        f_from_bf16(s, unsafe { s.load_raw_h(p) })
    }
    #[inline(always)]
    unsafe fn load_first<S: Simd>(s: S, p: *const u16, count: usize) -> S::F {
        // SAFETY: `p` is valid for reading `count` elements, at most `LANES`, by this method's contract.
        f_from_bf16(s, unsafe { s.load_first_raw_h(p, count) })
    }
}

#[cfg(feature = "stored")]
impl Stream for F16 {
    type Bits = u16;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const u16) -> S::F {
        // SAFETY: `p` is valid for reading `LANES` elements by this method's contract.
        unsafe { s.load_raw_f16(p) }
    }
    #[inline(always)]
    unsafe fn load_first<S: Simd>(s: S, p: *const u16, count: usize) -> S::F {
        // SAFETY: `p` is valid for reading `count` elements, at most `LANES`, by this method's contract.
        f_from_f16(s, unsafe { s.load_first_raw_h(p, count) })
    }
}

#[cfg(feature = "stored")]
impl Stream for I8 {
    type Bits = u8;

    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const u8) -> S::F {
        // SAFETY: `p` is valid for reading `LANES` elements by this method's contract.
        s.f_from_i(i_from_i8(s, unsafe { s.load_raw_b(p) }))
    }
    #[inline(always)]
    unsafe fn load_first<S: Simd>(s: S, p: *const u8, count: usize) -> S::F {
        // SAFETY: `p` is valid for reading `count` elements, at most `LANES`, by this method's contract.
        s.f_from_i(i_from_i8(s, unsafe { s.load_first_raw_b(p, count) }))
    }
}
