//! The stages; each has one public function, and none imports another.

pub mod expand;
pub mod grad;
