//! Elements of 8 and 16 bits of AVX-512, and its conversions of f16.
//!
//! In and out: as [`Fewer`] says. Always: a vector of elements is a part of a register, and its tail a mask.

use core::arch::x86_64::*;

use super::{Avx512, vectors};
use crate::{Fewer, Vectors};

macro_rules! memory {
    ($($e:ty: $load:ident $load_first:ident $store:ident $store_first:ident
        = $i_load:ident $i_load_masked:ident $i_widen:ident $i_store:ident $i_store_masked:ident $i_narrow:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const $e) -> Self::U {
            // SAFETY: `p` is valid for reading 16 elements by this method's contract, and the token proves AVX-512.
            unsafe { $i_widen($i_load(p.cast())) }
        }
        #[inline(always)]
        unsafe fn $load_first(self, p: *const $e, count: usize) -> Self::U {
            // SAFETY: by contract `p` may be read at the first `count` elements, no other is read; the token proves AVX-512.
            unsafe { $i_widen($i_load_masked(self.mask_first(count), p.cast())) }
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut $e, v: Self::U) {
            // SAFETY: `p` is valid for writing 16 elements by this method's contract, and the token proves AVX-512.
            unsafe { $i_store(p.cast(), $i_narrow(v)) }
        }
        #[inline(always)]
        unsafe fn $store_first(self, p: *mut $e, count: usize, v: Self::U) {
            // SAFETY: by contract `p` may be written at the first `count` elements, no other is written; the token proves
            // AVX-512.
            unsafe { $i_store_masked(p.cast(), self.mask_first(count), $i_narrow(v)) }
        }
    )*};
}

impl Fewer for Avx512 {
    memory! {
        u8: load_raw_b load_first_raw_b store_raw_b store_first_raw_b
            = _mm_loadu_si128 _mm_maskz_loadu_epi8 _mm512_cvtepu8_epi32
              _mm_storeu_si128 _mm_mask_storeu_epi8 _mm512_cvtepi32_epi8;
        u16: load_raw_h load_first_raw_h store_raw_h store_first_raw_h
            = _mm256_loadu_si256 _mm256_maskz_loadu_epi16 _mm512_cvtepu16_epi32
              _mm256_storeu_si256 _mm256_mask_storeu_epi16 _mm512_cvtepi32_epi16;
    }

    // These are instructions of AVX-512 F, and need no other extension.
    vectors! { self;
        f_from_f16(x: U) -> F = _mm512_cvtph_ps(_mm512_cvtepi32_epi16(x));
        f16_from_f(x: F) -> U = _mm512_cvtepu16_epi32(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));
        round_f16(x: F) -> F = _mm512_cvtph_ps(_mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));
    }
}
