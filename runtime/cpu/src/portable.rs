//! The instruction set that every machine has: arrays of 8 lanes, which LLVM vectorises for the target's baseline.
//!
//! In and out: as [`Vectors`] says. Always: plain Rust arithmetic. It also serves aarch64 and wasm32 for now.

mod fewer;
mod wide;

use super::Vectors;

/// The token of the portable instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

const LANES: usize = 8;

/// Eight lanes, aligned like a vector register.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Lanes<T>([T; LANES]);

/// The array of a value for each lane.
macro_rules! each_lane {
    ($lane:ident => $value:expr) => {
        crate::lanes::each_lane!($lane [0 1 2 3 4 5 6 7] => $value)
    };
}

macro_rules! lanewise {
    ($self:ident; $($name:ident($($arg:ident: $t:ident),+) -> $out:ident = $lane:expr;)*) => {$(
        #[inline(always)]
        fn $name($self, $($arg: Self::$t),+) -> Self::$out {
            Lanes(each_lane!(lane => {
                $(let $arg = $arg.0[lane];)+
                $lane
            }))
        }
    )*};
}

macro_rules! fold {
    ($self:ident; $($name:ident: $t:ident -> $e:ty = $op:ident;)*) => {$(
        #[inline(always)]
        fn $name($self, x: Self::$t) -> $e {
            let [a, b, c, d, e, f, g, h] = x.0;
            $op($op($op(a, e), $op(c, g)), $op($op(b, f), $op(d, h)))
        }
    )*};
}

