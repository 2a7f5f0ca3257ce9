//! 64-bit lanes of AVX2: two registers of 4 each.
//!
//! In and out: as [`Wide`] says. Always: the first register holds the first lanes. Integers are arrays, of which LLVM makes
//! registers.

use core::arch::x86_64::*;

use super::{Avx2, LANES, vectors};
use crate::Wide;
use crate::lanes::{as_arrays, each_lane, long_integers, memory_as_doubles};

/// Methods that do the same to both registers.
macro_rules! both {
    ($self:ident; $($name:ident($($arg:ident),+) = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, $($arg: Self::D),+) -> Self::D {
            // SAFETY: the token proves that the machine has AVX2 and FMA, and the body touches no memory.
            unsafe {
                [{ $(let $arg = $arg[0];)+ $body }, { $(let $arg = $arg[1];)+ $body }]
            }
        }
    )*};
}

/// Comparisons: the mask of both registers.
macro_rules! compare {
    ($self:ident; $($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: the token proves that the machine has AVX2; registers are compared.
            unsafe {
                narrow([_mm256_cmp_pd::<$predicate>(a[0], b[0]), _mm256_cmp_pd::<$predicate>(a[1], b[1])])
            }
        }
    )*};
}

/// Folds a vector in halves: 8, 4, 2 lanes.
macro_rules! fold {
    ($self:ident; $($name:ident = $op:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::D) -> f64 {
            // SAFETY: the token proves that the machine has AVX2; halves are folded in registers.
            unsafe {
                let v = $self.$op([x[0]; 2], [x[1]; 2])[0];
                let v = $self.$op([v; 2], [_mm256_permute2f128_pd::<1>(v, v); 2])[0];
                let v = $self.$op([v; 2], [_mm256_permute_pd::<5>(v); 2])[0];
                _mm256_cvtsd_f64(v)
            }
        }
    )*};
}

/// The mask of 32-bit lanes of two masks of 64-bit lanes.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn narrow(m: [__m256d; 2]) -> __m256i {
    let mixed = _mm256_shuffle_ps::<0x88>(_mm256_castpd_ps(m[0]), _mm256_castpd_ps(m[1]));
    _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(mixed))
}

/// The masks of 64-bit lanes of a mask of 32-bit lanes.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn widen(m: __m256i) -> [__m256i; 2] {
    [_mm256_cvtepi32_epi64(_mm256_castsi256_si128(m)), _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(m))]
}

/// The halves of a vector of 32-bit lanes.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn halves(x: __m256i) -> [__m128i; 2] {
    [_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x)]
}

/// 1.5·2⁵²: a whole number that is added to it ends in the bits of the sum.
const RAISE: f64 = 6_755_399_441_055_744.0;

/// `2ⁿ` in each lane, for whole `n` from -1022 to 1023.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn power_of_two(n: __m256d) -> __m256d {
    let bits = _mm256_castpd_si256(_mm256_add_pd(n, _mm256_set1_pd(RAISE + 1023.0)));
    _mm256_castsi256_pd(_mm256_slli_epi64::<52>(bits))
}

/// Truncated and saturated; NaN gives 0.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn integers(x: __m256d) -> __m128i {
    let number = _mm256_and_pd(x, _mm256_cmp_pd::<_CMP_ORD_Q>(x, x));
    _mm256_cvttpd_epi32(_mm256_min_pd(number, _mm256_set1_pd(2_147_483_647.0)))
}

/// What an unsigned integer is, truncated and saturated, less 2³¹; NaN counts as 0.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn less(x: __m256d) -> __m128i {
    let x = _mm256_min_pd(_mm256_max_pd(x, _mm256_setzero_pd()), _mm256_set1_pd(4_294_967_295.0));
    _mm256_cvttpd_epi32(_mm256_sub_pd(_mm256_floor_pd(x), _mm256_set1_pd(2_147_483_648.0)))
}

as_arrays! { Avx2, __m256, __m256i, __m256d }

