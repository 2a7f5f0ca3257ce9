//! Training: in come batches, out come losses, and the model is better for it. Always: step,
//! optimiser state and random counter move together, so a run resumed from a checkpoint is the run
//! that was not interrupted, bit for bit.

use alloc::{boxed::Box, vec::Vec};
use core::{fmt, marker::PhantomData};

use precast_cpu::Words;

use crate::{
    device::{Blocking, Device, Outcome, Step, StepCall},
    encoded::{Encode, Encoded, Spare},
    error::{Error, Result},
    flags::{Flags, Truth},
    float::Float,
    gradients::Gradients,
    groups::Groups,
    optim::Optimizer,
    random,
    spec::ModelSpec,
    weights::Model,
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
    spare: Spare,
    /// By result those that hold truth values.
    flags: Vec<Flags>,
}

impl<'m, M: Model, O: Optimizer> Trainer<'m, M, O> {
    /// A trainer at step 0.
    #[doc(hidden)]
    pub fn new(model: &'m mut M, optimizer: O) -> Self {
        let weights = model.weights();
        let (groups, workspace) = (Groups::new(weights.spec), weights.device.workspace(&weights.pool));
        Trainer {
            optimizer,
            seed: 0,
            skip_nonfinite: true,
            model,
            groups,
            steps: 0,
            training: None,
            workspace,
            spare: Spare::default(),
            flags: Vec::new(),
        }
    }

    /// The model as it is now.
    pub fn model(&self) -> &M {
        self.model
    }

    /// The device that the model is on.
    #[doc(hidden)]
    #[inline]
    pub fn device(&self) -> M::Device {
        self.model.weights().device.clone()
    }

    /// The number of steps that were taken, skipped ones included.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Changes the optimiser's numbers for the parameters whose names match `pattern`, in which `*`
    /// stands for any run of characters. The change is made anew in every step, to a copy of
    /// [`Trainer::optimizer`]; changes of several groups are made in the order of the calls.
    ///
    /// ```text
    /// trainer.group("*.bias", |o| o.decay = 0.0)?.group("encoder.*", |o| o.rate *= 0.1)?;
    /// ```
    ///
    /// # Errors
    /// If the pattern matches nothing, or separates parameters of a repeated block that share 64
    /// numbers.
    pub fn group(&mut self, pattern: &str, change: impl Fn(&mut O) + Send + Sync + 'static) -> Result<&mut Self> {
        self.groups.add(self.model.weights().spec, pattern, Box::new(change))?;
        Ok(self)
    }

    /// The words of an argument whose elements are copied.
    #[doc(hidden)]
    pub fn __emitted_code_only_take<T: Encode>(&mut self, values: &[T]) -> Result<Encoded> {
        self.spare.take(values)
    }

    /// Keeps the words of an argument for the next step.
    #[doc(hidden)]
    pub fn __emitted_code_only_keep(&mut self, words: Encoded) {
        self.spare.keep(words);
    }