macro_rules! memory {
    ($self:ident; $($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load($self, p: *const $e) -> Self::$t {
            // SAFETY: `p` is valid for reading `LANES` words by this method's contract; no alignment is assumed.
            Lanes(unsafe { p.cast::<[$e; LANES]>().read_unaligned() })
        }
        #[inline(always)]
        unsafe fn $load_masked($self, p: *const $e, m: Self::M) -> Self::$t {
            Lanes(each_lane!(lane => match m.0[lane] {
                0 => <$e>::default(),
                // SAFETY: the lane is in `m`, at each lane of which `p` is valid for reading by contract.
                _ => unsafe { p.add(lane).read() },
            }))
        }
        #[inline(always)]
        unsafe fn $store($self, p: *mut $e, v: Self::$t) {
            // SAFETY: `p` is valid for writing `LANES` words by this method's contract; no alignment is assumed.
            unsafe { p.cast::<[$e; LANES]>().write_unaligned(v.0) }
        }
        #[inline(always)]
        unsafe fn $store_masked($self, p: *mut $e, m: Self::M, v: Self::$t) {
            each_lane!(lane => if m.0[lane] != 0 {
                // SAFETY: the lane is in `m`, at each lane of which `p` is valid for writing by contract.
                unsafe { p.add(lane).write(v.0[lane]) };
            });
        }
        #[inline(always)]
        unsafe fn $gather($self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t {
            Lanes(each_lane!(lane => match m.0[lane] {
                0 => <$e>::default(),
                // SAFETY: the lane is in `m`, at the index of each lane of which `p` is valid for reading by contract.
                _ => unsafe { p.offset(idx.0[lane] as isize).read() },
            }))
        }
        #[inline(always)]
        unsafe fn $scatter($self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t) {
            each_lane!(lane => if m.0[lane] != 0 {
                // SAFETY: the lane is in `m`, at the index of each lane of which `p` is valid for writing by contract.
                unsafe { p.offset(idx.0[lane] as isize).write(v.0[lane]) };
            });
        }
    )*};
}

impl Vectors for Portable {
    const LANES: usize = LANES;
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
    const SCALARS: bool = true;
    const ROWS: usize = if cfg!(target_arch = "aarch64") { 5 } else { 2 };

    type F = Lanes<f32>;
    type I = Lanes<i32>;
    type U = Lanes<u32>;
    /// All ones or all zeros per lane, so that selection is bitwise.
    type M = Lanes<u32>;

    #[inline(always)]
    fn splat_f(self, x: f32) -> Self::F {
        Lanes([x; LANES])
    }
    #[inline(always)]
    fn splat_i(self, x: i32) -> Self::I {
        Lanes([x; LANES])
    }
    #[inline(always)]
    fn splat_u(self, x: u32) -> Self::U {
        Lanes([x; LANES])
    }
    #[inline(always)]
    fn splat_m(self, x: bool) -> Self::M {
        Lanes([mask(x); LANES])
    }
    #[inline(always)]
    fn iota_i(self) -> Self::I {
        Lanes([0, 1, 2, 3, 4, 5, 6, 7])
    }
    #[inline(always)]
    fn iota_u(self) -> Self::U {
        Lanes([0, 1, 2, 3, 4, 5, 6, 7])
    }
    #[inline(always)]
    fn mask_first(self, n: usize) -> Self::M {
        let n = n.min(LANES) as u32;
        self.lt_u(self.iota_u(), self.splat_u(n))
    }
    #[inline(always)]
    fn any_m(self, x: Self::M) -> bool {
        x.0 != [0; LANES]
    }
    #[inline(always)]
    fn all_m(self, x: Self::M) -> bool {
        !x.0.contains(&0)
    }
    #[inline(always)]
    fn shl_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        self.shl_i(x, self.splat_i(N as i32))
    }
    #[inline(always)]
    fn shr_const_i<const N: u32>(self, x: Self::I) -> Self::I {
        self.shr_i(x, self.splat_i(N as i32))
    }
    #[inline(always)]
    fn shl_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        self.shl_u(x, self.splat_u(N))
    }
    #[inline(always)]
    fn shr_const_u<const N: u32>(self, x: Self::U) -> Self::U {
        self.shr_u(x, self.splat_u(N))
    }

    lanewise! { self;
        add_f(a: F, b: F) -> F = a + b;
        sub_f(a: F, b: F) -> F = a - b;
        mul_f(a: F, b: F) -> F = a * b;
        div_f(a: F, b: F) -> F = a / b;
        max_f(a: F, b: F) -> F = max_f32(a, b);
        min_f(a: F, b: F) -> F = min_f32(a, b);
        at_most_f(x: F, bound: F) -> F = if bound < x { bound } else { x };
        at_least_f(x: F, bound: F) -> F = if bound > x { bound } else { x };
        mul_add_f(a: F, b: F, c: F) -> F = if Self::FUSED { a.mul_add(b, c) } else { a * b + c };
        neg_f(x: F) -> F = -x;
        abs_f(x: F) -> F = f32::from_bits(x.to_bits() & 0x7fff_ffff);
        sqrt_f(x: F) -> F = x.sqrt();
        floor_f(x: F) -> F = {
            let whole = truncate(x);
            with_sign(whole - if whole > x { 1.0 } else { 0.0 }, x)
        };
        ceil_f(x: F) -> F = {
            let whole = truncate(x);
            with_sign(whole + if whole < x { 1.0 } else { 0.0 }, x)
        };
        round_f(x: F) -> F = {
            let magnitude = f32::from_bits(x.to_bits() & 0x7fff_ffff);
            let rounded = (magnitude + INTEGERS) - INTEGERS;
            with_sign(if magnitude < INTEGERS { rounded } else { x }, x)
        };
        trunc_f(x: F) -> F = with_sign(truncate(x), x);
        eq_f(a: F, b: F) -> M = mask(a == b);
        lt_f(a: F, b: F) -> M = mask(a < b);
        le_f(a: F, b: F) -> M = mask(a <= b);
        select_f(m: M, a: F, b: F) -> F = f32::from_bits(a.to_bits() & m | b.to_bits() & !m);

        add_i(a: I, b: I) -> I = a.wrapping_add(b);
        sub_i(a: I, b: I) -> I = a.wrapping_sub(b);
        mul_i(a: I, b: I) -> I = a.wrapping_mul(b);
        div_i(a: I, b: I) -> I = if b == 0 { 0 } else { a.wrapping_div(b) };
        rem_i(a: I, b: I) -> I = if b == 0 { 0 } else { a.wrapping_rem(b) };
        max_i(a: I, b: I) -> I = if a > b { a } else { b };
        min_i(a: I, b: I) -> I = if a < b { a } else { b };
        and_i(a: I, b: I) -> I = a & b;
        or_i(a: I, b: I) -> I = a | b;
        xor_i(a: I, b: I) -> I = a ^ b;
        not_i(x: I) -> I = !x;
        neg_i(x: I) -> I = x.wrapping_neg();
        abs_i(x: I) -> I = x.wrapping_abs();
        shl_i(x: I, by: I) -> I = x << (by & 31);
        shr_i(x: I, by: I) -> I = x >> (by & 31);
        eq_i(a: I, b: I) -> M = mask(a == b);
        lt_i(a: I, b: I) -> M = mask(a < b);
        le_i(a: I, b: I) -> M = mask(a <= b);
        select_i(m: M, a: I, b: I) -> I = a & m as i32 | b & !m as i32;

        add_u(a: U, b: U) -> U = a.wrapping_add(b);
        sub_u(a: U, b: U) -> U = a.wrapping_sub(b);
        mul_u(a: U, b: U) -> U = a.wrapping_mul(b);
        div_u(a: U, b: U) -> U = a.checked_div(b).unwrap_or(0);
        rem_u(a: U, b: U) -> U = a.checked_rem(b).unwrap_or(0);
        max_u(a: U, b: U) -> U = if a > b { a } else { b };
        min_u(a: U, b: U) -> U = if a < b { a } else { b };
        and_u(a: U, b: U) -> U = a & b;
        or_u(a: U, b: U) -> U = a | b;
        xor_u(a: U, b: U) -> U = a ^ b;
        not_u(x: U) -> U = !x;
        shl_u(x: U, by: U) -> U = x << (by & 31);
        shr_u(x: U, by: U) -> U = x >> (by & 31);
        eq_u(a: U, b: U) -> M = mask(a == b);
        lt_u(a: U, b: U) -> M = mask(a < b);
        le_u(a: U, b: U) -> M = mask(a <= b);
        select_u(m: M, a: U, b: U) -> U = a & m | b & !m;

        and_m(a: M, b: M) -> M = a & b;
        or_m(a: M, b: M) -> M = a | b;
        xor_m(a: M, b: M) -> M = a ^ b;
        not_m(x: M) -> M = !x;

        f_from_i(x: I) -> F = x as f32;
        f_from_u(x: U) -> F = x as f32;
        i_from_f(x: F) -> I = x as i32;
        u_from_f(x: F) -> U = x as u32;
        i_from_u(x: U) -> I = x as i32;
        u_from_i(x: I) -> U = x as u32;
        bits_f(x: F) -> U = x.to_bits();
        f_of_bits(x: U) -> F = f32::from_bits(x);
        scale_f(x: F, n: F) -> F = {
            let n = n as i32;
            let half = n >> 1;
            x * power_of_two(half) * power_of_two(n - half)
        };
    }

    fold! { self;
        reduce_add_f: F -> f32 = add_f32;
        reduce_mul_f: F -> f32 = mul_f32;
        reduce_max_f: F -> f32 = max_f32;
        reduce_min_f: F -> f32 = min_f32;
        reduce_add_i: I -> i32 = add_i32;
        reduce_mul_i: I -> i32 = mul_i32;
        reduce_max_i: I -> i32 = max;
        reduce_min_i: I -> i32 = min;
        reduce_add_u: U -> u32 = add_u32;
        reduce_mul_u: U -> u32 = mul_u32;
        reduce_max_u: U -> u32 = max;
        reduce_min_u: U -> u32 = min;
    }

    memory! { self;
        F f32: load_raw_f load_masked_raw_f store_raw_f store_masked_raw_f gather_raw_f scatter_raw_f;
        I i32: load_raw_i load_masked_raw_i store_raw_i store_masked_raw_i gather_raw_i scatter_raw_i;
        U u32: load_raw_u load_masked_raw_u store_raw_u store_masked_raw_u gather_raw_u scatter_raw_u;
    }
}

