//! Signed integers of 8 and 16 bits.
//!
//! In: words, whose lowest bits count. Out: integers of 32 bits. Always: the highest of the lowest bits is the sign.

use crate::Simd;

/// The lowest 8 bits as an integer with a sign.
#[inline(always)]
pub fn i_from_i8<S: Simd>(s: S, x: S::U) -> S::I {
    s.shr_const_i::<24>(s.shl_const_i::<24>(s.i_from_u(x)))
}

/// The lowest 16 bits as an integer with a sign.
#[inline(always)]
pub fn i_from_i16<S: Simd>(s: S, x: S::U) -> S::I {
    s.shr_const_i::<16>(s.shl_const_i::<16>(s.i_from_u(x)))
}
