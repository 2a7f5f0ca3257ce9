//! The stages of the pipeline, in order. Each has one public function; none imports another.

pub mod parse;
pub mod shape;
pub mod expand;
pub mod grad;
pub mod fuse;
pub mod schedule;
pub mod memory;
pub mod emit;
