//! Prints kernels as Rust and WGSL.

#[cfg(feature = "gpu")]
pub mod wgsl;
