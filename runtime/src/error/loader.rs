//! Why a loader makes no batches. In comes an argument that is none, out goes a message with it. Always: it says what a loader needs.

use core::fmt;

use super::Error;

/// Why samples do not make batches.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LoaderError {
    /// The two columns differ in length.
    Lengths {
        /// The number of inputs.
        inputs: usize,
        /// The number of targets.
        targets: usize,
    },
    /// There are no samples.
    NoSamples,
    /// There are more samples than a loader can number.
    TooMany {
        /// The number of samples.
        samples: usize,
    },
    /// A batch of no samples was asked for.
    NoBatch,
    /// A fraction is not between 0 and 1.
    Fraction(f32),
}

impl fmt::Display for LoaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoaderError::Lengths { inputs, targets } => {
                write!(
                    f,
                    "a loader needs as many targets as inputs, but there are {targets} targets and {inputs} inputs"
                )
            }
            LoaderError::NoSamples => write!(f, "a loader needs at least one sample"),
            LoaderError::TooMany { samples } => {
                write!(f, "a loader serves at most {} samples, but there are {samples}", u32::MAX)
            }
            LoaderError::NoBatch => write!(f, "a batch needs at least one sample"),
            LoaderError::Fraction(fraction) => {
                write!(f, "a split needs a fraction between 0 and 1, but got {fraction}")
            }
        }
    }
}

impl From<LoaderError> for Error {
    fn from(error: LoaderError) -> Self {
        Error::Loader(error)
    }
}
