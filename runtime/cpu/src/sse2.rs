//! SSE2, which every x86-64 machine has: 4 lanes in 16 registers, masks as vectors.
//!
//! In and out: as [`Vectors`] says. Always: what a register holds is never taken apart where LLVM would see it. Machines with
//! this set only are rare, but every kernel of every model is compiled for them, and scalars take LLVM many times as long as
//! vectors do. What it has no instruction for and no kernel does often is a function, compiled once.

mod fewer;
mod wide;

use core::arch::x86_64::*;

use super::Vectors;
use super::vectors::reductions;

/// The token of the instruction set that every x86-64 machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sse2;

const LANES: usize = 4;

macro_rules! vectors {
    ($self:ident; $($name:ident($($arg:ident: $t:ident),+) -> $out:ident = $body:expr;)*) => {$(
        #[inline(always)]
        #[allow(unused_unsafe)]
        fn $name($self, $($arg: Self::$t),+) -> Self::$out {
            // SAFETY: every machine of this target has SSE2, and the body touches no memory.
            unsafe { $body }
        }
    )*};
}

use vectors;

/// Folds a vector in halves: 4, 2 lanes.
macro_rules! fold {
    ($self:ident; $($name:ident: $t:ident -> $e:ty = $op:ident, $to:expr, $from:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::$t) -> $e {
            // SAFETY: every machine of this target has SSE2; halves are folded in registers.
            unsafe {
                let v = $to(x);
                let v = $to($self.$op($from(v), $from(_mm_shuffle_epi32::<0x4e>(v))));
                let v = $to($self.$op($from(v), $from(_mm_shuffle_epi32::<0xb1>(v))));
                <$e>::from_ne_bytes(_mm_cvtsi128_si32(v).to_ne_bytes())
            }
        }
    )*};
}

/// Operations without an instruction, as functions.
macro_rules! by_lane {
    ($($name:ident: $e:ty, $a:ident $b:ident = $body:expr;)*) => {$(
        /// # Safety
        /// The machine must have SSE2, as every one of this target has.
        #[target_feature(enable = "sse2")]
        fn $name(a: __m128i, b: __m128i) -> __m128i {
            let ($a, $b) = (lanes(a), lanes(b));
            vector(core::array::from_fn(|lane| {
                let ($a, $b) = ($a[lane] as $e, $b[lane] as $e);
                ($body) as i32
            }))
        }
    )*};
}

macro_rules! memory {
    ($self:ident; $($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident
        = $i_load:ident $i_store:ident $to:path, $from:path;)*) => {$(
        #[inline(always)]
        unsafe fn $load($self, p: *const $e) -> Self::$t {
            // SAFETY: `p` is valid for reading `LANES` words by this method's contract.
            unsafe { $i_load(p.cast()) }
        }
        #[inline(always)]
        unsafe fn $load_masked($self, p: *const $e, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` may be read at each lane in `m`, and no other is read.
            unsafe { $from(gather(p.cast(), $self.iota_i(), m)) }
        }
        #[inline(always)]
        unsafe fn $store($self, p: *mut $e, v: Self::$t) {
            // SAFETY: `p` is valid for writing `LANES` words by this method's contract.
            unsafe { $i_store(p.cast(), v) }
        }
        #[inline(always)]
        unsafe fn $store_masked($self, p: *mut $e, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` may be written at each lane in `m`, and no other is written.
            unsafe { scatter(p.cast(), $self.iota_i(), m, $to(v)) }
        }
        #[inline(always)]
        unsafe fn $gather($self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` may be read at the index of each lane in `m`, and no others are read.
            unsafe { $from(gather(p.cast(), idx, m)) }
        }
        #[inline(always)]
        unsafe fn $scatter($self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` may be written at the index of each lane in `m`, and no others are written.
            unsafe { scatter(p.cast(), idx, m, $to(v)) }
        }
    )*};
}

