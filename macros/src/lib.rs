//! The `model!` procedural macro: a shim over `precast-compiler`.
