//! Where models run: in comes a function that `model!` compiled, with its dimensions and words, and
//! a device runs its plan. Always: a plan is chosen by type, so a call looks nothing up.

use core::{fmt::Debug, future::Future, pin::pin, task};

use crate::{
    error::{Error, Result},
    optim::Optimizer,
    words::Words,
};

/// One function of a model: what the compiler planned for every device. Emitted code implements it.
///
/// In the word slices of inputs and outputs, `u32` and `i32` tensors keep their bits, and a `bool`
/// is the word 0 or 1.
pub trait Function: 'static {
    /// The name that the user gave it.
    const NAME: &'static str;

    /// Words of scratch memory at these values of the named dimensions; `None` if the number
    /// overflows.
    fn scratch(dims: &[usize]) -> Option<usize>;

    /// The plan for the CPU. `scratch` has the length that [`Function::scratch`] gave, and holds
    /// whatever the call before left.
    fn cpu(parameters: &[f32], call: Call<'_, '_>, scratch: &mut [f32]);
}

/// The named dimensions and the tensors of one call, checked by the public face of the model.
#[derive(Debug)]
pub struct Call<'a, 'b> {
    /// The values of the named dimensions, in the order of the signature.
    pub dims: &'a [usize],
    /// The words of every argument, in the order of the signature.
    pub inputs: &'a [&'a [f32]],
    /// The words of every result, in order.
    pub outputs: &'a mut [&'b mut [f32]],
}

/// One training step of one function by one optimiser. Emitted code implements it.
pub trait Step: 'static {
    /// The name that the user gave the function.
    const NAME: &'static str;
    /// The optimiser that the plan fuses.
    type Optimizer: Optimizer;

    /// Words of scratch memory, as for [`Function::scratch`].
    fn scratch(dims: &[usize]) -> Option<usize>;

    /// The plan for the CPU: forward, backward and update.
    fn cpu(pools: Pools<'_>, call: &StepCall<'_>) -> Outcome;
}

/// The memory that a training step on the CPU reads and writes.
#[derive(Debug)]
pub struct Pools<'a> {
    /// The parameters, updated in place.
    pub parameters: &'a mut [f32],
    /// As long as `parameters`; holds whatever the step before left.
    pub gradients: &'a mut [f32],
    /// One pool as long as `parameters` for every [`Optimizer::STATES`], one after the other.
    pub states: &'a mut [f32],
    /// As for [`Function::cpu`].
    pub scratch: &'a mut [f32],
}

/// The values of one training step.
#[derive(Debug)]
pub struct StepCall<'a> {
    /// The values of the named dimensions.
    pub dims: &'a [usize],
    /// The words of every argument.
    pub inputs: &'a [&'a [f32]],
    /// The key of the random bits: the trainer's seed and the number of steps before this one.
    pub key: [u32; 2],
    /// For every 64 words of the parameter pool the row of `numbers` that updates them.
    pub groups: &'a [u32],
    /// Changes whenever `groups` changes.
    pub groups_version: u64,
    /// One row of [`Optimizer::NUMBERS`] for every parameter group.
    pub numbers: &'a [f32],
    /// The largest norm of the whole gradient; infinite where nothing is clipped.
    pub clip: f32,
    /// Whether a step whose loss or gradient is not finite leaves parameters and states alone.
    pub skip_nonfinite: bool,
}

