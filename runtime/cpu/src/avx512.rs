//! AVX-512: 16 lanes in 32 registers, with mask registers.
//!
//! In and out: as [`Vectors`] says. Always: intrinsics are reached only through a token, whose existence proves that the
//! machine has them.

mod fewer;
mod wide;

use core::arch::x86_64::*;

use super::vectors::reductions;
use super::{Kernel, Vectors};

/// The proof that the machine has AVX-512 F, BW, DQ and VL, and FMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx512(());

impl Avx512 {
    /// The token, if the machine has the instructions.
    pub fn new() -> Option<Self> {
        let present = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("fma");
        present.then_some(Avx512(()))
    }
}

/// Code into which a kernel is inlined.
///
/// # Safety
/// The machine must have the instructions, as the token says.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2,fma")]
fn frame<K: Kernel>(s: Avx512, kernel: K) {
    kernel.run(s);
}

/// The same, as a function of its own.
///
/// # Safety
/// The machine must have the instructions, as the token says.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2,fma")]
fn call<K: Kernel>(s: Avx512, kernel: K) {
    kernel.run(s);
}

const LANES: usize = 16;

macro_rules! vectors {
    ($self:ident; $($name:ident($($arg:ident: $t:ident),+) -> $out:ident = $body:expr;)*) => {$(
        #[inline(always)]
        #[allow(unused_unsafe)]
        fn $name($self, $($arg: Self::$t),+) -> Self::$out {
            // SAFETY: the token proves that the machine has AVX-512, and the body touches no memory.
            unsafe { $body }
        }
    )*};
}

use vectors;

/// Folds a vector in halves: 16, 8, 4, 2 lanes.
macro_rules! fold {
    ($self:ident; $($name:ident: $t:ident -> $e:ty = $op:ident, $to:expr, $from:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::$t) -> $e {
            // SAFETY: the token proves that the machine has AVX-512; halves are folded in registers.
            unsafe {
                let v = $to(x);
                let v = $to($self.$op($from(v), $from(_mm512_shuffle_i32x4::<0x4e>(v, v))));
                let v = $to($self.$op($from(v), $from(_mm512_shuffle_i32x4::<0xb1>(v, v))));
                let v = $to($self.$op($from(v), $from(_mm512_shuffle_epi32::<0x4e>(v))));
                let v = $to($self.$op($from(v), $from(_mm512_shuffle_epi32::<0xb1>(v))));
                <$e>::from_ne_bytes(_mm512_cvtsi512_si32(v).to_ne_bytes())
            }
        }
    )*};
}

macro_rules! by_lane {
    ($self:ident; $($name:ident: $t:ident $e:ty, $a:ident $b:ident = $body:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, a: Self::$t, b: Self::$t) -> Self::$t {
            let mut left = [<$e>::default(); LANES];
            let mut right = [<$e>::default(); LANES];
            // SAFETY: each array has `LANES` words, as a vector has, and the token proves AVX-512.
            unsafe {
                _mm512_storeu_si512(left.as_mut_ptr().cast(), a);
                _mm512_storeu_si512(right.as_mut_ptr().cast(), b);
            }
            for (out, $b) in left.iter_mut().zip(right) {
                let $a = *out;
                *out = $body;
            }
            // SAFETY: `left` has `LANES` words, all of them initialised, and the token proves AVX-512.
            unsafe { _mm512_loadu_si512(left.as_ptr().cast()) }
        }
    )*};
}

macro_rules! memory {
    ($self:ident; $($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident
        = $i_load:ident $i_load_masked:ident $i_store:ident $i_store_masked:ident $i_gather:ident $i_scatter:ident $zero:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load($self, p: *const $e) -> Self::$t {
            // SAFETY: `p` is valid for reading `LANES` words by this method's contract, and the token proves AVX-512.
            unsafe { $i_load(p.cast()) }
        }
        #[inline(always)]
        unsafe fn $load_masked($self, p: *const $e, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` may be read at each lane in `m`, no other is read, and the token proves AVX-512.
            unsafe { $i_load_masked(m, p.cast()) }
        }
        #[inline(always)]
        unsafe fn $store($self, p: *mut $e, v: Self::$t) {
            // SAFETY: `p` is valid for writing `LANES` words by this method's contract, and the token proves AVX-512.
            unsafe { $i_store(p.cast(), v) }
        }
        #[inline(always)]
        unsafe fn $store_masked($self, p: *mut $e, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` may be written at each lane in `m`, no other is written; the token proves AVX-512.
            unsafe { $i_store_masked(p.cast(), m, v) }
        }
        #[inline(always)]
        unsafe fn $gather($self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` may be read at the index of each lane in `m`, no others; the token proves AVX-512.
            unsafe { $i_gather::<4>($zero(), m, idx, p.cast()) }
        }
        #[inline(always)]
        unsafe fn $scatter($self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` may be written at the index of each lane in `m`, no others; the token proves AVX-512.
            unsafe { $i_scatter::<4>(p.cast(), m, idx, v) }
        }
    )*};
}

