//! Shared parts of the tests.

pub mod reference;

/// The programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
