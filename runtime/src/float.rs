//! The types that parameters can have: in comes one of them, out come its name in files, the words that elements
//! take, and words seen as elements. Always: a number of one of them is the same in `f64`, and elements are lent where
//! their words lie.

use core::fmt::{Debug, Display};

use bytemuck::Pod;

use crate::view::{self, Element};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    #[cfg(feature = "half")]
    impl Sealed for half::f16 {}
    #[cfg(feature = "half")]
    impl Sealed for half::bf16 {}
}

/// The type of a model's parameters in memory and in files: `f32`; `f64` where the model is declared with
/// `#[model(precision = f64)]`; and `f16` or `bf16` of the crate `half` where it is with `#[model(parameters = …)]`. Gradients
/// and optimiser states are of the same type, and models of the last two have none.
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
    label = "parameters are `f32` or `f64`, or `f16` or `bf16` of the crate `half`"
)]
pub trait Float: sealed::Sealed + Element + Pod + Default + PartialOrd + Debug + Display + Send + Sync {
    /// Its name in safetensors files.
    #[doc(hidden)]
    const DTYPE: &'static str;

    /// The value that is nearest to a number.
    fn from_f64(number: f64) -> Self;

    /// The same number.
    fn to_f64(self) -> f64;

    /// The same elements, if they are `f32`.
    #[doc(hidden)]
    #[inline]
    fn as_f32(elements: &mut [Self]) -> Option<&mut [f32]> {
        match Self::DTYPE {
            "F32" => bytemuck::try_cast_slice_mut(elements).ok(),
            _ => None,
        }
    }

    /// The 4-byte words that so many elements take, or begin after.
    #[doc(hidden)]
    #[inline]
    fn words(elements: usize) -> usize {
        elements.saturating_mul(size_of::<Self>()).div_ceil(size_of::<f32>())
    }

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

macro_rules! float {
    ($float:ty, $dtype:literal, $number:ident => $from:expr) => {
        impl Float for $float {
            const DTYPE: &'static str = $dtype;

            #[inline]
            fn from_f64($number: f64) -> $float {
                $from
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }
        }
    };
}

float!(f32, "F32", number => number as f32);
float!(f64, "F64", number => number);
// As a processor converts an f32, of which what is drawn and what is read is one.
#[cfg(feature = "half")]
float!(half::f16, "F16", number => half::f16::from_f32(number as f32));
#[cfg(feature = "half")]
float!(half::bf16, "BF16", number => half::bf16::from_f32(number as f32));

#[cfg(test)]
mod tests {
    use super::*;
    use precast_cpu::Words;

    #[test]
    fn an_f64_is_two_words() {
        assert_eq!((f32::words(3), f64::words(3)), (3, 6));
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
