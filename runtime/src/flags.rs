//! Truth values at the boundary: in come `bool`s, out come the words of a plan, and back. Always: a
//! word is 0 or 1, and a word that is not 0 is true.

use alloc::vec::Vec;

use crate::{error::Result, words::Words};

/// `bool` and arrays of it.
pub trait Truth: Copy {
    /// The truth values alone.
    fn flat(values: &[Self]) -> &[bool];

    /// The same as elements again.
    fn nested(flat: &[bool]) -> &[Self];
}

impl Truth for bool {
    fn flat(values: &[bool]) -> &[bool] {
        values
    }

    fn nested(flat: &[bool]) -> &[bool] {
        flat
    }
}

impl<T: Truth, const N: usize> Truth for [T; N] {
    fn flat(values: &[Self]) -> &[bool] {
        T::flat(values.as_flattened())
    }

    fn nested(flat: &[bool]) -> &[Self] {
        T::nested(flat).as_chunks().0
    }
}

/// The words of an argument or a result that holds truth values.
#[derive(Debug)]
pub struct Flags {
    words: Words,
    values: Values,
}

impl Flags {
    /// The words of an argument.
    pub fn of<T: Truth>(values: &[T]) -> Result<Self> {
        let flat = T::flat(values);
        let mut words = Words::zeroed(flat.len())?;
        for (word, &value) in words.as_mut_slice().iter_mut().zip(flat) {
            *word = f32::from_bits(u32::from(value));
        }
        Ok(Flags { words, values: Values::default() })
    }

    /// Room for a result of `len` words.
    pub fn room(len: usize) -> Result<Self> {
        Ok(Flags { words: Words::zeroed(len)?, values: Values::default() })
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
    pub fn values<T: Truth>(&mut self) -> &[T] {
        self.values.set(self.words.as_slice());
        self.values.get()
    }
}

/// Truth values; filled again and again without allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<bool>);

impl Values {
    /// Takes over words.
    pub(crate) fn set(&mut self, words: &[f32]) {
        self.0.clear();
        self.0.extend(words.iter().map(|word| word.to_bits() != 0));
    }

    /// The values as `bool` or arrays of it.
    pub(crate) fn get<T: Truth>(&self) -> &[T] {
        T::nested(&self.0)
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
