//! 64-bit lanes of SSE2: two registers of 2 each.
//!
//! In and out: as [`Wide`] says. Always: the first register holds the first lanes. Integers are arrays, of which LLVM makes
//! registers.

use core::arch::x86_64::*;

use super::{LANES, Sse2, vectors};
use crate::lanes::{array_memory, as_arrays, each_lane, long_integers};
use crate::{Vectors, Wide};

/// Methods that do the same to both registers.
macro_rules! both {
    ($self:ident; $($name:ident($($arg:ident),+) = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, $($arg: Self::D),+) -> Self::D {
            // SAFETY: every machine of this target has SSE2, and the body touches no memory.
            unsafe {
                [{ $(let $arg = $arg[0];)+ $body }, { $(let $arg = $arg[1];)+ $body }]
            }
        }
    )*};
}

/// Comparisons: the mask of both registers.
macro_rules! compare {
    ($self:ident; $($name:ident = $compare:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, a: Self::D, b: Self::D) -> Self::M {
            // SAFETY: every machine of this target has SSE2; registers are compared.
            unsafe { narrow([$compare(a[0], b[0]), $compare(a[1], b[1])]) }
        }
    )*};
}

/// Folds a vector in halves: 4, 2 lanes.
macro_rules! fold {
    ($self:ident; $($name:ident = $op:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::D) -> f64 {
            // SAFETY: every machine of this target has SSE2; halves are folded in registers.
            unsafe {
                let v = $self.$op([x[0]; 2], [x[1]; 2])[0];
                _mm_cvtsd_f64($self.$op([v; 2], [_mm_unpackhi_pd(v, v); 2])[0])
            }
        }
    )*};
}

/// The mask of 32-bit lanes of two masks of 64-bit lanes.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn narrow(m: [__m128d; 2]) -> __m128i {
    _mm_castps_si128(_mm_shuffle_ps::<0x88>(_mm_castpd_ps(m[0]), _mm_castpd_ps(m[1])))
}

/// The masks of 64-bit lanes of a mask of 32-bit lanes.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn widen(m: __m128i) -> [__m128d; 2] {
    [_mm_castsi128_pd(_mm_unpacklo_epi32(m, m)), _mm_castsi128_pd(_mm_unpackhi_epi32(m, m))]
}

/// `a` where `m`, else `b`.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn select(m: __m128d, a: __m128d, b: __m128d) -> __m128d {
    _mm_or_pd(_mm_and_pd(m, a), _mm_andnot_pd(m, b))
}

/// From 2⁵² on every f64 is an integer, so adding and subtracting it rounds to the nearest integer.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

/// The nearest integer, ties to even.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn rounded(x: __m128d) -> __m128d {
    let (magnitude, integers) = (_mm_andnot_pd(_mm_set1_pd(-0.0), x), _mm_set1_pd(INTEGERS));
    let whole = _mm_sub_pd(_mm_add_pd(magnitude, integers), integers);
    with_sign(select(_mm_cmplt_pd(magnitude, integers), whole, x), x)
}

/// `x`, which is 0 or has the sign of `sign`, with that sign.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn with_sign(x: __m128d, sign: __m128d) -> __m128d {
    _mm_or_pd(x, _mm_and_pd(sign, _mm_set1_pd(-0.0)))
}

/// The next integer not above.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn floor(x: __m128d) -> __m128d {
    let whole = rounded(x);
    with_sign(_mm_sub_pd(whole, _mm_and_pd(_mm_cmpgt_pd(whole, x), _mm_set1_pd(1.0))), x)
}

/// `2ⁿ` in each lane, for whole `n` from -1022 to 1023, which end the bits of a sum with 1.5·2⁵².
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn power_of_two(n: __m128d) -> __m128d {
    let bits = _mm_castpd_si128(_mm_add_pd(n, _mm_set1_pd(1.5 * INTEGERS + 1023.0)));
    _mm_castsi128_pd(_mm_slli_epi64::<52>(bits))
}

/// Truncated and saturated; NaN gives 0.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn integers(x: __m128d) -> __m128i {
    let number = _mm_and_pd(x, _mm_cmpord_pd(x, x));
    _mm_cvttpd_epi32(_mm_min_pd(number, _mm_set1_pd(2_147_483_647.0)))
}

/// What an unsigned integer is, truncated and saturated, less 2³¹; NaN counts as 0.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn less(x: __m128d) -> __m128i {
    let x = _mm_min_pd(_mm_max_pd(x, _mm_setzero_pd()), _mm_set1_pd(4_294_967_295.0));
    _mm_cvttpd_epi32(_mm_sub_pd(floor(x), _mm_set1_pd(2_147_483_648.0)))
}

as_arrays! { Sse2, __m128, __m128i, __m128d }

impl Sse2 {
    #[inline(always)]
    fn truths(self, m: __m128i) -> [bool; LANES] {
        let m = self.integers(m);
        each_lane!(lane [0 1 2 3] => m[lane] != 0)
    }
    #[inline(always)]
    fn of_truths(self, m: [bool; LANES]) -> __m128i {
        self.of_integers(each_lane!(lane [0 1 2 3] => -i32::from(m[lane])))
    }
}

impl Wide for Sse2 {
    type D = [__m128d; 2];
    type L = [i64; LANES];
    type Q = [u64; LANES];

