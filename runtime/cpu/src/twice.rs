//! Two vectors that are worked on in turns.
//!
//! In: an instruction set. Out: one with twice the lanes, each of whose operations is two of the other's. Always: neighbouring
//! instructions do not wait for each other, so the long chains of an elementary function or of a sum run at twice the pace.
//! Strict ones do in each lane what every machine can do, in the same order, so a set of as many lanes gives the same bits.

mod fewer;
mod wide;

use super::{Kernel, Simd, Vectors};

/// `S` with twice the lanes. `STRICT` ones have no fused multiply-add, no estimates and no tables, and a register tile of one
/// size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Twice<S, const STRICT: bool = false>(S);

impl<S: Simd> Twice<S> {
    /// Two vectors of `s`.
    #[inline(always)]
    pub fn new(s: S) -> Self {
        Twice(s)
    }
}

#[cfg(feature = "deterministic")]
impl<S: Simd> Twice<S, true> {
    /// Two vectors of `s`, with the operations of every machine alone.
    #[inline(always)]
    pub(super) const fn strict(s: S) -> Self {
        Twice(s)
    }
}

/// Rows of the strict register tile: four vectors of AVX2 each, which leave registers for as many of the right operand and for
/// products.
const STRICT_ROWS: usize = 2;

/// A kernel that runs on [`Twice`] what it is run on.
struct Doubled<K, const STRICT: bool>(K);

impl<K: Kernel, const STRICT: bool> Kernel for Doubled<K, STRICT> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        self.0.run(Twice::<S, STRICT>(s));
    }
}

macro_rules! halves {
    ($($name:ident($($arg:ident: $t:ident),+) -> $out:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: Self::$t),+) -> Self::$out {
            (self.0.$name($($arg.0),+), self.0.$name($($arg.1),+))
        }
    )*};
}

macro_rules! splats {
    ($($name:ident: $e:ty => $t:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, x: $e) -> Self::$t {
            let v = self.0.$name(x);
            (v, v)
        }
    )*};
}

macro_rules! shifts {
    ($($name:ident: $t:ident;)*) => {$(
        #[inline(always)]
        fn $name<const N: u32>(self, x: Self::$t) -> Self::$t {
            (self.0.$name::<N>(x.0), self.0.$name::<N>(x.1))
        }
    )*};
}

macro_rules! folds {
    ($($name:ident: $t:ident -> $e:ty = $op:ident;)*) => {$(
        #[inline(always)]
        fn $name(self, x: Self::$t) -> $e {
            self.0.$name(self.0.$op(x.0, x.1))
        }
    )*};
}

macro_rules! memory {
    ($($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const $e) -> Self::$t {
            // SAFETY: by contract `p` is valid for reading `2 · S::LANES` words, `S::LANES` for each half.
            unsafe { (self.0.$load(p), self.0.$load(p.add(S::LANES))) }
        }
        #[inline(always)]
        unsafe fn $load_masked(self, p: *const $e, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` is valid for reading at each lane in `m`; those in `m.1` count from `S::LANES` on.
            unsafe { (self.0.$load_masked(p, m.0), self.0.$load_masked(p.wrapping_add(S::LANES), m.1)) }
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut $e, v: Self::$t) {
            // SAFETY: by contract `p` is valid for writing `2 · S::LANES` words, `S::LANES` for each half.
            unsafe {
                self.0.$store(p, v.0);
                self.0.$store(p.add(S::LANES), v.1);
            }
        }
        #[inline(always)]
        unsafe fn $store_masked(self, p: *mut $e, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` is valid for writing at each lane in `m`; those in `m.1` count from `S::LANES` on.
            unsafe {
                self.0.$store_masked(p, m.0, v.0);
                self.0.$store_masked(p.wrapping_add(S::LANES), m.1, v.1);
            }
        }
        #[inline(always)]
        unsafe fn $gather(self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            // SAFETY: by contract `p` is valid for reading at the index of each lane in `m`, be it in `m.0` or in `m.1`.
            unsafe { (self.0.$gather(p, idx.0, m.0), self.0.$gather(p, idx.1, m.1)) }
        }
        #[inline(always)]
        unsafe fn $scatter(self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            // SAFETY: by contract `p` is valid for writing at the index of each lane in `m`, be it in `m.0` or in
            // `m.1`; the later half is written later.
            unsafe {
                self.0.$scatter(p, idx.0, m.0, v.0);
                self.0.$scatter(p, idx.1, m.1, v.1);
            }
        }
    )*};
}

use {folds, halves, memory, shifts, splats};

