//! The verifier: a model between two stages in, every broken invariant out.
//!
//! What it refuses is a compiler bug; the user's mistakes are diagnostics of the stages before.

use crate::ir::graph::{Branch, CHUNK, Foreign, GROUPS, Graph, Kind, Node, Repeat, Source, Taken, Value};
use crate::ir::model::{Effect, Function, Mode, Model, Param, ParamId, State, StateId};
use crate::ir::prim::Prim;
use crate::ir::transform::Transform;
use crate::ir::ty::{DType, Type};
use std::collections::BTreeSet;

mod kernels;
mod programs;

pub use programs::{verify_plans, verify_programs};

/// The stage whose result is verified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum After {
    /// Every value has a type.
    Shape,
    /// Only primitives, regions and sources.
    Expand,
    /// Training functions have their effects.
    Grad,
}

/// Checks a model; an error for each broken invariant, with the function and node.
pub fn verify(model: &Model, after: After) -> Result<(), Vec<String>> {
    let mut errors = vec![];
    for function in &model.functions {
        let args: Vec<Type> = function.args.iter().map(|a| a.ty.clone()).collect();
        let scope = Scope { model: Some(model), after, depth: 0, regions: 0, inputs: Some(&args) };
        let mut found = scope.graph(&function.graph);
        if after >= After::Grad {
            found.extend(effects(model, function));
        }
        errors.extend(found.into_iter().map(|e| format!("{}: {e}", function.name)));
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// Checks a graph of primitives and regions that belongs to no model.
pub fn verify_graph(graph: &Graph) -> Result<(), Vec<String>> {
    let errors = Scope { model: None, after: After::Expand, depth: 0, regions: 0, inputs: None }.graph(graph);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

/// What surrounds a graph.
struct Scope<'a> {
    model: Option<&'a Model>,
    after: After,
    /// How many regions with a counter.
    depth: usize,
    /// How many regions and transforms.
    regions: usize,
    /// The types of the inputs, where they are declared.
    inputs: Option<&'a [Type]>,
}

impl Scope<'_> {
    fn graph(&self, graph: &Graph) -> Vec<String> {
        let mut errors = vec![];
        let mut seen = BTreeSet::new();
        for value in graph.values() {
            let node = graph.node(value);
            let mut fail = |message: String| errors.push(format!("%{}: {message}", value.0));
            if let Some(later) = node.args.iter().find(|a| **a >= value) {
                fail(format!("uses %{} before it exists", later.0));
                continue;
            }
            if let Kind::Input(k) = node.kind
                && self.after >= After::Expand
                && !seen.insert(k)
            {
                fail(format!("input {k} has two nodes"));
            }
            if let Err(message) = self.node(graph, node) {
                fail(message);
            }
            let inside = match &node.kind {
                Kind::Repeat(repeat) => self.body(graph, node, repeat),
                Kind::Transform(transform) => self.transform(graph, node, transform),
                Kind::Branch(branch) => self.cases(graph, node, branch),
                Kind::Foreign(foreign) => self.gradient_body(graph, node, foreign),
                Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Op(_)
                | Kind::Result(_)
                | Kind::Prim(_)
                | Kind::Counter(_)
                | Kind::StopGradient
                | Kind::Written(_) => vec![],
            };
            errors.extend(inside.into_iter().map(|e| format!("%{}: {e}", value.0)));
        }
        for output in &graph.outputs {
            if output.0 as usize >= graph.nodes.len() {
                errors.push(format!("the output %{} does not exist", output.0));
            } else if self.after >= After::Expand && graph.node(*output).ty.is_none() {
                errors.push(format!("the output %{} is a region", output.0));
            }
        }
        errors
    }

    /// A node that has several results or none of this stage; nothing of one that is a value.
    fn composed(&self, graph: &Graph, node: &Node) -> Option<Result<(), String>> {
        let expanded = self.after >= After::Expand;
        let untyped = |what: &str| ensure(node.ty.is_none(), || format!("a {what} has no type of its own"));
        Some(match &node.kind {
            Kind::Result(k) => result(graph, node, *k, expanded),
            Kind::Foreign(foreign) => self.foreign(graph, node, foreign),
            Kind::Repeat(_) | Kind::Branch(_) if expanded => untyped("region"),
            Kind::Transform(_) if self.after >= After::Grad => Err("a transform after grad".into()),
            Kind::Transform(_) if expanded => untyped("transform"),
            Kind::Repeat(_) | Kind::Branch(_) | Kind::Transform(_) => Ok(()),
            Kind::Op(call) => ensure(!expanded, || format!("the op `{}` after expand", call.op)),
            Kind::Written(_) => Err("what the user wrote is left after shape".into()),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::StopGradient => return None,
        })
    }

    fn node(&self, graph: &Graph, node: &Node) -> Result<(), String> {
        if let Some(found) = self.composed(graph, node) {
            return found;
        }
        let typed = |v: &Value| graph.node(*v).ty.as_ref();
        let expanded = self.after >= After::Expand;
        let Some(ty) = &node.ty else { return Err("no type".into()) };
        let args: Option<Vec<&Type>> = node.args.iter().map(typed).collect();
        let Some(args) = args else {
            return ensure(!expanded, || "an argument is a region; its results are taken by `Result`".into());
        };
        self.typed(node, ty, &args)
    }

    /// Whether a node that computes one value has the type that follows from its arguments.
    fn typed(&self, node: &Node, ty: &Type, args: &[&Type]) -> Result<(), String> {
        let expect = |want: &Type| ensure(ty == want, || format!("is {ty}, not {want}"));
        let leaf = || ensure(args.is_empty(), || "takes no arguments".into());
        match &node.kind {
            Kind::Input(k) => {
                leaf()?;
                match self.inputs {
                    None => Ok(()),
                    Some(types) => expect(types.get(*k).ok_or_else(|| format!("there is no input {k}"))?),
                }
            }
            Kind::Param(id) => {
                leaf()?;
                expect(&self.param(*id)?)
            }
            Kind::State(id) => {
                leaf()?;
                expect(&self.state(*id)?)
            }
            Kind::Source(source) => {
                leaf()?;
                let (float, elements) =
                    self.model.map_or((DType::F32, 0), |model| (model.float(), model.trained_len()));
                expect(&source_type(*source, float, elements))
            }
            Kind::Counter(depth) => {
                leaf()?;
                ensure(*depth < self.depth, || format!("a counter of region {depth} inside {}", self.depth))?;
                expect(&Type::scalar(DType::U32))
            }
            Kind::StopGradient => {
                ensure(args.len() == 1, || "takes one argument".into())?;
                expect(args[0])
            }
            Kind::Prim(prim) => {
                let (least, most) = arity(prim);
                ensure((least..=most).contains(&args.len()), || format!("{} arguments", args.len()))?;
                expect(&prim.infer(args)?)
            }
            Kind::Op(_)
            | Kind::Written(_)
            | Kind::Result(_)
            | Kind::Repeat(_)
            | Kind::Branch(_)
            | Kind::Transform(_)
            | Kind::Foreign(_) => Ok(()),
        }
    }

    /// The body of a transform, and how it fits the node's arguments.
    fn transform(&self, graph: &Graph, node: &Node, transform: &Transform) -> Vec<String> {
        let types: Option<Vec<Type>> = node.args.iter().map(|a| graph.node(*a).ty.clone()).collect();
        let Some(types) = types else { return vec!["an argument has no type".into()] };
        let inputs = transform.slices(&types);
        let depth = self.depth + transform.counters();
        let inside = Scope { depth, regions: self.regions + 1, inputs: Some(&inputs), ..*self };
        let mut errors: Vec<String> =
            inside.graph(&transform.body).into_iter().map(|e| format!("in its body {e}")).collect();
        errors.extend(transform.misfit(&types));
        errors
    }

    /// The type of a parameter stack, which stands outside of regions.
    fn param(&self, id: ParamId) -> Result<Type, String> {
        ensure(self.regions == 0, || "a parameter inside a region".into())?;
        let param = self.model.and_then(|m| m.params.get(id.0 as usize));
        param.map(Param::stacked).ok_or_else(|| format!("there is no parameter {}", id.0))
    }

    /// The type of a state stack, which stands outside of regions.
    fn state(&self, id: StateId) -> Result<Type, String> {
        ensure(self.regions == 0, || "a state inside a region".into())?;
        let state = self.model.and_then(|m| m.states.get(id.0 as usize));
        state.map(State::stacked).ok_or_else(|| format!("there is no state {}", id.0))
    }

    /// The body of a repeat, and how it fits the node's arguments.
    fn body(&self, graph: &Graph, node: &Node, repeat: &Repeat) -> Vec<String> {
        let slices = repeat.carried..repeat.carried + repeat.stacked;
        let mut errors = vec![];
        let mut inputs = vec![];
        for (k, arg) in node.args.iter().enumerate() {
            let Some(ty) = &graph.node(*arg).ty else {
                return vec![format!("argument {k} has no type")];
            };
            if !slices.contains(&k) {
                inputs.push(ty.clone());
                continue;
            }
            if ty.shape.first().is_none_or(|n| *n != repeat.count) {
                errors.push(format!("the stacked argument {k} is {ty} for {} iterations", repeat.count));
                return errors;
            }
            inputs.push(Type::new(ty.dtype, &ty.shape[1..]));
        }
        if inputs.len() < slices.end
            || repeat.body.outputs.len() < repeat.carried
            || repeat.count.as_const().is_some_and(|n| n < 0)
        {
            errors.push(format!("{} arguments, {} outputs", inputs.len(), repeat.body.outputs.len()));
            return errors;
        }
        let inside = Scope { depth: self.depth + 1, regions: self.regions + 1, inputs: Some(&inputs), ..*self };
        errors.extend(inside.graph(&repeat.body).into_iter().map(|e| format!("in its body {e}")));
        if errors.is_empty() {
            for (k, input) in inputs[..repeat.carried].iter().enumerate() {
                let output = repeat.body.node(repeat.body.outputs[k]).ty.as_ref();
                if output.is_some_and(|ty| ty != input) {
                    errors.push(format!("the carried value {k} is {input}, then another type"));
                }
            }
        }
        errors
    }

    /// A foreign call and its derivative.
    fn foreign(&self, graph: &Graph, node: &Node, foreign: &Foreign) -> Result<(), String> {
        let expanded = self.after >= After::Expand;
        ensure(!expanded || node.ty.is_none(), || "a foreign call has no type of its own".into())?;
        ensure(node.args.iter().all(|a| graph.node(*a).ty.is_some()), || "an argument has no type".into())?;
        ensure(!foreign.results.is_empty(), || "a foreign call without results".into())?;
        let Some(gradient) = &foreign.gradient else { return Ok(()) };
        ensure(foreign.results.len() == 1, || "a derivative of several results".into())?;
        let inside = |taken: &Taken| match taken {
            Taken::Argument(k) => *k < node.args.len(),
            Taken::Result | Taken::Cotangent => true,
        };
        ensure(gradient.takes.iter().all(inside), || "a derivative takes an argument that is not there".into())
    }

    /// The gradient of a foreign function that is a function of the language, and how it fits the node's arguments.
    fn gradient_body(&self, graph: &Graph, node: &Node, foreign: &Foreign) -> Vec<String> {
        let (Some(gradient), Some(body)) = (&foreign.gradient, foreign.body()) else { return vec![] };
        let ty = |taken: &Taken| match taken {
            Taken::Argument(k) => graph.node(*node.args.get(*k)?).ty.clone(),
            Taken::Result | Taken::Cotangent => foreign.results.first().cloned(),
        };
        let Some(inputs) = gradient.takes.iter().map(ty).collect::<Option<Vec<Type>>>() else {
            return vec!["a gradient takes what is not there".into()];
        };
        let inside = Scope { regions: self.regions + 1, inputs: Some(&inputs), ..*self };
        let mut errors: Vec<String> = inside.graph(body).into_iter().map(|e| format!("in the gradient {e}")).collect();
        let given: Vec<Option<Type>> = body.outputs.iter().map(|v| body.node(*v).ty.clone()).collect();
        let of_floats = node.args.iter().map(|a| graph.node(*a).ty.clone());
        let wanted: Vec<Option<Type>> =
            of_floats.filter(|ty| ty.as_ref().is_some_and(|ty| ty.dtype.is_float())).collect();
        if errors.is_empty() && given != wanted {
            errors.push("the gradient gives other types than the arguments have".into());
        }
        errors
    }

    /// The cases of a branch, and how they fit the node's arguments and each other.
    fn cases(&self, graph: &Graph, node: &Node, branch: &Branch) -> Vec<String> {
        let types: Option<Vec<Type>> = node.args.iter().map(|a| graph.node(*a).ty.clone()).collect();
        let Some(types) = types else { return vec!["an argument has no type".into()] };
        let [selector, inputs @ ..] = types.as_slice() else { return vec!["a branch without a selector".into()] };
        if !selector.shape.is_empty() || !matches!(selector.dtype, DType::U32 | DType::Bool) {
            return vec![format!("the selector is {selector}")];
        }
        if branch.cases.is_empty() {
            return vec!["a branch without cases".into()];
        }
        let inside = Scope { regions: self.regions + 1, inputs: Some(inputs), ..*self };
        let mut errors = vec![];
        for (n, case) in branch.cases.iter().enumerate() {
            errors.extend(inside.graph(case).into_iter().map(|e| format!("in case {n} {e}")));
        }
        let outputs = |case: &Graph| case.outputs.iter().map(|v| case.node(*v).ty.clone()).collect::<Vec<_>>();
        if errors.is_empty() && branch.cases.iter().any(|case| outputs(case) != outputs(&branch.cases[0])) {
            errors.push("the cases give different types".into());
        }
        errors
    }
}

fn ensure(ok: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(message()) }
}