    long_integers! { self [0 1 2 3] }
    array_memory! { self [0 1 2 3];
            L i64: load_raw_l load_masked_raw_l store_raw_l store_masked_raw_l gather_raw_l scatter_raw_l;
        Q u64: load_raw_q load_masked_raw_q store_raw_q store_masked_raw_q gather_raw_q scatter_raw_q;
    }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        // SAFETY: every machine of this target has SSE2, and no memory is touched.
        [unsafe { _mm_set1_pd(x) }; 2]
    }

    both! { self;
        add_d(a, b) = _mm_add_pd(a, b);
        sub_d(a, b) = _mm_sub_pd(a, b);
        mul_d(a, b) = _mm_mul_pd(a, b);
        div_d(a, b) = _mm_div_pd(a, b);
        max_d(a, b) = select(_mm_cmpunord_pd(a, a), a, _mm_max_pd(a, b));
        min_d(a, b) = select(_mm_cmpunord_pd(a, a), a, _mm_min_pd(a, b));
        at_most_d(x, bound) = _mm_min_pd(bound, x);
        at_least_d(x, bound) = _mm_max_pd(bound, x);
        mul_add_d(a, b, c) = _mm_add_pd(_mm_mul_pd(a, b), c);
        neg_d(x) = _mm_xor_pd(x, _mm_set1_pd(-0.0));
        abs_d(x) = _mm_andnot_pd(_mm_set1_pd(-0.0), x);
        sqrt_d(x) = _mm_sqrt_pd(x);
        floor_d(x) = floor(x);
        ceil_d(x) = {
            let whole = rounded(x);
            with_sign(_mm_add_pd(whole, _mm_and_pd(_mm_cmplt_pd(whole, x), _mm_set1_pd(1.0))), x)
        };
        round_d(x) = rounded(x);
        trunc_d(x) = with_sign(floor(_mm_andnot_pd(_mm_set1_pd(-0.0), x)), x);
        scale_d(x, n) = {
            let half = floor(_mm_mul_pd(n, _mm_set1_pd(0.5)));
            _mm_mul_pd(_mm_mul_pd(x, power_of_two(half)), power_of_two(_mm_sub_pd(n, half)))
        };
    }

    compare! { self;
        eq_d = _mm_cmpeq_pd;
        lt_d = _mm_cmplt_pd;
        le_d = _mm_cmple_pd;
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
            [select(low, a[0], b[0]), select(high, a[1], b[1])]
        };
        d_from_f(x: F) -> D = [_mm_cvtps_pd(x), _mm_cvtps_pd(_mm_movehl_ps(x, x))];
        d_from_i(x: I) -> D = [_mm_cvtepi32_pd(x), _mm_cvtepi32_pd(_mm_shuffle_epi32::<0xee>(x))];
        d_from_u(x: U) -> D = {
            // What is less by 2³¹ is signed.
            let signed = _mm_xor_si128(x, _mm_set1_epi32(i32::MIN));
            self.add_d(self.d_from_i(signed), self.splat_d(2_147_483_648.0))
        };
        f_from_d(x: D) -> F = _mm_movelh_ps(_mm_cvtpd_ps(x[0]), _mm_cvtpd_ps(x[1]));
        i_from_d(x: D) -> I = _mm_unpacklo_epi64(integers(x[0]), integers(x[1]));
        u_from_d(x: D) -> U = _mm_xor_si128(_mm_unpacklo_epi64(less(x[0]), less(x[1])), _mm_set1_epi32(i32::MIN));
    }

    #[inline(always)]
    unsafe fn load_raw_d(self, p: *const f64) -> Self::D {
        // SAFETY: `p` is valid for reading 4 words by this method's contract.
        unsafe { [_mm_loadu_pd(p), _mm_loadu_pd(p.add(2))] }
    }
    #[inline(always)]
    unsafe fn load_masked_raw_d(self, p: *const f64, m: Self::M) -> Self::D {
        // SAFETY: by contract `p` may be read at each lane in `m`, and no other is read.
        unsafe { gather(p, self.iota_i(), m) }
    }
    #[inline(always)]
    unsafe fn store_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: `p` is valid for writing 4 words by this method's contract.
        unsafe {
            _mm_storeu_pd(p, v[0]);
            _mm_storeu_pd(p.add(2), v[1]);
        }
    }
    #[inline(always)]
    unsafe fn store_masked_raw_d(self, p: *mut f64, m: Self::M, v: Self::D) {
        // SAFETY: by contract `p` may be written at each lane in `m`, and no other is written.
        unsafe { scatter(p, self.iota_i(), m, v) }
    }
    #[inline(always)]
    unsafe fn gather_raw_d(self, p: *const f64, idx: Self::I, m: Self::M) -> Self::D {
        // SAFETY: by contract `p` may be read at the index of each lane in `m`, and no others are read.
        unsafe { gather(p, idx, m) }
    }
    #[inline(always)]
    unsafe fn scatter_raw_d(self, p: *mut f64, idx: Self::I, m: Self::M, v: Self::D) {
        // SAFETY: by contract `p` may be written at the index of each lane in `m`, and no others are written.
        unsafe { scatter(p, idx, m, v) }
    }
}

/// The words at `at` of the lanes in `m`, and 0.
///
/// # Safety
/// `p` offset by the index of each lane in `m` must be valid for reading.
#[target_feature(enable = "sse2")]
unsafe fn gather(p: *const f64, at: __m128i, m: __m128i) -> [__m128d; 2] {
    // SAFETY: the contract is the same; bits are read as they are.
    unsafe { Sse2.d_of_bits(Sse2.gather_raw_q(p.cast(), at, m)) }
}

/// Writes the words at `at` of the lanes in `m`, in ascending order of the lanes.
///
/// # Safety
/// `p` offset by the index of each lane in `m` must be valid for writing.
#[target_feature(enable = "sse2")]
unsafe fn scatter(p: *mut f64, at: __m128i, m: __m128i, v: [__m128d; 2]) {
    // SAFETY: the contract is the same; bits are written as they are.
    unsafe { Sse2.scatter_raw_q(p.cast(), at, m, Sse2.bits_d(v)) }
}
