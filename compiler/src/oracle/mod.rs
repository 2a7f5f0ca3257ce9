//! The oracle: an interpreter of graphs of primitives, regions and sources, written to be plainly right.
//!
//! Floats are computed in binary64, integers wrap in their bits, random bits are those of the back ends. It
//! shares no code with the stages that make kernels. `Rounding` tells what a computation in their own types may make of it.

mod attend;
pub mod kernels;
mod prim;
mod rounding;
mod scalar;
mod tensor;
mod window;

pub use rounding::Rounding;
pub use scalar::{erf, threefry};
pub use tensor::{Data, Tensor};

use crate::ir::graph::{CHUNK, GROUPS, Graph, Kind, Node, Repeat, Source, Value};
use crate::ir::model::{Effect, Function, Model};
use crate::ir::{Dim, How, Transform};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a call is given.
#[derive(Clone, Default, Debug)]
pub struct Env {
    /// The arguments; they bind the named dimensions.
    pub args: Vec<Tensor>,
    /// Dimensions that no argument has as an extent of its own.
    pub dims: BTreeMap<String, i64>,
    /// The parameter stacks, in the model's order.
    pub params: Vec<Tensor>,
    /// The states of the session, in the model's order.
    pub session: Vec<Tensor>,
    /// The optimiser's states, each the size of the parameter pool; absent ones are zero.
    pub states: Vec<Vec<f64>>,
    /// The random key of the step.
    pub key: [u32; 2],
    /// The parameter group of each chunk; absent ones are zero.
    pub groups: Vec<u32>,
    /// Each number of the optimiser, for each parameter group.
    pub numbers: Vec<[f64; GROUPS]>,
    /// The largest gradient norm; `None` is no limit.
    pub clip_norm: Option<f64>,
    /// Whether an update with non-finite numbers is skipped.
    pub skip_nonfinite: bool,
    /// The model's foreign functions.
    pub foreign: Foreigns,
    /// What becomes of each float that a primitive computes.
    pub rounding: Rounding,
}

/// A foreign function.
type Supplied = Rc<dyn Fn(&[&Tensor]) -> Vec<Tensor>>;

/// Foreign functions, in the model's order.
#[derive(Clone, Default)]
pub struct Foreigns(pub Vec<Supplied>);

impl Foreigns {
    /// The results of a call. The test that gives a graph also gives what the graph calls.
    fn call(&self, function: usize, args: &[&Tensor]) -> Vec<Tensor> {
        (self.0[function])(args)
    }
}

impl std::fmt::Debug for Foreigns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} foreign functions", self.0.len())
    }
}

/// What a call gives.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The results, in order.
    pub results: Vec<Tensor>,
    /// The pool writes, in the function's order.
    pub effects: Vec<(Effect, Tensor)>,
}

/// Runs a function; an error says which argument does not fit.
pub fn run(function: &Function, model: &Model, env: &Env) -> Result<Outputs, String> {
    let dims = bind(function, model, env)?;
    let inputs = env.args.iter().cloned().map(Rc::new).collect();
    let run = Run { model: Some(model), env, dims, effects: &function.effects };
    let values = run.graph(&function.graph, inputs, &[]);
    let take = |v: &Value| (*values.one(*v)).clone();
    Ok(Outputs {
        results: function.graph.outputs.iter().map(take).collect(),
        effects: function.effects.iter().map(|(effect, v)| (*effect, take(v))).collect(),
    })
}

/// The named dimensions that the arguments bind.
fn bind(function: &Function, model: &Model, env: &Env) -> Result<BTreeMap<String, i64>, String> {
    let mut dims = env.dims.clone();
    if env.args.len() != function.args.len() || env.params.len() != model.params.len() {
        return Err(format!("{} arguments and {} parameters", env.args.len(), env.params.len()));
    }
    for (argument, tensor) in function.args.iter().zip(&env.args) {
        let fits = argument.ty.dtype == tensor.data.dtype() && argument.ty.rank() == tensor.shape.len();
        if !fits {
            return Err(format!("`{}` is {}", argument.name, argument.ty));
        }
        for (dim, &extent) in argument.ty.shape.iter().zip(&tensor.shape) {
            if let Some(name) = dim.as_name() {
                dims.entry(name.into()).or_insert(extent as i64);
            }
        }
    }
    for (argument, tensor) in function.args.iter().zip(&env.args) {
        for (dim, &extent) in argument.ty.shape.iter().zip(&tensor.shape) {
            if dim.eval(&|name| dims.get(name).copied()) != Some(extent as i64) {
                return Err(format!("`{}` is {}, not {:?}", argument.name, argument.ty, tensor.shape));
            }
        }
    }
    Ok(dims)
}

