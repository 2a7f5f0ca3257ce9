//! Rounding.
//!
//! In: numbers along K. Out: the same in fewer bits. Always: plain loops over integers and one rounding of a sum, so every
//! instruction set gives the same bits. Infinities and what is no number stay so, in bf16 for the element and in bytes for
//! all sums of its row or column.

/// The bf16 nearest to `x`, ties to even.
#[inline(always)]
pub(super) fn bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    let nearest = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    // What is no number could become infinite.
    let quiet = bits >> 16 | 0x40;
    if bits & 0x7fff_ffff > INFINITE { quiet } else { nearest }
}

const INFINITE: u32 = 0x7f80_0000;
/// 2⁻¹¹⁰: the quotient of 127 and this is finite. Smaller rows are zeros.
const LEAST: u32 = (127 - 110) << 23;
/// 3 · 2²²: a small number added to it is rounded to an integer, which are then the lowest bits.
const MAGIC: f32 = 12_582_912.0;
/// The largest integer.
const MOST: f32 = 127.0;

/// The bits of the magnitude of `x`, in which larger numbers are larger, and what is no number is largest.
#[inline(always)]
pub(super) fn magnitude(x: f32) -> u32 {
    x.to_bits() & 0x7fff_ffff
}

/// The scale of numbers whose largest magnitude has these bits, and what they are multiplied by.
#[inline(always)]
pub(super) fn scale(largest: u32) -> (f32, f32) {
    match largest {
        ..LEAST => (0.0, 0.0),
        LEAST..INFINITE => (f32::from_bits(largest) / MOST, MOST / f32::from_bits(largest)),
        INFINITE.. => (f32::NAN, 0.0),
    }
}

/// The integer nearest to `x · factor`, ties to even, as a byte of a word.
#[inline(always)]
pub(super) fn byte(x: f32, factor: f32) -> u32 {
    (x * factor + MAGIC).to_bits() & 0xff
}
