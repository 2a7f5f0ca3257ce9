//! The pipeline: the one list of stages, and the function that runs them.

use crate::diag::Diags;
use crate::dump::Dumps;
use crate::ir::Model;
use crate::ir::plan::Plans;
use crate::ir::program::Program;
use crate::ops::{self, Optimizer};
use crate::stages::parse::{self, Parsed, Texts};
use crate::stages::{emit, expand, fuse, grad, memory, schedule, shape};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::slice;

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
    let parsed = checked(Texts { own: tokens, blocks: vec![] }, &mut diags, &mut Dumps::default());
    (parsed.models, diags)
}

fn checked(texts: Texts, diags: &mut Diags, dumps: &mut Dumps) -> Parsed {
    dumps.start();
    let mut parsed = parse::texts(texts, diags);
    dumps.graphs("parse", &parsed.models);
    shape::shape(&mut parsed.models, diags);
    // What was imported has types already.
    parsed.models.append(&mut parsed.imported);
    dumps.graphs("shape", &parsed.models);
    parsed
}

/// Runs a model that has no mistakes through the stages from expand to memory.
pub fn lower(model: Model) -> Compiled {
    lower_by(model, ops::optimizer_of)
}

/// The same with optimisers that are declared elsewhere.
pub fn lower_by(model: Model, optimizer: fn(&str) -> &'static Optimizer) -> Compiled {
    lowered(model, optimizer, &mut Dumps::default())
}

fn lowered(model: Model, optimizer: fn(&str) -> &'static Optimizer, dumps: &mut Dumps) -> Compiled {
    let model = expand::expand(model);
    dumps.graphs("expand", slice::from_ref(&model));
    let model = grad::grad(model, optimizer);
    dumps.graphs("grad", slice::from_ref(&model));
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

/// What `model!` expands to; `number` is another one for each call in a crate.
///
/// The input starts with a group that holds the path of the runtime crate. The texts of imported blocks follow, one
/// brace group for each, and then the macro's own text. As long as there are fewer texts than imports, the result asks
/// the macro of the next block for its text: it calls this function again, with one text more.
pub fn compile(tokens: TokenStream, number: usize, dumps: &mut Dumps) -> TokenStream {
    let mut tokens = tokens.into_iter().peekable();
    let runtime = match tokens.next() {
        Some(TokenTree::Group(group)) => group.stream(),
        other => other.into_iter().collect(),
    };
    let is_text = |token: &TokenTree| matches!(token, TokenTree::Group(g) if g.delimiter() == Delimiter::Brace);
    let mut blocks = vec![];
    while let Some(TokenTree::Group(group)) = tokens.next_if(is_text) {
        blocks.push(group.stream());
    }
    let own: TokenStream = tokens.collect();
    if let Some(path) = parse::imports(&own).get(blocks.len()) {
        return emit::request(path, &runtime, &blocks, &own);
    }
    let mut diags = Diags::default();
    let Parsed { models, blocks, mentions, .. } = checked(Texts { own, blocks }, &mut diags, dumps);
    let mut out: TokenStream = blocks.iter().map(|block| emit::block(block, number)).collect();
    out.extend(emit::mentions(&mentions, &models, number, &runtime));
    if !diags.is_empty() {
        out.extend(emit::outlines(&models, &diags, number, &runtime));
        return out;
    }
    out.extend(emit::results(&models, &runtime));
    for model in models {
        let Compiled { model, plans } = lowered(model, ops::optimizer_of, dumps);
        let emitted = emit::emit(&model, &plans, &runtime);
        dumps.emitted(&model, &plans, &emitted);
        out.extend(emitted);
    }
    out
}