impl Vectors for Sse2 {
    const LANES: usize = LANES;
    const FUSED: bool = false;
    const ROWS: usize = 4;

    type F = __m128;
    type I = __m128i;
    type U = __m128i;
    /// All ones or all zeros per lane.
    type M = __m128i;

    vectors! { self;
        add_f(a: F, b: F) -> F = _mm_add_ps(a, b);
        sub_f(a: F, b: F) -> F = _mm_sub_ps(a, b);
        mul_f(a: F, b: F) -> F = _mm_mul_ps(a, b);
        div_f(a: F, b: F) -> F = _mm_div_ps(a, b);
        max_f(a: F, b: F) -> F = self.select_f(_mm_castps_si128(_mm_cmpunord_ps(a, a)), a, _mm_max_ps(a, b));
        min_f(a: F, b: F) -> F = self.select_f(_mm_castps_si128(_mm_cmpunord_ps(a, a)), a, _mm_min_ps(a, b));
        at_most_f(x: F, bound: F) -> F = _mm_min_ps(bound, x);
        at_least_f(x: F, bound: F) -> F = _mm_max_ps(bound, x);
        mul_add_f(a: F, b: F, c: F) -> F = _mm_add_ps(_mm_mul_ps(a, b), c);
        neg_f(x: F) -> F = _mm_xor_ps(x, _mm_set1_ps(-0.0));
        abs_f(x: F) -> F = _mm_andnot_ps(_mm_set1_ps(-0.0), x);
        sqrt_f(x: F) -> F = _mm_sqrt_ps(x);
        floor_f(x: F) -> F = {
            let whole = self.trunc_f(x);
            let less = _mm_and_ps(_mm_cmpgt_ps(whole, x), _mm_set1_ps(1.0));
            with_sign(_mm_sub_ps(whole, less), x)
        };
        ceil_f(x: F) -> F = {
            let whole = self.trunc_f(x);
            let more = _mm_and_ps(_mm_cmplt_ps(whole, x), _mm_set1_ps(1.0));
            with_sign(_mm_add_ps(whole, more), x)
        };
        round_f(x: F) -> F = {
            let magnitude = self.abs_f(x);
            let rounded = _mm_sub_ps(_mm_add_ps(magnitude, _mm_set1_ps(INTEGERS)), _mm_set1_ps(INTEGERS));
            with_sign(self.select_f(self.lt_f(magnitude, _mm_set1_ps(INTEGERS)), rounded, x), x)
        };
        trunc_f(x: F) -> F = {
            let is_fraction = self.lt_f(self.abs_f(x), _mm_set1_ps(INTEGERS));
            with_sign(self.select_f(is_fraction, _mm_cvtepi32_ps(_mm_cvttps_epi32(x)), x), x)
        };
        scale_f(x: F, n: F) -> F = {
            let n = _mm_cvtps_epi32(n);
            let half = _mm_srai_epi32::<1>(n);
            _mm_mul_ps(_mm_mul_ps(x, power_of_two(half)), power_of_two(_mm_sub_epi32(n, half)))
        };
        eq_f(a: F, b: F) -> M = _mm_castps_si128(_mm_cmpeq_ps(a, b));
        lt_f(a: F, b: F) -> M = _mm_castps_si128(_mm_cmplt_ps(a, b));
        le_f(a: F, b: F) -> M = _mm_castps_si128(_mm_cmple_ps(a, b));
        select_f(m: M, a: F, b: F) -> F = {
            let m = _mm_castsi128_ps(m);
            _mm_or_ps(_mm_and_ps(m, a), _mm_andnot_ps(m, b))
        };

        add_i(a: I, b: I) -> I = _mm_add_epi32(a, b);
        sub_i(a: I, b: I) -> I = _mm_sub_epi32(a, b);
        mul_i(a: I, b: I) -> I = {
            // The products of the even lanes and of the odd ones have 64 bits each, of which the low halves are kept.
            let even = _mm_mul_epu32(a, b);
            let odd = _mm_mul_epu32(_mm_srli_epi64::<32>(a), _mm_srli_epi64::<32>(b));
            _mm_unpacklo_epi32(_mm_shuffle_epi32::<0x08>(even), _mm_shuffle_epi32::<0x08>(odd))
        };
        div_i(a: I, b: I) -> I = div_i(a, b);
        rem_i(a: I, b: I) -> I = rem_i(a, b);
        max_i(a: I, b: I) -> I = self.select_i(_mm_cmpgt_epi32(a, b), a, b);
        min_i(a: I, b: I) -> I = self.select_i(_mm_cmpgt_epi32(a, b), b, a);
        and_i(a: I, b: I) -> I = _mm_and_si128(a, b);
        or_i(a: I, b: I) -> I = _mm_or_si128(a, b);
        xor_i(a: I, b: I) -> I = _mm_xor_si128(a, b);
        not_i(x: I) -> I = _mm_xor_si128(x, _mm_set1_epi32(-1));
        neg_i(x: I) -> I = _mm_sub_epi32(_mm_setzero_si128(), x);
        abs_i(x: I) -> I = {
            let sign = _mm_srai_epi32::<31>(x);
            _mm_sub_epi32(_mm_xor_si128(x, sign), sign)
        };
        shl_i(x: I, by: I) -> I = shl(x, by);
        shr_i(x: I, by: I) -> I = shr_i(x, by);
        eq_i(a: I, b: I) -> M = _mm_cmpeq_epi32(a, b);
        lt_i(a: I, b: I) -> M = _mm_cmplt_epi32(a, b);
        le_i(a: I, b: I) -> M = self.not_m(_mm_cmpgt_epi32(a, b));
        select_i(m: M, a: I, b: I) -> I = _mm_or_si128(_mm_and_si128(m, a), _mm_andnot_si128(m, b));

        add_u(a: U, b: U) -> U = _mm_add_epi32(a, b);
        sub_u(a: U, b: U) -> U = _mm_sub_epi32(a, b);
        mul_u(a: U, b: U) -> U = self.mul_i(a, b);
        div_u(a: U, b: U) -> U = div_u(a, b);
        rem_u(a: U, b: U) -> U = rem_u(a, b);
        max_u(a: U, b: U) -> U = self.select_u(self.lt_u(b, a), a, b);
        min_u(a: U, b: U) -> U = self.select_u(self.lt_u(b, a), b, a);
        and_u(a: U, b: U) -> U = _mm_and_si128(a, b);
        or_u(a: U, b: U) -> U = _mm_or_si128(a, b);
        xor_u(a: U, b: U) -> U = _mm_xor_si128(a, b);
        not_u(x: U) -> U = _mm_xor_si128(x, _mm_set1_epi32(-1));
        shl_u(x: U, by: U) -> U = shl(x, by);
        shr_u(x: U, by: U) -> U = shr_u(x, by);
        eq_u(a: U, b: U) -> M = _mm_cmpeq_epi32(a, b);
        lt_u(a: U, b: U) -> M = {
            // Signed numbers lie in the order of unsigned ones whose upper half comes first.
            let upper = _mm_set1_epi32(i32::MIN);
            _mm_cmplt_epi32(_mm_xor_si128(a, upper), _mm_xor_si128(b, upper))
        };
        le_u(a: U, b: U) -> M = self.not_m(self.lt_u(b, a));
        select_u(m: M, a: U, b: U) -> U = self.select_i(m, a, b);

        and_m(a: M, b: M) -> M = _mm_and_si128(a, b);
        or_m(a: M, b: M) -> M = _mm_or_si128(a, b);
        xor_m(a: M, b: M) -> M = _mm_xor_si128(a, b);
        not_m(x: M) -> M = _mm_xor_si128(x, _mm_set1_epi32(-1));

        f_from_i(x: I) -> F = _mm_cvtepi32_ps(x);
        f_from_u(x: U) -> F = {
            // Both halves and the scaled high half are exact, so the sum is rounded once.
            let high = _mm_cvtepi32_ps(_mm_srli_epi32::<16>(x));
            let low = _mm_cvtepi32_ps(_mm_and_si128(x, _mm_set1_epi32(0xffff)));
            _mm_add_ps(_mm_mul_ps(high, _mm_set1_ps(65_536.0)), low)
        };
        i_from_f(x: F) -> I = {
            let number = _mm_castps_si128(_mm_cmpord_ps(x, x));
            let large = self.le_f(_mm_set1_ps(2_147_483_648.0), x);
            self.select_i(large, _mm_set1_epi32(i32::MAX), _mm_and_si128(number, _mm_cvttps_epi32(x)))
        };
        u_from_f(x: F) -> U = {
            let x = _mm_max_ps(x, _mm_setzero_ps());
            let half = _mm_set1_ps(2_147_483_648.0);
            let upper = self.le_f(half, x);
            let low = self.i_from_f(_mm_sub_ps(x, _mm_and_ps(_mm_castsi128_ps(upper), half)));
            let bits = _mm_add_epi32(low, _mm_and_si128(upper, _mm_set1_epi32(i32::MIN)));
            self.select_i(self.le_f(_mm_set1_ps(4_294_967_296.0), x), _mm_set1_epi32(-1), bits)
        };
        i_from_u(x: U) -> I = x;
        u_from_i(x: I) -> U = x;
        bits_f(x: F) -> U = _mm_castps_si128(x);
        f_of_bits(x: U) -> F = _mm_castsi128_ps(x);
    }

