//! The stages of the pipeline, in order. None imports another.

pub mod parse;
pub mod shape;
