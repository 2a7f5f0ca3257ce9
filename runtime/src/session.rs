//! Repeated calls without allocation: in comes a model, borrowed or shared, out come results that
//! live until the next call. Always: after the first call at a shape the next allocates nothing.

use alloc::sync::Arc;
use core::ops::Deref;

use crate::{
    device::{Call, Device, Function},
    error::{Error, Result},
    weights::Model,
    words::{LINE, Words},
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
    results: Words,
}

impl<'m, M: Model> Session<'m, M> {
    /// A session with no memory yet.
    #[doc(hidden)]
    pub fn new(model: Shared<'m, M>) -> Self {
        let workspace = model.weights().device.workspace();
        Session { model, workspace, results: Words::default() }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// Runs a function whose results have these numbers of words; `None` stands for a number that
    /// overflowed.
    #[doc(hidden)]
    #[inline]
    pub async fn call<F: Function, const N: usize>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
        lengths: [usize; N],
    ) -> Result<[&[f32]; N]> {
        let padded = |length: &usize| length.checked_next_multiple_of(LINE);
        let total = lengths.iter().try_fold(0usize, |total, length| total.checked_add(padded(length)?));
        let words = self.results.grow(total.ok_or(Error::Overflow { function: F::NAME })?)?;
        let mut rest = words;
        let mut outputs = lengths.map(|length| {
            let (output, after) = core::mem::take(&mut rest).split_at_mut(length.next_multiple_of(LINE));
            rest = after;
            &mut output[..length]
        });
        let call = Call { dims, inputs, outputs: &mut outputs };
        let weights = self.model.weights();
        weights.device.call::<F>(&weights.pool, &mut self.workspace, call).await?;
        Ok(outputs.map(|output| &*output))
    }
}
