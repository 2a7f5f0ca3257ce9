//! The stages of the pipeline, in order. Each has one public function; none imports another.

pub mod emit;
pub mod expand;
pub mod fuse;
pub mod grad;
pub mod memory;
pub mod parse;
pub mod schedule;
pub mod shape;