    reductions! { fold, self, _mm_castps_si128, _mm_castsi128_ps }

    memory! { self;
        F f32: load_raw_f load_masked_raw_f store_raw_f store_masked_raw_f gather_raw_f scatter_raw_f
            = _mm_loadu_ps _mm_storeu_ps _mm_castps_si128, _mm_castsi128_ps;
        I i32: load_raw_i load_masked_raw_i store_raw_i store_masked_raw_i gather_raw_i scatter_raw_i
            = _mm_loadu_si128 _mm_storeu_si128 core::convert::identity, core::convert::identity;
        U u32: load_raw_u load_masked_raw_u store_raw_u store_masked_raw_u gather_raw_u scatter_raw_u
            = _mm_loadu_si128 _mm_storeu_si128 core::convert::identity, core::convert::identity;
    }

    #[inline(always)]
    fn splat_f(self, x: f32) -> Self::F {
        // SAFETY: every machine of this target has SSE2, and no memory is touched.
        unsafe { _mm_set1_ps(x) }
    }
    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        // SAFETY: every machine of this target has SSE2, and no memory is touched.
        unsafe { _mm_set1_epi32(x) }
    }
    #[inline(always)]
    fn splat_u(self, x: u32) -> Self::U {
        // SAFETY: every machine of this target has SSE2, and no memory is touched.
        unsafe { _mm_set1_epi32(x.cast_signed()) }
    }
    #[inline(always)]
    fn splat_m(self, x: bool) -> Self::M {
        self.splat_i(if x { -1 } else { 0 })
    }
    #[inline(always)]
    fn iota_i(self) -> Self::I {
        // SAFETY: every machine of this target has SSE2, and the lanes are constants.
        unsafe { _mm_setr_epi32(0, 1, 2, 3) }
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
        // SAFETY: every machine of this target has SSE2, and the mask is in a register.
        unsafe { _mm_movemask_epi8(x) != 0 }
    }
    #[inline(always)]
    fn all_m(self, x: Self::M) -> bool {
        // SAFETY: every machine of this target has SSE2, and the mask is in a register.
        unsafe { _mm_movemask_epi8(x) == 0xffff }
    }
    #[inline(always)]
    fn shl_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        // SAFETY: every machine of this target has SSE2, and the shift is of a register.
        unsafe { _mm_sll_epi32(x, _mm_cvtsi32_si128(N as i32)) }
    }
    #[inline(always)]
    fn shr_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        // SAFETY: every machine of this target has SSE2, and the shift is of a register.
        unsafe { _mm_sra_epi32(x, _mm_cvtsi32_si128(N as i32)) }
    }
    #[inline(always)]
    fn shl_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        // SAFETY: every machine of this target has SSE2, and the shift is of a register.
        unsafe { _mm_sll_epi32(x, _mm_cvtsi32_si128(N as i32)) }
    }
    #[inline(always)]
    fn shr_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        // SAFETY: every machine of this target has SSE2, and the shift is of a register.
        unsafe { _mm_srl_epi32(x, _mm_cvtsi32_si128(N as i32)) }
    }
}

