//! Elements of 8 and 16 bits of SSE2.
//!
//! In and out: as [`Fewer`] says. Always: a vector of elements is a part of a register.

use core::arch::x86_64::*;

use super::Sse2;
use crate::Fewer;

impl Fewer for Sse2 {
    #[inline(always)]
    unsafe fn load_raw_b(self, p: *const u8) -> Self::U {
        // SAFETY: `p` is valid for reading 4 elements by this method's contract, and every machine of this target has SSE2.
        unsafe {
            let (zero, word) = (_mm_setzero_si128(), p.cast::<i32>().read_unaligned());
            _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(word), zero), zero)
        }
    }
    #[inline(always)]
    unsafe fn store_raw_b(self, p: *mut u8, v: Self::U) {
        // SAFETY: `p` is valid for writing 4 elements by this method's contract, and every machine of this target has SSE2.
        unsafe {
            // Without their upper bits the words are in range of instructions that saturate.
            let low = _mm_and_si128(v, _mm_set1_epi32(0xff));
            let low = _mm_packs_epi32(low, low);
            p.cast::<i32>().write_unaligned(_mm_cvtsi128_si32(_mm_packus_epi16(low, low)));
        }
    }
    #[inline(always)]
    unsafe fn load_raw_h(self, p: *const u16) -> Self::U {
        // SAFETY: `p` is valid for reading 4 elements by this method's contract, and every machine of this target has SSE2.
        unsafe { _mm_unpacklo_epi16(_mm_loadl_epi64(p.cast()), _mm_setzero_si128()) }
    }
    #[inline(always)]
    unsafe fn store_raw_h(self, p: *mut u16, v: Self::U) {
        // SAFETY: `p` is valid for writing 4 elements by this method's contract, and every machine of this target has SSE2.
        unsafe {
            // With the sign of their lowest bits the words are in range of an instruction that saturates.
            let signed = _mm_srai_epi32::<16>(_mm_slli_epi32::<16>(v));
            _mm_storel_epi64(p.cast(), _mm_packs_epi32(signed, signed));
        }
    }
}
