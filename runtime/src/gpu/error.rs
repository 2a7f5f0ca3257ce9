//! What can go wrong on a device, as values. Comes in: a reason. Goes out: the runtime's error.

use core::fmt;

/// An error of the GPU half.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No GPU adapter serves.
    NoAdapter {
        /// Why.
        reason: String,
    },
    /// The GPU is gone; what the host holds is intact.
    DeviceLost {
        /// Why.
        reason: String,
    },
    /// The GPU refused a command.
    Device {
        /// What it says.
        reason: String,
    },
    /// The number of elements does not fit the dimensions.
    Length {
        /// The argument or buffer.
        argument: &'static str,
        /// Its number of elements.
        found: usize,
        /// The number that is needed.
        needed: usize,
        /// Whether any multiple of `needed` would do.
        multiple: bool,
    },
}

/// A result of the GPU half.
pub type Result<T> = core::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl core::error::Error for Error {}

/// The device is gone.
pub(super) fn lost() -> Error {
    Error::DeviceLost { reason: "it was destroyed, or its driver gave up".to_owned() }
}

/// The model asks for more than the device offers.
pub(super) fn too_large(what: &str, needed: u64, available: u64) -> Error {
    Error::Device { reason: format!("the model needs {needed} {what}, this one offers {available}") }
}

/// A slice has `given` bytes where the plan says `expected`.
pub(super) fn wrong_length(argument: &'static str, expected: u64, given: u64) -> Error {
    Error::Length { argument, found: given as usize / 4, needed: expected as usize / 4, multiple: false }
}
