//! AVX2, F16C and FMA: 8 lanes in 16 registers, masks as vectors.
//!
//! In and out: as [`Vectors`] says. Always: intrinsics are reached only through a token, whose existence proves that the
//! machine has them.

mod fewer;
mod wide;

use core::arch::x86_64::*;

use super::vectors::reductions;
use super::{Kernel, Vectors};

/// The proof that the machine has AVX2, F16C and FMA, which came together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    /// The token, if the machine has the instructions.
    pub fn new() -> Option<Self> {
        let present = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("fma");
        present.then_some(Avx2(()))
    }
}

/// Code into which a kernel is inlined.
///
/// # Safety
/// The machine must have the instructions, as the token says.
#[target_feature(enable = "avx2,bmi2,f16c,fma")]
fn frame<K: Kernel>(s: Avx2, kernel: K) {
    kernel.run(s);
}

/// The same, as a function of its own.
///
/// # Safety
/// The machine must have the instructions, as the token says.
#[inline(never)]
#[target_feature(enable = "avx2,bmi2,f16c,fma")]
fn call<K: Kernel>(s: Avx2, kernel: K) {
    kernel.run(s);
}

const LANES: usize = 8;

macro_rules! vectors {
    ($self:ident; $($name:ident($($arg:ident: $t:ident),+) -> $out:ident = $body:expr;)*) => {$(
        #[inline(always)]
        #[allow(unused_unsafe)]
        fn $name($self, $($arg: Self::$t),+) -> Self::$out {
            // SAFETY: the token proves that the machine has AVX2, F16C and FMA, and the body touches no memory.
            unsafe { $body }
        }
    )*};
}

use vectors;

/// Folds a vector in halves: 8, 4, 2 lanes.
macro_rules! fold {
    ($self:ident; $($name:ident: $t:ident -> $e:ty = $op:ident, $to:expr, $from:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::$t) -> $e {
            // SAFETY: the token proves that the machine has AVX2; halves are folded in registers.
            unsafe {
                let v = $to(x);
                let v = $to($self.$op($from(v), $from(_mm256_permute2x128_si256::<1>(v, v))));
                let v = $to($self.$op($from(v), $from(_mm256_shuffle_epi32::<0x4e>(v))));
                let v = $to($self.$op($from(v), $from(_mm256_shuffle_epi32::<0xb1>(v))));
                <$e>::from_ne_bytes(_mm256_cvtsi256_si32(v).to_ne_bytes())
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
            // SAFETY: each array has `LANES` words, as a vector has, and the token proves AVX2.
            unsafe {
                _mm256_storeu_si256(left.as_mut_ptr().cast(), a);
                _mm256_storeu_si256(right.as_mut_ptr().cast(), b);
            }
            for (out, $b) in left.iter_mut().zip(right) {
                let $a = *out;
                *out = $body;
            }
            // SAFETY: `left` has `LANES` words, all of them initialised, and the token proves AVX2.
            unsafe { _mm256_loadu_si256(left.as_ptr().cast()) }
        }
    )*};
}

