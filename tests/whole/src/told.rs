//! A program that is not compiled: what the oracle says of each call stands for what a machine gave, so that PyTorch judges
//! the oracle of thousands of programs while rustc would compile a few.

use crate::case::{Case, DIMS, draw};
use crate::judge::{function, oracles};
use crate::program::Program;
use crate::random::Random;
use precast::__rt::GROUPS;
use precast_compiler::ir::model::Effect;
use precast_compiler::ops::optimizer;
use precast_compiler::oracle::{Outputs, Tensor};

/// Writes what the oracle says of a program where the environment asks for it.
///
/// # Errors
/// What the oracle refuses and what the file system says.
pub fn told(program: &Program) -> Result<(), String> {
    let mut case = Case::new(program, 1.0)?;
    if case.dump.is_none() {
        return Ok(());
    }
    let end = |p: &precast_compiler::ir::model::Param| p.offset + p.stacked().count().as_const().unwrap_or(0) as usize;
    let parameters = case.parameters(case.model.params.iter().map(end).max().unwrap_or(0));
    for trains in [false, true] {
        if trains && program.weighed.is_empty() {
            continue;
        }
        for round in 0..DIMS.len() {
            let args = match trains {
                true => case.weighed(round),
                false => draw(program, &program.args, round, &mut Random(program.seed + round as u64)),
            };
            let (mut env, _) = case.env(trains, round, args.tensors, &parameters);
            env.numbers = vec![[1.0; GROUPS]; optimizer(program.optimizer).map_or(0, |o| o.numbers.len())];
            let said = oracles(function(&case.model, trains).ok_or("no function")?, &case.model, &env)?;
            noted(&mut case, trains, &said);
            case.called(trains, round, &env);
        }
    }
    case.write()
}

/// Notes the results or the loss and the gradients, under the names that machines give them.
fn noted(case: &mut Case<'_>, trains: bool, said: &[Outputs]) {
    let Some(dump) = case.dump.as_mut() else { return };
    let mut note = |name: &str, tensors: &[&Tensor]| dump.tensor(name, tensors, &tensors[0].data.words());
    for k in 0..said[0].results.len() {
        let tensors: Vec<&Tensor> = said.iter().map(|s| &s.results[k]).collect();
        match trains {
            true => note("loss", &tensors),
            false => note(&format!("result v{}", case.program.results[k]), &tensors),
        }
    }
    for (k, (effect, _)) in said[0].effects.iter().enumerate() {
        if let Effect::Gradient(id) = effect {
            let tensors: Vec<&Tensor> = said.iter().map(|s| &s.effects[k].1).collect();
            note(&format!("gradient of {}", case.model.param(*id).name), &tensors);
        }
    }
}
