//! Shared parts of the tests.

/// The programs of the README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
mod readme {}
