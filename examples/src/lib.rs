//! Shared parts of the example programs.

pub mod arguments;
pub mod digits;
pub mod picture;
pub mod progress;
pub mod text;
