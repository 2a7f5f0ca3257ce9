//! f16: 5 bits of exponent and 10 of fraction, as IEEE 754 has them.
//!
//! In: words or numbers. Out: numbers or words. Always: beyond the largest numbers there are infinities. NaN becomes quiet and
//! keeps what it has besides as far as there is room, which is what the instructions of some sets do.

use super::{INFINITE, MAGNITUDE, QUIET};
use crate::{Simd, Vectors};

/// What exponents of f32 are greater by, as bits of f32.
const BIAS: u32 = (127 - 15) << 23;
/// The bits of 2⁻¹⁴, the smallest normal number, as f32.
const NORMAL: u32 = BIAS + (1 << 23);
/// The bits of 2¹⁶, the power of two in whose place there is ∞, as f32.
const BEYOND: u32 = (127 + 16) << 23;
/// A number whose last bit as f32 is worth 2⁻²⁴, as that of a subnormal f16 is: sums with it are rounded there.
const RAISE: f32 = 0.5;

/// The number that the lowest 16 bits are as f16.
#[inline(always)]
pub fn f_from_f16<S: Simd>(s: S, x: S::U) -> S::F {
    s.f_from_f16(x)
}

/// The bits of the nearest f16, ties to even.
#[inline(always)]
pub fn f16_from_f<S: Simd>(s: S, x: S::F) -> S::U {
    s.f16_from_f(x)
}

/// The nearest number of f16, ties to even.
#[inline(always)]
pub fn round_f16<S: Simd>(s: S, x: S::F) -> S::F {
    s.round_f16(x)
}

/// [`f_from_f16`] where there is no instruction.
#[inline(always)]
pub(crate) fn decode<S: Vectors>(s: S, x: S::U) -> S::F {
    let shifted = s.shl_const_u::<13>(s.and_u(x, s.splat_u(0x7fff)));
    let size = s.i_from_u(shifted);
    // Where the exponent is 0, the fraction is what 2⁻¹⁴ with it is more than 2⁻¹⁴.
    let raised = s.f_of_bits(s.add_u(shifted, s.splat_u(NORMAL)));
    let small = s.bits_f(s.sub_f(raised, s.splat_f(f32::from_bits(NORMAL))));
    let normal = s.add_u(shifted, s.splat_u(BIAS));
    let bits = s.select_u(s.lt_i(size, s.splat_i(1 << 23)), small, normal);
    let infinite = 0x7c00 << 13;
    let special = s.select_u(s.eq_i(size, s.splat_i(infinite)), s.splat_u(0), s.splat_u(QUIET));
    let special = s.or_u(s.or_u(shifted, s.splat_u(INFINITE.cast_unsigned())), special);
    let bits = s.select_u(s.lt_i(size, s.splat_i(infinite)), bits, special);
    s.f_of_bits(s.or_u(bits, s.shl_const_u::<16>(s.and_u(x, s.splat_u(0x8000)))))
}

/// [`f16_from_f`] where there is no instruction.
#[inline(always)]
pub(crate) fn encode<S: Vectors>(s: S, x: S::F) -> S::U {
    let bits = s.bits_f(x);
    let size = s.and_u(bits, s.splat_u(MAGNITUDE));
    let order = s.i_from_u(size);
    let small = s.bits_f(s.add_f(s.f_of_bits(size), s.splat_f(RAISE)));
    let small = s.sub_u(small, s.splat_u(RAISE.to_bits()));
    let normal = s.shr_const_u::<13>(s.sub_u(nearest(s, order), s.splat_u(BIAS)));
    let found = s.select_u(s.lt_i(order, s.splat_i(NORMAL.cast_signed())), small, normal);
    let quiet = s.or_u(s.and_u(s.shr_const_u::<13>(size), s.splat_u(0x1ff)), s.splat_u(0x7e00));
    let found = s.select_u(s.lt_i(s.splat_i(INFINITE), order), quiet, found);
    s.or_u(found, s.and_u(s.shr_const_u::<16>(bits), s.splat_u(0x8000)))
}

/// [`round_f16`] where there is no instruction.
#[inline(always)]
pub(crate) fn round<S: Vectors>(s: S, x: S::F) -> S::F {
    let bits = s.bits_f(x);
    let size = s.and_u(bits, s.splat_u(MAGNITUDE));
    let order = s.i_from_u(size);
    let small = s.bits_f(s.sub_f(s.add_f(s.f_of_bits(size), s.splat_f(RAISE)), s.splat_f(RAISE)));
    let kept = s.splat_u(!0x1fff);
    let normal = s.and_u(nearest(s, order), kept);
    let finite = s.lt_i(s.i_from_u(normal), s.splat_i(BEYOND.cast_signed()));
    let normal = s.select_u(finite, normal, s.splat_u(INFINITE.cast_unsigned()));
    let found = s.select_u(s.lt_i(order, s.splat_i(NORMAL.cast_signed())), small, normal);
    let quiet = s.or_u(s.and_u(size, kept), s.splat_u(QUIET));
    let found = s.select_u(s.lt_i(s.splat_i(INFINITE), order), quiet, found);
    s.f_of_bits(s.or_u(found, s.and_u(bits, s.splat_u(!MAGNITUDE))))
}

/// The bits of an f32 that are at most those of [`BEYOND`], plus what rounds them behind the 10 bits of fraction.
#[inline(always)]
fn nearest<S: Vectors>(s: S, size: S::I) -> S::U {
    let size = s.u_from_i(s.min_i(size, s.splat_i(BEYOND.cast_signed())));
    let odd = s.and_u(s.shr_const_u::<13>(size), s.splat_u(1));
    s.add_u(size, s.add_u(odd, s.splat_u(0xfff)))
}
