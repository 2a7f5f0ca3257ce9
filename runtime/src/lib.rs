//! Declare a neural network; `cargo build` casts it.

#[cfg(feature = "gpu")]
pub mod gpu;