impl<S: Simd, const STRICT: bool> Vectors for Twice<S, STRICT> {
    const LANES: usize = 2 * S::LANES;
    const FUSED: bool = !STRICT && S::FUSED;
    const TABLES: bool = !STRICT && S::TABLES;
    const SCALARS: bool = S::SCALARS;
    const ROWS: usize = if STRICT { STRICT_ROWS } else { S::ROWS };

    type F = (S::F, S::F);
    type I = (S::I, S::I);
    type U = (S::U, S::U);
    type M = (S::M, S::M);

    #[inline(always)]
    fn enter<K: Kernel>(self, kernel: K) {
        self.0.enter(Doubled::<K, STRICT>(kernel));
    }
    #[inline(always)]
    fn call<K: Kernel>(self, kernel: K) {
        self.0.call(Doubled::<K, STRICT>(kernel));
    }

    splats! {
        splat_f: f32 => F;
        splat_i: i32 => I;
        splat_u: u32 => U;
        splat_m: bool => M;
    }

    #[inline(always)]
    fn iota_i(self) -> Self::I {
        let first = self.0.iota_i();
        (first, self.0.add_i(first, self.0.splat_i(S::LANES as i32)))
    }
    #[inline(always)]
    fn iota_u(self) -> Self::U {
        let first = self.0.iota_u();
        (first, self.0.add_u(first, self.0.splat_u(S::LANES as u32)))
    }

    halves! {
        add_f(a: F, b: F) -> F;
        sub_f(a: F, b: F) -> F;
        mul_f(a: F, b: F) -> F;
        div_f(a: F, b: F) -> F;
        max_f(a: F, b: F) -> F;
        min_f(a: F, b: F) -> F;
        at_most_f(x: F, bound: F) -> F;
        at_least_f(x: F, bound: F) -> F;
        neg_f(x: F) -> F;
        abs_f(x: F) -> F;
        sqrt_f(x: F) -> F;
        floor_f(x: F) -> F;
        ceil_f(x: F) -> F;
        round_f(x: F) -> F;
        trunc_f(x: F) -> F;
        scale_f(x: F, n: F) -> F;
        add_i(a: I, b: I) -> I;
        sub_i(a: I, b: I) -> I;
        mul_i(a: I, b: I) -> I;
        div_i(a: I, b: I) -> I;
        rem_i(a: I, b: I) -> I;
        max_i(a: I, b: I) -> I;
        min_i(a: I, b: I) -> I;
        neg_i(x: I) -> I;
        abs_i(x: I) -> I;
        and_i(a: I, b: I) -> I;
        or_i(a: I, b: I) -> I;
        xor_i(a: I, b: I) -> I;
        not_i(x: I) -> I;
        shl_i(x: I, by: I) -> I;
        shr_i(x: I, by: I) -> I;
        add_u(a: U, b: U) -> U;
        sub_u(a: U, b: U) -> U;
        mul_u(a: U, b: U) -> U;
        div_u(a: U, b: U) -> U;
        rem_u(a: U, b: U) -> U;
        max_u(a: U, b: U) -> U;
        min_u(a: U, b: U) -> U;
        and_u(a: U, b: U) -> U;
        or_u(a: U, b: U) -> U;
        xor_u(a: U, b: U) -> U;
        not_u(x: U) -> U;
        shl_u(x: U, by: U) -> U;
        shr_u(x: U, by: U) -> U;
        eq_f(a: F, b: F) -> M;
        lt_f(a: F, b: F) -> M;
        le_f(a: F, b: F) -> M;
        eq_i(a: I, b: I) -> M;
        lt_i(a: I, b: I) -> M;
        le_i(a: I, b: I) -> M;
        eq_u(a: U, b: U) -> M;
        lt_u(a: U, b: U) -> M;
        le_u(a: U, b: U) -> M;
        select_f(m: M, a: F, b: F) -> F;
        select_i(m: M, a: I, b: I) -> I;
        select_u(m: M, a: U, b: U) -> U;
        and_m(a: M, b: M) -> M;
        or_m(a: M, b: M) -> M;
        xor_m(a: M, b: M) -> M;
        not_m(x: M) -> M;
        f_from_i(x: I) -> F;
        f_from_u(x: U) -> F;
        i_from_f(x: F) -> I;
        u_from_f(x: F) -> U;
        i_from_u(x: U) -> I;
        u_from_i(x: I) -> U;
        bits_f(x: F) -> U;
        f_of_bits(x: U) -> F;
    }

