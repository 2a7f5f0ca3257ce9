//! Shared parts of the example programs.

pub mod burgers;
pub mod digits;
pub mod idx;
pub mod picture;
pub mod progress;
pub mod text;
