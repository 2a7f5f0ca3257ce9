//! Training: in come batches, out come losses, and the model is better for it. Always: step,
//! optimiser state and random counter move together, so a run resumed from a checkpoint is the run
//! that was not interrupted, bit for bit.

use alloc::boxed::Box;
use core::fmt;

use crate::{
    device::{Blocking, Call, Device, Function, Outcome, Step, StepCall},
    error::{Error, Result},
    gradients::Gradients,
    groups::Groups,
    optim::Optimizer,
    random,
    weights::Model,
    words::Words,
};

/// The purpose of the trainer's random bits, apart from every other use of a seed.
const TRAINING: u32 = 1;

/// What every trainer holds: a model, an optimiser and its state.
pub struct Trainer<'m, M: Model, O: Optimizer> {
    /// The numbers of the optimiser; set them between steps as a schedule says.
    pub optimizer: O,
    /// The seed of dropout and of all else that is drawn while training.
    pub seed: u64,
    /// Whether a step whose loss or gradient is not finite leaves the model as it was. It is
    /// reported by [`Loss::value`] either way.
    pub skip_nonfinite: bool,
    pub(crate) model: &'m mut M,
    pub(crate) groups: Groups<O>,
    /// The steps that were taken, skipped ones included.
    pub(crate) steps: u64,
    /// Made by the first step, so that a trainer can be made where memory is short.
    pub(crate) training: Option<<M::Device as Device>::Training>,
    workspace: <M::Device as Device>::Workspace,
}

impl<'m, M: Model, O: Optimizer> Trainer<'m, M, O> {
    /// A trainer at step 0.
    #[doc(hidden)]
    pub fn new(model: &'m mut M, optimizer: O) -> Self {
        let weights = model.weights();
        let (groups, workspace) = (Groups::new(weights.spec), weights.device.workspace());
        Trainer { optimizer, seed: 0, skip_nonfinite: true, model, groups, steps: 0, training: None, workspace }
    }

    /// The model as it is now.
    pub fn model(&self) -> &M {
        self.model
    }

    /// The number of steps that were taken, skipped ones included.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Changes the optimiser's numbers for the parameters whose names match `pattern`, in which `*`
    /// stands for any run of characters. The change is made anew in every step, to a copy of
    /// [`Trainer::optimizer`]; changes of several groups are made in the order of the calls.
    ///
    /// ```ignore
    /// trainer.group("*.bias", |o| o.decay = 0.0)?.group("encoder.*", |o| o.rate *= 0.1)?;
    /// ```
    ///
    /// # Errors
    /// If the pattern matches nothing, or separates parameters of a repeated block that share 64
    /// words.
    pub fn group(&mut self, pattern: &str, change: impl Fn(&mut O) + Send + Sync + 'static) -> Result<&mut Self> {
        self.groups.add(self.model.weights().spec, pattern, Box::new(change))?;
        Ok(self)
    }

    /// The key of the random bits of the next step.
    #[doc(hidden)]
    pub fn key(&self) -> [u32; 2] {
        [random::threefry(random::key(self.seed), [TRAINING, 0])[0], self.steps as u32]
    }

    /// Takes a step.
    #[doc(hidden)]
    #[inline]
    pub async fn step<S: Step<Optimizer = O>>(&mut self, dims: &[usize], inputs: &[&[f32]]) -> Result<Loss<M::Device>> {
        let key = self.key();
        self.groups.fill(&self.optimizer, self.steps + 1);
        let weights = self.model.weights_mut();
        let training = match &mut self.training {
            Some(training) => training,
            none => none.insert(weights.device.training(weights.spec.pool_len, O::STATES.len())?),
        };
        let call = StepCall {
            dims,
            inputs,
            key,
            groups: &self.groups.chunks,
            groups_version: self.groups.version,
            numbers: &self.groups.numbers,
            clip: self.optimizer.clip().unwrap_or(f32::INFINITY),
            skip_nonfinite: self.skip_nonfinite,
        };
        let pending = weights.device.step::<S>(&mut weights.pool, training, &mut self.workspace, &call).await?;
        self.steps += 1;
        let device = weights.device.clone();
        Ok(Loss { device, pending, function: S::NAME, step: self.steps, skip: self.skip_nonfinite })
    }

    /// Computes the gradient that the next step would use. The last argument of the plan is
    /// [`Trainer::key`]; its results are the loss and the pool of gradients.
    #[doc(hidden)]
    pub async fn gradients<F: Function>(&mut self, dims: &[usize], inputs: &[&[f32]]) -> Result<Gradients> {
        let weights = self.model.weights();
        let mut words = Words::zeroed(weights.spec.pool_len)?;
        let mut loss = [0.0];
        let call = Call { dims, inputs, outputs: &mut [&mut loss, words.as_mut_slice()] };
        weights.device.call::<F>(&weights.pool, &mut self.workspace, call).await?;
        Ok(Gradients { loss: loss[0], spec: weights.spec, words })
    }
}

impl<M: Model, O: Optimizer> fmt::Debug for Trainer<'_, M, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} trainer of {:?} at step {}", O::NAME, self.model.weights(), self.steps)
    }
}

/// The loss of one step, which a GPU may still be computing.
#[must_use = "a step that was not finite is reported by `value`"]
#[derive(Debug)]
pub struct Loss<D: Device> {
    device: D,
    pending: D::Loss,
    function: &'static str,
    step: u64,
    skip: bool,
}

impl<D: Device> Loss<D> {
    /// The loss before the update; waits until it is known.
    ///
    /// # Errors
    /// If the loss or the gradient is not finite, or the device was lost.
    #[inline]
    pub fn value(&self) -> Result<f32>
    where
        D: Blocking,
    {
        D::wait(self.value_async())
    }

    /// As [`Loss::value`], without blocking.
    ///
    /// # Errors
    /// As for [`Loss::value`].
    pub async fn value_async(&self) -> Result<f32> {
        let Outcome { loss, finite } = self.device.outcome(&self.pending).await?;
        if finite {
            return Ok(loss);
        }
        Err(Error::NonFinite { function: self.function, step: self.step, skipped: self.skip })
    }
}