    /// Takes a step.
    #[doc(hidden)]
    #[inline]
    pub async fn __emitted_code_only_step<S: Step<Optimizer = O>>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
    ) -> Result<Loss<M::Device, S::Float>> {
        let pending = self.run::<S>(dims, inputs).await?;
        self.steps += 1;
        let device = self.model.weights().device.clone();
        Ok(Loss { device, pending, function: S::NAME, step: self.steps, float: PhantomData })
    }

    /// Takes a step of a function with further results, and waits for them.
    #[doc(hidden)]
    pub async fn __emitted_code_only_step_with_results<S: Step<Optimizer = O>>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
    ) -> Result<Loss<M::Device, S::Float>> {
        let loss = self.__emitted_code_only_step::<S>(dims, inputs).await?;
        loss.device.results::<S>(&mut self.workspace, dims).await?;
        Ok(loss)
    }

    /// The words of a result of that step, which had these dimensions.
    #[doc(hidden)]
    #[inline]
    pub fn __emitted_code_only_result<S: Step>(&self, dims: &[usize], index: usize) -> &[f32] {
        self.model.weights().device.step_result::<S>(&self.workspace, dims, index)
    }

    /// Converts a result that holds truth values.
    #[doc(hidden)]
    pub fn __emitted_code_only_convert<S: Step>(&mut self, dims: &[usize], index: usize) {
        if self.flags.len() <= index {
            self.flags.resize(index + 1, Flags::default());
        }
        let words = self.model.weights().device.step_result::<S>(&self.workspace, dims, index);
        self.flags[index].set(words);
    }

    /// A result that was converted.
    #[doc(hidden)]
    pub fn __emitted_code_only_flags<T: Truth>(&self, index: usize) -> &[T] {
        self.flags[index].get()
    }

    /// Computes the gradient that the next step would use, by a plan that updates nothing.
    #[doc(hidden)]
    pub async fn __emitted_code_only_gradients<S: Step<Optimizer = O>, V>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
    ) -> Result<Gradients<V, M::Float>> {
        let pending = self.run::<S>(dims, inputs).await?;
        let weights = self.model.weights();
        let Outcome { loss, .. } = weights.device.outcome(&pending).await?;
        let mut words = Words::zeroed(weights.spec.words::<M::Float>())?;
        if let Some(training) = &self.training {
            weights.device.read_gradients(training, words.as_mut_slice()).await?;
        }
        // What steps of other functions left there is no gradient of this one.
        let all = M::Float::of_words_mut(words.as_mut_slice());
        S::FROZEN.iter().for_each(|range| all[range.clone()].fill(M::Float::default()));
        Ok(Gradients::new(M::Float::from_f64(loss), weights.spec, words))
    }

    /// Brings the arguments of a step to the device.
    #[doc(hidden)]
    pub async fn __emitted_code_only_batch<S: Step<Optimizer = O>>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
    ) -> Result<Batch<M::Device, S>> {
        let inputs = self.model.weights().device.inputs(inputs).await?;
        Ok(Batch { model: self.model.weights().spec, dims: dims.into(), inputs, step: PhantomData })
    }

    /// Takes a step on each of some batches, which are on the device already, and gives the losses. A GPU takes up to 16 of them in
    /// one submission, which is faster than a submission for each where steps are short: little is sent, and it does not wait in
    /// between. Further results of the function stay where they are.
    ///
    /// ```text
    /// let batches = [trainer.loss_batch(&x, &y)?, trainer.loss_batch(&x2, &y2)?];
    /// for loss in trainer.steps_on(&batches)? { println!("{}", loss.value()?); }
    /// ```
    ///
    /// # Errors
    /// As for a step, and if a batch is of another model or on another device; the steps of submissions before it are taken, which
    /// [`Trainer::steps`] counts.
    pub fn steps_on<'b, S: Step<Optimizer = O>>(
        &mut self,
        batches: impl IntoIterator<Item = &'b Batch<M::Device, S>>,
    ) -> Result<Vec<Loss<M::Device, S::Float>>>
    where
        M::Device: Blocking,
    {
        self.device().wait(self.steps_on_async(batches))
    }

    /// As [`Trainer::steps_on`], without blocking.
    ///
    /// # Errors
    /// As for [`Trainer::steps_on`].
    pub async fn steps_on_async<'b, S: Step<Optimizer = O>>(
        &mut self,
        batches: impl IntoIterator<Item = &'b Batch<M::Device, S>>,
    ) -> Result<Vec<Loss<M::Device, S::Float>>> {
        let batches: Vec<&Batch<M::Device, S>> = batches.into_iter().collect();
        let spec = self.model.weights().spec;
        if let Some(other) = batches.iter().find(|batch| !core::ptr::eq(batch.model, spec)) {
            return Err(Error::Batch { model: spec.name, other: other.model.name });
        }
        let mut losses = Vec::new();
        let of_a_shape = batches.chunk_by(|one, next| one.dims == next.dims);
        for together in of_a_shape.flat_map(|batches| batches.chunks(M::Device::at_once::<S>())) {
            let mut numbers = Vec::new();
            for at in 0..together.len() {
                self.fill(at as u64)?;
                numbers.extend_from_slice(&self.groups.numbers);
            }
            self.start().await?;
            let weights = self.model.weights_mut();
            let Some(training) = &mut self.training else { unreachable!("it was made above") };
            let calls: Vec<(StepCall<'_>, &<M::Device as Device>::Inputs)> = together
                .iter()
                .zip(numbers.chunks(self.groups.numbers.len()))
                .map(|(batch, numbers)| {
                    let call = StepCall {
                        dims: &batch.dims,
                        inputs: &[],
                        numbers,
                        groups: &self.groups.chunks,
                        groups_version: self.groups.version,
                        foreign: &weights.foreign,
                    };
                    (call, &batch.inputs)
                })
                .collect();
            let device = weights.device.clone();
            let made = device.steps::<S>(&mut weights.pool, training, &mut self.workspace, &calls).await?;
            for pending in made {
                self.steps += 1;
                let (device, step) = (device.clone(), self.steps);
                losses.push(Loss { device, pending, function: S::NAME, step, float: PhantomData });
            }
        }
        Ok(losses)
    }

    /// Computes the numbers of the step that comes so many steps after the next.
    fn fill(&mut self, after: u64) -> Result<()> {
        let step = self.steps + after;
        let key = [random::threefry(random::key(self.seed), [TRAINING, 0])[0], step as u32];
        self.groups.fill(&self.optimizer, step + 1, key, self.skip_nonfinite)
    }

    /// Makes gradients and states before the first step.
    async fn start(&mut self) -> Result<()> {
        if self.training.is_none() {
            let weights = self.model.weights();
            let (len, states) = (weights.spec.words::<M::Float>(), O::STATES.len());
            self.training = Some(weights.device.training(&weights.pool, len, states).await?);
        }
        Ok(())
    }

    #[inline]
    async fn run<S: Step<Optimizer = O>>(
        &mut self,
        dims: &[usize],
        inputs: &[&[f32]],
    ) -> Result<<M::Device as Device>::Loss> {
        self.fill(0)?;
        self.start().await?;
        let weights = self.model.weights_mut();
        let Some(training) = &mut self.training else { unreachable!("it was made above") };
        let call = StepCall {
            dims,
            inputs,
            numbers: &self.groups.numbers,
            groups: &self.groups.chunks,
            groups_version: self.groups.version,
            foreign: &weights.foreign,
        };
        weights.device.step::<S>(&mut weights.pool, training, &mut self.workspace, &call).await
    }
}

