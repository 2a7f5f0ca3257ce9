//! The GPU: devices, resident parameters, calls and training steps over wgpu.
//!
//! Comes in: a static [`Program`] (WGSL text, entry points, plans) that the compiler printed. Goes out: values read
//! back from the device, or an error value. Always holds: all work runs under error scopes, a lost device is an error
//! and never a panic, and a call at a shape that was seen before creates no buffer, bind group, pipeline or module.

mod arena;
mod array;
mod backend;
mod bindings;
mod cache;
mod calls;
mod device;
mod halves;
mod losses;
mod mapping;
mod options;
#[expect(unsafe_code, reason = "calls of drivers")]
mod pipelines;
mod pool;
#[cfg(feature = "profile")]
#[doc(hidden)]
pub mod profile;
mod program;
mod recording;
mod table;
mod training;
mod workspace;

#[cfg(test)]
mod tests;

pub use crate::encoded::Encode as Element;
pub use array::GpuArray;
pub use device::{Created, Gpu};
pub use options::{Adapter, Options};
/// The version of wgpu whose devices, buffers and encoders are meant here.
pub use wgpu;

pub(crate) use device::now;

/// What emitted code names; programs do not.
#[doc(hidden)]
pub use {
    array::{Lent, same_dims},
    wgpu::CommandEncoder as Encoder,
};

/// What emitted code names; programs do not.
#[doc(hidden)]
pub use program::{Command, Entry, Foreign, ForeignCall, Found, Launch, Needs, Plan, Pool, Program, Way};
