//! Storage: in comes a length in 4-byte words, out goes heap memory that starts on a cache line.
//! Always: the slice is 64-byte aligned, a fresh word is zero, and running out of memory is an
//! error value, never an abort.

use core::fmt;

use bytemuck::{Pod, Zeroable};

use super::pages::large;

/// Words of one cache line.
const LINE: usize = 16;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

// SAFETY: all-zero bytes are sixteen times the float 0.0.
unsafe impl Zeroable for Line {}
// SAFETY: `Line` is sixteen floats in 64 bytes aligned to 64, so it has no padding, and every bit
// pattern is a value.
unsafe impl Pod for Line {}

/// A pool of 4-byte words, seen as `f32`; `u32` and `i32` tensors are casts of its parts.
#[derive(Clone, Default)]
pub struct Words {
    lines: Vec<Line>,
    len: usize,
}

/// The system has no room for so many words.
#[derive(Clone, Copy, Debug)]
pub struct OutOfMemory {
    /// How many 4-byte words were asked for.
    pub words: usize,
}

impl Words {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Result<Self, OutOfMemory> {
        let mut words = Words::default();
        words.grow(len)?;
        Ok(words)
    }

    /// `len` zeros. Like every collection of the standard library this stops the program
    /// when memory runs out; it serves where the length is known when the program is built.
    pub fn of_model(len: usize) -> Self {
        let mut lines = Vec::with_capacity(len.div_ceil(LINE));
        large(lines.spare_capacity_mut());
        lines.resize(len.div_ceil(LINE), Line([0.0; LINE]));
        Words { lines, len }
    }

    /// The first `len` words, after allocating if there were fewer. Words that were there keep
    /// their values, added ones are zero.
    #[inline]
    pub fn grow(&mut self, len: usize) -> Result<&mut [f32], OutOfMemory> {
        if self.len < len {
            self.allocate(len)?;
        }
        Ok(&mut self.as_mut_slice()[..len])
    }

    /// As many words as there were never before.
    #[cold]
    fn allocate(&mut self, len: usize) -> Result<(), OutOfMemory> {
        let lines = len.div_ceil(LINE);
        if let Some(missing) = lines.checked_sub(self.lines.len()) {
            self.lines.try_reserve_exact(missing).map_err(|_| OutOfMemory { words: len })?;
            large(self.lines.spare_capacity_mut());
            self.lines.resize(lines, Line([0.0; LINE]));
        }
        self.len = len;
        Ok(())
    }

    /// All words.
    #[inline]
    pub fn as_slice(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }

    /// All words, to be written.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

impl From<&[f32]> for Words {
    /// A copy. Like [`Words::of_model`] this stops the program when memory runs out.
    fn from(words: &[f32]) -> Self {
        let mut copy = Words::of_model(words.len());
        copy.as_mut_slice().copy_from_slice(words);
        copy
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_aligned_zero_and_keep_their_values_when_they_grow() {
        let mut words = Words::zeroed(3).unwrap();
        words.as_mut_slice()[2] = 7.0;
        assert_eq!(words.grow(100).unwrap().len(), 100);
        assert_eq!(words.grow(5).unwrap().len(), 5);
        assert_eq!(words.as_slice().len(), 100);
        assert_eq!(words.as_slice()[..4], [0.0, 0.0, 7.0, 0.0]);
        assert_eq!(words.as_slice().as_ptr() as usize % 64, 0);
    }

    #[test]
    fn too_much_memory_is_an_error() {
        assert!(matches!(Words::zeroed(usize::MAX / 4), Err(OutOfMemory { .. })));
    }
}
