//! The pipeline: the one list of stages, and the function that runs them.

use crate::diag::Diags;
use crate::ir::Model;
use crate::ir::plan::Plans;
use crate::stages::{emit, expand, fuse, grad, memory, parse, schedule, shape};
use proc_macro2::{TokenStream, TokenTree};

/// The stages, in order. Dumps, the folders of stage tests and the README use these names.
pub const STAGES: [&str; 8] = ["parse", "shape", "expand", "grad", "fuse", "schedule", "memory", "emit"];

/// A model after all stages but emit.
pub struct Compiled {
    /// The model with complete graphs.
    pub model: Model,
    /// Its kernels and memory plans.
    pub plans: Plans,
}

/// Checks the text of a `model!`; the models are complete where no mistake was found.
pub fn check(tokens: TokenStream) -> (Vec<Model>, Diags) {
    let mut diags = Diags::default();
    let mut models = parse::parse(tokens, &mut diags);
    shape::shape(&mut models, &mut diags);
    (models, diags)
}

/// Runs a model that has no mistakes through the stages from expand to memory.
pub fn lower(model: Model) -> Compiled {
    let model = grad::grad(expand::expand(model));
    let plans = memory::memory(&model, schedule::schedule(fuse::fuse(&model)));
    Compiled { model, plans }
}

/// What `model!` expands to. The input starts with a group that holds the path of the runtime crate.
pub fn compile(tokens: TokenStream) -> TokenStream {
    let mut tokens = tokens.into_iter();
    let runtime = match tokens.next() {
        Some(TokenTree::Group(group)) => group.stream(),
        other => other.into_iter().collect(),
    };
    let (models, diags) = check(tokens.collect());
    if !diags.is_empty() {
        let mut out = diags.to_compile_errors();
        out.extend(models.iter().map(|model| emit::outline(model, &runtime)));
        return out;
    }
    models
        .into_iter()
        .map(|model| {
            let Compiled { model, plans } = lower(model);
            emit::emit(&model, &plans, &runtime)
        })
        .collect()
}