/// What a training step came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The loss before the update.
    pub loss: f32,
    /// Whether the loss and the gradient are finite.
    pub finite: bool,
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

    /// A pool with these words.
    #[doc(hidden)]
    fn pool(&self, words: &[f32]) -> Result<Self::Pool>;

    /// Overwrites the words of a pool from `offset` on.
    #[doc(hidden)]
    fn write(&self, pool: &mut Self::Pool, offset: usize, words: &[f32]) -> Result<()>;

    /// Copies the words of a pool from `offset` on to the host.
    #[doc(hidden)]
    fn read(&self, pool: &Self::Pool, offset: usize, words: &mut [f32]) -> impl Future<Output = Result<()>>;

    /// An empty workspace.
    #[doc(hidden)]
    fn workspace(&self) -> Self::Workspace;

    /// Runs a function; its results are in `call.outputs` afterwards.
    #[doc(hidden)]
    fn call<F: Function>(
        &self,
        parameters: &Self::Pool,
        workspace: &mut Self::Workspace,
        call: Call<'_, '_>,
    ) -> impl Future<Output = Result<()>>;

    /// Gradients and `states` pools of optimiser state for `len` words of parameters, all zero.
    #[doc(hidden)]
    fn training(&self, len: usize, states: usize) -> Result<Self::Training>;

    /// Runs a training step, or submits it.
    #[doc(hidden)]
    fn step<S: Step>(
        &self,
        parameters: &mut Self::Pool,
        training: &mut Self::Training,
        workspace: &mut Self::Workspace,
        call: &StepCall<'_>,
    ) -> impl Future<Output = Result<Self::Loss>>;

    /// What a step came to.
    #[doc(hidden)]
    fn outcome(&self, loss: &Self::Loss) -> impl Future<Output = Result<Outcome>>;

    /// Copies the optimiser state to the host.
    #[doc(hidden)]
    fn read_states(&self, training: &Self::Training, words: &mut [f32]) -> impl Future<Output = Result<()>>;

    /// Overwrites the optimiser state.
    #[doc(hidden)]
    fn write_states(&self, training: &mut Self::Training, words: &[f32]) -> Result<()>;
}

/// A device that the calling thread can wait for: every device of a native program. In a browser
/// the GPU is none, and only the `_async` methods exist.
pub trait Blocking: Device {
    /// Runs a future of this device to its end.
    #[doc(hidden)]
    fn wait<T>(future: impl Future<Output = T>) -> T;
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

impl Device for Cpu {
    type Pool = Words;
    type Workspace = Words;
    type Training = CpuTraining;
    type Loss = Outcome;

    fn pool(&self, words: &[f32]) -> Result<Words> {
        let mut pool = Words::zeroed(words.len())?;
        pool.as_mut_slice().copy_from_slice(words);
        Ok(pool)
    }

    fn write(&self, pool: &mut Words, offset: usize, words: &[f32]) -> Result<()> {
        pool.as_mut_slice()[offset..][..words.len()].copy_from_slice(words);
        Ok(())
    }

    async fn read(&self, pool: &Words, offset: usize, words: &mut [f32]) -> Result<()> {
        words.copy_from_slice(&pool.as_slice()[offset..][..words.len()]);
        Ok(())
    }

    fn workspace(&self) -> Words {
        Words::default()
    }

    #[inline]
    async fn call<F: Function>(&self, parameters: &Words, workspace: &mut Words, call: Call<'_, '_>) -> Result<()> {
        let words = F::scratch(call.dims).ok_or(Error::Overflow { function: F::NAME })?;
        F::cpu(parameters.as_slice(), call, workspace.grow(words)?);
        Ok(())
    }

    fn training(&self, len: usize, states: usize) -> Result<CpuTraining> {
        let words = len.checked_mul(states).ok_or(Error::Memory { words: len })?;
        Ok(CpuTraining { gradients: Words::zeroed(len)?, states: Words::zeroed(words)? })
    }

    #[inline]
    async fn step<S: Step>(
        &self,
        parameters: &mut Words,
        training: &mut CpuTraining,
        workspace: &mut Words,
        call: &StepCall<'_>,
    ) -> Result<Outcome> {
        let words = S::scratch(call.dims).ok_or(Error::Overflow { function: S::NAME })?;
        let pools = Pools {
            parameters: parameters.as_mut_slice(),
            gradients: training.gradients.as_mut_slice(),
            states: training.states.as_mut_slice(),
            scratch: workspace.grow(words)?,
        };
        Ok(S::cpu(pools, call))
    }

    async fn outcome(&self, loss: &Outcome) -> Result<Outcome> {
        Ok(*loss)
    }

    async fn read_states(&self, training: &CpuTraining, words: &mut [f32]) -> Result<()> {
        words.copy_from_slice(training.states.as_slice());
        Ok(())
    }

    fn write_states(&self, training: &mut CpuTraining, words: &[f32]) -> Result<()> {
        training.states.as_mut_slice().copy_from_slice(words);
        Ok(())
    }
}

impl Blocking for Cpu {
    #[inline]
    fn wait<T>(future: impl Future<Output = T>) -> T {
        let mut context = task::Context::from_waker(task::Waker::noop());
        match pin!(future).poll(&mut context) {
            task::Poll::Ready(value) => value,
            task::Poll::Pending => unreachable!("a future of the CPU never waits"),
        }
    }
}
