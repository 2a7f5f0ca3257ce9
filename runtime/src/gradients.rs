//! Gradients by name: in comes a pool that a plan has filled, out come named tensors. Always: names,
//! shapes and layouts are those of the parameters.

use alloc::string::String;

use precast_cpu::Words;

use crate::{
    error::{Error, Result},
    spec::ModelSpec,
};

/// The gradient of a loss with respect to every trained parameter.
#[derive(Debug)]
pub struct Gradients {
    /// The loss.
    pub loss: f32,
    pub(crate) spec: &'static ModelSpec,
    pub(crate) words: Words,
}

impl Gradients {
    /// Every gradient by the name of its parameter, with shape and values, row-major.
    pub fn iter(&self) -> impl Iterator<Item = (String, &'static [usize], &[f32])> {
        self.spec.trained().map(|(name, parameter, offset)| {
            (name, parameter.shape, &self.words.as_slice()[offset..][..parameter.len()])
        })
    }

    /// The gradient of one parameter, row-major.
    ///
    /// # Errors
    /// If no trained parameter has this name.
    pub fn get(&self, name: &str) -> Result<&[f32]> {
        let found = self.spec.trained().find(|(other, ..)| other == name);
        let Some((_, parameter, offset)) = found else {
            let similar = crate::error::similar(name, self.spec.trained().map(|(name, ..)| name));
            return Err(Error::UnknownParameter { name: name.into(), similar });
        };
        Ok(&self.words.as_slice()[offset..][..parameter.len()])
    }
}