fn result(graph: &Graph, node: &Node, k: usize, expanded: bool) -> Result<(), String> {
    let [region] = node.args.as_slice() else {
        return Err("a result is of one node".into());
    };
    match &graph.node(*region).kind {
        Kind::Repeat(repeat) => {
            ensure(k < repeat.body.outputs.len(), || format!("the region has no result {k}"))?;
            let typed = repeat.body.node(repeat.body.outputs[k]).ty.is_some();
            let Some(ty) = node.ty.as_ref().filter(|_| typed) else { return Err("no type".into()) };
            let want = repeat.result(k);
            ensure(*ty == want, || format!("is {ty}, not {want}"))
        }
        Kind::Branch(branch) => {
            ensure(k < branch.results(), || format!("the branch has no result {k}"))?;
            let want = branch.cases[0].node(branch.cases[0].outputs[k]).ty.as_ref();
            ensure(node.ty.as_ref() == want, || format!("is {:?}, not {want:?}", node.ty))
        }
        Kind::Transform(transform) => {
            let args: Option<Vec<Type>> = graph.node(*region).args.iter().map(|a| graph.node(*a).ty.clone()).collect();
            let results = args.map(|args| transform.results(&args)).unwrap_or_default();
            let Some(want) = results.get(k) else { return Err(format!("the transform has no result {k}")) };
            ensure(node.ty.as_ref() == Some(want), || format!("is not {want}"))
        }
        Kind::Foreign(foreign) => {
            let want = foreign.results.get(k);
            ensure(node.ty.as_ref() == want && want.is_some(), || format!("is {:?}, not {want:?}", node.ty))
        }
        Kind::Op(_) => ensure(!expanded, || "a result of an op after expand".into()),
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Result(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Written(_)
        | Kind::StopGradient => Err(format!("%{} has one result", region.0)),
    }
}

/// The type of a source for a parameter pool of that many elements of that type.
pub fn source_type(source: Source, float: DType, elements: usize) -> Type {
    let chunks = elements / CHUNK;
    match source {
        Source::Key(_) | Source::SkipNonfinite => Type::scalar(DType::U32),
        Source::Weights | Source::Gradients | Source::State(_) => Type::new(float, [chunks.into(), CHUNK.into()]),
        Source::Group => Type::new(DType::U32, [chunks.into()]),
        Source::Number(_) => Type::new(DType::F32, [GROUPS.into()]),
        Source::ClipNorm => Type::scalar(DType::F32),
    }
}

/// The least and most arguments.
fn arity(prim: &Prim) -> (usize, usize) {
    let exactly = |n| (n, n);
    match prim {
        Prim::Const(_) | Prim::Extent(_) | Prim::Iota { .. } => exactly(0),
        Prim::Map(op) => exactly(op.arity()),
        Prim::Convert(_)
        | Prim::Reduce { .. }
        | Prim::ArgReduce { .. }
        | Prim::WindowReduce { .. }
        | Prim::WindowArgMax { .. }
        | Prim::Reshape(_)
        | Prim::Transpose(_)
        | Prim::Broadcast { .. }
        | Prim::Slice(_)
        | Prim::Barrier
        | Prim::Flip(_)
        | Prim::Pad { .. } => exactly(1),
        Prim::WindowTake { .. }
        | Prim::WindowPut { .. }
        | Prim::Contract { .. }
        | Prim::Conv { .. }
        | Prim::SetSlice(_)
        | Prim::Gather { .. }
        | Prim::ScatterAdd { .. } => exactly(2),
        Prim::Attend(attend) => (attend.part.inputs(), attend.part.inputs() + 1),
        Prim::Concat { .. } => (1, usize::MAX),
    }
}

/// The effects of an evaluation: each state at most once, with its own type.
fn stored(model: &Model, function: &Function) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let wrong = function.effects.iter().filter(|(effect, value)| {
        let Effect::Stored(id) = effect else { return true };
        let found = function.graph.nodes.get(value.0 as usize).and_then(|n| n.ty.as_ref());
        let want = model.states.get(id.0 as usize).map(|state| state.stacked());
        !seen.insert(*id) || want.is_none() || found != want.as_ref()
    });
    wrong.map(|(effect, _)| format!("{effect:?} of an evaluation")).collect()
}

