//! 64-bit lanes of two vectors that are worked on in turns.
//!
//! In and out: as [`Wide`] says. Always: each operation is two of the other set's.

use super::{Twice, folds, halves, memory, shifts, splats};
use crate::{Simd, Wide};

impl<S: Simd, const STRICT: bool> Wide for Twice<S, STRICT> {
    type D = (S::D, S::D);
    type L = (S::L, S::L);
    type Q = (S::Q, S::Q);

    splats! {
        splat_d: f64 => D;
        splat_l: i64 => L;
        splat_q: u64 => Q;
    }

    halves! {
        add_d(a: D, b: D) -> D;
        sub_d(a: D, b: D) -> D;
        mul_d(a: D, b: D) -> D;
        div_d(a: D, b: D) -> D;
        max_d(a: D, b: D) -> D;
        min_d(a: D, b: D) -> D;
        at_most_d(x: D, bound: D) -> D;
        at_least_d(x: D, bound: D) -> D;
        neg_d(x: D) -> D;
        abs_d(x: D) -> D;
        sqrt_d(x: D) -> D;
        floor_d(x: D) -> D;
        ceil_d(x: D) -> D;
        round_d(x: D) -> D;
        trunc_d(x: D) -> D;
        scale_d(x: D, n: D) -> D;
        eq_d(a: D, b: D) -> M;
        lt_d(a: D, b: D) -> M;
        le_d(a: D, b: D) -> M;
        select_d(m: M, a: D, b: D) -> D;
        bits_d(x: D) -> Q;
        d_of_bits(x: Q) -> D;
        add_l(a: L, b: L) -> L;
        sub_l(a: L, b: L) -> L;
        mul_l(a: L, b: L) -> L;
        div_l(a: L, b: L) -> L;
        rem_l(a: L, b: L) -> L;
        max_l(a: L, b: L) -> L;
        min_l(a: L, b: L) -> L;
        neg_l(x: L) -> L;
        abs_l(x: L) -> L;
        and_l(a: L, b: L) -> L;
        or_l(a: L, b: L) -> L;
        xor_l(a: L, b: L) -> L;
        not_l(x: L) -> L;
        shl_l(x: L, by: L) -> L;
        shr_l(x: L, by: L) -> L;
        eq_l(a: L, b: L) -> M;
        lt_l(a: L, b: L) -> M;
        le_l(a: L, b: L) -> M;
        select_l(m: M, a: L, b: L) -> L;
        add_q(a: Q, b: Q) -> Q;
        sub_q(a: Q, b: Q) -> Q;
        mul_q(a: Q, b: Q) -> Q;
        div_q(a: Q, b: Q) -> Q;
        rem_q(a: Q, b: Q) -> Q;
        max_q(a: Q, b: Q) -> Q;
        min_q(a: Q, b: Q) -> Q;
        and_q(a: Q, b: Q) -> Q;
        or_q(a: Q, b: Q) -> Q;
        xor_q(a: Q, b: Q) -> Q;
        not_q(x: Q) -> Q;
        shl_q(x: Q, by: Q) -> Q;
        shr_q(x: Q, by: Q) -> Q;
        eq_q(a: Q, b: Q) -> M;
        lt_q(a: Q, b: Q) -> M;
        le_q(a: Q, b: Q) -> M;
        select_q(m: M, a: Q, b: Q) -> Q;
        d_from_f(x: F) -> D;
        d_from_i(x: I) -> D;
        d_from_u(x: U) -> D;
        d_from_l(x: L) -> D;
        d_from_q(x: Q) -> D;
        f_from_d(x: D) -> F;
        f_from_l(x: L) -> F;
        f_from_q(x: Q) -> F;
        i_from_d(x: D) -> I;
        i_from_l(x: L) -> I;
        i_from_q(x: Q) -> I;
        u_from_d(x: D) -> U;
        u_from_l(x: L) -> U;
        u_from_q(x: Q) -> U;
        l_from_f(x: F) -> L;
        l_from_d(x: D) -> L;
        l_from_i(x: I) -> L;
        l_from_u(x: U) -> L;
        l_from_q(x: Q) -> L;
        q_from_f(x: F) -> Q;
        q_from_d(x: D) -> Q;
        q_from_i(x: I) -> Q;
        q_from_u(x: U) -> Q;
        q_from_l(x: L) -> Q;
    }

    #[inline(always)]
    fn mul_add_d(self, a: Self::D, b: Self::D, c: Self::D) -> Self::D {
        if STRICT {
            return self.add_d(self.mul_d(a, b), c);
        }
        (self.0.mul_add_d(a.0, b.0, c.0), self.0.mul_add_d(a.1, b.1, c.1))
    }

    shifts! {
        shl_const_l: L;
        shr_const_l: L;
        shl_const_q: Q;
        shr_const_q: Q;
    }

    folds! {
        reduce_add_d: D -> f64 = add_d;
        reduce_mul_d: D -> f64 = mul_d;
        reduce_max_d: D -> f64 = max_d;
        reduce_min_d: D -> f64 = min_d;
        reduce_add_l: L -> i64 = add_l;
        reduce_mul_l: L -> i64 = mul_l;
        reduce_max_l: L -> i64 = max_l;
        reduce_min_l: L -> i64 = min_l;
        reduce_add_q: Q -> u64 = add_q;
        reduce_mul_q: Q -> u64 = mul_q;
        reduce_max_q: Q -> u64 = max_q;
        reduce_min_q: Q -> u64 = min_q;
    }

    memory! {
        D f64: load_raw_d load_masked_raw_d store_raw_d store_masked_raw_d gather_raw_d scatter_raw_d;
        L i64: load_raw_l load_masked_raw_l store_raw_l store_masked_raw_l gather_raw_l scatter_raw_l;
        Q u64: load_raw_q load_masked_raw_q store_raw_q store_masked_raw_q gather_raw_q scatter_raw_q;
    }

    #[inline(always)]
    unsafe fn stream_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: by contract `p` is valid for writing `2 · S::LANES` words, aligned to half as many bytes or to 64, so each
        // half is aligned as `S` asks; other threads read the words after `settle` only.
        unsafe {
            self.0.stream_raw_d(p, v.0);
            self.0.stream_raw_d(p.add(S::LANES), v.1);
        }
    }

    #[inline(always)]
    unsafe fn transpose_raw_d(self, rows: *const *const f64, at: usize, to: *mut f64, step: usize, count: usize) {
        for column in (0..count).step_by(S::LANES) {
            // The second half first: of rows that overlap, the next one is what stays.
            for half in [S::LANES, 0] {
                let (some, to) = (S::LANES.min(count - column), to.wrapping_add(column * step + half));
                // SAFETY: by contract there are `2 · S::LANES` rows, `S::LANES` of them for each half, with
                // `at + 2 · S::LANES` words, and `to` is valid for `count` rows of as many words, which start `step` apart.
                unsafe { self.0.transpose_raw_d(rows.add(half), at + column, to, step, some) }
            }
        }
    }
}
