//! Runs a compiled program on a GPU, a software one included: the same calls as on the CPU, with parameters and states
//! that stay on the device, and one workspace for all dimensions, so that a call finds what another left.

use crate::case::{Call, Case};
use crate::judge::Verdict;
use crate::program::Program;
use precast::__rt::{Compiled, Device, Foreigns, Function, Optimizer, Step, StepCall};
use precast::{Blocking, Gpu};

/// How much farther from the oracle numbers may be than on the CPU: WGSL allows its elementary functions more.
const LOOSER: f64 = 8.0;

/// Runs one that trains.
pub(crate) fn trained<C: Compiled, F: Function, S: Step, G: Step>(program: &Program) -> Result<Verdict, String> {
    let gpu = Gpu::new().map_err(|why| why.to_string())?;
    let mut case = Case::new(program, LOOSER)?;
    values::<C, F>(&gpu, &mut case)?;
    steps::<C, S, G>(&gpu, &mut case)?;
    case.written()
}

/// Runs one that has nothing to train.
pub(crate) fn evaluated<C: Compiled, F: Function>(program: &Program) -> Result<Verdict, String> {
    let gpu = Gpu::new().map_err(|why| why.to_string())?;
    let mut case = Case::new(program, LOOSER)?;
    values::<C, F>(&gpu, &mut case)?;
    case.written()
}

fn values<C: Compiled, F: Function>(gpu: &Gpu, case: &mut Case<'_>) -> Result<(), String> {
    let len = C::SPEC.pool_len;
    let pool = gpu.wait(gpu.pool::<C>(case.parameters(len).as_slice().into())).map_err(|why| why.to_string())?;
    let mut workspace = gpu.workspace(&pool);
    let foreign = Foreigns::default();
    case.values("GPU", len, |call, _, session| {
        let ran = async {
            let mut states = gpu.pool::<C>((&*session).into()).await?;
            let kept = (!session.is_empty()).then_some(&mut states);
            gpu.call::<F>(&pool, kept, &mut workspace, call.dims, call.inputs, &foreign).await?;
            match session.is_empty() {
                true => precast::Result::Ok(()),
                false => gpu.read(&states, 0, session).await,
            }
        };
        gpu.wait(ran).map_err(|why| why.to_string())?;
        Ok((0..call.results).map(|k| gpu.result::<F>(&workspace, call.dims, k).to_vec()).collect())
    })
}

fn steps<C: Compiled, S: Step, G: Step>(gpu: &Gpu, case: &mut Case<'_>) -> Result<(), String> {
    let len = C::SPEC.pool_len;
    let mut pool = gpu.wait(gpu.pool::<C>(case.parameters(len).as_slice().into())).map_err(|why| why.to_string())?;
    let mut workspace = gpu.workspace(&pool);
    let states = <S::Optimizer as Optimizer>::STATES.len();
    let mut training = gpu.wait(gpu.training(&pool, len, states)).map_err(|why| why.to_string())?;
    let (foreign, groups) = (Foreigns::default(), vec![0; len / 64]);
    case.steps::<S::Optimizer>("GPU", len, |only, call, numbers, state| {
        let Call { dims, inputs, .. } = *call;
        let call = StepCall { dims, inputs, numbers, groups: &groups, groups_version: 0, foreign: &foreign };
        let ran = async {
            let loss = match only {
                true => gpu.step::<G>(&mut pool, &mut training, &mut workspace, &call).await?,
                false => gpu.step::<S>(&mut pool, &mut training, &mut workspace, &call).await?,
            };
            let outcome = gpu.outcome(&loss).await?;
            gpu.read_gradients(&training, &mut state.gradients).await?;
            gpu.read_states(&training, &mut state.states).await?;
            gpu.read(&pool, 0, &mut state.parameters).await?;
            Ok::<f32, precast::Error>(outcome.loss as f32)
        };
        gpu.wait(ran).map_err(|why| why.to_string())
    })
}