by_lane! {
    div_i: i32, a b = if b == 0 { 0 } else { a.wrapping_div(b) };
    rem_i: i32, a b = if b == 0 { 0 } else { a.wrapping_rem(b) };
    div_u: u32, a b = a.checked_div(b).unwrap_or(0);
    rem_u: u32, a b = a.checked_rem(b).unwrap_or(0);
    shl: u32, a b = a << (b & 31);
    shr_i: i32, a b = a >> (b & 31);
    shr_u: u32, a b = a >> (b & 31);
}

/// The lanes, as an array.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[target_feature(enable = "sse2")]
fn lanes(x: __m128i) -> [i32; LANES] {
    let mut lanes = [0; LANES];
    // SAFETY: `lanes` has `LANES` words, as a vector has.
    unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast(), x) };
    lanes
}

/// The vector of these lanes.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[target_feature(enable = "sse2")]
fn vector(lanes: [i32; LANES]) -> __m128i {
    // SAFETY: `lanes` has `LANES` words, as a vector has.
    unsafe { _mm_loadu_si128(lanes.as_ptr().cast()) }
}

/// The words at `at` of the lanes in `m`, and 0.
///
/// # Safety
/// `p` offset by the index of each lane in `m` must be valid for reading.
#[target_feature(enable = "sse2")]
unsafe fn gather(p: *const i32, at: __m128i, m: __m128i) -> __m128i {
    let (at, m) = (lanes(at), lanes(m));
    vector(core::array::from_fn(|lane| match m[lane] {
        0 => 0,
        // SAFETY: the lane is in `m`, so its word may be read by this function's contract; `p` itself need not be.
        _ => unsafe { p.wrapping_offset(at[lane] as isize).read() },
    }))
}

