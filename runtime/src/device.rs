//! Where models run: in comes a function that `model!` compiled, with its dimensions and words, and
//! a device runs its plan. Always: a plan is chosen by type, so a call looks nothing up.

use alloc::vec::Vec;
use core::{fmt::Debug, future::Future, pin::pin, task};

use precast_cpu::{Kept, Words};

use crate::{
    error::{Error, Result},
    float::Float,
    foreign::Foreigns,
    optim::Optimizer,
    spec::ModelSpec,
    view,
};

/// All that was compiled for one model. Emitted code implements it.
pub trait Compiled: 'static {
    /// The parameters.
    const SPEC: &'static ModelSpec;
    /// Whether its results have the same bits on every machine, which only CPUs promise.
    const DETERMINISTIC: bool = false;
    /// Why it runs on CPUs alone, if it does: a parameter, a state, an argument, a result or a value in between is f64.
    const CPU_ONLY: Option<&'static str> = None;
}

/// Parameter groups that the table of numbers has room for.
pub const GROUPS: usize = 8;

/// Words before the numbers in [`StepCall::numbers`].
pub const NUMBERS_AT: usize = 16;

/// A result in the scratch memory of a plan, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where it starts.
    pub offset: usize,
    /// How many words it has.
    pub len: usize,
}

/// One function of a model: what the compiler planned for every device. Emitted code implements it.
///
/// In words, `u32` and `i32` tensors keep their bits, a `bool` is the word 0 or 1, a number of 64 bits is two words,
/// the first of which has an even number, and those of fewer than 32 bits lie one behind the other in as few words as hold
/// them.
pub trait Function: 'static {
    /// The name that the user gave it.
    const NAME: &'static str;

    /// Words of scratch memory at these values of the named dimensions; `None` if the number
    /// overflows.
    fn scratch(dims: &[usize]) -> Option<usize>;

    /// Where a result is in the scratch memory afterwards.
    fn result(dims: &[usize], index: usize) -> Place;

    /// The plan for the CPU.
    ///
    /// # Errors
    /// If a foreign function is missing or fails.
    fn cpu(memory: Memory<'_>, dims: &[usize]) -> Result<()>;

    /// The model's program for a GPU and the plan of this function.
    #[cfg(feature = "gpu")]
    fn gpu() -> (&'static crate::gpu::Program, &'static crate::gpu::Plan);
}

/// The memory that a function reads and writes on the CPU.
#[derive(Debug)]
pub struct Memory<'a> {
    /// The words of the parameters.
    pub parameters: &'a [f32],
    /// The words of the session's states, changed in place; empty where the function needs none.
    pub session: &'a mut [f32],
    /// The words of every argument, in the order of the signature.
    pub inputs: &'a [&'a [f32]],
    /// The foreign functions that the program has supplied.
    pub foreign: &'a Foreigns,
    /// As long as [`Function::scratch`] said; holds whatever the call before left.
    pub scratch: &'a mut [f32],
}

/// One training step of one function by one optimiser, or its gradient alone. Emitted code
/// implements it.
pub trait Step: 'static {
    /// The name that the user gave the function.
    const NAME: &'static str;
    /// The optimiser that the plan fuses.
    type Optimizer: Optimizer;
    /// The type of the loss.
    type Float: Float;
    /// The elements of the gradients that the plan does not write, because it trains other parameters.
    const FROZEN: &'static [core::ops::Range<usize>] = &[];

    /// Words of scratch memory, as for [`Function::scratch`].
    fn scratch(dims: &[usize]) -> Option<usize>;

    /// The number of results, the loss included.
    const RESULTS: usize = 1;

    /// The words of the scratch memory at which the loss is and, as u32, whether the update was made.
    fn outcome(dims: &[usize]) -> [usize; 2];

    /// Where a result is in the scratch memory afterwards, the loss as number 0. Plans with further results say so.
    fn result(dims: &[usize], index: usize) -> Place {
        let [loss, _] = Self::outcome(dims);
        Place { offset: loss, len: if index == 0 { Self::Float::words(1) } else { 0 } }
    }

    /// The plan for the CPU: forward, backward and update.
    ///
    /// # Errors
    /// If a foreign function is missing or fails; then nothing was updated.
    fn cpu(memory: StepMemory<'_>, dims: &[usize]) -> Result<()>;

    /// The model's program for a GPU and the plan of this step.
    #[cfg(feature = "gpu")]
    fn gpu() -> (&'static crate::gpu::Program, &'static crate::gpu::Plan);
}