macro_rules! memory {
    ($self:ident; $($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident
        = $i_load:ident $i_load_masked:ident $i_store:ident $i_store_masked:ident $i_gather:ident $zero:ident $mask:path;)*) => {$(
        #[inline(always)]
        unsafe fn $load($self, p: *const $e) -> Self::$t {
            // SAFETY: `p` is valid for reading `LANES` words by this method's contract, and the token proves AVX2.
            unsafe { $i_load(p.cast()) }
        }
        #[inline(always)]
        unsafe fn $load_masked($self, p: *const $e, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` may be read at each lane in `m`, no other is read, and the token proves AVX2.
            unsafe { $i_load_masked(p.cast(), m) }
        }
        #[inline(always)]
        unsafe fn $store($self, p: *mut $e, v: Self::$t) {
            // SAFETY: `p` is valid for writing `LANES` words by this method's contract, and the token proves AVX2.
            unsafe { $i_store(p.cast(), v) }
        }
        #[inline(always)]
        unsafe fn $store_masked($self, p: *mut $e, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` may be written at each lane in `m`, no other is written; the token proves AVX2.
            unsafe { $i_store_masked(p.cast(), m, v) }
        }
        #[inline(always)]
        unsafe fn $gather($self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` may be read at the index of each lane in `m`, no others; the token proves AVX2.
            unsafe { $i_gather::<4>($zero(), p.cast(), idx, $mask(m)) }
        }
        #[inline(always)]
        unsafe fn $scatter($self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            let mut indices = [-1i32; LANES];
            let mut words = [<$e>::default(); LANES];
            let mut chosen = [0i32; LANES];
            // SAFETY: the arrays have `LANES` words, by contract `p` may be written at the index of each lane in `m`, where
            // `chosen` is not 0, and the token proves AVX2.
            unsafe {
                _mm256_storeu_si256(indices.as_mut_ptr().cast(), idx);
                _mm256_storeu_si256(chosen.as_mut_ptr().cast(), m);
                $i_store(words.as_mut_ptr().cast(), v);
                for lane in 0..LANES {
                    if chosen[lane] != 0 {
                        p.offset(indices[lane] as isize).write(words[lane]);
                    }
                }
            }
        }
    )*};
}

impl Vectors for Avx2 {
    const LANES: usize = LANES;
    const FUSED: bool = true;
    const ROWS: usize = 6;

    type F = __m256;
    type I = __m256i;
    type U = __m256i;
    /// All ones or all zeros per lane.
    type M = __m256i;

    #[inline]
    fn enter<K: Kernel>(self, kernel: K) {
        // SAFETY: the token proves that the machine has AVX2, BMI2 and FMA, which `frame` enables.
        unsafe { frame(self, kernel) }
    }
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        // SAFETY: the token proves that the machine has AVX2, BMI2 and FMA, which `call` enables.
        unsafe { call(self, kernel) }
    }

    vectors! { self;
        add_f(a: F, b: F) -> F = _mm256_add_ps(a, b);
        sub_f(a: F, b: F) -> F = _mm256_sub_ps(a, b);
        mul_f(a: F, b: F) -> F = _mm256_mul_ps(a, b);
        div_f(a: F, b: F) -> F = _mm256_div_ps(a, b);
        max_f(a: F, b: F) -> F = _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
        min_f(a: F, b: F) -> F = _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps::<_CMP_UNORD_Q>(a, a));
        at_most_f(x: F, bound: F) -> F = _mm256_min_ps(bound, x);
        at_least_f(x: F, bound: F) -> F = _mm256_max_ps(bound, x);
        mul_add_f(a: F, b: F, c: F) -> F = _mm256_fmadd_ps(a, b, c);
        neg_f(x: F) -> F = _mm256_xor_ps(x, _mm256_set1_ps(-0.0));
        abs_f(x: F) -> F = _mm256_andnot_ps(_mm256_set1_ps(-0.0), x);
        sqrt_f(x: F) -> F = _mm256_sqrt_ps(x);
        floor_f(x: F) -> F = _mm256_round_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(x);
        ceil_f(x: F) -> F = _mm256_round_ps::<{ _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC }>(x);
        round_f(x: F) -> F = _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(x);
        trunc_f(x: F) -> F = _mm256_round_ps::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(x);
        scale_f(x: F, n: F) -> F = {
            let n = _mm256_cvtps_epi32(n);
            let half = _mm256_srai_epi32::<1>(n);
            _mm256_mul_ps(_mm256_mul_ps(x, power_of_two(half)), power_of_two(_mm256_sub_epi32(n, half)))
        };
        eq_f(a: F, b: F) -> M = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_EQ_OQ>(a, b));
        lt_f(a: F, b: F) -> M = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LT_OQ>(a, b));
        le_f(a: F, b: F) -> M = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_LE_OQ>(a, b));
        select_f(m: M, a: F, b: F) -> F = _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m));

        add_i(a: I, b: I) -> I = _mm256_add_epi32(a, b);
        sub_i(a: I, b: I) -> I = _mm256_sub_epi32(a, b);
        mul_i(a: I, b: I) -> I = _mm256_mullo_epi32(a, b);
        max_i(a: I, b: I) -> I = _mm256_max_epi32(a, b);
        min_i(a: I, b: I) -> I = _mm256_min_epi32(a, b);
        and_i(a: I, b: I) -> I = _mm256_and_si256(a, b);
        or_i(a: I, b: I) -> I = _mm256_or_si256(a, b);
        xor_i(a: I, b: I) -> I = _mm256_xor_si256(a, b);
        not_i(x: I) -> I = _mm256_xor_si256(x, _mm256_set1_epi32(-1));
        neg_i(x: I) -> I = _mm256_sub_epi32(_mm256_setzero_si256(), x);
        abs_i(x: I) -> I = _mm256_abs_epi32(x);
        shl_i(x: I, by: I) -> I = _mm256_sllv_epi32(x, _mm256_and_si256(by, _mm256_set1_epi32(31)));
        shr_i(x: I, by: I) -> I = _mm256_srav_epi32(x, _mm256_and_si256(by, _mm256_set1_epi32(31)));
        eq_i(a: I, b: I) -> M = _mm256_cmpeq_epi32(a, b);
        lt_i(a: I, b: I) -> M = _mm256_cmpgt_epi32(b, a);
        le_i(a: I, b: I) -> M = _mm256_cmpeq_epi32(_mm256_min_epi32(a, b), a);
        select_i(m: M, a: I, b: I) -> I = _mm256_blendv_epi8(b, a, m);

        add_u(a: U, b: U) -> U = _mm256_add_epi32(a, b);
        sub_u(a: U, b: U) -> U = _mm256_sub_epi32(a, b);
        mul_u(a: U, b: U) -> U = _mm256_mullo_epi32(a, b);
        max_u(a: U, b: U) -> U = _mm256_max_epu32(a, b);
        min_u(a: U, b: U) -> U = _mm256_min_epu32(a, b);
        and_u(a: U, b: U) -> U = _mm256_and_si256(a, b);
        or_u(a: U, b: U) -> U = _mm256_or_si256(a, b);
        xor_u(a: U, b: U) -> U = _mm256_xor_si256(a, b);
        not_u(x: U) -> U = _mm256_xor_si256(x, _mm256_set1_epi32(-1));
        shl_u(x: U, by: U) -> U = _mm256_sllv_epi32(x, _mm256_and_si256(by, _mm256_set1_epi32(31)));
        shr_u(x: U, by: U) -> U = _mm256_srlv_epi32(x, _mm256_and_si256(by, _mm256_set1_epi32(31)));
        eq_u(a: U, b: U) -> M = _mm256_cmpeq_epi32(a, b);
        lt_u(a: U, b: U) -> M = self.not_m(self.le_u(b, a));
        le_u(a: U, b: U) -> M = _mm256_cmpeq_epi32(_mm256_min_epu32(a, b), a);
        select_u(m: M, a: U, b: U) -> U = _mm256_blendv_epi8(b, a, m);

        and_m(a: M, b: M) -> M = _mm256_and_si256(a, b);
        or_m(a: M, b: M) -> M = _mm256_or_si256(a, b);
        xor_m(a: M, b: M) -> M = _mm256_xor_si256(a, b);
        not_m(x: M) -> M = _mm256_xor_si256(x, _mm256_set1_epi32(-1));

        f_from_i(x: I) -> F = _mm256_cvtepi32_ps(x);
        f_from_u(x: U) -> F = {
            // Both halves and the scaled high half are exact, so the sum is rounded once.
            let high = _mm256_cvtepi32_ps(_mm256_srli_epi32::<16>(x));
            let low = _mm256_cvtepi32_ps(_mm256_and_si256(x, _mm256_set1_epi32(0xffff)));
            _mm256_fmadd_ps(high, _mm256_set1_ps(65_536.0), low)
        };
        i_from_f(x: F) -> I = {
            let number = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_ORD_Q>(x, x));
            let large = self.le_f(_mm256_set1_ps(2_147_483_648.0), x);
            let truncated = _mm256_and_si256(number, _mm256_cvttps_epi32(x));
            self.select_i(large, _mm256_set1_epi32(i32::MAX), truncated)
        };
        u_from_f(x: F) -> U = {
            let x = _mm256_max_ps(x, _mm256_setzero_ps());
            let half = _mm256_set1_ps(2_147_483_648.0);
            let upper = self.le_f(half, x);
            let low = self.i_from_f(_mm256_sub_ps(x, _mm256_and_ps(_mm256_castsi256_ps(upper), half)));
            let bits = _mm256_add_epi32(low, _mm256_and_si256(upper, _mm256_set1_epi32(i32::MIN)));
            self.select_i(self.le_f(_mm256_set1_ps(4_294_967_296.0), x), _mm256_set1_epi32(-1), bits)
        };
        i_from_u(x: U) -> I = x;
        u_from_i(x: I) -> U = x;
        bits_f(x: F) -> U = _mm256_castps_si256(x);
        f_of_bits(x: U) -> F = _mm256_castsi256_ps(x);
    }

    reductions! { fold, self, _mm256_castps_si256, _mm256_castsi256_ps }

    by_lane! { self;
        div_i: I i32, a b = if b == 0 { 0 } else { a.wrapping_div(b) };
        rem_i: I i32, a b = if b == 0 { 0 } else { a.wrapping_rem(b) };
        div_u: U u32, a b = a.checked_div(b).unwrap_or(0);
        rem_u: U u32, a b = a.checked_rem(b).unwrap_or(0);
    }

    memory! { self;
        F f32: load_raw_f load_masked_raw_f store_raw_f store_masked_raw_f gather_raw_f scatter_raw_f
            = _mm256_loadu_ps _mm256_maskload_ps _mm256_storeu_ps _mm256_maskstore_ps
              _mm256_mask_i32gather_ps _mm256_setzero_ps _mm256_castsi256_ps;
        I i32: load_raw_i load_masked_raw_i store_raw_i store_masked_raw_i gather_raw_i scatter_raw_i
            = _mm256_loadu_si256 _mm256_maskload_epi32 _mm256_storeu_si256 _mm256_maskstore_epi32
              _mm256_mask_i32gather_epi32 _mm256_setzero_si256 core::convert::identity;
        U u32: load_raw_u load_masked_raw_u store_raw_u store_masked_raw_u gather_raw_u scatter_raw_u
            = _mm256_loadu_si256 _mm256_maskload_epi32 _mm256_storeu_si256 _mm256_maskstore_epi32
              _mm256_mask_i32gather_epi32 _mm256_setzero_si256 core::convert::identity;
    }

    #[inline(always)]
    fn splat_f(self, x: f32) -> Self::F {
        // SAFETY: the token proves that the machine has AVX2; a broadcast touches no memory.
        unsafe { _mm256_set1_ps(x) }
    }
    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        // SAFETY: the token proves that the machine has AVX2; a broadcast touches no memory.
        unsafe { _mm256_set1_epi32(x) }
    }
    #[inline(always)]
    fn splat_u(self, x: u32) -> Self::U {
        // SAFETY: the token proves that the machine has AVX2; a broadcast touches no memory.
        unsafe { _mm256_set1_epi32(x.cast_signed()) }
    }
    #[inline(always)]
    fn splat_m(self, x: bool) -> Self::M {
        self.splat_i(if x { -1 } else { 0 })
    }
    #[inline(always)]
    fn iota_i(self) -> Self::I {
        // SAFETY: the token proves that the machine has AVX2; the lanes are constants.
        unsafe { _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7) }
    }
    #[inline(always)]
    fn iota_u(self) -> Self::U {
        self.iota_i()
    }
    #[inline(always)]
    fn mask_first(self, n: usize) -> Self::M {
        self.lt_i(self.iota_i(), self.splat_i(n.min(LANES) as i32))
    }
    #[inline(always)]
    fn any_m(self, x: Self::M) -> bool {
        // SAFETY: the token proves that the machine has AVX2; the mask is in a register.
        unsafe { _mm256_movemask_epi8(x) != 0 }
    }
    #[inline(always)]
    fn all_m(self, x: Self::M) -> bool {
        // SAFETY: the token proves that the machine has AVX2; the mask is in a register.
        unsafe { _mm256_movemask_epi8(x) == -1 }
    }
    #[inline(always)]
    fn shl_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        // SAFETY: the token proves that the machine has AVX2; the shift is of a register.
        unsafe { _mm256_sllv_epi32(x, self.splat_i(N as i32)) }
    }
    #[inline(always)]
    fn shr_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        // SAFETY: the token proves that the machine has AVX2; the shift is of a register.
        unsafe { _mm256_srav_epi32(x, self.splat_i(N as i32)) }
    }
    #[inline(always)]
    fn shl_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        // SAFETY: the token proves that the machine has AVX2; the shift is of a register.
        unsafe { _mm256_sllv_epi32(x, self.splat_i(N as i32)) }
    }
    #[inline(always)]
    fn shr_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        // SAFETY: the token proves that the machine has AVX2; the shift is of a register.
        unsafe { _mm256_srlv_epi32(x, self.splat_i(N as i32)) }
    }

    #[inline(always)]
    unsafe fn stream_raw_f(self, p: *mut f32, v: Self::F) {
        // SAFETY: by contract `p` is valid for writing `LANES` words and aligned to 32 bytes, and other threads read them
        // after `settle` only; the token proves AVX2.
        unsafe { _mm256_stream_ps(p, v) }
    }
    #[inline(always)]
    fn fetch_raw(self, p: *const f32) {
        // SAFETY: a prefetch accesses nothing, wherever `p` points; SSE comes with AVX2, which the token proves.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }
    #[inline(always)]
    fn settle(self) {
        // SAFETY: the fence only orders stores; SSE comes with AVX2, which the token proves.
        unsafe { _mm_sfence() }
    }

    #[inline(always)]
    fn evens_f(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves that the machine has AVX2; lanes move between registers.
        unsafe {
            let mixed = _mm256_castps_pd(_mm256_shuffle_ps::<0x88>(a, b));
            _mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(mixed))
        }
    }

    #[inline(always)]
    fn odds_f(self, a: Self::F, b: Self::F) -> Self::F {
        // SAFETY: the token proves that the machine has AVX2; lanes move between registers.
        unsafe {
            let mixed = _mm256_castps_pd(_mm256_shuffle_ps::<0xdd>(a, b));
            _mm256_castpd_ps(_mm256_permute4x64_pd::<0xd8>(mixed))
        }
    }

    #[inline(always)]
    fn prefetch(self, p: *const f32) {
        // SAFETY: a prefetch never faults, wherever `p` points; SSE comes with AVX2, which the token proves.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
    }

    #[inline(always)]
    unsafe fn transpose_raw_f(self, rows: *const *const f32, at: usize, to: *mut f32, step: usize, count: usize) {
        // Loads put rows r and r + 4 into the halves of a vector, so only 4 × 4 blocks are left to transpose.
        let mut quarter = 0;
        while quarter * 4 < count {
            // SAFETY: by contract each of `LANES` rows, a multiple of 4, has `at + LANES` words, so it has these 4, and
            // `to` has `count` rows, the only ones written; the token proves AVX2.
            unsafe {
                let mut v = [_mm256_setzero_ps(); 4];
                for (r, v) in v.iter_mut().enumerate() {
                    *v = _mm256_insertf128_ps::<1>(
                        _mm256_castps128_ps256(_mm_loadu_ps((*rows.add(r)).add(at + quarter * 4))),
                        _mm_loadu_ps((*rows.add(r + 4)).add(at + quarter * 4)),
                    );
                }
                let (a, b) = (_mm256_unpacklo_ps(v[0], v[1]), _mm256_unpackhi_ps(v[0], v[1]));
                let (c, d) = (_mm256_unpacklo_ps(v[2], v[3]), _mm256_unpackhi_ps(v[2], v[3]));
                let out = [
                    _mm256_shuffle_ps::<0x44>(a, c),
                    _mm256_shuffle_ps::<0xee>(a, c),
                    _mm256_shuffle_ps::<0x44>(b, d),
                    _mm256_shuffle_ps::<0xee>(b, d),
                ];
                for (column, out) in out.into_iter().enumerate() {
                    if quarter * 4 + column < count {
                        _mm256_storeu_ps(to.add((quarter * 4 + column) * step), out);
                    }
                }
            }
            quarter += 1;
        }
    }

    #[inline(always)]
    unsafe fn add_up_raw_f(self, v: [Self::F; 8], to: *mut f32) {
        // SAFETY: `to` is valid for writing 8 words by this method's contract, and the token proves AVX2.
        unsafe {
            // Halves of two vectors are added, then quarters of four, then all that is left of eight.
            let mut halves = [_mm256_setzero_ps(); 4];
            for (at, half) in halves.iter_mut().enumerate() {
                let (a, b) = (v[2 * at], v[2 * at + 1]);
                *half = _mm256_add_ps(_mm256_permute2f128_ps::<0x20>(a, b), _mm256_permute2f128_ps::<0x31>(a, b));
            }
            let mut quarters = [_mm256_setzero_ps(); 2];
            for (at, quarter) in quarters.iter_mut().enumerate() {
                let (a, b) = (halves[2 * at], halves[2 * at + 1]);
                *quarter = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b));
            }
            let sums = _mm256_hadd_ps(quarters[0], quarters[1]);
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(sums, order));
        }
    }
}

/// `2ⁿ` in each lane, for `n` from -126 to 127.
///
/// # Safety
/// The machine must have AVX2.
#[inline]
#[target_feature(enable = "avx2,bmi2,fma")]
fn power_of_two(n: __m256i) -> __m256 {
    _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127))))
}
