//! Numbers of 8 and 16 bits in lanes of 32 bits.
//!
//! In: the lowest bits of words, or numbers. Out: numbers, or words whose other bits are 0. Always: without branches, and the
//! same bits on every instruction set. What is rounded goes to the nearest number of the format, ties to even, subnormal
//! numbers included; NaN stays NaN and keeps its sign.

mod bf16;
pub(crate) mod f16;
mod f8e4m3;
mod integers;

pub use bf16::{bf16_from_f, f_from_bf16, round_bf16};
pub use f8e4m3::{f_from_f8e4m3, f8e4m3_from_f, round_f8e4m3};
pub use f16::{f_from_f16, f16_from_f, round_f16};
pub use integers::{i_from_i8, i_from_i16};

/// The bits of an f32 but for its sign.
const MAGNITUDE: u32 = 0x7fff_ffff;
/// The bits of ∞ as f32: what is greater is NaN.
const INFINITE: i32 = 0x7f80_0000;
/// The bit of f32 that says that NaN is quiet.
const QUIET: u32 = 0x40_0000;

#[cfg(test)]
mod tests;
