//! Bytes on AVX-512 VNNI: one instruction multiplies the four bytes of each of sixteen words and adds up.
//!
//! In: a block. Out: its sums. Always: a token proves that the machine has the instructions; sums wrap, and are right because
//! what is left after subtraction of what 128 in every byte adds is an i32.

use core::arch::x86_64::*;

use super::WIDTH;
use super::unit::Block;

/// The proof that the machine has AVX-512 F and VNNI.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vnni(());

impl Vnni {
    /// The token, if the machine has the instructions.
    pub(super) fn new() -> Option<Vnni> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")).then_some(Vnni(()))
    }

    /// Sums a block of bytes.
    ///
    /// # Safety
    /// `block` must have rows of `depth.padded` words, panels, and valid sums for all of them.
    pub(super) unsafe fn multiply(self, block: &Block) {
        // SAFETY: the token proves that the machine has the features; `block` has rows of `depth.padded` words, panels, and
        // sums for all of them, by this function's contract.
        unsafe { multiply(block) }
    }
}

/// Panels at a time.
const PANELS: usize = 4;

/// Sums a block of bytes, two rows and some panels at a time.
///
/// # Safety
/// The machine must have the features, and `block` rows of `depth.padded` words, panels, and valid sums for all of them.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn multiply(block: &Block) {
    let mut panel = 0;
    while panel < block.panels {
        let wide = block.panels - panel >= PANELS;
        let mut row = 0;
        while row < block.rows {
            let two = block.rows - row >= 2;
            // SAFETY: the features are enabled here too. `two` and `wide` say that so many rows and panels are left; the
            // block has their words and sums, by this function's contract.
            unsafe {
                match (wide, two) {
                    (true, true) => tile::<2, PANELS>(block, (row, panel)),
                    (true, false) => tile::<1, PANELS>(block, (row, panel)),
                    (false, true) => tile::<2, 1>(block, (row, panel)),
                    (false, false) => tile::<1, 1>(block, (row, panel)),
                }
            }
            row += if two { 2 } else { 1 };
        }
        panel += if wide { PANELS } else { 1 };
    }
}

/// `R` rows with `P` panels. Even and odd words have sums of their own, so that additions do not wait for each other.
///
/// # Safety
/// The machine must have the features, and `block` `R` rows of `depth.padded` words from `row` on, `P` panels from `panel`
/// on, and valid sums for all of them.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn tile<const R: usize, const P: usize>(block: &Block, (row, panel): (usize, usize)) {
    let mut sums = [[[_mm512_setzero_si512(); P]; R]; 2];
    let span = block.depth.padded * WIDTH;
    let (a, b) = (block.a.wrapping_add(row * block.pitch), block.b.wrapping_add(panel * span));
    // Zeros fill up an odd number of words.
    for k in (0..block.depth.words).step_by(2) {
        for (half, sums) in sums.iter_mut().enumerate() {
            for p in 0..P {
                // SAFETY: `k + half` is below `depth.padded`, to which rows and panels are filled up. `R` rows and `P`
                // panels of that many words are there by this function's contract.
                unsafe {
                    let right = _mm512_loadu_si512(b.wrapping_add(p * span + (k + half) * WIDTH).cast());
                    for (r, sums) in sums.iter_mut().enumerate() {
                        let left = a.wrapping_add(r * block.pitch + k + half).read();
                        let left = _mm512_set1_epi32(left.cast_signed());
                        sums[p] = _mm512_dpbusd_epi32(sums[p], left, right);
                    }
                }
            }
        }
    }
    let [even, odd] = sums;
    for (r, (even, odd)) in even.iter().zip(&odd).enumerate() {
        for (p, (even, odd)) in even.iter().zip(odd).enumerate() {
            let to = block.c.wrapping_add((row + r) * block.c_pitch + (panel + p) * WIDTH);
            // SAFETY: the sums have `R` rows from `row` on and `P` panels of columns from `panel` on, by this function's
            // contract.
            unsafe { _mm512_storeu_si512(to.cast(), _mm512_add_epi32(*even, *odd)) }
        }
    }
}
