//! Gradients: in comes a pool that a plan has filled, out come named tensors and typed fields. Always: names, fields,
//! shapes and layouts are those of the parameters.

use alloc::string::String;
use core::marker::PhantomData;

use precast_cpu::Words;

use crate::{
    error::{Error, Result},
    float::Float,
    spec::ModelSpec,
    typed::{Read, Viewed},
};

/// The gradient of a loss of the model `M` with respect to every trained parameter, in the memory of the host; `T` is the
/// type of the model's parameters.
///
/// # Examples
/// ```
/// use precast::prelude::*;
///
/// model! {
///     pub struct Net { hidden: Linear(2, 16), output: Linear(16, 1) }
///     impl Net {
///         #[train(Sgd)]
///         pub fn loss(&self, x: f32[B, 2]) -> f32 { mean(square(self.output(tanh(self.hidden(x))))) }
///     }
/// }
///
/// # fn main() -> precast::Result<()> {
/// let mut net = Net::init(42);
/// let gradients = net.trainer(Sgd::default()).loss_gradients(&[[0.5, 1.0]])?;
/// let weight: &[[f32; 2]; 16] = gradients.views().hidden.weight;
/// assert_eq!(weight.as_flattened(), gradients.get("hidden.weight")?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gradients<M, T: Float = f32> {
    /// The loss, as a number of the type of the parameters.
    pub loss: T,
    spec: &'static ModelSpec,
    words: Words,
    model: PhantomData<fn() -> M>,
}

impl<M, T: Float> Gradients<M, T> {
    pub(crate) fn new(loss: T, spec: &'static ModelSpec, words: Words) -> Self {
        Gradients { loss, spec, words, model: PhantomData }
    }

    /// The gradients as arrays, in the struct that `views` of the model gives: zeros for a parameter that is not trained.
    pub fn views(&self) -> M::Views<Read<'_>>
    where
        M: Viewed,
    {
        M::of(Read::new(self.words.as_slice()))
    }

    /// Every gradient by the name of its parameter, with shape and values, row-major.
    pub fn iter(&self) -> impl Iterator<Item = (String, &'static [usize], &[T])> {
        self.spec.trained().map(|instance| {
            let values = instance.values(self.words.as_slice());
            (instance.name, instance.spec.shape, values)
        })
    }

    /// The gradient of one parameter, row-major.
    ///
    /// # Errors
    /// If no trained parameter has this name.
    pub fn get(&self, name: &str) -> Result<&[T]> {
        let Some(instance) = self.spec.trained().find(|instance| instance.name == name) else {
            let similar = crate::error::similar(name, self.spec.trained().map(|instance| instance.name));
            return Err(Error::UnknownParameter { name: name.into(), similar });
        };
        Ok(instance.values(self.words.as_slice()))
    }
}
