//! Repeated calls without allocation: in comes a model, borrowed or shared, out come results that
//! live until the next call. Always: after the first call at a shape the next allocates nothing; the first one also packs the
//! parameters for the CPU, once for the whole session.

use alloc::{sync::Arc, vec::Vec};
use core::ops::Deref;
use std::path::Path;

#[cfg(feature = "gpu")]
use crate::gpu::{Encoder, Gpu, Lent, now};
use crate::{
    device::{Compiled, Device, Function},
    encoded::{Encode, Encoded, Spare},
    error::Result,
    flags::{Flags, Truth},
    state::State,
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
    state: State<M::Device>,
    /// By result those that hold truth values.
    flags: Vec<Flags>,
    spare: Spare,
}

impl<'m, M: Model> Session<'m, M> {
    /// A session with no memory yet.
    #[doc(hidden)]
    pub fn new(model: Shared<'m, M>) -> Self {
        let state = State::none(model.weights().spec);
        Session::of(model, state)
    }

    /// A session with state of these dimensions, all zero.
    ///
    /// # Errors
    /// If a dimension is 0 or above its bound, or the state is too large.
    #[doc(hidden)]
    pub fn with(model: Shared<'m, M>, dims: &[usize]) -> Result<Self> {
        let state = State::new(model.weights().spec, dims)?;
        Ok(Session::of(model, state))
    }

    fn of(model: Shared<'m, M>, state: State<M::Device>) -> Self {
        let weights = model.weights();
        let workspace = weights.device.lasting(&weights.pool);
        Session { model, workspace, state, flags: Vec::new(), spare: Spare::default() }
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
    pub async fn __emitted_code_only_call<F: Function>(&mut self, dims: &[usize], inputs: &[&[f32]]) -> Result<()> {
        let weights = self.model.weights();
        weights.device.call::<F>(&weights.pool, None, &mut self.workspace, dims, inputs, &weights.foreign).await
    }

    /// Runs a function that reads or changes the state.
    #[doc(hidden)]
    #[inline]
    pub async fn __emitted_code_only_call_in<C: Compiled, F: Function>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
    ) -> Result<()> {
        let weights = self.model.weights();
        let state = self.state.pool::<C>(&weights.device).await?;
        weights.device.call::<F>(&weights.pool, Some(state), &mut self.workspace, dims, inputs, &weights.foreign).await
    }

    /// The dimensions that the session was made with.
    #[doc(hidden)]
    #[inline]
    pub fn __emitted_code_only_dims(&self) -> &[usize] {
        self.state.dims()
    }

    /// Makes the state zero again.
    #[doc(hidden)]
    pub async fn __emitted_code_only_reset(&mut self) -> Result<()> {
        self.state.reset(&self.model.weights().device).await
    }

    /// Writes the state to a safetensors file, whole or not at all.
    #[doc(hidden)]
    pub async fn __emitted_code_only_save(&self, path: &Path) -> Result<()> {
        self.state.save(&self.model.weights().device, path).await
    }

    /// Overwrites the state with that of a file; one that does not fit changes nothing.
    #[doc(hidden)]
    pub async fn __emitted_code_only_load<C: Compiled>(&mut self, path: &Path) -> Result<()> {
        self.state.load::<C>(&self.model.weights().device, path).await
    }

    /// The words of a result of the call before, which had these dimensions.
    #[doc(hidden)]
    #[inline]
    pub fn __emitted_code_only_result<F: Function>(&self, dims: &[usize], index: usize) -> &[f32] {
        self.model.weights().device.result::<F>(&self.workspace, dims, index)
    }

    /// The words of an argument whose elements are copied.
    #[doc(hidden)]
    pub fn __emitted_code_only_take<T: Encode>(&mut self, values: &[T]) -> Result<Encoded> {
        self.spare.take(values)
    }

    /// Keeps the words of an argument for the next call.
    #[doc(hidden)]
    pub fn __emitted_code_only_keep(&mut self, words: Encoded) {
        self.spare.keep(words);
    }

    /// Converts a result that holds truth values.
    #[doc(hidden)]
    pub fn __emitted_code_only_convert<F: Function>(&mut self, dims: &[usize], index: usize) {
        if self.flags.len() <= index {
            self.flags.resize(index + 1, Flags::default());
        }
        let words = self.model.weights().device.result::<F>(&self.workspace, dims, index);
        self.flags[index].set(words);
    }

    /// A result that was converted.
    #[doc(hidden)]
    pub fn __emitted_code_only_flags<T: Truth>(&self, index: usize) -> &[T] {
        self.flags[index].get()
    }
}

#[cfg(feature = "gpu")]
impl<M: Model<Device = Gpu>> Session<'_, M> {
    /// Records a call of a function into an encoder.
    #[doc(hidden)]
    pub fn __emitted_code_only_encode<C: Compiled, F: Function>(
        &mut self,
        encoder: &mut Encoder,
        dims: &[usize],
        arguments: &[Lent<'_>],
        results: &[Lent<'_>],
    ) -> Result<()> {
        let weights = self.model.weights();
        let state = match weights.spec.states {
            [] => None,
            _ => match now(self.state.pool::<C>(&weights.device)) {
                Some(state) => Some(state?),
                None => unreachable!("a GPU makes memory at once"),
            },
        };
        let state = state.map(|state| &*state);
        self.workspace.encode::<F>(&weights.device, &weights.pool, state, dims, encoder, (arguments, results))
    }
}
