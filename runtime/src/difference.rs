//! How the tensors of a file differ from those of a model. In comes what a comparison found, out goes one line of a
//! message. Always: what only the file has, or has otherwise, is called what the file calls it.

use alloc::{string::String, vec::Vec};
use core::fmt;

/// One way in which the tensors of a file differ from those that are expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// The model has it, the file does not.
    Missing {
        /// The name in the model.
        name: String,
        /// The shape that it should have.
        shape: Vec<usize>,
    },
    /// The file has it, the model does not.
    Unexpected {
        /// The name in the file.
        name: String,
        /// The shape in the file.
        shape: Vec<usize>,
    },
    /// The shapes differ.
    Shape {
        /// The name in the file.
        name: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape in the model.
        expected: Vec<usize>,
    },
    /// The element types differ.
    Dtype {
        /// The name in the file.
        name: String,
        /// The type in the file, as safetensors writes it.
        found: String,
        /// The type in the model, as safetensors writes it.
        expected: &'static str,
    },
    /// The file has integers without their scales.
    Unscaled {
        /// The name of the integers in the model.
        name: String,
        /// The name that their scales should have.
        scales: String,
    },
    /// Two tensors of the file have one name in the model.
    Collision {
        /// The name that both become.
        name: String,
        /// The names in the file.
        both: [String; 2],
    },
    /// No tensor of the file has the prefix that all of the model's should have.
    Prefix {
        /// The prefix.
        prefix: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Missing { name, shape } => write!(f, "`{name}` {shape:?} is missing"),
            Difference::Unexpected { name, shape } => {
                write!(f, "`{name}` {shape:?} is not expected")
            }
            Difference::Shape { name, found, expected } => {
                write!(f, "`{name}` is {found:?}, but should be {expected:?}")
            }
            Difference::Dtype { name, found, expected } => {
                write!(f, "`{name}` holds {found}, but should hold {expected}")
            }
            Difference::Unscaled { name, scales } => write!(f, "`{name}` holds I8 without `{scales}`"),
            Difference::Collision { name, both: [first, second] } => {
                write!(f, "`{first}` and `{second}` both become `{name}`")
            }
            Difference::Prefix { prefix } => write!(f, "no name begins with `{prefix}`"),
        }
    }
}
