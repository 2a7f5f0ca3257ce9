//! Elements that are copied into words: in come truth values and numbers, out come the words of a plan, and back. Always: a
//! truth value is a word, 0 or 1, and a word that is not 0 is true; numbers lie one behind the other in as few words as hold
//! them, and what they leave of the last one is zero.

use alloc::vec::Vec;

use precast_cpu::Words;

use crate::error::Result;

/// What can be copied into words: `bool`, numbers, and arrays of them. Slices of numbers of fewer than 32 bits need not fill words, nor
/// begin where a word does.
pub trait Encode: Copy {
    /// What words of zeros are.
    const ZERO: Self;

    /// How many words so many of them take.
    fn words(len: usize) -> usize;

    /// Writes values into as many words as they take.
    fn encode(values: &[Self], words: &mut [f32]);

    /// Reads values from as many words as they take.
    fn decode(words: &[f32], values: &mut [Self]);
}

impl Encode for bool {
    const ZERO: Self = false;

    fn words(len: usize) -> usize {
        len
    }

    fn encode(values: &[bool], words: &mut [f32]) {
        for (word, &value) in words.iter_mut().zip(values) {
            *word = f32::from_bits(u32::from(value));
        }
    }

    fn decode(words: &[f32], values: &mut [bool]) {
        for (value, word) in values.iter_mut().zip(words) {
            *value = word.to_bits() != 0;
        }
    }
}