/// From 2²³ on every f32 is an integer, so adding and subtracting it rounds to the nearest integer.
const INTEGERS: f32 = 8_388_608.0;

#[inline(always)]
fn mask(x: bool) -> u32 {
    u32::from(x).wrapping_neg()
}

/// NaN is above everything here, so that it propagates.
#[inline(always)]
fn max_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() || a > b { a } else { b }
}

#[inline(always)]
fn min_f32(a: f32, b: f32) -> f32 {
    if a.is_nan() || a < b { a } else { b }
}

#[inline(always)]
fn max<T: PartialOrd>(a: T, b: T) -> T {
    if a > b { a } else { b }
}

#[inline(always)]
fn min<T: PartialOrd>(a: T, b: T) -> T {
    if a < b { a } else { b }
}

#[inline(always)]
fn add_f32(a: f32, b: f32) -> f32 {
    a + b
}

#[inline(always)]
fn mul_f32(a: f32, b: f32) -> f32 {
    a * b
}

#[inline(always)]
fn add_i32(a: i32, b: i32) -> i32 {
    a.wrapping_add(b)
}

#[inline(always)]
fn mul_i32(a: i32, b: i32) -> i32 {
    a.wrapping_mul(b)
}

#[inline(always)]
fn add_u32(a: u32, b: u32) -> u32 {
    a.wrapping_add(b)
}

#[inline(always)]
fn mul_u32(a: u32, b: u32) -> u32 {
    a.wrapping_mul(b)
}

/// Rounds towards zero; the sign of a zero is lost.
#[inline(always)]
fn truncate(x: f32) -> f32 {
    let magnitude = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    if magnitude < INTEGERS { x as i32 as f32 } else { x }
}

/// `x`, which is 0 or has the sign of `sign`, with that sign.
#[inline(always)]
fn with_sign(x: f32, sign: f32) -> f32 {
    f32::from_bits(x.to_bits() | (sign.to_bits() & 0x8000_0000))
}

/// `2ⁿ` for `n` from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}