impl Avx2 {
    #[inline(always)]
    fn truths(self, m: __m256i) -> [bool; LANES] {
        let m = self.integers(m);
        each_lane!(lane [0 1 2 3 4 5 6 7] => m[lane] != 0)
    }
    #[inline(always)]
    fn of_truths(self, m: [bool; LANES]) -> __m256i {
        self.of_integers(each_lane!(lane [0 1 2 3 4 5 6 7] => -i32::from(m[lane])))
    }
}

impl Wide for Avx2 {
    type D = [__m256d; 2];
    type L = [i64; LANES];
    type Q = [u64; LANES];

    long_integers! { self [0 1 2 3 4 5 6 7] }
    memory_as_doubles! { self }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        // SAFETY: the token proves that the machine has AVX2; a broadcast touches no memory.
        [unsafe { _mm256_set1_pd(x) }; 2]
    }

    both! { self;
        add_d(a, b) = _mm256_add_pd(a, b);
        sub_d(a, b) = _mm256_sub_pd(a, b);
        mul_d(a, b) = _mm256_mul_pd(a, b);
        div_d(a, b) = _mm256_div_pd(a, b);
        max_d(a, b) = _mm256_blendv_pd(_mm256_max_pd(a, b), a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a));
        min_d(a, b) = _mm256_blendv_pd(_mm256_min_pd(a, b), a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a));
        at_most_d(x, bound) = _mm256_min_pd(bound, x);
        at_least_d(x, bound) = _mm256_max_pd(bound, x);
        mul_add_d(a, b, c) = _mm256_fmadd_pd(a, b, c);
        neg_d(x) = _mm256_xor_pd(x, _mm256_set1_pd(-0.0));
        abs_d(x) = _mm256_andnot_pd(_mm256_set1_pd(-0.0), x);
        sqrt_d(x) = _mm256_sqrt_pd(x);
        floor_d(x) = _mm256_round_pd::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        ceil_d(x) = _mm256_round_pd::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(x);
        round_d(x) = _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x);
        trunc_d(x) = _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x);
        scale_d(x, n) = {
            let half = _mm256_floor_pd(_mm256_mul_pd(n, _mm256_set1_pd(0.5)));
            _mm256_mul_pd(_mm256_mul_pd(x, power_of_two(half)), power_of_two(_mm256_sub_pd(n, half)))
        };
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
            let [low, high] = widen(m);
            [
                _mm256_blendv_pd(b[0], a[0], _mm256_castsi256_pd(low)),
                _mm256_blendv_pd(b[1], a[1], _mm256_castsi256_pd(high)),
            ]
        };
        d_from_f(x: F) -> D =
            [_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x))];
        d_from_i(x: I) -> D = {
            let [low, high] = halves(x);
            [_mm256_cvtepi32_pd(low), _mm256_cvtepi32_pd(high)]
        };
        d_from_u(x: U) -> D = {
            // What is less by 2³¹ is signed.
            let signed = _mm256_xor_si256(x, _mm256_set1_epi32(i32::MIN));
            self.add_d(self.d_from_i(signed), self.splat_d(2_147_483_648.0))
        };
        f_from_d(x: D) -> F = _mm256_set_m128(_mm256_cvtpd_ps(x[1]), _mm256_cvtpd_ps(x[0]));
        i_from_d(x: D) -> I = _mm256_set_m128i(integers(x[1]), integers(x[0]));
        u_from_d(x: D) -> U =
            _mm256_xor_si256(_mm256_set_m128i(less(x[1]), less(x[0])), _mm256_set1_epi32(i32::MIN));
    }

    #[inline(always)]
    unsafe fn load_raw_d(self, p: *const f64) -> Self::D {
        // SAFETY: `p` is valid for reading 8 words by this method's contract, and the token proves AVX2.
        unsafe { [_mm256_loadu_pd(p), _mm256_loadu_pd(p.add(4))] }
    }
    #[inline(always)]
    unsafe fn load_masked_raw_d(self, p: *const f64, m: Self::M) -> Self::D {
        // SAFETY: by contract `p` may be read at each lane in `m`, no other is read, and the token proves AVX2.
        unsafe {
            let [low, high] = widen(m);
            [_mm256_maskload_pd(p, low), _mm256_maskload_pd(p.wrapping_add(4), high)]
        }
    }
    #[inline(always)]
    unsafe fn store_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: `p` is valid for writing 8 words by this method's contract, and the token proves AVX2.
        unsafe {
            _mm256_storeu_pd(p, v[0]);
            _mm256_storeu_pd(p.add(4), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn store_masked_raw_d(self, p: *mut f64, m: Self::M, v: Self::D) {
        // SAFETY: by contract `p` may be written at each lane in `m`, no other is written; the token proves AVX2.
        unsafe {
            let [low, high] = widen(m);
            _mm256_maskstore_pd(p, low, v[0]);
            _mm256_maskstore_pd(p.wrapping_add(4), high, v[1]);
        }
    }
    #[inline(always)]
    unsafe fn gather_raw_d(self, p: *const f64, idx: Self::I, m: Self::M) -> Self::D {
        // SAFETY: by contract `p` may be read at the index of each lane in `m`, no others; the token proves AVX2.
        unsafe {
            let (zero, [low, high], [first, second]) = (_mm256_setzero_pd(), widen(m), halves(idx));
            [
                _mm256_mask_i32gather_pd::<8>(zero, p, first, _mm256_castsi256_pd(low)),
                _mm256_mask_i32gather_pd::<8>(zero, p, second, _mm256_castsi256_pd(high)),
            ]
        }
    }
    #[inline(always)]
    unsafe fn scatter_raw_d(self, p: *mut f64, idx: Self::I, m: Self::M, v: Self::D) {
        let (idx, m, v) = (self.integers(idx), self.truths(m), self.doubles(v));
        each_lane!(lane [0 1 2 3 4 5 6 7] => if m[lane] {
            // SAFETY: the lane is in `m`, at the index of each lane of which `p` may be written by contract.
            unsafe { p.wrapping_offset(idx[lane] as isize).write_unaligned(v[lane]) };
        });
    }
    #[inline(always)]
    unsafe fn stream_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: by contract `p` is valid for writing 8 words and aligned to 32 bytes, and other threads read them after
        // `settle` only; the token proves AVX2.
        unsafe {
            _mm256_stream_pd(p, v[0]);
            _mm256_stream_pd(p.add(4), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn transpose_raw_d(self, rows: *const *const f64, at: usize, to: *mut f64, step: usize, count: usize) {
        // Loads put rows r and r + 2 into the halves of a register, so only 2 × 2 blocks are left to transpose.
        for column in (0..count).step_by(2) {
            let to = to.wrapping_add(column * step);
            // SAFETY: by contract each of `LANES` rows, two times four, has `at + LANES` words, so it has these two, and `to`
            // has `count` rows, the only ones written, each before the next one; the token proves AVX2.
            unsafe {
                let mut v = [_mm256_setzero_pd(); 4];
                for (r, v) in v.iter_mut().enumerate() {
                    let rows = rows.add(r / 2 * 4 + r % 2);
                    *v = _mm256_insertf128_pd::<1>(
                        _mm256_castpd128_pd256(_mm_loadu_pd((*rows).add(at + column))),
                        _mm_loadu_pd((*rows.add(2)).add(at + column)),
                    );
                }
                _mm256_storeu_pd(to, _mm256_unpacklo_pd(v[0], v[1]));
                _mm256_storeu_pd(to.wrapping_add(4), _mm256_unpacklo_pd(v[2], v[3]));
                if column + 1 < count {
                    let to = to.wrapping_add(step);
                    _mm256_storeu_pd(to, _mm256_unpackhi_pd(v[0], v[1]));
                    _mm256_storeu_pd(to.wrapping_add(4), _mm256_unpackhi_pd(v[2], v[3]));
                }
            }
        }
    }
}
