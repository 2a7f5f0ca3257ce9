//! Elements of 8 and 16 bits of AVX2, and its conversions of f16.
//!
//! In and out: as [`Fewer`] says. Always: a vector of elements is a part of a register.

use core::arch::x86_64::*;

use super::{Avx2, vectors};
use crate::Fewer;

impl Fewer for Avx2 {
    #[inline(always)]
    unsafe fn load_raw_b(self, p: *const u8) -> Self::U {
        // SAFETY: `p` is valid for reading 8 elements by this method's contract, and the token proves AVX2.
        unsafe { _mm256_cvtepu8_epi32(_mm_loadl_epi64(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_raw_b(self, p: *mut u8, v: Self::U) {
        // SAFETY: `p` is valid for writing 8 elements by this method's contract, and the token proves AVX2.
        unsafe {
            // Each half of a register is shuffled for itself: its elements become its first word.
            let first = _mm256_setr_epi32(0x0c08_0400, -1, -1, -1, 0x0c08_0400, -1, -1, -1);
            let v = _mm256_shuffle_epi8(v, first);
            let both = _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256::<1>(v));
            _mm_storel_epi64(p.cast(), both);
        }
    }
    #[inline(always)]
    unsafe fn load_raw_h(self, p: *const u16) -> Self::U {
        // SAFETY: `p` is valid for reading 8 elements by this method's contract, and the token proves AVX2.
        unsafe { _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast())) }
    }
    #[inline(always)]
    unsafe fn store_raw_h(self, p: *mut u16, v: Self::U) {
        // SAFETY: `p` is valid for writing 8 elements by this method's contract, and the token proves AVX2.
        unsafe {
            _mm_storeu_si128(p.cast(), narrowed(v));
        }
    }
    #[inline(always)]
    unsafe fn load_raw_f16(self, p: *const u16) -> Self::F {
        // SAFETY: `p` is valid for reading 8 elements by this method's contract, and the token proves F16C.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(p.cast())) }
    }

    // These are instructions of F16C.
    vectors! { self;
        f_from_f16(x: U) -> F = _mm256_cvtph_ps(narrowed(x));
        f16_from_f(x: F) -> U = _mm256_cvtepu16_epi32(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));
        round_f16(x: F) -> F = _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(x));
    }
}

/// The lowest 16 bits of each lane.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2")]
fn narrowed(v: __m256i) -> __m128i {
    // Without their upper bits the words are in range of an instruction that saturates.
    let low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff));
    _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256::<1>(low))
}
