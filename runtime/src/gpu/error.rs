//! What can go wrong on a device, as values.

use core::fmt;

/// An error of the GPU half.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// No adapter fits the choice; the text lists what was found.
    NoAdapter(String),
    /// The device was lost or destroyed; the last host copy of the parameters is intact.
    DeviceLost,
    /// The model needs more than this adapter offers.
    Limit {
        /// What is limited, as in "bytes in one storage binding".
        what: &'static str,
        /// What the model needs.
        needed: u64,
        /// What the device offers.
        available: u64,
    },
    /// The device is out of memory.
    OutOfMemory,
    /// The device rejected an operation; the text is the driver's.
    Device(String),
    /// A slice has another length than the plan says.
    Length {
        /// Which argument or pool.
        what: &'static str,
        /// Expected bytes.
        expected: u64,
        /// Bytes that were given.
        given: u64,
    },
}

/// A result of the GPU half.
pub type Result<T> = core::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAdapter(found) => write!(f, "no GPU adapter fits the choice ({found})"),
            Self::DeviceLost => f.write_str("the GPU device was lost"),
            Self::Limit {
                what,
                needed,
                available,
            } => {
                write!(
                    f,
                    "the model needs {needed} {what}, this GPU offers {available}"
                )
            }
            Self::OutOfMemory => f.write_str("the GPU is out of memory"),
            Self::Device(text) => write!(f, "the GPU rejected an operation: {text}"),
            Self::Length {
                what,
                expected,
                given,
            } => {
                write!(f, "{what} takes {expected} bytes, {given} were given")
            }
        }
    }
}

impl core::error::Error for Error {}
