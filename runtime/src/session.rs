//! Repeated calls without allocation: in comes a model, borrowed or shared, out come results that
//! live until the next call. Always: after the first call at a shape the next allocates nothing.

use alloc::{sync::Arc, vec::Vec};
use core::ops::Deref;

use crate::{
    device::{Device, Function},
    error::Result,
    flags::{Flags, Spare, Truth, Values},
    weights::Model,
};

/// A model that a session reads.
#[derive(Debug)]
pub enum Shared<'m, M> {
    /// Borrowed.
    Borrowed(&'m M),
    /// Kept alive by the session.
    Counted(Arc<M>),
}

impl<M> Deref for Shared<'_, M> {
    type Target = M;

    #[inline]
    fn deref(&self) -> &M {
        match self {
            Shared::Borrowed(model) => model,
            Shared::Counted(model) => model,
        }
    }
}

/// What every session holds.
#[derive(Debug)]
pub struct Session<'m, M: Model> {
    model: Shared<'m, M>,
    workspace: <M::Device as Device>::Workspace,
    /// By result those that hold truth values.
    flags: Vec<Values>,
    spare: Spare,
}

impl<'m, M: Model> Session<'m, M> {
    /// A session with no memory yet.
    #[doc(hidden)]
    pub fn new(model: Shared<'m, M>) -> Self {
        let weights = model.weights();
        let workspace = weights.device.workspace(&weights.pool);
        Session { model, workspace, flags: Vec::new(), spare: Spare::default() }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The device that the model is on.
    #[doc(hidden)]
    #[inline]
    pub fn device(&self) -> M::Device {
        self.model.weights().device.clone()
    }

    /// Runs a function.
    #[doc(hidden)]
    #[inline]
    pub async fn call<F: Function>(&mut self, dims: &[usize], inputs: &[&[f32]]) -> Result<()> {
        let weights = self.model.weights();
        weights.device.call::<F>(&weights.pool, &mut self.workspace, dims, inputs).await
    }

    /// The words of a result of the call before, which had these dimensions.
    #[doc(hidden)]
    #[inline]
    pub fn result<F: Function>(&self, dims: &[usize], index: usize) -> &[f32] {
        self.model.weights().device.result::<F>(&self.workspace, dims, index)
    }

    /// The words of an argument that holds truth values.
    #[doc(hidden)]
    pub fn take<T: Truth>(&mut self, values: &[T]) -> Result<Flags> {
        self.spare.take(values)
    }

    /// Keeps the words of an argument for the next call.
    #[doc(hidden)]
    pub fn keep(&mut self, flags: Flags) {
        self.spare.keep(flags);
    }

    /// Converts a result that holds truth values.
    #[doc(hidden)]
    pub fn convert<F: Function>(&mut self, dims: &[usize], index: usize) {
        if self.flags.len() <= index {
            self.flags.resize(index + 1, Values::default());
        }
        let words = self.model.weights().device.result::<F>(&self.workspace, dims, index);
        self.flags[index].set(words);
    }

    /// A result that was converted.
    #[doc(hidden)]
    pub fn flags<T: Truth>(&self, index: usize) -> &[T] {
        self.flags[index].get()
    }
}
