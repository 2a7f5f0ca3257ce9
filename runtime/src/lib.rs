//! Declare a neural network; `cargo build` casts it.