/// The memory that a training step on the CPU reads and writes.
#[derive(Debug)]
pub struct StepMemory<'a> {
    /// The words of the parameters, updated in place.
    pub parameters: &'a mut [f32],
    /// As long as `parameters`; holds whatever the step before left.
    pub gradients: &'a mut [f32],
    /// One pool as long as `parameters` for every [`Optimizer::STATES`], one after the other.
    pub states: &'a mut [f32],
    /// As [`StepCall::numbers`].
    pub numbers: &'a [f32],
    /// As [`StepCall::groups`].
    pub groups: &'a [u32],
    /// The words of every argument, in the order of the signature.
    pub inputs: &'a [&'a [f32]],
    /// The foreign functions that the program has supplied.
    pub foreign: &'a Foreigns,
    /// As for [`Memory::scratch`].
    pub scratch: &'a mut [f32],
}

/// The values of one training step.
#[derive(Debug)]
pub struct StepCall<'a> {
    /// The values of the named dimensions.
    pub dims: &'a [usize],
    /// The words of every argument.
    pub inputs: &'a [&'a [f32]],
    /// Words 0 and 1 are the key of the random bits (u32), word 2 is the largest norm of the
    /// gradient (infinite where nothing is clipped), word 3 (u32) is 1 where a step that is not
    /// finite is to be skipped; number k of [`Optimizer::NUMBERS`] for group g is word
    /// `NUMBERS_AT + k · GROUPS + g`.
    pub numbers: &'a [f32],
    /// The group of every 64 elements of the parameter pool.
    pub groups: &'a [u32],
    /// Changes whenever `groups` changes.
    pub groups_version: u64,
    /// The foreign functions that the program has supplied.
    pub foreign: &'a Foreigns,
}

/// What a training step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The loss before the update, which is a number of [`Step::Float`].
    pub loss: f64,
    /// Whether the update was made.
    pub updated: bool,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Cpu {}
    #[cfg(feature = "gpu")]
    impl Sealed for crate::gpu::Gpu {}
}

/// A place where models run: [`Cpu`], and with the feature `gpu` the type `Gpu`.
///
/// The methods are what models, sessions and trainers are made of; programs do not call them.
pub trait Device: sealed::Sealed + Clone + Debug + Send + Sync + 'static {
    /// Where parameters live.
    #[doc(hidden)]
    type Pool: Debug + Send + Sync;
    /// What calls in sequence share: scratch memory and everything recycled.
    #[doc(hidden)]
    type Workspace: Debug + Send;
    /// Gradients and optimiser state.
    #[doc(hidden)]
    type Training: Debug + Send;
    /// A loss that may not be known yet.
    #[doc(hidden)]
    type Loss: Debug + Send;
    /// The arguments of a step.
    #[doc(hidden)]
    type Inputs: Debug + Send + Sync;

    /// A pool with these words, for the plans of one model.
    #[doc(hidden)]
    fn pool<C: Compiled>(&self, words: Words) -> impl Future<Output = Result<Self::Pool>>;

    /// Overwrites the words of a pool from `offset` on.
    #[doc(hidden)]
    fn write(&self, pool: &mut Self::Pool, offset: usize, words: &[f32]) -> impl Future<Output = Result<()>>;

    /// Copies the words of a pool from `offset` on to the host.
    #[doc(hidden)]
    fn read(&self, pool: &Self::Pool, offset: usize, words: &mut [f32]) -> impl Future<Output = Result<()>>;

    /// Makes all words of a pool zero.
    #[doc(hidden)]
    fn clear(&self, pool: &mut Self::Pool) -> impl Future<Output = Result<()>>;

    /// An empty workspace.
    #[doc(hidden)]
    fn workspace(&self, pool: &Self::Pool) -> Self::Workspace;

    /// An empty workspace for calls during which the words of `pool` stay as they are, from the first one to the last.
    #[doc(hidden)]
    fn lasting(&self, pool: &Self::Pool) -> Self::Workspace {
        self.workspace(pool)
    }

    /// Runs a function; its results are in the workspace afterwards.
    #[doc(hidden)]
    fn call<F: Function>(
        &self,
        parameters: &Self::Pool,
        session: Option<&mut Self::Pool>,
        workspace: &mut Self::Workspace,
        dims: &[usize],
        inputs: &[&[f32]],
        foreign: &Foreigns,
    ) -> impl Future<Output = Result<()>>;

    /// The words of a result of the call before, which had these dimensions.
    #[doc(hidden)]
    fn result<'a, F: Function>(&self, workspace: &'a Self::Workspace, dims: &[usize], index: usize) -> &'a [f32];

    /// Gradients and `states` pools of optimiser state for `len` words of parameters, all zero.
    #[doc(hidden)]
    fn training(
        &self,
        parameters: &Self::Pool,
        len: usize,
        states: usize,
    ) -> impl Future<Output = Result<Self::Training>>;

    /// Runs a training step, or submits it.
    #[doc(hidden)]
    fn step<S: Step>(
        &self,
        parameters: &mut Self::Pool,
        training: &mut Self::Training,
        workspace: &mut Self::Workspace,
        call: &StepCall<'_>,
    ) -> impl Future<Output = Result<Self::Loss>>;

    /// Brings the words of arguments to the device.
    #[doc(hidden)]
    fn inputs(&self, inputs: &[&[f32]]) -> impl Future<Output = Result<Self::Inputs>>;

    /// The most steps that [`Device::steps`] takes.
    #[doc(hidden)]
    fn at_once<S: Step>() -> usize {
        1
    }

    /// Runs some training steps, or submits them, whose arguments are on the device: all of them, or none if there is an error.
    /// All have the same dimensions, and no [`StepCall::inputs`].
    #[doc(hidden)]
    fn steps<S: Step>(
        &self,
        parameters: &mut Self::Pool,
        training: &mut Self::Training,
        workspace: &mut Self::Workspace,
        calls: &[(StepCall<'_>, &Self::Inputs)],
    ) -> impl Future<Output = Result<Vec<Self::Loss>>>;

    /// Makes the results of the step before known; waits for that step.
    #[doc(hidden)]
    fn results<S: Step>(&self, workspace: &mut Self::Workspace, dims: &[usize]) -> impl Future<Output = Result<()>>;

    /// The words of a result of the step before, which had these dimensions and whose results were asked for.
    #[doc(hidden)]
    fn step_result<'a, S: Step>(&self, workspace: &'a Self::Workspace, dims: &[usize], index: usize) -> &'a [f32];

    /// What a step came to.
    #[doc(hidden)]
    fn outcome(&self, loss: &Self::Loss) -> impl Future<Output = Result<Outcome>>;

    /// Copies the gradients of the step before to the host.
    #[doc(hidden)]
    fn read_gradients(&self, training: &Self::Training, words: &mut [f32]) -> impl Future<Output = Result<()>>;

    /// Copies the optimiser state to the host.
    #[doc(hidden)]
    fn read_states(&self, training: &Self::Training, words: &mut [f32]) -> impl Future<Output = Result<()>>;

    /// Overwrites the optimiser state.
    #[doc(hidden)]
    fn write_states(&self, training: &mut Self::Training, words: &[f32]) -> impl Future<Output = Result<()>>;
}

