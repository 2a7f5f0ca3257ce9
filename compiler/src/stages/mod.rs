//! The stages of the pipeline, in order. Each has one public function; none imports another.

pub mod emit;
