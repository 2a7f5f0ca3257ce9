//! 64-bit lanes of the portable set: arrays of 8.
//!
//! In and out: as [`Wide`] says. Always: plain Rust arithmetic.

use super::{LANES, Lanes, Portable};
use crate::lanes::{array_memory, each_lane, halving, lanewise, long_integers};
use crate::{Vectors, Wide};

/// From 2⁵² on every f64 is an integer, so adding and subtracting it rounds to the nearest integer.
const INTEGERS: f64 = 4_503_599_627_370_496.0;

impl Portable {
    #[inline(always)]
    fn floats(self, x: Lanes<f32>) -> [f32; LANES] {
        x.0
    }
    #[inline(always)]
    fn of_floats(self, x: [f32; LANES]) -> Lanes<f32> {
        Lanes(x)
    }
    #[inline(always)]
    fn integers(self, x: Lanes<i32>) -> [i32; LANES] {
        x.0
    }
    #[inline(always)]
    fn of_integers(self, x: [i32; LANES]) -> Lanes<i32> {
        Lanes(x)
    }
    #[inline(always)]
    fn words(self, x: Lanes<u32>) -> [u32; LANES] {
        x.0
    }
    #[inline(always)]
    fn of_words(self, x: [u32; LANES]) -> Lanes<u32> {
        Lanes(x)
    }
    #[inline(always)]
    fn doubles(self, x: [f64; LANES]) -> [f64; LANES] {
        x
    }
    #[inline(always)]
    fn of_doubles(self, x: [f64; LANES]) -> [f64; LANES] {
        x
    }
    #[inline(always)]
    fn truths(self, m: Lanes<u32>) -> [bool; LANES] {
        each_lane!(lane [0 1 2 3 4 5 6 7] => m.0[lane] != 0)
    }
    #[inline(always)]
    fn of_truths(self, m: [bool; LANES]) -> Lanes<u32> {
        Lanes(each_lane!(lane [0 1 2 3 4 5 6 7] => super::mask(m[lane])))
    }
}

impl Wide for Portable {
    type D = [f64; LANES];
    type L = [i64; LANES];
    type Q = [u64; LANES];

    long_integers! { self [0 1 2 3 4 5 6 7] }

    #[inline(always)]
    fn splat_d(self, x: f64) -> Self::D {
        [x; LANES]
    }

    lanewise! { self [0 1 2 3 4 5 6 7];
        add_d(a: D, b: D) -> D = a + b;
        sub_d(a: D, b: D) -> D = a - b;
        mul_d(a: D, b: D) -> D = a * b;
        div_d(a: D, b: D) -> D = a / b;
        max_d(a: D, b: D) -> D = larger(a, b);
        min_d(a: D, b: D) -> D = smaller(a, b);
        at_most_d(x: D, bound: D) -> D = if bound < x { bound } else { x };
        at_least_d(x: D, bound: D) -> D = if bound > x { bound } else { x };
        mul_add_d(a: D, b: D, c: D) -> D = if Self::FUSED { a.mul_add(b, c) } else { a * b + c };
        neg_d(x: D) -> D = -x;
        abs_d(x: D) -> D = magnitude(x);
        sqrt_d(x: D) -> D = x.sqrt();
        floor_d(x: D) -> D = {
            let whole = rounded(x);
            with_sign(whole - if whole > x { 1.0 } else { 0.0 }, x)
        };
        ceil_d(x: D) -> D = {
            let whole = rounded(x);
            with_sign(whole + if whole < x { 1.0 } else { 0.0 }, x)
        };
        round_d(x: D) -> D = rounded(x);
        trunc_d(x: D) -> D = {
            let whole = rounded(magnitude(x));
            with_sign(whole - if whole > magnitude(x) { 1.0 } else { 0.0 }, x)
        };
        scale_d(x: D, n: D) -> D = {
            let n = n as i32;
            let half = n >> 1;
            x * power_of_two(half) * power_of_two(n - half)
        };
        eq_d(a: D, b: D) -> M = a == b;
        lt_d(a: D, b: D) -> M = a < b;
        le_d(a: D, b: D) -> M = a <= b;
        select_d(m: M, a: D, b: D) -> D = if m { a } else { b };
        d_from_f(x: F) -> D = f64::from(x);
        d_from_i(x: I) -> D = f64::from(x);
        d_from_u(x: U) -> D = f64::from(x);
        f_from_d(x: D) -> F = x as f32;
        i_from_d(x: D) -> I = x as i32;
        u_from_d(x: D) -> U = x as u32;
    }

    halving! { self;
        reduce_add_d: D -> f64, a b = a + b;
        reduce_mul_d: D -> f64, a b = a * b;
        reduce_max_d: D -> f64, a b = larger(a, b);
        reduce_min_d: D -> f64, a b = smaller(a, b);
    }

    array_memory! { self [0 1 2 3 4 5 6 7];
        D f64: load_raw_d load_masked_raw_d store_raw_d store_masked_raw_d gather_raw_d scatter_raw_d;
            L i64: load_raw_l load_masked_raw_l store_raw_l store_masked_raw_l gather_raw_l scatter_raw_l;
        Q u64: load_raw_q load_masked_raw_q store_raw_q store_masked_raw_q gather_raw_q scatter_raw_q;
    }
}

/// NaN is above everything here, so that it propagates.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || a > b { a } else { b }
}

#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b { a } else { b }
}

#[inline(always)]
fn magnitude(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & (u64::MAX >> 1))
}

/// The nearest integer, ties to even.
#[inline(always)]
fn rounded(x: f64) -> f64 {
    let whole = (magnitude(x) + INTEGERS) - INTEGERS;
    with_sign(if magnitude(x) < INTEGERS { whole } else { x }, x)
}

/// `x`, which is 0 or has the sign of `sign`, with that sign.
#[inline(always)]
fn with_sign(x: f64, sign: f64) -> f64 {
    f64::from_bits(x.to_bits() | (sign.to_bits() & 1 << 63))
}

/// `2ⁿ` for `n` from -1022 to 1023.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}
