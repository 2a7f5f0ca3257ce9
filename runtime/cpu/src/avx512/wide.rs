//! 64-bit lanes of AVX-512: two registers of 8 each.
//!
//! In and out: as [`Wide`] says. Always: the first register holds the first lanes. Integers are arrays, of which LLVM makes
//! registers.

use core::arch::x86_64::*;

use super::{Avx512, LANES, vectors};
use crate::Wide;
use crate::lanes::{as_arrays, each_lane, long_integers, memory_as_doubles};

/// Methods that do the same to both registers.
macro_rules! both {
    ($self:ident; $($name:ident($($arg:ident),+) = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, $($arg: Self::D),+) -> Self::D {
            // SAFETY: the token proves that the machine has AVX-512, and the body touches no memory.
            unsafe {
                [{ $(let $arg = $arg[0];)+ $body }, { $(let $arg = $arg[1];)+ $body }]
            }
        }
    )*};
}

/// Comparisons: the mask of the first register, then that of the second.
macro_rules! compare {
    ($self:ident; $($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: the token proves that the machine has AVX-512; registers are compared.
            unsafe {
                let low = _mm512_cmp_pd_mask::<$predicate>(a[0], b[0]);
                let high = _mm512_cmp_pd_mask::<$predicate>(a[1], b[1]);
                u16::from_le_bytes([low, high])
            }
        }
    )*};
}

/// Folds a vector in halves: 16, 8, 4, 2 lanes.
macro_rules! fold {
    ($self:ident; $($name:ident = $op:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::D) -> f64 {
            // SAFETY: the token proves that the machine has AVX-512; halves are folded in registers.
            unsafe {
                let v = $self.$op([x[0]; 2], [x[1]; 2])[0];
                let v = $self.$op([v; 2], [_mm512_shuffle_f64x2::<0x4e>(v, v); 2])[0];
                let v = $self.$op([v; 2], [_mm512_shuffle_f64x2::<0xb1>(v, v); 2])[0];
                let v = $self.$op([v; 2], [_mm512_permute_pd::<0x55>(v); 2])[0];
                _mm512_cvtsd_f64(v)
            }
        }
    )*};
}

/// The lanes of a mask that belong to each register.
#[inline(always)]
fn masks(m: __mmask16) -> [__mmask8; 2] {
    m.to_le_bytes()
}

/// Truncated and saturated; NaN gives 0.
///
/// # Safety
/// The machine must have AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2,fma")]
fn integers(x: __m512d) -> __m256i {
    let number = _mm512_cmp_pd_mask::<_CMP_ORD_Q>(x, x);
    _mm512_maskz_cvttpd_epi32(number, _mm512_min_pd(x, _mm512_set1_pd(2_147_483_647.0)))
}

/// Truncated and saturated; NaN gives 0.
///
/// # Safety
/// The machine must have AVX-512.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2,fma")]
fn words(x: __m512d) -> __m256i {
    _mm512_cvttpd_epu32(_mm512_max_pd(x, _mm512_setzero_pd()))
}

as_arrays! { Avx512, __m512, __m512i, __m512d }

impl Avx512 {
    #[inline(always)]
    fn truths(self, m: __mmask16) -> [bool; LANES] {
        // SAFETY: the token proves AVX-512 BW and VL, and a register of 16 bytes has the bytes of an array of as many.
        let bytes = unsafe { core::mem::transmute::<__m128i, [u8; LANES]>(_mm_maskz_set1_epi8(m, 1)) };
        each_lane!(lane [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] => bytes[lane] != 0)
    }
    #[inline(always)]
    fn of_truths(self, m: [bool; LANES]) -> __mmask16 {
        let bytes = each_lane!(lane [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] => u8::from(m[lane]));
        // SAFETY: the token proves AVX-512 BW and VL, and a register of 16 bytes has the bytes of an array of as many.
        unsafe {
            let bytes = core::mem::transmute::<[u8; LANES], __m128i>(bytes);
            _mm_test_epi8_mask(bytes, bytes)
        }
    }
}