/// Numbers, whose bytes are copied as they are.
macro_rules! numbers {
    ($($(#[$condition:meta])* $number:ty: $zero:expr,)*) => { $(
        $(#[$condition])*
        impl Encode for $number {
            const ZERO: Self = $zero;

            fn words(len: usize) -> usize {
                (len * size_of::<$number>()).div_ceil(size_of::<f32>())
            }

            fn encode(values: &[$number], words: &mut [f32]) {
                let (bytes, words): (&[u8], &mut [u8]) = (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(words));
                let (filled, rest) = words.split_at_mut(bytes.len());
                filled.copy_from_slice(bytes);
                rest.fill(0);
            }

            fn decode(words: &[f32], values: &mut [$number]) {
                let (bytes, words): (&mut [u8], &[u8]) = (bytemuck::cast_slice_mut(values), bytemuck::cast_slice(words));
                bytes.copy_from_slice(&words[..bytes.len()]);
            }
        }
    )* };
}

numbers! {
    i8: 0,
    u8: 0,
    i16: 0,
    u16: 0,
    i32: 0,
    u32: 0,
    i64: 0,
    u64: 0,
    f32: 0.0,
    f64: 0.0,
    #[cfg(feature = "half")]
    half::f16: half::f16::ZERO,
    #[cfg(feature = "half")]
    half::bf16: half::bf16::ZERO,
}

impl<T: Encode, const N: usize> Encode for [T; N] {
    const ZERO: Self = [T::ZERO; N];

    fn words(len: usize) -> usize {
        T::words(len * N)
    }

    fn encode(values: &[Self], words: &mut [f32]) {
        T::encode(values.as_flattened(), words);
    }

    fn decode(words: &[f32], values: &mut [Self]) {
        T::decode(words, values.as_flattened_mut());
    }
}

/// The words of an argument or a result whose elements are copied.
#[derive(Debug, Default)]
pub struct Encoded {
    words: Words,
    len: usize,
}

impl Encoded {
    /// The words of an argument.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn of<T: Encode>(values: &[T]) -> Result<Self> {
        let mut encoded = Encoded::default();
        encoded.set(values)?;
        Ok(encoded)
    }

    /// Words for a result that is to be read into `values`.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn room<T: Encode>(values: &[T]) -> Result<Self> {
        let len = T::words(values.len());
        Ok(Encoded { words: Words::zeroed(len)?, len })
    }

    /// Takes over another argument.
    fn set<T: Encode>(&mut self, values: &[T]) -> Result<()> {
        self.len = T::words(values.len());
        T::encode(values, self.words.grow(self.len)?);
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

    /// Reads the result, into as many values as there is room for.
    pub fn read<T: Encode>(&self, values: &mut [T]) {
        T::decode(self.words(), values);
    }
}

/// Words of arguments of calls that are over, for the calls to come.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<Encoded>);

impl Spare {
    /// The words of an argument.
    pub(crate) fn take<T: Encode>(&mut self, values: &[T]) -> Result<Encoded> {
        let mut encoded = self.0.pop().unwrap_or_default();
        encoded.set(values)?;
        Ok(encoded)
    }

    /// Keeps words whose call is over.
    pub(crate) fn keep(&mut self, encoded: Encoded) {
        self.0.push(encoded);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use core::fmt::Debug;

    fn bytes(encoded: &Encoded) -> &[u8] {
        bytemuck::cast_slice(encoded.words())
    }

    /// Encodes values and reads them back over `other`.
    fn survives<T: Encode + PartialEq + Debug>(values: &[T], other: T, words: usize) {
        let encoded = Encoded::of(values).unwrap();
        assert_eq!(encoded.words().len(), words);
        assert_eq!(encoded.words().as_ptr() as usize % 64, 0);
        let mut found = vec![other; values.len()];
        let mut room = Encoded::room(&found).unwrap();
        room.words_mut().copy_from_slice(encoded.words());
        room.read(&mut found);
        assert_eq!(found, values);
    }

    #[test]
    fn truth_values_are_words_and_back() {
        let values = [[true, false], [false, true], [true, true]];
        let encoded = Encoded::of(&values).unwrap();
        let bits: Vec<u32> = encoded.words().iter().map(|word| word.to_bits()).collect();
        assert_eq!(bits, [1, 0, 0, 1, 1, 1]);
        survives(&values, [false; 2], 6);
        let mut found = [true; 2];
        let mut room = Encoded::room(&found).unwrap();
        room.words_mut()[1] = f32::from_bits(7);
        room.read(&mut found);
        assert_eq!(found, [false, true]);
    }

    #[test]
    fn numbers_are_packed_whatever_their_length() {
        for len in 0..10 {
            let bytes: Vec<i8> = (0..len).map(|k| k - 5).collect();
            survives(&bytes, 1, bytes.len().div_ceil(4));
            survives(&bytes.iter().map(|&x| x as u8).collect::<Vec<_>>(), 1, bytes.len().div_ceil(4));
            survives(&bytes.iter().map(|&x| [x, -x, 0]).collect::<Vec<_>>(), [1; 3], (3 * bytes.len()).div_ceil(4));
            let shorts: Vec<i16> = bytes.iter().map(|&x| i16::from(x) * 1000).collect();
            survives(&shorts, 1, shorts.len().div_ceil(2));
            survives(&shorts.iter().map(|&x| x as u16).collect::<Vec<_>>(), 1, shorts.len().div_ceil(2));
            let nested: Vec<[[u16; 3]; 1]> = shorts.iter().map(|&x| [[x as u16, 1, 2]]).collect();
            survives(&nested, [[9; 3]], (3 * nested.len()).div_ceil(2));
        }
        assert_eq!(bytes(&Encoded::of(&[1u8, 2, 3, 4, 5]).unwrap()), [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(<[i8; 3]>::words(5), 4);
    }

    #[cfg(feature = "half")]
    #[test]
    fn floats_of_16_bits_are_two_to_a_word() {
        use half::{bf16, f16};
        survives(&[1.5f32, -0.25, 65504.0].map(f16::from_f32), f16::ZERO, 2);
        survives(&[1.5f32, -0.25, 3e38].map(|x| [bf16::from_f32(x)]), [bf16::ZERO], 2);
        assert_eq!(bytes(&Encoded::of(&[bf16::from_f32(1.5)]).unwrap()), [0xc0, 0x3f, 0, 0]);
    }

    #[test]
    fn values_may_begin_anywhere() {
        let values: Vec<u8> = (0..40).collect();
        for start in 0..5 {
            let encoded = Encoded::of(&values[start..][..7]).unwrap();
            assert_eq!(bytes(&encoded)[..7], values[start..][..7]);
            assert_eq!(bytes(&encoded)[7], 0);
        }
    }

    #[test]
    fn recycled_words_show_nothing_of_the_call_before() {
        let mut spare = Spare::default();
        let long = spare.take(&[255u8; 23]).unwrap();
        spare.keep(long);
        let short = spare.take(&[1u8, 2, 3, 4, 5]).unwrap();
        assert_eq!(bytes(&short), [1, 2, 3, 4, 5, 0, 0, 0]);
        spare.keep(short);
        let none = spare.take::<i16>(&[]).unwrap();
        assert!(none.words().is_empty());
        spare.keep(none);
        let truth = spare.take(&[true; 3]).unwrap();
        assert!(truth.words().iter().all(|word| word.to_bits() == 1) && truth.words().len() == 3);
    }
}