impl<M: Model, O: Optimizer> fmt::Debug for Trainer<'_, M, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} trainer of {:?} at step {}", O::NAME, self.model.weights(), self.steps)
    }
}

/// The arguments of a step on the device of a model: a trainer's `loss_batch` brings them there, and [`Trainer::steps_on`] takes
/// steps on them, as often as wanted.
#[must_use = "a batch does nothing until `steps_on` takes a step on it"]
pub struct Batch<D: Device, S: Step> {
    model: &'static ModelSpec,
    dims: Box<[usize]>,
    inputs: D::Inputs,
    step: PhantomData<fn() -> S>,
}

impl<D: Device, S: Step> fmt::Debug for Batch<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch of `{}` with dimensions {:?}", S::NAME, self.dims)
    }
}

/// The loss of one step, a number of type `T`, which a GPU may still be computing.
#[must_use = "a step that was not finite is reported by `value`"]
#[derive(Debug)]
pub struct Loss<D: Device, T: Float = f32> {
    device: D,
    pending: D::Loss,
    function: &'static str,
    step: u64,
    float: PhantomData<fn() -> T>,
}

impl<D: Device, T: Float> Loss<D, T> {
    /// The loss before the update; waits until it is known.
    ///
    /// # Errors
    /// If the loss or the gradient is not finite, or the device was lost.
    #[inline]
    pub fn value(&self) -> Result<T>
    where
        D: Blocking,
    {
        self.device.wait(self.value_async())
    }

    /// As [`Loss::value`], without blocking.
    ///
    /// # Errors
    /// As for [`Loss::value`].
    pub async fn value_async(&self) -> Result<T> {
        let Outcome { loss, updated } = self.device.outcome(&self.pending).await?;
        if updated && loss.is_finite() {
            return Ok(T::from_f64(loss));
        }
        Err(Error::NonFinite { function: self.function, step: self.step, skipped: !updated })
    }
}