impl Wide for Avx512 {
    type D = [__m512d; 2];
    type L = [i64; LANES];
    type Q = [u64; LANES];

    long_integers! { self [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] }
    memory_as_doubles! { self }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        // SAFETY: the token proves that the machine has AVX-512; a broadcast touches no memory.
        [unsafe { _mm512_set1_pd(x) }; 2]
    }

    both! { self;
        add_d(a, b) = _mm512_add_pd(a, b);
        sub_d(a, b) = _mm512_sub_pd(a, b);
        mul_d(a, b) = _mm512_mul_pd(a, b);
        div_d(a, b) = _mm512_div_pd(a, b);
        max_d(a, b) = _mm512_mask_mov_pd(_mm512_max_pd(a, b), _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a), a);
        min_d(a, b) = _mm512_mask_mov_pd(_mm512_min_pd(a, b), _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a), a);
        at_most_d(x, bound) = _mm512_min_pd(bound, x);
        at_least_d(x, bound) = _mm512_max_pd(bound, x);
        mul_add_d(a, b, c) = _mm512_fmadd_pd(a, b, c);
        neg_d(x) = _mm512_xor_pd(x, _mm512_set1_pd(-0.0));
        abs_d(x) = _mm512_abs_pd(x);
        sqrt_d(x) = _mm512_sqrt_pd(x);
        floor_d(x) = _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        ceil_d(x) = _mm512_roundscale_pd::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(x);
        round_d(x) = _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x);
        trunc_d(x) = _mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x);
        scale_d(x, n) = _mm512_scalef_pd(x, n);
    }

    compare! { self;
        eq_d = _CMP_EQ_OQ;
        lt_d = _CMP_LT_OQ;
        le_d = _CMP_LE_OQ;
    }

    fold! { self;
        reduce_add_d = add_d;
        reduce_mul_d = mul_d;
        reduce_max_d = max_d;
        reduce_min_d = min_d;
    }

    vectors! { self;
        select_d(m: M, a: D, b: D) -> D = {
            let [low, high] = masks(m);
            [_mm512_mask_mov_pd(b[0], low, a[0]), _mm512_mask_mov_pd(b[1], high, a[1])]
        };
        d_from_f(x: F) -> D =
            [_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(x))];
        d_from_i(x: I) -> D =
            [_mm512_cvtepi32_pd(_mm512_castsi512_si256(x)), _mm512_cvtepi32_pd(_mm512_extracti32x8_epi32::<1>(x))];
        d_from_u(x: U) -> D =
            [_mm512_cvtepu32_pd(_mm512_castsi512_si256(x)), _mm512_cvtepu32_pd(_mm512_extracti32x8_epi32::<1>(x))];
        f_from_d(x: D) -> F =
            _mm512_insertf32x8::<1>(_mm512_castps256_ps512(_mm512_cvtpd_ps(x[0])), _mm512_cvtpd_ps(x[1]));
        i_from_d(x: D) -> I = _mm512_inserti32x8::<1>(_mm512_castsi256_si512(integers(x[0])), integers(x[1]));
        u_from_d(x: D) -> U = _mm512_inserti32x8::<1>(_mm512_castsi256_si512(words(x[0])), words(x[1]));
    }

    #[inline(always)]
    unsafe fn load_raw_d(self, p: *const f64) -> Self::D {
        // SAFETY: `p` is valid for reading 16 words by this method's contract, and the token proves AVX-512.
        unsafe { [_mm512_loadu_pd(p), _mm512_loadu_pd(p.add(8))] }
    }
    #[inline(always)]
    unsafe fn load_masked_raw_d(self, p: *const f64, m: Self::M) -> Self::D {
        let [low, high] = masks(m);
        // SAFETY: by contract `p` may be read at each lane in `m`, no other is read, and the token proves AVX-512.
        unsafe { [_mm512_maskz_loadu_pd(low, p), _mm512_maskz_loadu_pd(high, p.wrapping_add(8))] }
    }
    #[inline(always)]
    unsafe fn store_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: `p` is valid for writing 16 words by this method's contract, and the token proves AVX-512.
        unsafe {
            _mm512_storeu_pd(p, v[0]);
            _mm512_storeu_pd(p.add(8), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn store_masked_raw_d(self, p: *mut f64, m: Self::M, v: Self::D) {
        let [low, high] = masks(m);
        // SAFETY: by contract `p` may be written at each lane in `m`, no other is written; the token proves AVX-512.
        unsafe {
            _mm512_mask_storeu_pd(p, low, v[0]);
            _mm512_mask_storeu_pd(p.wrapping_add(8), high, v[1]);
        }
    }
    #[inline(always)]
    unsafe fn gather_raw_d(self, p: *const f64, idx: Self::I, m: Self::M) -> Self::D {
        let [low, high] = masks(m);
        // SAFETY: by contract `p` may be read at the index of each lane in `m`, no others; the token proves AVX-512.
        unsafe {
            let zero = _mm512_setzero_pd();
            [
                _mm512_mask_i32gather_pd::<8>(zero, low, _mm512_castsi512_si256(idx), p),
                _mm512_mask_i32gather_pd::<8>(zero, high, _mm512_extracti32x8_epi32::<1>(idx), p),
            ]
        }
    }
    #[inline(always)]
    unsafe fn scatter_raw_d(self, p: *mut f64, idx: Self::I, m: Self::M, v: Self::D) {
        let [low, high] = masks(m);
        // SAFETY: by contract `p` may be written at the index of each lane in `m`, no others; the token proves AVX-512.
        unsafe {
            _mm512_mask_i32scatter_pd::<8>(p, low, _mm512_castsi512_si256(idx), v[0]);
            _mm512_mask_i32scatter_pd::<8>(p, high, _mm512_extracti32x8_epi32::<1>(idx), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn stream_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: by contract `p` is valid for writing 16 words and aligned to 64 bytes, and other threads read them after
        // `settle` only; the token proves AVX-512.
        unsafe {
            _mm512_stream_pd(p, v[0]);
            _mm512_stream_pd(p.add(8), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn transpose_raw_d(self, rows: *const *const f64, at: usize, to: *mut f64, step: usize, count: usize) {
        for first in (0..count).step_by(8) {
            // A line of each of eight rows, of the second half first: of rows that overlap, the next one is what stays.
            for half in [8, 0] {
                // Loads put rows r, r + 2, r + 4 and r + 6 into the quarters of a register: only 2 × 2 blocks are left.
                for column in (first..count.min(first + 8)).step_by(2) {
                    let to = to.wrapping_add(column * step + half);
                    // SAFETY: by contract each of `LANES` rows, two times eight, has `at + LANES` words, so it has these two,
                    // and `to` has `count` rows, the only ones written; the token proves AVX-512.
                    unsafe {
                        let mut v = [_mm512_setzero_pd(); 2];
                        for (r, v) in v.iter_mut().enumerate() {
                            let rows = rows.add(half + r);
                            let low = _mm512_castpd128_pd512(_mm_loadu_pd((*rows).add(at + column)));
                            let second = _mm_loadu_pd((*rows.add(2)).add(at + column));
                            let low = _mm512_mask_broadcast_f64x2(low, 0x0c, second);
                            let third = _mm_loadu_pd((*rows.add(4)).add(at + column));
                            let low = _mm512_mask_broadcast_f64x2(low, 0x30, third);
                            let fourth = _mm_loadu_pd((*rows.add(6)).add(at + column));
                            *v = _mm512_mask_broadcast_f64x2(low, 0xc0, fourth);
                        }
                        _mm512_storeu_pd(to, _mm512_unpacklo_pd(v[0], v[1]));
                        if column + 1 < count {
                            _mm512_storeu_pd(to.wrapping_add(step), _mm512_unpackhi_pd(v[0], v[1]));
                        }
                    }
                }
            }
        }
    }
}
