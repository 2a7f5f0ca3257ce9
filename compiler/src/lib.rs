//! The ahead-of-time compiler behind `model!`: a plain, deterministic library.
//!
//! parse · shape · expand · grad · fuse · schedule · memory · emit. Imports run one way:
//! `diag | ir | ops | onnx | stages | pipeline`; stages never import each other.

pub mod diag;
pub mod dump;
pub mod ir;
#[cfg(feature = "onnx")]
pub mod onnx;
pub mod ops;
pub mod oracle;
pub mod pipeline;
pub mod stages;
