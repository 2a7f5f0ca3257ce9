//! Checkpoints: in comes a trainer, out comes a safetensors file with weights, optimiser state, step,
//! seed and numbers, and back. Always: a trainer that loads a checkpoint continues bit for bit, and a
//! file that does not fit changes nothing.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use std::path::Path;

use precast_cpu::Words;

use crate::{
    device::{Blocking, Device},
    error::{Error, Result},
    optim::Optimizer,
    safetensors::{self, Reader},
    storage::{FORMAT, compare, fill, tensors},
    trainer::Trainer,
    weights::Model,
};

const OPTIMIZER: &str = "precast.optimizer";
const STEPS: &str = "precast.steps";
const SEED: &str = "precast.seed";
const GROUPS: &str = "precast.groups";
const NUMBER: &str = "precast.number.";

impl<M: Model, O: Optimizer> Trainer<'_, M, O> {
    /// Writes a checkpoint: the weights under their own names, and everything else that the next
    /// step depends on. The file is replaced as a whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written, its name ends in `.safetensors.index.json`, or the device is lost.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()>
    where
        M::Device: Blocking,
    {
        self.model.weights().device.wait(self.save_async(path))
    }

    /// As [`Trainer::save`], without blocking on the device.
    ///
    /// # Errors
    /// As for [`Trainer::save`].
    pub async fn save_async(&self, path: impl AsRef<Path>) -> Result<()> {
        let weights = self.model.weights();
        let len = weights.spec.words::<M::Float>();
        let parameters = weights.host().await?;
        let mut states = Words::zeroed(len * O::STATES.len())?;
        if let Some(training) = &self.training {
            weights.device.read_states(training, states.as_mut_slice()).await?;
        }
        let mut all = tensors::<M::Float>(weights.spec, "", parameters.as_slice());
        for (state, words) in O::STATES.iter().zip(states.as_slice().chunks_exact(len.max(1))) {
            all.extend(tensors::<M::Float>(weights.spec, &prefix(state), words));
        }
        let mut metadata: Vec<(String, String)> = [
            (FORMAT.0, FORMAT.1.to_string()),
            (OPTIMIZER, O::NAME.into()),
            (STEPS, self.steps.to_string()),
            (SEED, self.seed.to_string()),
            (GROUPS, self.patterns()),
        ]
        .map(|(key, value)| (key.into(), value))
        .into();
        // The shortest decimal that reads back as the same f32 is what `to_string` writes.
        self.optimizer.clone().visit(&mut |name, value| {
            metadata.push((format!("{NUMBER}{name}"), value.to_string()));
        });
        let metadata: Vec<_> = metadata.iter().map(|(key, value)| (key.as_str(), value.clone())).collect();
        safetensors::save(path.as_ref(), &metadata, &all)
    }

    /// Continues from a checkpoint: model, optimiser state and numbers, step and seed. Groups are
    /// code, so they are added before, as they were when the checkpoint was written.
    ///
    /// # Errors
    /// If the file cannot be read, or is not from a trainer like this one; then nothing has changed.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<()>
    where
        M::Device: Blocking,
    {
        self.model.weights().device.clone().wait(self.load_async(path))
    }

    /// As [`Trainer::load`], without blocking on the device.
    ///
    /// # Errors
    /// As for [`Trainer::load`].
    pub async fn load_async(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let weights = self.model.weights();
        let (spec, len) = (weights.spec, weights.spec.words::<M::Float>());
        let mut reader = Reader::open(path.as_ref())?;
        let settings = self.settings(&reader)?;
        let prefixes: Vec<String> = O::STATES.iter().map(|state| prefix(state)).collect();
        let all: Vec<&str> = [""].into_iter().chain(prefixes.iter().map(String::as_str)).collect();
        compare::<M::Float>(spec, &all, &reader)?;
        let parameters = fill::<M::Float>(spec, "", &mut reader)?;
        let mut states = Words::zeroed(len * O::STATES.len())?;
        for (prefix, words) in prefixes.iter().zip(states.as_mut_slice().chunks_exact_mut(len.max(1))) {
            words.copy_from_slice(fill::<M::Float>(spec, prefix, &mut reader)?.as_slice());
        }
        let mut training = weights.device.training(&weights.pool, len, O::STATES.len()).await?;
        weights.device.write_states(&mut training, states.as_slice()).await?;
        let weights = self.model.weights_mut();
        weights.device.write(&mut weights.pool, 0, parameters.as_slice()).await?;
        self.training = Some(training);
        (self.optimizer, self.steps, self.seed) = settings;
        Ok(())
    }

    fn patterns(&self) -> String {
        self.groups.patterns().collect::<Vec<_>>().join("\n")
    }

    /// The optimiser, the steps and the seed of a checkpoint.
    fn settings(&self, reader: &Reader) -> Result<(O, u64, u64)> {
        let mut differences = Vec::new();
        let text = |key: &str| reader.metadata.get(key).map(String::as_str);
        for (key, what, here) in [(OPTIMIZER, "optimizer", O::NAME), (GROUPS, "groups", &self.patterns())] {
            match text(key) {
                None => differences.push(format!("it has no {what}")),
                Some(there) if there != here => {
                    differences.push(format!("its {what} is `{there}`, but the trainer's is `{here}`"));
                }
                Some(_) => {}
            }
        }
        let mut number = |key: &str| {
            let number = text(key).and_then(|text| text.parse().ok());
            number.unwrap_or_else(|| {
                differences.push(format!("`{key}` is missing or no number"));
                0
            })
        };
        let (steps, seed) = (number(STEPS), number(SEED));
        let mut optimizer = O::default();
        optimizer.visit(&mut |name, value| {
            let key = format!("{NUMBER}{name}");
            match text(&key).and_then(|text| text.parse().ok()) {
                Some(number) => *value = number,
                None => differences.push(format!("`{key}` is missing or no number")),
            }
        });
        if differences.is_empty() {
            return Ok((optimizer, steps, seed));
        }
        Err(Error::Checkpoint { path: reader.path.clone(), differences })
    }
}

fn prefix(state: &str) -> String {
    format!("optimizer.{state}.")
}
