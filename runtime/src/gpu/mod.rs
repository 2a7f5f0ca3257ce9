//! The GPU half of the runtime: devices, resident parameters, calls and training steps over wgpu.
//!
//! Comes in: a static [`Program`] (WGSL text, entry points, plans) that the compiler printed. Goes out: values read
//! back from the device, or an error value. Always holds: all work runs under error scopes, a lost device is an error
//! and never a panic, and a call at a shape that was seen before creates no buffer, bind group, pipeline or module.

mod arena;
mod device;
mod error;
mod losses;
mod mapping;
mod parameters;
mod pipelines;
mod program;
mod session;
mod training;

#[cfg(test)]
mod tests;

pub use device::{Adapter, Created, Gpu};
pub use error::{Error, Result};
pub use losses::Loss;
pub use parameters::Parameters;
pub use program::{Command, Entry, Launch, Needs, Plan, Pool, Program, Size, Span};
pub use session::Session;
pub use training::Training;
