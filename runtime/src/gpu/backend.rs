//! The GPU as a device of models, sessions and trainers.
//!
//! Comes in: compiled functions and words. Goes out: what [`Device`] promises. Always holds: futures of this device
//! never block, unless [`Blocking::wait`] runs them.

use super::arena::read_back;
use super::device::Gpu;
use super::losses::Loss;
use super::pool::Resident;
use super::training::Training;
use super::workspace::{Held, Workspace};
#[cfg(not(target_arch = "wasm32"))]
use crate::device::Blocking;
use crate::device::{Compiled, Device, Function, Outcome, Step, StepCall};
use crate::error::{Error, Result};
use crate::foreign::Foreigns;
use precast_cpu::Words;

impl Device for Gpu {
    type Pool = Resident;
    type Workspace = Workspace;
    type Training = Training;
    type Loss = Loss;
    type Inputs = Held;

    async fn pool<C: Compiled>(&self, words: Words) -> Result<Resident> {
        const { runs_here::<C>() }
        match C::DETERMINISTIC {
            true => Err(Error::Deterministic { model: C::SPEC.name }),
            false => Resident::new(self, words),
        }
    }

    async fn write(&self, pool: &mut Resident, offset: usize, words: &[f32]) -> Result<()> {
        self.ready()?;
        pool.write(self, offset, words)
    }

    async fn read(&self, pool: &Resident, offset: usize, words: &mut [f32]) -> Result<()> {
        self.ready()?;
        pool.read(self, offset, words).await
    }

    async fn clear(&self, pool: &mut Resident) -> Result<()> {
        self.ready()?;
        pool.clear(self)
    }

    fn workspace(&self, _pool: &Resident) -> Workspace {
        Workspace::default()
    }

    async fn call<F: Function>(
        &self,
        parameters: &Resident,
        session: Option<&mut Resident>,
        workspace: &mut Workspace,
        dims: &[usize],
        inputs: &[&[f32]],
        foreign: &Foreigns,
    ) -> Result<()> {
        self.ready()?;
        let session = session.map(|session| &session.buffer);
        workspace.call::<F>(self, (&parameters.buffer, session), dims, inputs, foreign).await
    }

    fn result<'a, F: Function>(&self, workspace: &'a Workspace, dims: &[usize], index: usize) -> &'a [f32] {
        workspace.result::<F>(dims, index)
    }

    async fn training(&self, _parameters: &Resident, len: usize, states: usize) -> Result<Training> {
        Training::new(self, len, states)
    }

    async fn step<S: Step>(
        &self,
        parameters: &mut Resident,
        training: &mut Training,
        workspace: &mut Workspace,
        call: &StepCall<'_>,
    ) -> Result<Loss> {
        self.ready()?;
        training.step::<S>(self, &parameters.buffer, workspace, call).await
    }

    async fn inputs(&self, inputs: &[&[f32]]) -> Result<Held> {
        self.ready()?;
        Held::new(self, inputs)
    }

    fn at_once<S: Step>() -> usize {
        Training::at_once::<S>()
    }

    async fn steps<S: Step>(
        &self,
        parameters: &mut Resident,
        training: &mut Training,
        workspace: &mut Workspace,
        calls: &[(StepCall<'_>, &Held)],
    ) -> Result<Vec<Loss>> {
        self.ready()?;
        training.steps::<S>(self, &parameters.buffer, workspace, calls).await
    }

    async fn results<S: Step>(&self, workspace: &mut Workspace, dims: &[usize]) -> Result<()> {
        workspace.results::<S>(self, dims).await
    }

    fn step_result<'a, S: Step>(&self, workspace: &'a Workspace, dims: &[usize], index: usize) -> &'a [f32] {
        workspace.step_result::<S>(dims, index)
    }

    async fn outcome(&self, loss: &Loss) -> Result<Outcome> {
        loss.outcome().await
    }

    async fn read_gradients(&self, training: &Training, words: &mut [f32]) -> Result<()> {
        read_back(self, &training.gradients, 0, words).await
    }

    async fn read_states(&self, training: &Training, words: &mut [f32]) -> Result<()> {
        read_back(self, &training.states, 0, words).await
    }

    async fn write_states(&self, training: &mut Training, words: &[f32]) -> Result<()> {
        self.ready()?;
        match words.is_empty() {
            true => Ok(()),
            false => {
                let bytes = bytemuck::cast_slice(words);
                self.scoped(|| self.queue().write_buffer(&training.states, 0, bytes))
            }
        }
    }
}

/// Stops a build that puts a model with values of f64 on a GPU. One without them can be:
/// ```no_run
/// use precast::{Gpu, __rt as rt};
///
/// # static SPEC: rt::ModelSpec = rt::ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[], session: &[] };
/// struct Plan;
///
/// impl rt::Compiled for Plan {
///     const SPEC: &'static rt::ModelSpec = &SPEC;
///     const CPU_ONLY: Option<&'static str> = None;
/// }
///
/// let weights: rt::Weights = rt::Weights::init::<Plan>(0);
/// weights.__emitted_code_only_on_blocking::<Plan, Gpu>(&Gpu::new()?)?;
/// # Ok::<(), precast::Error>(())
/// ```
/// and one with them cannot, because WGSL has no such numbers; what the compiler says is the reason that the model gives:
/// ```compile_fail
/// use precast::{Gpu, __rt as rt};
///
/// # static SPEC: rt::ModelSpec = rt::ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[], session: &[] };
/// # struct Plan;
///
/// impl rt::Compiled for Plan {
///     const SPEC: &'static rt::ModelSpec = &SPEC;
///     const CPU_ONLY: Option<&'static str> = Some("`Net` does not run on a GPU, where there is no f64");
/// }
///
/// let weights: rt::Weights = rt::Weights::init::<Plan>(0);
/// weights.__emitted_code_only_on_blocking::<Plan, Gpu>(&Gpu::new()?)?;
/// # Ok::<(), precast::Error>(())
/// ```
const fn runs_here<C: Compiled>() {
    let reason = match C::CPU_ONLY {
        Some(reason) => reason,
        None => "",
    };
    assert!(C::CPU_ONLY.is_none(), "{}", reason);
}

#[cfg(not(target_arch = "wasm32"))]
impl Blocking for Gpu {
    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        super::mapping::wait(future)
    }
}
