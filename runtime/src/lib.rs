//! Declare a neural network; `cargo build` casts it.
//!
//! This crate is what programs depend on and what the code that `model!` emits calls: parameters,
//! sessions, trainers, optimisers, files and batches, over kernels for the CPU and, with the feature
//! `gpu`, over wgpu. At run time there is no graph: every call runs a plan that was made when the
//! program was built.

#![deny(unsafe_code)]

extern crate alloc;

mod bind;
pub mod blocks;
mod checkpoint;
mod count;
mod device;
mod difference;
mod encoded;
mod error;
mod export;
mod file;
mod flags;
mod float;
mod foreign;
#[cfg(feature = "gpu")]
pub mod gpu;
mod gradients;
mod groups;
mod init;
mod launch;
mod loader;
mod optim;
mod origin;
mod quantized;
mod random;
#[rustfmt::skip]
pub mod reference;
mod safetensors;
#[cfg(test)]
mod scene;
mod session;
mod spec;
mod state;
mod storage;
mod trained;
mod trainer;
mod typed;
mod unknown;
mod view;
mod weights;
mod whole;

pub use device::{Blocking, Cpu, Device};
pub use difference::Difference;
pub use error::{Error, LoaderError, Part, Result};
pub use file::{File, Unmatched};
pub use float::Float;
#[cfg(feature = "gpu")]
pub use gpu::Gpu;
pub use gradients::Gradients;
/// The crate of the types `f16` and `bf16`, as which models take and give elements of these types.
#[cfg(feature = "half")]
pub use half;
pub use init::Init;
pub use launch::set_threads;
pub use loader::{Loader, Split};
pub use optim::{Adam, AdamW, Optimizer, RmsProp, Sgd};
pub use quantized::Quantized;
pub use random::key;
pub use session::Session;
pub use trainer::{Batch, Loss, Trainer};
pub use view::{RowOf, Tensor, View, rows};
pub use weights::Weights;

/// What programs that use models need: `use precast::prelude::*;`.
pub mod prelude {
    #[cfg(feature = "gpu")]
    pub use crate::Gpu;
    pub use crate::{
        Adam, AdamW, Blocking, Cpu, Device, Loader, Optimizer, RmsProp, Sgd, Split, Tensor, View, default, key, model,
    };
}

/// Declares models: structs of layers and the functions over them, checked and compiled while the
/// program is built.
///
/// For every `pub struct` with a `pub fn` it emits that struct, generic over its [`Device`], with
/// the functions as methods, and beside it a session and a trainer.
///
/// ```
/// use precast::prelude::*;
///
/// model! {
///     /// Two classes of points of the plane.
///     pub struct Net {
///         hidden: Linear(2, 16),
///         output: Linear(16, 2),
///     }
///
///     impl Net {
///         /// Unnormalised class scores.
///         pub fn scores(&self, point: f32[B, 2]) -> f32[B, 2] {
///             self.output(tanh(self.hidden(point)))
///         }
///
///         /// Mean cross-entropy over the batch.
///         #[train(AdamW)]
///         pub fn loss(&self, point: f32[B, 2], class: u32[B]) -> f32 {
///             cross_entropy(self.scores(point), class)
///         }
///     }
/// }
///
/// # fn main() -> precast::Result<()> {
/// let mut net = Net::init(42);
/// let mut trainer = net.trainer(AdamW { rate: 1e-2, ..default() });
/// let loss = trainer.loss(&[[0.5, 1.0], [0.0, -1.0]], &[1, 0])?;
/// println!("{}", loss.value()?);
/// let scores = net.scores(&[[0.5, 1.0]])?;
/// # assert_eq!(scores.len(), 1);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! model {
    ($($token:tt)*) => { $crate::__rt::__model! { { $crate } $($token)* } };
}

/// Passes its tokens on where this crate has the GPU, so that emitted code agrees with it in every build.
#[cfg(feature = "gpu")]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_gpu {
    ($($token:tt)*) => { $($token)* };
}

/// Drops its tokens, because this crate has no GPU here.
#[cfg(not(feature = "gpu"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __if_gpu {
    ($($token:tt)*) => {};
}

