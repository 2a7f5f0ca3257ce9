//! The data that flows between the stages: dimensions, types, graphs, kernels and plans.
//!
//! Nothing here decides anything; the stages do. Data is public, typed, and prints as text.

pub mod algorithm;
pub mod attend;
pub mod attr;
pub mod dim;
pub mod dot;
pub mod ellipses;
pub mod graph;
pub mod index;
mod infer;
pub mod joint;
pub mod kernel;
pub mod lanes;
pub mod limits;
pub mod map_op;
pub mod mention;
pub mod model;
pub mod neighbours;
pub mod operand;
pub mod parametric;
pub mod pattern;
pub mod plan;
pub mod precision;
pub mod prim;
pub mod program;
pub mod recurrence;
pub mod rows;
mod scalars;
pub mod schedule;
pub mod simplify;
mod slots;
mod substitute;
mod text;
pub mod tile;
pub mod transform;
pub mod turns;
pub mod ty;
pub mod varying;
pub mod verify;
pub mod wgsl;
pub mod workgroup;
pub mod written;

pub use dim::Dim;
pub use graph::{Branch, Foreign, Graph, Kind, Memory, Node, Repeat, Source, Value};
pub use model::{Block, Function, Mode, Model, Param, ParamId, State, StateId};
pub use prim::Prim;
pub use transform::{How, Transform};
pub use ty::{Category, DType, Type};
pub use written::Written;
