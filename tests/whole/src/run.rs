//! Runs a compiled program on every instruction set: forward, gradients and three steps, each call at other dimensions
//! and on memory that held garbage.

use crate::case::{Call, Case, State, garbage};
use crate::judge::Verdict;
use crate::program::Program;
use precast::__rt::{Compiled, Foreigns, Function, Isa, Memory, Step, StepMemory, force_isa};

/// Whether `PRECAST_DEVICE` asks for a GPU, which the feature `gpu` brings.
pub fn on_the_gpu() -> bool {
    cfg!(feature = "gpu") && std::env::var("PRECAST_DEVICE").is_ok_and(|device| device == "gpu")
}

/// Runs one that trains.
///
/// # Errors
/// What could not run.
pub fn trained<C: Compiled, F: Function, S: Step, G: Step>(program: &Program) -> Result<Verdict, String> {
    #[cfg(feature = "gpu")]
    if on_the_gpu() {
        return crate::adapter::trained::<C, F, S, G>(program);
    }
    on_every_isa(program, |case, isa| {
        case.values(isa, C::SPEC.pool_len, value::<F>)?;
        case.steps::<S::Optimizer>(isa, C::SPEC.pool_len, |only, call, numbers, state| match only {
            true => step::<G>(call, numbers, state),
            false => step::<S>(call, numbers, state),
        })
    })
}

/// Runs one that has nothing to train.
///
/// # Errors
/// What could not run.
pub fn evaluated<C: Compiled, F: Function>(program: &Program) -> Result<Verdict, String> {
    #[cfg(feature = "gpu")]
    if on_the_gpu() {
        return crate::adapter::evaluated::<C, F>(program);
    }
    on_every_isa(program, |case, isa| case.values(isa, C::SPEC.pool_len, value::<F>))
}

/// The best instruction set comes first, whose numbers other judges are given.
fn on_every_isa<'p>(
    program: &'p Program,
    run: impl Fn(&mut Case<'p>, &str) -> Result<(), String>,
) -> Result<Verdict, String> {
    let mut case = Case::new(program, 1.0)?;
    for (position, isa) in Isa::available().enumerate() {
        force_isa(Some(position));
        run(&mut case, &format!("{isa:?}"))?;
        case.write()?;
    }
    case.written()
}

fn value<F: Function>(call: &Call<'_>, parameters: &[f32], session: &mut [f32]) -> Result<Vec<Vec<f32>>, String> {
    let mut scratch = garbage(F::scratch(call.dims).ok_or("too large")?, call.round);
    let foreign = Foreigns::default();
    let memory = Memory { parameters, session, inputs: call.inputs, foreign: &foreign, scratch: &mut scratch };
    F::cpu(memory, call.dims).map_err(|why| why.to_string())?;
    let result = |k| {
        let place = F::result(call.dims, k);
        scratch[place.offset..][..place.len].to_vec()
    };
    Ok((0..call.results).map(result).collect())
}

fn step<S: Step>(call: &Call<'_>, numbers: &[f32], state: &mut State) -> Result<f32, String> {
    let mut scratch = garbage(S::scratch(call.dims).ok_or("too large")?, call.round);
    let foreign = Foreigns::default();
    let groups = vec![0; state.parameters.len() / 64];
    let memory = StepMemory {
        parameters: &mut state.parameters,
        gradients: &mut state.gradients,
        states: &mut state.states,
        numbers,
        groups: &groups,
        inputs: call.inputs,
        foreign: &foreign,
        scratch: &mut scratch,
    };
    S::cpu(memory, call.dims).map_err(|why| why.to_string())?;
    Ok(scratch[S::outcome(call.dims)[0]])
}
