//! The types that parameters can have: in comes one of them, out come its name in files, the words that an element
//! takes, and words seen as elements. Always: a number of one of them is the same in `f64`, and elements are lent where
//! their words lie.

use core::fmt::{Debug, Display};

use bytemuck::Pod;

use crate::view::{self, Element};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The type of a model's parameters, gradients and optimiser states: `f32`, or `f64` where the model is declared with
/// `#[model(precision = f64)]`.
///
/// # Examples
/// The largest parameter of any model, whatever its precision:
/// ```
/// use precast::{Cpu, Float, Weights};
///
/// fn largest<T: Float>(weights: &Weights<Cpu, T>) -> f64 {
///     let all = weights.parameters().flat_map(|(_, _, values)| values);
///     all.map(|value| value.to_f64().abs()).fold(0.0, f64::max)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "parameters are not of type `{Self}`",
    label = "parameters are `f32` or `f64`"
)]
pub trait Float: sealed::Sealed + Element + Pod + Default + PartialOrd + Debug + Display + Send + Sync {
    /// Its name in safetensors files.
    #[doc(hidden)]
    const DTYPE: &'static str;

    /// The 4-byte words of an element.
    #[doc(hidden)]
    const WORDS: usize = size_of::<Self>() / size_of::<f32>();

    /// The value that is nearest to a number.
    fn from_f64(number: f64) -> Self;

    /// The same number.
    fn to_f64(self) -> f64;

    /// Words as the elements that they are; they begin where an element of a pool does.
    #[doc(hidden)]
    #[inline]
    fn of_words(words: &[f32]) -> &[Self] {
        view::values(words)
    }

    /// Words as the elements that they are, to be written.
    #[doc(hidden)]
    #[inline]
    fn of_words_mut(words: &mut [f32]) -> &mut [Self] {
        view::values_mut(words)
    }
}

impl Float for f32 {
    const DTYPE: &'static str = "F32";

    #[inline]
    fn from_f64(number: f64) -> f32 {
        number as f32
    }

    #[inline]
    fn to_f64(self) -> f64 {
        self.into()
    }
}

impl Float for f64 {
    const DTYPE: &'static str = "F64";

    #[inline]
    fn from_f64(number: f64) -> f64 {
        number
    }

    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use precast_cpu::Words;

    #[test]
    fn an_f64_is_two_words() {
        assert_eq!((f32::WORDS, f64::WORDS), (1, 2));
        let mut words = Words::zeroed(4).unwrap();
        f64::of_words_mut(words.as_mut_slice())[1] = 0.1;
        assert_eq!(f64::of_words(words.as_slice()), [0.0, 0.1]);
        assert_eq!(words.as_slice()[..2], [0.0, 0.0]);
        assert_eq!(view::words(&[0.1f64]).len(), 2);
    }

    /// No words have no boundary, and may come from a slice of `f32` that is nowhere.
    #[test]
    fn no_words_are_no_elements() {
        assert!(f64::of_words(&[]).is_empty());
        assert!(f64::of_words_mut(&mut []).is_empty());
    }

    #[test]
    fn numbers_are_rounded_once() {
        assert_eq!(f32::from_f64(0.1).to_f64(), f64::from(0.1f32));
        assert_eq!(f64::from_f64(0.1).to_f64(), 0.1);
    }
}