/// A device that the calling thread can wait for: every device of a native program. In a browser
/// the GPU is none, and only the `_async` methods exist.
pub trait Blocking: Device {
    /// Runs a future of this device to its end.
    fn wait<T>(&self, future: impl Future<Output = T>) -> T;
}

/// The CPU, with the best instruction set that it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cpu;

/// Gradients and optimiser state on the CPU.
#[doc(hidden)]
#[derive(Debug)]
pub struct CpuTraining {
    gradients: Words,
    states: Words,
}

/// What calls on the CPU share.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct CpuWorkspace {
    scratch: Words,
    /// Packed parameters, where parameters do not change.
    kept: Option<Kept>,
}

impl Device for Cpu {
    type Pool = Words;
    type Workspace = CpuWorkspace;
    type Training = CpuTraining;
    type Loss = Outcome;
    type Inputs = Vec<Words>;

    async fn pool<C: Compiled>(&self, words: Words) -> Result<Words> {
        Ok(words)
    }

    async fn write(&self, pool: &mut Words, offset: usize, words: &[f32]) -> Result<()> {
        pool.as_mut_slice()[offset..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    async fn read(&self, pool: &Words, offset: usize, words: &mut [f32]) -> Result<()> {
        words.copy_from_slice(&pool.as_slice()[offset..][..words.len()]);
        Ok(())
    }

    async fn clear(&self, pool: &mut Words) -> Result<()> {
        pool.as_mut_slice().fill(0.0);
        Ok(())
    }

    fn workspace(&self, _pool: &Words) -> CpuWorkspace {
        CpuWorkspace::default()
    }

    fn lasting(&self, _pool: &Words) -> CpuWorkspace {
        CpuWorkspace { scratch: Words::default(), kept: Some(Kept::default()) }
    }

    #[inline]
    async fn call<F: Function>(
        &self,
        parameters: &Words,
        session: Option<&mut Words>,
        workspace: &mut CpuWorkspace,
        dims: &[usize],
        inputs: &[&[f32]],
        foreign: &Foreigns,
    ) -> Result<()> {
        let words = F::scratch(dims).filter(|_| countable(inputs)).ok_or(Error::Overflow { function: F::NAME })?;
        let session = session.map_or(&mut [][..], Words::as_mut_slice);
        let (parameters, scratch) = (parameters.as_slice(), workspace.scratch.grow(words)?);
        let memory = Memory { parameters, session, inputs, foreign, scratch };
        let call = move || F::cpu(memory, dims);
        match &mut workspace.kept {
            Some(kept) => kept.lend(parameters, call),
            None => call(),
        }
    }

    #[inline]
    fn result<'a, F: Function>(&self, workspace: &'a CpuWorkspace, dims: &[usize], index: usize) -> &'a [f32] {
        let Place { offset, len } = F::result(dims, index);
        &workspace.scratch.as_slice()[offset..][..len]
    }

