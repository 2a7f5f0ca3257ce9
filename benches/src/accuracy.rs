//! How far results are from the oracle's, which computes in binary64.
//!
//! In: workloads. Out: for each the largest error of results and of gradients, as max|Δ| / max|reference| of a tensor, and
//! the tensor with the largest. Always: the oracle reads the same text of the model and the same numbers, and shares no code
//! with what makes kernels. It rounds nothing, so what parameters of few bits lose is part of the error. An error above the
//! bound of its check is an error of the command.

use crate::workloads::{Argument, CHECKS, Checked};
use precast_compiler::ir::DType;
use precast_compiler::ir::graph::GROUPS;
use precast_compiler::ir::model::{Effect, Function, Mode, Model, Param};
use precast_compiler::oracle::{self, Env, Tensor};
use precast_compiler::pipeline;
use proc_macro2::{TokenStream, TokenTree};
use std::error::Error;

/// Checks the workloads whose names are given, or all.
pub(crate) fn run(names: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut wrong = vec![];
    for check in CHECKS.iter().filter(|check| names.contains(&check.of)) {
        let (error, tensor) = judge(&(check.run)()?)?;
        println!("{:<8} {error:.1e} in {tensor}", check.name);
        // An error that is no number is no small one.
        if error.is_nan() || error > check.bound {
            wrong.push(format!("{} (bound {:e})", check.name, check.bound));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(format!("too large: {}", wrong.join(", ")).into()) }
}

/// The largest error and where it is.
fn judge(checked: &Checked) -> Result<(f64, String), Box<dyn Error>> {
    let model = model(checked.source)?;
    let train = !checked.gradients.is_empty();
    let wanted = |f: &&Function| f.name == checked.function && matches!(f.mode, Mode::Train(_)) == train;
    let function = model.functions.iter().find(wanted).ok_or("no such function")?;
    // The graph of a step ends in the update, whose numbers do not matter here.
    let env = Env {
        numbers: vec![[1.0; GROUPS]; 8],
        args: checked.arguments.iter().map(argument).collect(),
        params: model.params.iter().map(|p| parameter(p, &checked.parameters)).collect::<Result<_, _>>()?,
        ..Env::default()
    };
    let expected = oracle::run(function, &model, &env)?;
    let mut worst = (difference(expected.results[0].f64s(), &checked.result), "the result".to_owned());
    for (effect, gradient) in &expected.effects {
        let Effect::Gradient(id) = effect else { continue };
        let param = model.param(*id);
        let error = difference(gradient.f64s(), &stack(param, &checked.gradients)?);
        if error.is_nan() || error > worst.0 {
            worst = (error, format!("the gradient of `{}`", param.name));
        }
    }
    Ok(worst)
}

/// The model that a file declares, with derivatives.
fn model(source: &str) -> Result<Model, Box<dyn Error>> {
    let tokens: Vec<TokenTree> = source.parse::<TokenStream>()?.into_iter().collect();
    let body = tokens.windows(3).find_map(|three| match three {
        [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Group(body)] if name == "model" => Some(body.stream()),
        _ => None,
    });
    let (mut models, diags) = pipeline::check(body.ok_or("no `model!`")?);
    match diags.list() {
        [] => Ok(pipeline::lower(models.remove(0)).model),
        [first, ..] => Err(first.text().into()),
    }
}

fn argument(argument: &Argument) -> Tensor {
    match argument {
        Argument::Floats(shape, values) => Tensor::floats(shape.clone(), wide(values)),
        Argument::Indices(shape, values) => Tensor::words(shape.clone(), values.clone()),
    }
}

fn parameter(param: &Param, values: &[(String, Vec<f32>)]) -> Result<Tensor, Box<dyn Error>> {
    debug_assert_eq!(param.ty.dtype, DType::F32);
    let extents: Option<Vec<usize>> =
        param.stacked().shape.iter().map(|n| n.eval(&|_| None).and_then(|n| n.try_into().ok())).collect();
    Ok(Tensor::floats(extents.ok_or("an extent is not known")?, wide(&stack(param, values)?)))
}

/// The values of all tensors that a name with `*` in it stands for.
fn stack(param: &Param, values: &[(String, Vec<f32>)]) -> Result<Vec<f32>, Box<dyn Error>> {
    let mut names = vec![param.name.clone()];
    for &count in &param.stack {
        names = names.iter().flat_map(|n| (0..count).map(|i| n.replacen('*', &i.to_string(), 1))).collect();
    }
    let mut all = vec![];
    for name in names {
        let found = values.iter().find(|(other, _)| *other == name).ok_or_else(|| format!("no `{name}`"))?;
        all.extend_from_slice(&found.1);
    }
    Ok(all)
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// max|Δ| / max|reference|.
fn difference(expected: &[f64], found: &[f32]) -> f64 {
    if expected.len() != found.len() {
        return f64::INFINITY;
    }
    let largest = expected.iter().fold(f64::MIN_POSITIVE, |m, x| m.max(x.abs()));
    let far = expected.iter().zip(found).map(|(a, b)| (a - f64::from(*b)).abs());
    // `max` would forget what is no number.
    far.fold(0.0, |m: f64, x| if x.is_nan() || m.is_nan() { f64::NAN } else { m.max(x) }) / largest
}
