//! The pipeline: the one list of stages, and the function that runs them.

use crate::diag::Diags;
use crate::dump::Dumps;
use crate::ir::Model;
use crate::ir::kernel::Program;
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
    checked(tokens, &mut Dumps::default())
}

fn checked(tokens: TokenStream, dumps: &mut Dumps) -> (Vec<Model>, Diags) {
    let mut diags = Diags::default();
    let mut models = parse::parse(tokens, &mut diags);
    models.iter().for_each(|model| dumps.graphs("parse", model));
    shape::shape(&mut models, &mut diags);
    models.iter().for_each(|model| dumps.graphs("shape", model));
    (models, diags)
}

/// Runs a model that has no mistakes through the stages from expand to memory.
pub fn lower(model: Model) -> Compiled {
    lowered(model, &mut Dumps::default())
}

fn lowered(model: Model, dumps: &mut Dumps) -> Compiled {
    let model = expand::expand(model);
    dumps.graphs("expand", &model);
    let model = grad::grad(model);
    dumps.graphs("grad", &model);
    let programs = fuse::fuse(&model);
    dumps.kernels("fuse", &model, || text(&programs));
    let programs = schedule::schedule(programs);
    dumps.kernels("schedule", &model, || text(&programs));
    let plans = memory::memory(&model, programs);
    dumps.kernels("memory", &model, || plans.to_string());
    Compiled { model, plans }
}

fn text(programs: &[Program]) -> String {
    programs.iter().map(Program::to_string).collect()
}

/// What `model!` expands to. The input starts with a group that holds the path of the runtime crate.
pub fn compile(tokens: TokenStream, dumps: &mut Dumps) -> TokenStream {
    let mut tokens = tokens.into_iter();
    let runtime = match tokens.next() {
        Some(TokenTree::Group(group)) => group.stream(),
        other => other.into_iter().collect(),
    };
    let (models, diags) = checked(tokens.collect(), dumps);
    if !diags.is_empty() {
        let mut out = diags.to_compile_errors();
        out.extend(models.iter().map(|model| emit::outline(model, &runtime)));
        return out;
    }
    let mut out = TokenStream::new();
    for model in models {
        let Compiled { model, plans } = lowered(model, dumps);
        let emitted = emit::emit(&model, &plans, &runtime);
        dumps.emitted(&model, &plans, &emitted);
        out.extend(emitted);
    }
    out
}
