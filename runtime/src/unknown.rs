//! The type of what a mistake in a model leaves unknown.

/// Emitted code gives it the mistake in the place of the number. rustc then reports that, and nothing about what a program
/// does with a value of this type.
#[derive(Debug)]
pub struct Unknown<const MISTAKE: usize>(());