/// Writes the words at `at` of the lanes in `m`, in ascending order of the lanes.
///
/// # Safety
/// `p` offset by the index of each lane in `m` must be valid for writing.
#[target_feature(enable = "sse2")]
unsafe fn scatter(p: *mut i32, at: __m128i, m: __m128i, v: __m128i) {
    let (at, m, v) = (lanes(at), lanes(m), lanes(v));
    for lane in 0..LANES {
        if m[lane] != 0 {
            // SAFETY: the lane is in `m`, so its word may be written by this function's contract; `p` itself need not be.
            unsafe { p.wrapping_offset(at[lane] as isize).write(v[lane]) };
        }
    }
}

/// From 2²³ on every f32 is an integer, so adding and subtracting it rounds to the nearest integer.
const INTEGERS: f32 = 8_388_608.0;

/// `x`, which is 0 or has the sign of `sign`, with that sign.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn with_sign(x: __m128, sign: __m128) -> __m128 {
    _mm_or_ps(x, _mm_and_ps(sign, _mm_set1_ps(-0.0)))
}

/// `2ⁿ` in each lane, for `n` from -126 to 127.
///
/// # Safety
/// The machine must have SSE2, as every one of this target has.
#[inline]
#[target_feature(enable = "sse2")]
fn power_of_two(n: __m128i) -> __m128 {
    _mm_castsi128_ps(_mm_slli_epi32::<23>(_mm_add_epi32(n, _mm_set1_epi32(127))))
}
