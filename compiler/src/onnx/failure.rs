//! Why a file cannot be imported.

use crate::ops::OpError;
use std::fmt;

/// Why an operator cannot be applied to its arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(String);

impl Failure {
    /// For that reason.
    pub fn new(reason: impl Into<String>) -> Failure {
        Failure(reason.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Failure {
        let arguments: Vec<String> = (1..=16).map(|k| format!("argument {k}")).collect();
        Failure(error.render("it", &arguments).0)
    }
}

/// What of a file is not supported, or wrong.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Refusal {
    /// The node, by its name or else by its first result; empty where it is the whole file.
    pub node: String,
    /// Its operator, with its domain where that is not ONNX's own.
    pub operator: String,
    /// The version of the operators that the file means.
    pub opset: i64,
    /// The reason.
    pub reason: String,
}

impl Refusal {
    /// A mistake of the file.
    pub(super) fn of_file(reason: impl Into<String>) -> Refusal {
        Refusal { node: String::new(), operator: String::new(), opset: 0, reason: reason.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operator.is_empty() {
            true => f.write_str(&self.reason),
            false => write!(f, "`{}` ({}, opset {}): {}", self.node, self.operator, self.opset, self.reason),
        }
    }
}
