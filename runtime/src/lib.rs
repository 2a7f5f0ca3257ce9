//! Declare a neural network; `cargo build` casts it.
mod cpu;

/// What emitted code calls. Not for people.
#[doc(hidden)]
pub mod __rt {
    pub use crate::__sweep as sweep;
    pub use crate::cpu::*;
}
