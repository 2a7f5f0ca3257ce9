//! Truth values at the boundary: in come `bool`s, out come the words of a plan, and back. Always: a
//! word is 0 or 1, and a word that is not 0 is true.

use alloc::vec::Vec;

use bytemuck::{NoUninit, checked::CheckedBitPattern};

use crate::{error::Result, words::Words};

/// The words of an argument or a result that holds truth values.
#[derive(Debug)]
pub struct Flags {
    words: Words,
    bytes: Bytes,
}

impl Flags {
    /// The words of an argument.
    pub fn of<T: NoUninit>(values: &[T]) -> Result<Self> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let mut words = Words::zeroed(bytes.len())?;
        for (word, &byte) in words.as_mut_slice().iter_mut().zip(bytes) {
            *word = f32::from_bits(u32::from(byte));
        }
        Ok(Flags { words, bytes: Bytes::default() })
    }

    /// Room for a result of `len` words.
    pub fn room(len: usize) -> Result<Self> {
        Ok(Flags { words: Words::zeroed(len)?, bytes: Bytes::default() })
    }

    /// The words.
    pub fn words(&self) -> &[f32] {
        self.words.as_slice()
    }

    /// The words, to be written.
    pub fn words_mut(&mut self) -> &mut [f32] {
        self.words.as_mut_slice()
    }

    /// The words as values.
    pub fn values<T: CheckedBitPattern>(&mut self) -> &[T] {
        self.bytes.set(self.words.as_slice());
        self.bytes.values()
    }
}

/// Truth values as bytes; filled again and again without allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    /// Takes over words.
    pub(crate) fn set(&mut self, words: &[f32]) {
        self.0.clear();
        self.0.extend(words.iter().map(|word| u8::from(word.to_bits() != 0)));
    }

    /// The bytes as `bool` or arrays of it.
    pub(crate) fn values<T: CheckedBitPattern>(&self) -> &[T] {
        match bytemuck::checked::try_cast_slice(&self.0) {
            Ok(values) => values,
            Err(_) => unreachable!("every byte is 0 or 1, and a result fills its arrays"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_values_are_words_and_back() {
        let values = [[true, false], [false, true], [true, true]];
        let mut flags = Flags::of(&values).unwrap();
        let bits: Vec<u32> = flags.words().iter().map(|word| word.to_bits()).collect();
        assert_eq!(bits, [1, 0, 0, 1, 1, 1]);
        assert_eq!(flags.values::<[bool; 2]>(), values);
        let mut room = Flags::room(2).unwrap();
        room.words_mut()[1] = f32::from_bits(1);
        assert_eq!(room.values::<bool>(), [false, true]);
    }
}
