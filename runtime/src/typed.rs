//! Parameters as arrays: in come the words of a model's parameters, out come references of the types that their
//! declarations say. Always: what is lent lies where the parameter lies, and no two references to be written overlap.

use alloc::{vec, vec::Vec};
use bytemuck::Pod;

/// Nested arrays of a type that parameters have, in their row-major layout.
pub trait Typed: Pod {
    /// The type of their elements.
    type Element: Pod;
}

macro_rules! typed {
    ($($element:ty)*) => {
        $(impl Typed for $element {
            type Element = $element;
        })*
    };
}

typed!(f32 f64 i8);
#[cfg(feature = "half")]
typed!(half::f16 half::bf16);

impl<T: Typed, const N: usize> Typed for [T; N]
where
    [T; N]: Pod,
{
    type Element = T::Element;
}

/// How parameters are lent: to be read or to be written.
pub trait Reach {
    /// A reference to a parameter.
    type To<T: Typed>;

    /// The parameter at `offset`, in elements; each once.
    fn take<T: Typed>(&mut self, offset: usize) -> Self::To<T>;
}

/// A model, as what says which typed fields its parameters have.
pub trait Viewed {
    /// The struct of those fields.
    type Views<R: Reach>;

    /// The fields of what lies as the parameters do.
    fn of<R: Reach>(words: R) -> Self::Views<R>;
}

/// Parameters that are read.
#[derive(Debug)]
pub struct Read<'m>(&'m [u8]);

impl<'m> Read<'m> {
    pub(crate) fn new(words: &'m [f32]) -> Self {
        Read(bytemuck::cast_slice(words))
    }
}

impl<'m> Reach for Read<'m> {
    type To<T: Typed> = &'m T;

    #[inline]
    fn take<T: Typed>(&mut self, offset: usize) -> &'m T {
        bytemuck::from_bytes(&self.0[size_of::<T::Element>() * offset..][..size_of::<T>()])
    }
}

/// Parameters that are written.
#[derive(Debug)]
pub struct Write<'m> {
    /// The bytes that have not been lent, in pieces, each with the place of its first.
    pieces: Vec<(usize, &'m mut [u8])>,
}

impl<'m> Write<'m> {
    pub(crate) fn new(words: &'m mut [f32]) -> Self {
        Write { pieces: vec![(0, bytemuck::cast_slice_mut(words))] }
    }
}

impl<'m> Reach for Write<'m> {
    type To<T: Typed> = &'m mut T;

    #[inline]
    fn take<T: Typed>(&mut self, offset: usize) -> &'m mut T {
        let first = size_of::<T::Element>() * offset;
        let end = first + size_of::<T>();
        // Fields ascend but for parameters that are not trained, which lie behind all others.
        let piece = self.pieces.iter().rposition(|(at, bytes)| *at <= first && end <= at + bytes.len());
        let Some(piece) = piece else { unreachable!("each parameter is lent once") };
        let (at, bytes) = self.pieces.swap_remove(piece);
        let (before, bytes) = bytes.split_at_mut(first - at);
        let (taken, behind) = bytes.split_at_mut(size_of::<T>());
        self.pieces.extend([(at, before), (end, behind)]);
        bytemuck::from_bytes_mut(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::float::Float;
    use precast_cpu::Words;

    #[test]
    fn arrays_are_lent_where_they_lie() {
        let mut words: [f32; 12] = core::array::from_fn(|k| k as f32);
        let mut read = Read::new(&words);
        assert_eq!(read.take::<[[f32; 2]; 2]>(0), &[[0.0, 1.0], [2.0, 3.0]]);
        assert_eq!(*read.take::<f32>(11), 11.0);
        let mut write = Write::new(&mut words);
        let first: &mut [f32; 3] = write.take(1);
        let second: &mut [[f32; 1]; 2] = write.take(8);
        let none: &mut [f32; 0] = write.take(12);
        (first[2], second[1]) = (-1.0, [-2.0]);
        assert!(none.is_empty());
        assert_eq!((words[3], words[9]), (-1.0, -2.0));
    }

    #[test]
    fn arrays_are_lent_in_any_order() {
        let mut words = [0f32; 12];
        let mut write = Write::new(&mut words);
        let behind: &mut [f32; 4] = write.take(8);
        let before: &mut [f32; 3] = write.take(0);
        let between: &mut [f32; 5] = write.take(3);
        (behind[0], before[2], between[4]) = (3.0, 1.0, 2.0);
        assert_eq!((words[2], words[7], words[8]), (1.0, 2.0, 3.0));
    }

    #[test]
    fn arrays_of_f64_are_lent_by_the_position_of_their_element() {
        let mut words = Words::zeroed(12).unwrap();
        f64::of_words_mut(words.as_mut_slice()).copy_from_slice(&[0.0, 0.1, 0.2, 0.3, 0.4, 0.5]);
        let mut read = Read::new(words.as_slice());
        assert_eq!(read.take::<[[f64; 2]; 1]>(1), &[[0.1, 0.2]]);
        assert_eq!(*read.take::<f64>(5), 0.5);
        let mut write = Write::new(words.as_mut_slice());
        let first: &mut [f64; 2] = write.take(1);
        let second: &mut [[f64; 1]; 2] = write.take(4);
        let none: &mut [f64; 0] = write.take(6);
        (first[1], second[1]) = (-1.0, [-2.0]);
        assert!(none.is_empty());
        assert_eq!(f64::of_words(words.as_slice()), [0.0, 0.1, -1.0, 0.3, 0.4, -2.0]);
    }
}
