//! bf16: the upper half of an f32.
//!
//! In: words or numbers. Out: numbers or words. Always: beyond the largest numbers there are infinities. NaN becomes quiet and
//! keeps its upper bits, as `contract/narrow/round.rs` has it.

use super::{INFINITE, MAGNITUDE, QUIET};
use crate::Simd;

/// The number that the lowest 16 bits are as bf16.
#[inline(always)]
pub fn f_from_bf16<S: Simd>(s: S, x: S::U) -> S::F {
    s.f_of_bits(s.shl_const_u::<16>(x))
}

/// The bits of the nearest bf16, ties to even.
#[inline(always)]
pub fn bf16_from_f<S: Simd>(s: S, x: S::F) -> S::U {
    s.shr_const_u::<16>(nearest(s, x))
}

/// The nearest number of bf16, ties to even.
#[inline(always)]
pub fn round_bf16<S: Simd>(s: S, x: S::F) -> S::F {
    s.f_of_bits(s.and_u(nearest(s, x), s.splat_u(0xffff_0000)))
}

/// The word whose upper half is the nearest bf16.
#[inline(always)]
fn nearest<S: Simd>(s: S, x: S::F) -> S::U {
    let bits = s.bits_f(x);
    let odd = s.and_u(s.shr_const_u::<16>(bits), s.splat_u(1));
    let nearest = s.add_u(bits, s.add_u(odd, s.splat_u(0x7fff)));
    let size = s.i_from_u(s.and_u(bits, s.splat_u(MAGNITUDE)));
    // What is no number could become infinite.
    s.select_u(s.lt_i(s.splat_i(INFINITE), size), s.or_u(bits, s.splat_u(QUIET)), nearest)
}
