//! Truth values that sessions and trainers lend: in come the words of a result, out come `bool`s. Always: a word that is
//! not 0 is true.

use alloc::vec::Vec;

use crate::encoded::Encode;

/// `bool` and arrays of it.
pub trait Truth: Encode {
    /// Truth values as these.
    fn nested(flat: &[bool]) -> &[Self];
}

impl Truth for bool {
    fn nested(flat: &[bool]) -> &[bool] {
        flat
    }
}

impl<T: Truth, const N: usize> Truth for [T; N] {
    fn nested(flat: &[bool]) -> &[Self] {
        T::nested(flat).as_chunks().0
    }
}

/// Truth values; filled again and again without allocation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags(Vec<bool>);

impl Flags {
    /// Takes over words.
    pub(crate) fn set(&mut self, words: &[f32]) {
        self.0.resize(words.len(), false);
        bool::decode(words, &mut self.0);
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
    fn words_are_truth_values() {
        let mut flags = Flags::default();
        flags.set(&[1, 0, 7, 1].map(f32::from_bits));
        assert_eq!(flags.get::<[bool; 2]>(), [[true, false], [true, true]]);
        flags.set(&[0.0]);
        assert_eq!(flags.get::<bool>(), [false]);
    }
}