/// Runs a graph without parameters or training sources.
pub fn run_graph(graph: &Graph, inputs: &[Tensor], dims: &[(&str, i64)]) -> Vec<Tensor> {
    let dims = dims.iter().map(|(name, n)| (name.to_string(), *n)).collect();
    let run = Run { model: None, env: &Env::default(), dims, effects: &[] };
    let values = run.graph(graph, inputs.iter().cloned().map(Rc::new).collect(), &[]);
    graph.outputs.iter().map(|v| (*values.one(*v)).clone()).collect()
}

struct Run<'a> {
    model: Option<&'a Model>,
    env: &'a Env,
    dims: BTreeMap<String, i64>,
    effects: &'a [(Effect, Value)],
}

/// The values of the nodes so far; a region has several.
#[derive(Default)]
struct Values(Vec<Vec<Rc<Tensor>>>);

impl Values {
    fn one(&self, value: Value) -> Rc<Tensor> {
        self.0[value.0 as usize][0].clone()
    }
}

impl Run<'_> {
    fn size(&self, dim: &Dim) -> i64 {
        match dim.eval(&|name| self.dims.get(name).copied()) {
            Some(n) => n,
            None => unreachable!("the arguments bind every name of `{dim}`"),
        }
    }

    /// Every value of a graph; `counters` are the loop indices around it, innermost last.
    fn graph(&self, graph: &Graph, inputs: Vec<Rc<Tensor>>, counters: &[u32]) -> Values {
        let mut values = Values::default();
        for value in graph.values() {
            let node = graph.node(value);
            let new = self.node(node, &values, &inputs, counters);
            if let (Some(ty), [one]) = (&node.ty, new.as_slice()) {
                let shape: Vec<usize> = ty.shape.iter().map(|d| self.size(d) as usize).collect();
                assert!(
                    one.shape == shape && one.data.dtype() == ty.dtype,
                    "node {} ({:?}) is {} but was computed as {:?}",
                    value.0,
                    node.kind,
                    ty,
                    one.shape
                );
            }
            values.0.push(new);
        }
        values
    }

    fn node(&self, node: &Node, values: &Values, inputs: &[Rc<Tensor>], counters: &[u32]) -> Vec<Rc<Tensor>> {
        let arg = |i: usize| values.one(node.args[i]);
        let word = |x: u32| Rc::new(Tensor::words([], vec![x]));
        vec![match &node.kind {
            Kind::Input(k) => inputs[*k].clone(),
            Kind::Param(id) => Rc::new(self.env.params[id.0 as usize].clone()),
            Kind::State(id) => Rc::new(self.env.session[id.0 as usize].clone()),
            Kind::Source(source) => Rc::new(self.source(*source, values)),
            Kind::Result(k) => values.0[node.args[0].0 as usize][*k].clone(),
            Kind::Prim(prim) => {
                let args: Vec<Rc<Tensor>> = (0..node.args.len()).map(arg).collect();
                let args: Vec<&Tensor> = args.iter().map(|t| &**t).collect();
                Rc::new(self.env.rounding.apply(prim, &args, &|dim| self.size(dim)))
            }
            Kind::Counter(depth) => word(counters[counters.len() - 1 - depth]),
            Kind::Repeat(repeat) => {
                return self.repeat(repeat, (0..node.args.len()).map(arg).collect(), counters);
            }
            Kind::Branch(branch) => {
                let selector = arg(0).data.element(0).as_f64() as usize;
                let case = &branch.cases[selector.min(branch.cases.len() - 1)];
                let inside = self.graph(case, (1..node.args.len()).map(arg).collect(), counters);
                return case.outputs.iter().map(|v| inside.one(*v)).collect();
            }
            Kind::Transform(transform) => {
                return self.map(transform, (0..node.args.len()).map(arg).collect(), counters);
            }
            Kind::Foreign(foreign) => {
                let args: Vec<Rc<Tensor>> = (0..node.args.len()).map(arg).collect();
                let args: Vec<&Tensor> = args.iter().map(|t| &**t).collect();
                let made = self.env.foreign.call(foreign.function, &args);
                return made.into_iter().map(Rc::new).collect();
            }
            Kind::StopGradient => arg(0),
            Kind::Op(call) => unreachable!("expand has replaced `{}`", call.op),
            Kind::Written(_) => unreachable!("shape has resolved what the user wrote"),
        }]
    }

    fn repeat(&self, repeat: &Repeat, args: Vec<Rc<Tensor>>, counters: &[u32]) -> Vec<Rc<Tensor>> {
        let count = self.size(&repeat.count) as usize;
        let mut carried = args[..repeat.carried].to_vec();
        let stacked = &args[repeat.carried..repeat.carried + repeat.stacked];
        let invariant = &args[repeat.carried + repeat.stacked..];
        let outputs = repeat.body.outputs.len();
        let mut slices: Vec<Vec<Option<Rc<Tensor>>>> = vec![vec![None; count]; outputs - repeat.carried];
        for step in 0..count {
            let at = if repeat.reverse { count - 1 - step } else { step };
            let mut inputs = carried.clone();
            inputs.extend(stacked.iter().map(|t| Rc::new(t.slice(at))));
            inputs.extend(invariant.iter().cloned());
            let counters: Vec<u32> = counters.iter().copied().chain([at as u32]).collect();
            let values = self.graph(&repeat.body, inputs, &counters);
            let results: Vec<Rc<Tensor>> = repeat.body.outputs.iter().map(|v| values.one(*v)).collect();
            carried = results[..repeat.carried].to_vec();
            for (slot, result) in slices.iter_mut().zip(&results[repeat.carried..]) {
                slot[at] = Some(result.clone());
            }
        }
        let stack = |(slot, output): (Vec<Option<Rc<Tensor>>>, &Value)| {
            let all: Vec<Rc<Tensor>> = slot.into_iter().flatten().collect();
            if all.is_empty() {
                let ty = repeat.body.ty(*output);
                let slice = ty.shape.iter().map(|d| self.size(d) as usize);
                return Rc::new(Tensor::zeros(ty.dtype, [0].into_iter().chain(slice).collect::<Vec<_>>()));
            }
            Rc::new(Tensor::stack(&all.iter().map(|t| &**t).collect::<Vec<_>>()))
        };
        carried.extend(slices.into_iter().zip(&repeat.body.outputs[repeat.carried..]).map(stack));
        carried
    }

    /// The body run for one slice after another.
    fn map(&self, transform: &Transform, args: Vec<Rc<Tensor>>, counters: &[u32]) -> Vec<Rc<Tensor>> {
        let How::Map { mapped } = transform.how else { unreachable!("grad resolves derivatives") };
        let body = &transform.body;
        let mut slices: Vec<Vec<Rc<Tensor>>> = vec![vec![]; body.outputs.len()];
        for at in 0..args[0].shape[0] {
            let slice = |(k, t): (usize, &Rc<Tensor>)| if k < mapped { Rc::new(t.slice(at)) } else { t.clone() };
            let inputs = args.iter().enumerate().map(slice).collect();
            let counters: Vec<u32> = counters.iter().copied().chain([at as u32]).collect();
            let values = self.graph(body, inputs, &counters);
            slices.iter_mut().zip(&body.outputs).for_each(|(slot, v)| slot.push(values.one(*v)));
        }
        let stack = |all: Vec<Rc<Tensor>>| Rc::new(Tensor::stack(&all.iter().map(|t| &**t).collect::<Vec<_>>()));
        slices.into_iter().map(stack).collect()
    }

    fn source(&self, source: Source, values: &Values) -> Tensor {
        let Some(model) = self.model else { unreachable!("a graph alone has no sources") };
        let words = model.trained_len();
        let float = model.float();
        let pool = |data: Vec<f64>| Tensor::new([words / CHUNK, CHUNK], Data::Float(float, data));
        match source {
            Source::Key(word) => Tensor::words([], vec![self.env.key[word]]),
            Source::Weights => {
                let all = model.params.iter().zip(&self.env.params);
                let trained = all.filter(|(p, _)| p.trained).map(|(p, t)| (p.offset, t));
                pool(place(model, words, trained))
            }
            Source::Gradients => {
                let gradient = |(effect, value): &(Effect, Value)| match effect {
                    Effect::Gradient(id) => Some((model.param(*id).offset, values.one(*value))),
                    Effect::Weights | Effect::Companion(_) | Effect::State(_) | Effect::Updated | Effect::Stored(_) => {
                        None
                    }
                };
                let all: Vec<_> = self.effects.iter().filter_map(gradient).collect();
                pool(place(model, words, all.iter().map(|(offset, t)| (*offset, &**t))))
            }
            // What is not trained lies at the end of the pool, and has no state.
            Source::State(k) => pool(self.env.states.get(k).map_or(vec![0.0; words], |state| state[..words].to_vec())),
            Source::Group => {
                let mut groups = self.env.groups.clone();
                groups.resize(words / CHUNK, 0);
                Tensor::words([words / CHUNK], groups)
            }
            Source::Number(k) => Tensor::floats([GROUPS], self.env.numbers[k].to_vec()),
            Source::ClipNorm => Tensor::floats([], vec![self.env.clip_norm.unwrap_or(f64::INFINITY)]),
            Source::SkipNonfinite => Tensor::words([], vec![u32::from(self.env.skip_nonfinite)]),
        }
    }
}

/// A pool with tensors at their places and zeros between them.
fn place<'t>(model: &Model, words: usize, tensors: impl Iterator<Item = (usize, &'t Tensor)>) -> Vec<f64> {
    debug_assert!(model.params.iter().all(|p| p.ty.dtype == model.float()), "parameters have one type");
    let mut pool = vec![0.0; words];
    for (offset, tensor) in tensors {
        pool[offset..offset + tensor.data.len()].copy_from_slice(tensor.f64s());
    }
    pool
}