/// How many states of the optimiser a function reads or writes, with those of smaller numbers.
fn states(function: &Function) -> usize {
    let read = function.graph.nodes.iter().filter_map(|node| {
        let Kind::Source(Source::State(k)) = node.kind else { return None };
        Some(k + 1)
    });
    let written = function.effects.iter().filter_map(|(effect, _)| {
        let Effect::State(k) = effect else { return None };
        Some(k + 1)
    });
    read.chain(written).max().unwrap_or(0)
}

/// The effects of a function after grad.
fn effects(model: &Model, function: &Function) -> Vec<String> {
    if let Mode::Evaluate = function.mode {
        return stored(model, function);
    }
    let mut want: Vec<(Effect, Type)> = vec![];
    let trained = model.trained().filter(|id| !function.frozen.contains(id));
    want.extend(trained.map(|id| (Effect::Gradient(id), model.param(id).stacked())));
    // Only companions of layers that the function calls change.
    let changed = function.effects.iter().filter_map(|(effect, _)| match effect {
        Effect::Companion(id) => model.params.get(id.0 as usize).filter(|p| !p.trained).map(|p| (*effect, p.stacked())),
        Effect::Gradient(_) | Effect::Weights | Effect::State(_) | Effect::Updated | Effect::Stored(_) => None,
    });
    want.extend(changed);
    let pool = source_type(Source::Weights, model.float(), model.trained_len());
    want.push((Effect::Weights, pool.clone()));
    want.extend((0..states(function)).map(|k| (Effect::State(k), pool.clone())));
    want.push((Effect::Updated, Type::scalar(DType::U32)));
    let graph = &function.graph;
    let mut errors = vec![];
    for (effect, ty) in &want {
        let found: Vec<Value> = function.effects.iter().filter(|(e, _)| e == effect).map(|(_, v)| *v).collect();
        match found.as_slice() {
            [value] if graph.nodes.get(value.0 as usize).and_then(|n| n.ty.as_ref()) == Some(ty) => {}
            _ => errors.push(format!("{effect:?} is not one value of type {ty}")),
        }
    }
    if function.effects.len() != want.len() {
        errors.push(format!("{} effects, not {}", function.effects.len(), want.len()));
    }
    let read = graph.values().find(|v| matches!(graph.node(*v).kind, Kind::Source(Source::Gradients)));
    let late = function.effects.iter().find(|(e, v)| matches!(e, Effect::Gradient(_)) && read.is_some_and(|r| *v > r));
    if let Some((effect, _)) = late {
        errors.push(format!("{effect:?} is computed after the gradients are read"));
    }
    match graph.outputs.first().and_then(|v| graph.node(*v).ty.as_ref()) {
        Some(ty) if *ty == Type::scalar(model.float()) => {}
        _ => errors.push("the loss is not a float scalar".into()),
    }
    errors
}