    async fn training(&self, _parameters: &Words, len: usize, states: usize) -> Result<CpuTraining> {
        let words = len.checked_mul(states).ok_or(Error::Memory { words: len })?;
        Ok(CpuTraining { gradients: Words::zeroed(len)?, states: Words::zeroed(words)? })
    }

    #[inline]
    async fn step<S: Step>(
        &self,
        parameters: &mut Words,
        training: &mut CpuTraining,
        workspace: &mut CpuWorkspace,
        call: &StepCall<'_>,
    ) -> Result<Outcome> {
        let words = S::scratch(call.dims).filter(|_| countable(call.inputs));
        let words = words.ok_or(Error::Overflow { function: S::NAME })?;
        let scratch = workspace.scratch.grow(words)?;
        let memory = StepMemory {
            parameters: parameters.as_mut_slice(),
            gradients: training.gradients.as_mut_slice(),
            states: training.states.as_mut_slice(),
            numbers: call.numbers,
            groups: call.groups,
            inputs: call.inputs,
            foreign: call.foreign,
            scratch: &mut *scratch,
        };
        S::cpu(memory, call.dims)?;
        let [loss, updated] = S::outcome(call.dims);
        let loss = view::scalar::<S::Float>(&scratch[loss..]).to_f64();
        Ok(Outcome { loss, updated: scratch[updated].to_bits() != 0 })
    }

    async fn inputs(&self, inputs: &[&[f32]]) -> Result<Vec<Words>> {
        let copy = |input: &&[f32]| {
            let mut words = Words::zeroed(input.len())?;
            words.as_mut_slice().copy_from_slice(input);
            Ok(words)
        };
        inputs.iter().map(copy).collect()
    }

    async fn steps<S: Step>(
        &self,
        parameters: &mut Words,
        training: &mut CpuTraining,
        workspace: &mut CpuWorkspace,
        calls: &[(StepCall<'_>, &Vec<Words>)],
    ) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for (call, inputs) in calls {
            let inputs: Vec<&[f32]> = inputs.iter().map(Words::as_slice).collect();
            let call = StepCall { inputs: &inputs, ..*call };
            outcomes.push(self.step::<S>(parameters, training, workspace, &call).await?);
        }
        Ok(outcomes)
    }

    async fn results<S: Step>(&self, _workspace: &mut CpuWorkspace, _dims: &[usize]) -> Result<()> {
        Ok(())
    }

    #[inline]
    fn step_result<'a, S: Step>(&self, workspace: &'a CpuWorkspace, dims: &[usize], index: usize) -> &'a [f32] {
        let Place { offset, len } = S::result(dims, index);
        &workspace.scratch.as_slice()[offset..][..len]
    }

    async fn outcome(&self, loss: &Outcome) -> Result<Outcome> {
        Ok(*loss)
    }

    async fn read_gradients(&self, training: &CpuTraining, words: &mut [f32]) -> Result<()> {
        words.copy_from_slice(training.gradients.as_slice());
        Ok(())
    }

    async fn read_states(&self, training: &CpuTraining, words: &mut [f32]) -> Result<()> {
        words.copy_from_slice(training.states.as_slice());
        Ok(())
    }

    async fn write_states(&self, training: &mut CpuTraining, words: &[f32]) -> Result<()> {
        training.states.as_mut_slice().copy_from_slice(words);
        Ok(())
    }
}

/// Whether kernels can count the words of every argument: they do so in 32 bits.
#[inline]
fn countable(inputs: &[&[f32]]) -> bool {
    inputs.iter().all(|words| words.len() <= i32::MAX as usize)
}

impl Blocking for Cpu {
    #[inline]
    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let mut context = task::Context::from_waker(task::Waker::noop());
        match pin!(future).poll(&mut context) {
            task::Poll::Ready(value) => value,
            task::Poll::Pending => unreachable!("a future of the CPU never waits"),
        }
    }
}