impl Vectors for Avx512 {
    const LANES: usize = LANES;
    const FUSED: bool = true;
    const TABLES: bool = true;
    const ROWS: usize = 12;

    type F = __m512;
    type I = __m512i;
    type U = __m512i;
    type M = __mmask16;

    #[inline]
    fn enter<K: Kernel>(self, kernel: K) {
        // SAFETY: the token proves that the machine has AVX-512, AVX2, BMI2 and FMA, which `frame` enables.
        unsafe { frame(self, kernel) }
    }
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        // SAFETY: the token proves that the machine has AVX-512, AVX2, BMI2 and FMA, which `call` enables.
        unsafe { call(self, kernel) }
    }

    vectors! { self;
        add_f(a: F, b: F) -> F = _mm512_add_ps(a, b);
        sub_f(a: F, b: F) -> F = _mm512_sub_ps(a, b);
        mul_f(a: F, b: F) -> F = _mm512_mul_ps(a, b);
        div_f(a: F, b: F) -> F = _mm512_div_ps(a, b);
        max_f(a: F, b: F) -> F = _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), a);
        min_f(a: F, b: F) -> F = _mm512_mask_mov_ps(_mm512_min_ps(a, b), _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(a, a), a);
        at_most_f(x: F, bound: F) -> F = _mm512_min_ps(bound, x);
        at_least_f(x: F, bound: F) -> F = _mm512_max_ps(bound, x);
        mul_add_f(a: F, b: F, c: F) -> F = _mm512_fmadd_ps(a, b, c);
        neg_f(x: F) -> F = _mm512_xor_ps(x, _mm512_set1_ps(-0.0));
        abs_f(x: F) -> F = _mm512_abs_ps(x);
        sqrt_f(x: F) -> F = _mm512_sqrt_ps(x);
        // An estimate of 14 bits and a step of Newton's method give 1 / b, and what a quotient leaves corrects it.
        quotient_f(a: F, b: F) -> F = {
            let y = _mm512_rcp14_ps(b);
            let y = _mm512_fmadd_ps(y, _mm512_fnmadd_ps(b, y, _mm512_set1_ps(1.0)), y);
            let quotient = _mm512_mul_ps(a, y);
            _mm512_fmadd_ps(_mm512_fnmadd_ps(quotient, b, a), y, quotient)
        };
        // As above; where the estimate is 0 or infinite it is right, and its error is not a number.
        rsqrt_f(x: F) -> F = {
            let y = _mm512_rsqrt14_ps(x);
            let error = _mm512_fnmadd_ps(_mm512_mul_ps(x, y), y, _mm512_set1_ps(1.0));
            let known = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(error, error);
            _mm512_mask3_fmadd_ps(_mm512_mul_ps(y, _mm512_set1_ps(0.5)), error, y, known)
        };
        floor_f(x: F) -> F = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        ceil_f(x: F) -> F = _mm512_roundscale_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(x);
        round_f(x: F) -> F = _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x);
        trunc_f(x: F) -> F = _mm512_roundscale_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x);
        scale_f(x: F, n: F) -> F = _mm512_scalef_ps(x, n);
        eq_f(a: F, b: F) -> M = _mm512_cmp_ps_mask::<_CMP_EQ_OQ>(a, b);
        lt_f(a: F, b: F) -> M = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, b);
        le_f(a: F, b: F) -> M = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(a, b);
        select_f(m: M, a: F, b: F) -> F = _mm512_mask_mov_ps(b, m, a);

        add_i(a: I, b: I) -> I = _mm512_add_epi32(a, b);
        sub_i(a: I, b: I) -> I = _mm512_sub_epi32(a, b);
        mul_i(a: I, b: I) -> I = _mm512_mullo_epi32(a, b);
        max_i(a: I, b: I) -> I = _mm512_max_epi32(a, b);
        min_i(a: I, b: I) -> I = _mm512_min_epi32(a, b);
        and_i(a: I, b: I) -> I = _mm512_and_si512(a, b);
        or_i(a: I, b: I) -> I = _mm512_or_si512(a, b);
        xor_i(a: I, b: I) -> I = _mm512_xor_si512(a, b);
        not_i(x: I) -> I = _mm512_xor_si512(x, _mm512_set1_epi32(-1));
        neg_i(x: I) -> I = _mm512_sub_epi32(_mm512_setzero_si512(), x);
        abs_i(x: I) -> I = _mm512_abs_epi32(x);
        shl_i(x: I, by: I) -> I = _mm512_sllv_epi32(x, _mm512_and_si512(by, _mm512_set1_epi32(31)));
        shr_i(x: I, by: I) -> I = _mm512_srav_epi32(x, _mm512_and_si512(by, _mm512_set1_epi32(31)));
        eq_i(a: I, b: I) -> M = _mm512_cmpeq_epi32_mask(a, b);
        lt_i(a: I, b: I) -> M = _mm512_cmplt_epi32_mask(a, b);
        le_i(a: I, b: I) -> M = _mm512_cmple_epi32_mask(a, b);
        select_i(m: M, a: I, b: I) -> I = _mm512_mask_mov_epi32(b, m, a);

        add_u(a: U, b: U) -> U = _mm512_add_epi32(a, b);
        sub_u(a: U, b: U) -> U = _mm512_sub_epi32(a, b);
        mul_u(a: U, b: U) -> U = _mm512_mullo_epi32(a, b);
        max_u(a: U, b: U) -> U = _mm512_max_epu32(a, b);
        min_u(a: U, b: U) -> U = _mm512_min_epu32(a, b);
        and_u(a: U, b: U) -> U = _mm512_and_si512(a, b);
        or_u(a: U, b: U) -> U = _mm512_or_si512(a, b);
        xor_u(a: U, b: U) -> U = _mm512_xor_si512(a, b);
        not_u(x: U) -> U = _mm512_xor_si512(x, _mm512_set1_epi32(-1));
        shl_u(x: U, by: U) -> U = _mm512_sllv_epi32(x, _mm512_and_si512(by, _mm512_set1_epi32(31)));
        shr_u(x: U, by: U) -> U = _mm512_srlv_epi32(x, _mm512_and_si512(by, _mm512_set1_epi32(31)));
        eq_u(a: U, b: U) -> M = _mm512_cmpeq_epi32_mask(a, b);
        lt_u(a: U, b: U) -> M = _mm512_cmplt_epu32_mask(a, b);
        le_u(a: U, b: U) -> M = _mm512_cmple_epu32_mask(a, b);
        select_u(m: M, a: U, b: U) -> U = _mm512_mask_mov_epi32(b, m, a);

        and_m(a: M, b: M) -> M = a & b;
        or_m(a: M, b: M) -> M = a | b;
        xor_m(a: M, b: M) -> M = a ^ b;
        not_m(x: M) -> M = !x;

        f_from_i(x: I) -> F = _mm512_cvtepi32_ps(x);
        f_from_u(x: U) -> F = _mm512_cvtepu32_ps(x);
        i_from_f(x: F) -> I = {
            let number = _mm512_cmp_ps_mask::<_CMP_ORD_Q>(x, x);
            let large = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(x, _mm512_set1_ps(2_147_483_648.0));
            _mm512_mask_mov_epi32(_mm512_maskz_cvttps_epi32(number, x), large, _mm512_set1_epi32(i32::MAX))
        };
        u_from_f(x: F) -> U = _mm512_cvttps_epu32(_mm512_max_ps(x, _mm512_setzero_ps()));
        i_from_u(x: U) -> I = x;
        u_from_i(x: I) -> U = x;
        bits_f(x: F) -> U = _mm512_castps_si512(x);
        f_of_bits(x: U) -> F = _mm512_castsi512_ps(x);
    }

    reductions! { fold, self, _mm512_castps_si512, _mm512_castsi512_ps }

    by_lane! { self;
        div_i: I i32, a b = if b == 0 { 0 } else { a.wrapping_div(b) };
        rem_i: I i32, a b = if b == 0 { 0 } else { a.wrapping_rem(b) };
        div_u: U u32, a b = a.checked_div(b).unwrap_or(0);
        rem_u: U u32, a b = a.checked_rem(b).unwrap_or(0);
    }

    memory! { self;
        F f32: load_raw_f load_masked_raw_f store_raw_f store_masked_raw_f gather_raw_f scatter_raw_f
            = _mm512_loadu_ps _mm512_maskz_loadu_ps _mm512_storeu_ps _mm512_mask_storeu_ps
              _mm512_mask_i32gather_ps _mm512_mask_i32scatter_ps _mm512_setzero_ps;
        I i32: load_raw_i load_masked_raw_i store_raw_i store_masked_raw_i gather_raw_i scatter_raw_i
            = _mm512_loadu_si512 _mm512_maskz_loadu_epi32 _mm512_storeu_si512 _mm512_mask_storeu_epi32
              _mm512_mask_i32gather_epi32 _mm512_mask_i32scatter_epi32 _mm512_setzero_si512;
        U u32: load_raw_u load_masked_raw_u store_raw_u store_masked_raw_u gather_raw_u scatter_raw_u
            = _mm512_loadu_si512 _mm512_maskz_loadu_epi32 _mm512_storeu_si512 _mm512_mask_storeu_epi32
              _mm512_mask_i32gather_epi32 _mm512_mask_i32scatter_epi32 _mm512_setzero_si512;
    }

    #[inline(always)]
    fn splat_f(self, x: f32) -> Self::F {
        // SAFETY: the token proves that the machine has AVX-512; a broadcast touches no memory.
        unsafe { _mm512_set1_ps(x) }
    }
    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        // SAFETY: the token proves that the machine has AVX-512; a broadcast touches no memory.
        unsafe { _mm512_set1_epi32(x) }
    }
    #[inline(always)]
    fn splat_u(self, x: u32) -> Self::U {
        // SAFETY: the token proves that the machine has AVX-512; a broadcast touches no memory.
        unsafe { _mm512_set1_epi32(x.cast_signed()) }
    }
    #[inline(always)]
    fn splat_m(self, x: bool) -> Self::M {
        if x { !0 } else { 0 }
    }
    #[inline(always)]
    fn iota_i(self) -> Self::I {
        // SAFETY: the token proves that the machine has AVX-512; the lanes are constants.
        unsafe { _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) }
    }
    #[inline(always)]
    fn iota_u(self) -> Self::U {
        self.iota_i()
    }
    #[inline(always)]
    fn mask_first(self, n: usize) -> Self::M {
        ((1u32 << n.min(LANES)) - 1) as u16
    }
    #[inline(always)]
    fn any_m(self, x: Self::M) -> bool {
        x != 0
    }
    #[inline(always)]
    fn all_m(self, x: Self::M) -> bool {
        x == !0
    }
    #[inline(always)]
    fn shl_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        // SAFETY: the token proves that the machine has AVX-512; the shift is of a register.
        unsafe { _mm512_slli_epi32::<N>(x) }
    }
    #[inline(always)]
    fn shr_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        // SAFETY: the token proves that the machine has AVX-512; the shift is of a register.
        unsafe { _mm512_srai_epi32::<N>(x) }
    }
    #[inline(always)]
    fn shl_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        // SAFETY: the token proves that the machine has AVX-512; the shift is of a register.
        unsafe { _mm512_slli_epi32::<N>(x) }
    }
    #[inline(always)]
    fn shr_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        // SAFETY: the token proves that the machine has AVX-512; the shift is of a register.
        unsafe { _mm512_srli_epi32::<N>(x) }
    }

    #[inline(always)]
    fn lookup_f(self, table: &[f32; 16], at: Self::U) -> Self::F {
        // SAFETY: the table has 16 words, as many as a vector has lanes, and the token proves AVX-512.
        unsafe { _mm512_permutexvar_ps(at, _mm512_loadu_ps(table.as_ptr())) }
    }

    #[inline(always)]
    unsafe fn stream_raw_f(self, p: *mut f32, v: Self::F) {
        // SAFETY: by contract `p` is valid for writing `LANES` words and aligned to 64 bytes, and other threads read them
        // after `settle` only; the token proves AVX-512.
        unsafe { _mm512_stream_ps(p, v) }
    }
    #[inline(always)]
    fn fetch_raw(self, p: *const f32) {
        // SAFETY: a prefetch accesses nothing, wherever `p` points; SSE comes with AVX-512, which the token proves.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    #[inline(always)]
    fn settle(self) {
        // SAFETY: the fence only orders stores; SSE comes with AVX-512, which the token proves.
        unsafe { _mm_sfence() }
    }

    #[inline(always)]
    fn evens_f(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves that the machine has AVX-512; lanes move between registers.
        unsafe {
            let lanes = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            _mm512_permutex2var_ps(a, lanes, b)
        }
    }

    #[inline(always)]
    fn odds_f(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves that the machine has AVX-512; lanes move between registers.
        unsafe {
            let lanes = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
            _mm512_permutex2var_ps(a, lanes, b)
        }
    }

    #[inline(always)]
    fn prefetch(self, p: *const f32) {
        // SAFETY: a prefetch never faults, wherever `p` points; SSE comes with AVX-512, which the token proves.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }

    #[inline(always)]
    unsafe fn transpose_raw_f(self, rows: *const *const f32, at: usize, to: *mut f32, step: usize, count: usize) {
        // Loads put rows r, r + 4, r + 8 and r + 12 into the quarters of a vector, so only 4 × 4 blocks are left to transpose.
        let mut quarter = 0;
        while quarter * 4 < count {
            // SAFETY: by contract each of `LANES` rows, a multiple of 4, has `at + LANES` words, so it has these 4, and
            // `to` has `count` rows, the only ones written; the token proves AVX-512.
            unsafe {
                let mut v = [_mm512_setzero_ps(); 4];
                for (r, v) in v.iter_mut().enumerate() {
                    let low = _mm512_castps128_ps512(_mm_loadu_ps((*rows.add(r)).add(at + quarter * 4)));
                    let low = _mm512_mask_broadcast_f32x4(
                        low,
                        0x00f0,
                        _mm_loadu_ps((*rows.add(r + 4)).add(at + quarter * 4)),
                    );
                    let low = _mm512_mask_broadcast_f32x4(
                        low,
                        0x0f00,
                        _mm_loadu_ps((*rows.add(r + 8)).add(at + quarter * 4)),
                    );
                    *v = _mm512_mask_broadcast_f32x4(
                        low,
                        0xf000,
                        _mm_loadu_ps((*rows.add(r + 12)).add(at + quarter * 4)),
                    );
                }
                let (a, b) = (_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
                let (c, d) = (_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
                let out = [
                    _mm512_shuffle_ps::<0x44>(a, c),
                    _mm512_shuffle_ps::<0xee>(a, c),
                    _mm512_shuffle_ps::<0x44>(b, d),
                    _mm512_shuffle_ps::<0xee>(b, d),
                ];
                for (column, out) in out.into_iter().enumerate() {
                    if quarter * 4 + column < count {
                        _mm512_storeu_ps(to.add((quarter * 4 + column) * step), out);
                    }
                }
            }
            quarter += 1;
        }
    }

    #[inline(always)]
    unsafe fn add_up_raw_f(self, v: [Self::F; 8], to: *mut f32) {
        // Halves of two vectors are added, then quarters of four, then all that is left of eight.
        // SAFETY: `to` is valid for writing 8 words by this method's contract, and the token proves AVX-512.
        unsafe {
            let mut halves = [_mm512_setzero_ps(); 4];
            for (at, half) in halves.iter_mut().enumerate() {
                let (a, b) = (v[2 * at], v[2 * at + 1]);
                *half = _mm512_add_ps(_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xee>(a, b));
            }
            let mut quarters = [_mm512_setzero_ps(); 2];
            for (at, quarter) in quarters.iter_mut().enumerate() {
                let (a, b) = (halves[2 * at], halves[2 * at + 1]);
                *quarter = _mm512_add_ps(_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
            }
            let [a, b] = quarters;
            let pairs = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let sums = _mm512_add_ps(pairs, _mm512_permute_ps::<0x4e>(pairs));
            let order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
            _mm256_storeu_ps(to, _mm512_castps512_ps256(_mm512_permutexvar_ps(order, sums)));
        }
    }
}
