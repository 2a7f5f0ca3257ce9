//! The front door for ONNX: a file with its external data in, a function with types and its parameters out, as they are behind shape; and
//! back from behind grad.
//!
//! Always: the same file gives the same function; everything that the file's shapes decide is decided here, by the oracle, so that
//! none of it is left to run; all that is not supported is said at once, each by the node that asks for it. A damaged file is an error,
//! and so is one that asks for more than its budget (`budget.rs`).

mod budget;
mod element;
pub mod export;
mod failure;
mod file;
mod fold;
mod import;
mod names;
mod node;
mod operand;
mod operators;
mod params;
pub mod proto;
mod roll;
mod symbolic;
mod weights;

pub use element::tensor;
pub use export::{Exported, export};
pub use failure::{Failure, Refusal};
pub use file::File;
pub use import::{Bound, Imported, import};
pub use operators::names as operators;
pub use params::Weight;
pub use weights::origin;