    #[inline(always)]
    fn mul_add_f(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F {
        if STRICT {
            return self.add_f(self.mul_f(a, b), c);
        }
        (self.0.mul_add_f(a.0, b.0, c.0), self.0.mul_add_f(a.1, b.1, c.1))
    }
    #[inline(always)]
    fn quotient_f(self, a: Self::F, b: Self::F) -> Self::F {
        if STRICT {
            return self.div_f(a, b);
        }
        (self.0.quotient_f(a.0, b.0), self.0.quotient_f(a.1, b.1))
    }
    #[inline(always)]
    fn rsqrt_f(self, x: Self::F) -> Self::F {
        if STRICT {
            return self.div_f(self.splat_f(1.0), self.sqrt_f(x));
        }
        (self.0.rsqrt_f(x.0), self.0.rsqrt_f(x.1))
    }

    shifts! {
        shl_const_i: I;
        shr_const_i: I;
        shl_const_u: U;
        shr_const_u: U;
    }

    folds! {
        reduce_add_f: F -> f32 = add_f;
        reduce_mul_f: F -> f32 = mul_f;
        reduce_max_f: F -> f32 = max_f;
        reduce_min_f: F -> f32 = min_f;
        reduce_add_i: I -> i32 = add_i;
        reduce_mul_i: I -> i32 = mul_i;
        reduce_max_i: I -> i32 = max_i;
        reduce_min_i: I -> i32 = min_i;
        reduce_add_u: U -> u32 = add_u;
        reduce_mul_u: U -> u32 = mul_u;
        reduce_max_u: U -> u32 = max_u;
        reduce_min_u: U -> u32 = min_u;
        any_m: M -> bool = or_m;
        all_m: M -> bool = and_m;
    }

    #[inline(always)]
    unsafe fn stream_raw_f(self, p: *mut f32, v: Self::F) {
        // SAFETY: by contract `p` is valid for writing `2 · S::LANES` words, aligned to as many bytes or to 64, so each
        // half is aligned as `S` asks; other threads read the words after `settle` only.
        unsafe {
            self.0.stream_raw_f(p, v.0);
            self.0.stream_raw_f(p.add(S::LANES), v.1);
        }
    }
    #[inline(always)]
    fn fetch_raw(self, p: *const f32) {
        self.0.fetch_raw(p);
    }
    #[inline(always)]
    fn settle(self) {
        self.0.settle();
    }

    #[inline(always)]
    fn mask_first(self, n: usize) -> Self::M {
        (self.0.mask_first(n), self.0.mask_first(n.saturating_sub(S::LANES)))
    }

    #[inline(always)]
    fn lookup_f(self, table: &[f32; 16], at: Self::U) -> Self::F {
        (self.0.lookup_f(table, at.0), self.0.lookup_f(table, at.1))
    }

    #[inline(always)]
    fn evens_f(self, a: Self::F, b: Self::F) -> Self::F {
        (self.0.evens_f(a.0, a.1), self.0.evens_f(b.0, b.1))
    }

    #[inline(always)]
    fn odds_f(self, a: Self::F, b: Self::F) -> Self::F {
        (self.0.odds_f(a.0, a.1), self.0.odds_f(b.0, b.1))
    }

    #[inline(always)]
    fn prefetch(self, p: *const f32) {
        self.0.prefetch(p);
    }

    #[inline(always)]
    unsafe fn transpose_raw_f(self, rows: *const *const f32, at: usize, to: *mut f32, step: usize, count: usize) {
        for column in (0..count).step_by(S::LANES) {
            // The second half first: of rows that overlap, the next one is what stays.
            for half in [S::LANES, 0] {
                let (some, to) = (S::LANES.min(count - column), to.wrapping_add(column * step + half));
                // SAFETY: by contract there are `2 · S::LANES` rows, `S::LANES` of them for each half, with
                // `at + 2 · S::LANES` words, and `to` is valid for `count` rows of as many words, which start `step` apart.
                unsafe { self.0.transpose_raw_f(rows.add(half), at + column, to, step, some) }
            }
        }
    }

    #[inline(always)]
    unsafe fn add_up_raw_f(self, v: [Self::F; 8], to: *mut f32) {
        let mut halves = [self.0.splat_f(0.0); 8];
        for (half, (a, b)) in halves.iter_mut().zip(v) {
            *half = self.0.add_f(a, b);
        }
        // SAFETY: `to` is valid for writing 8 words by this method's contract.
        unsafe { self.0.add_up_raw_f(halves, to) }
    }

    memory! {
        F f32: load_raw_f load_masked_raw_f store_raw_f store_masked_raw_f gather_raw_f scatter_raw_f;
        I i32: load_raw_i load_masked_raw_i store_raw_i store_masked_raw_i gather_raw_i scatter_raw_i;
        U u32: load_raw_u load_masked_raw_u store_raw_u store_masked_raw_u gather_raw_u scatter_raw_u;
    }
}
