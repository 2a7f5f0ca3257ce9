//! Truth values at the boundary: in come `bool`s, out come the words of a plan, and back. Always: a
//! word is 0 or 1, and a word that is not 0 is true.

use alloc::vec::Vec;

use precast_cpu::Words;

use crate::error::Result;

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
#[derive(Debug, Default)]
pub struct Flags {
    words: Words,
    len: usize,
    values: Values,
}

impl Flags {
    /// The words of an argument.
    pub fn of<T: Truth>(values: &[T]) -> Result<Self> {
        let mut flags = Flags::default();
        flags.set(values)?;
        Ok(flags)
    }

    /// Room for a result of `len` words.
    pub fn room(len: usize) -> Result<Self> {
        Ok(Flags { words: Words::zeroed(len)?, len, values: Values::default() })
    }

    /// Takes over another argument.
    fn set<T: Truth>(&mut self, values: &[T]) -> Result<()> {
        let flat = T::flat(values);
        self.len = flat.len();
        for (word, &value) in self.words.grow(flat.len())?.iter_mut().zip(flat) {
            *word = f32::from_bits(u32::from(value));
        }
        Ok(())
    }

    /// The words.
    pub fn words(&self) -> &[f32] {
        &self.words.as_slice()[..self.len]
    }

    /// The words, to be written.
    pub fn words_mut(&mut self) -> &mut [f32] {
        &mut self.words.as_mut_slice()[..self.len]
    }

    /// The words as values.
    pub fn values<T: Truth>(&mut self) -> &[T] {
        self.values.set(&self.words.as_slice()[..self.len]);
        self.values.get()
    }
}

/// Words of arguments of calls that are over, for the calls to come.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<Flags>);

impl Spare {
    /// The words of an argument.
    pub(crate) fn take<T: Truth>(&mut self, values: &[T]) -> Result<Flags> {
        let mut flags = self.0.pop().unwrap_or_default();
        flags.set(values)?;
        Ok(flags)
    }

    /// Keeps words whose call is over.
    pub(crate) fn keep(&mut self, flags: Flags) {
        self.0.push(flags);
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
