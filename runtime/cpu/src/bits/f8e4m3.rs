//! The format E4M3 of OCP's 8-bit floats: 4 bits of exponent and 3 of fraction, no infinities, and NaN where all bits are 1.
//!
//! In: words or numbers. Out: numbers or words. Always: what is greater than 448, the largest number, becomes that, as in
//! PyTorch's conversion to `float8_e4m3fn` and ONNX's `Cast`; so do infinities. NaN has one form of each sign.

use super::MAGNITUDE;
use crate::Simd;

/// What exponents of f32 are greater by, as bits of f32.
const BIAS: u32 = (127 - 7) << 23;
/// The bits of 2⁻⁶, the smallest normal number, as f32.
const NORMAL: u32 = BIAS + (1 << 23);
/// The bits of 448, the largest number, as f32.
const LARGEST: u32 = BIAS + (0x7e << 20);
/// The bits of ∞ as f32, above which there are NaNs.
const INFINITE: u32 = 0x7f80_0000;
/// The bits of NaN as f32.
const NAN: u32 = 0x7fc0_0000;
/// A number whose last bit as f32 is worth 2⁻⁹, as that of a subnormal number here is: sums with it are rounded there.
const RAISE: f32 = 16_384.0;

/// The number that the lowest 8 bits are in E4M3.
#[inline(always)]
pub fn f_from_f8e4m3<S: Simd>(s: S, x: S::U) -> S::F {
    let shifted = s.shl_const_u::<20>(s.and_u(x, s.splat_u(0x7f)));
    let size = s.i_from_u(shifted);
    // Where the exponent is 0, the fraction is what 2⁻⁶ with it is more than 2⁻⁶.
    let raised = s.f_of_bits(s.add_u(shifted, s.splat_u(NORMAL)));
    let small = s.bits_f(s.sub_f(raised, s.splat_f(f32::from_bits(NORMAL))));
    let normal = s.add_u(shifted, s.splat_u(BIAS));
    let bits = s.select_u(s.lt_i(size, s.splat_i(1 << 23)), small, normal);
    let bits = s.select_u(s.eq_i(size, s.splat_i(0x7f << 20)), s.splat_u(NAN), bits);
    s.f_of_bits(s.or_u(bits, s.shl_const_u::<24>(s.and_u(x, s.splat_u(0x80)))))
}

/// The bits of the nearest number of E4M3, ties to even.
#[inline(always)]
pub fn f8e4m3_from_f<S: Simd>(s: S, x: S::F) -> S::U {
    let bits = s.bits_f(x);
    let size = s.and_u(bits, s.splat_u(MAGNITUDE));
    let order = s.i_from_u(size);
    let small = s.bits_f(s.add_f(s.f_of_bits(size), s.splat_f(RAISE)));
    let small = s.sub_u(small, s.splat_u(RAISE.to_bits()));
    let normal = s.shr_const_u::<20>(s.sub_u(nearest(s, order), s.splat_u(BIAS)));
    let found = s.select_u(s.lt_i(order, s.splat_i(NORMAL.cast_signed())), small, normal);
    let found = s.select_u(s.lt_i(s.splat_i(INFINITE.cast_signed()), order), s.splat_u(0x7f), found);
    s.or_u(found, s.and_u(s.shr_const_u::<24>(bits), s.splat_u(0x80)))
}

/// The nearest number of E4M3, ties to even.
#[inline(always)]
pub fn round_f8e4m3<S: Simd>(s: S, x: S::F) -> S::F {
    let bits = s.bits_f(x);
    let size = s.and_u(bits, s.splat_u(MAGNITUDE));
    let order = s.i_from_u(size);
    let small = s.bits_f(s.sub_f(s.add_f(s.f_of_bits(size), s.splat_f(RAISE)), s.splat_f(RAISE)));
    let normal = s.and_u(nearest(s, order), s.splat_u(!0xf_ffff));
    let found = s.select_u(s.lt_i(order, s.splat_i(NORMAL.cast_signed())), small, normal);
    let found = s.select_u(s.lt_i(s.splat_i(INFINITE.cast_signed()), order), s.splat_u(NAN), found);
    s.f_of_bits(s.or_u(found, s.and_u(bits, s.splat_u(!MAGNITUDE))))
}

/// The bits of an f32 that are at most those of [`LARGEST`], plus what rounds them behind the 3 bits of fraction.
#[inline(always)]
fn nearest<S: Simd>(s: S, size: S::I) -> S::U {
    let size = s.u_from_i(s.min_i(size, s.splat_i(LARGEST.cast_signed())));
    let odd = s.and_u(s.shr_const_u::<20>(size), s.splat_u(1));
    s.add_u(size, s.add_u(odd, s.splat_u(0x7_ffff)))
}