/// Drops its tokens, because this crate has the kernels of deterministic models.
#[cfg(feature = "deterministic")]
#[doc(hidden)]
#[macro_export]
macro_rules! __unless_deterministic {
    ($($token:tt)*) => {};
}

/// Passes its tokens on: this crate has no kernels of deterministic models.
#[cfg(not(feature = "deterministic"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __unless_deterministic {
    ($($token:tt)*) => { $($token)* };
}

/// Drops its tokens, because this crate has the kernels of models in `f64`.
#[cfg(feature = "f64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __unless_f64 {
    ($($token:tt)*) => {};
}

/// Passes its tokens on: this crate has no kernels of models in `f64`.
#[cfg(not(feature = "f64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __unless_f64 {
    ($($token:tt)*) => { $($token)* };
}

/// Drops its tokens, because this crate has the types of models with arguments, results or states in `f16` or `bf16`.
#[cfg(feature = "half")]
#[doc(hidden)]
#[macro_export]
macro_rules! __unless_half {
    ($($token:tt)*) => {};
}

/// Passes its tokens on: this crate has no types of models with arguments, results or states in `f16` or `bf16`.
#[cfg(not(feature = "half"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __unless_half {
    ($($token:tt)*) => { $($token)* };
}

/// The default of the type that is needed here: `AdamW { rate: 3e-3, ..default() }`.
pub fn default<T: Default>() -> T {
    T::default()
}

/// What emitted code names; programs do not. Methods that it calls have a prefix that is longer than their names, so that
/// rustc offers none of them for a name that is written wrong.
#[doc(hidden)]
pub mod __rt {
    pub use crate::__if_gpu as if_gpu;
    pub use crate::__unless_deterministic as unless_deterministic;
    pub use crate::__unless_f64 as unless_f64;
    pub use crate::__unless_half as unless_half;
    pub use alloc::{boxed::Box, sync::Arc, vec::Vec};
    pub use precast_cpu::*;
    pub use precast_macros::model as __model;
    pub use std::path::Path;

    // Such a model is an error already; the name keeps rustc from reporting more.
    #[cfg(not(feature = "deterministic"))]
    pub use precast_cpu::Isa as Deterministic;

    #[cfg(feature = "half")]
    pub use half;

    /// The types that parameters are stored in.
    pub mod parameters {
        #[cfg(feature = "half")]
        pub use half::{bf16, f16};

        // Such a model is an error already: another type keeps rustc from reporting more.
        #[cfg(not(feature = "half"))]
        pub use f32 as f16;
        #[cfg(not(feature = "half"))]
        pub use f32 as bf16;
    }

    // Such a model is an error already, too: any type of as many bits keeps rustc from reporting more.
    #[cfg(not(feature = "half"))]
    #[allow(non_camel_case_types, reason = "they stand for types of these names")]
    pub mod half {
        pub type f16 = u16;
        pub type bf16 = u16;
    }

    #[cfg(feature = "gpu")]
    pub use crate::gpu::{self, Gpu};

    pub use crate::{
        Adam, AdamW, Batch, Blocking, Cpu, Device, Error, File, Float, Gradients, Init, Loss, Optimizer, Result,
        RmsProp, Session, Sgd, Tensor, Trainer, Unmatched, View, Weights,
        bind::{Bindings, Dim, extent, fits, needed, position, product, room},
        count::Count,
        device::{Compiled, Function, GROUPS, Memory, NUMBERS_AT, Outcome, Place, Step, StepCall, StepMemory},
        encoded::Encoded,
        export::Exported,
        foreign::{Finished, Foreigns, Given, Room, Supplied},
        launch::{force_isa, isa, parts, threads},
        origin::{Held, Origin},
        reference,
        session::Shared,
        spec::{CHUNK, ModelSpec, ParameterSpec},
        state::StateSpec,
        trained::Trained,
        typed::{Reach, Read, Typed, Viewed, Write},
        unknown::Unknown,
        view::{elements, elements_mut, scalar, tensor, values, values_mut, view, words, words_mut, zero, zeros},
        weights::Model,
    };
}
