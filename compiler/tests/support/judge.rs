//! Runs a model through the stages from fuse to memory, and the plans against the oracle.

use precast_compiler::ir::graph::{CHUNK, GROUPS};
use precast_compiler::ir::kernel::{Kernel, Operand, Skeleton};
use precast_compiler::ir::model::{Argument, Binder, Init, NamedDim, Results, Signature, place};
use precast_compiler::ir::plan::Plans;
use precast_compiler::ir::precision::Precision;
use precast_compiler::ir::verify::verify_plans;
use precast_compiler::ir::{
    Category, DType, Dim, Function, Graph, Kind, Memory, Mode, Model, Param, Source, State, Type, Value,
};
use precast_compiler::oracle::{self, Data, Env, Foreigns, Tensor, kernels};
use precast_compiler::pipeline::{Compiled, check, lower};
use precast_compiler::stages::memory;
use proc_macro2::{Ident, Span, TokenStream};
use std::collections::{BTreeMap, BTreeSet};

use super::Numbers;

/// Compares every result and effect of every function under a binding of the named dimensions.
pub fn judge(what: &str, compiled: &Compiled, dims: &[(&str, i64)], inputs: Inputs<'_>) {
    judge_calling(what, compiled, dims, inputs, &Foreigns::default());
}

/// The same for a model that calls foreign functions.
pub fn judge_calling(what: &str, compiled: &Compiled, dims: &[(&str, i64)], inputs: Inputs<'_>, foreign: &Foreigns) {
    for (index, function) in compiled.model.functions.iter().enumerate() {
        let env = Env { foreign: foreign.clone(), ..env(&compiled.model, function, dims, inputs) };
        let name = format!("{what}: {} at {dims:?}", function.name);
        let expected = oracle::run(function, &compiled.model, &env).unwrap_or_else(|why| panic!("{name}: {why}"));
        let found = kernels::run(&compiled.plans, index, &compiled.model, &env)
            .unwrap_or_else(|why| panic!("{name}: {why}\n{}", report(compiled, index)));
        for (k, (a, b)) in expected.results.iter().zip(&found.results).enumerate() {
            same(a, b).unwrap_or_else(|why| panic!("{name}: result {k}: {why}\n{}", report(compiled, index)));
        }
        for ((effect, a), (_, b)) in expected.effects.iter().zip(&found.effects) {
            same(a, b).unwrap_or_else(|why| panic!("{name}: {effect:?}: {why}\n{}", report(compiled, index)));
        }
        assert_eq!(expected.results.len(), found.results.len());
        assert_eq!(expected.effects.len(), found.effects.len());
    }
}

/// Runs the checker of memory plans on random and extreme bindings. Every plan prints and parses back.
pub fn check_memory(what: &str, compiled: &Compiled, numbers: &mut Numbers) {
    verify_plans(&compiled.plans).unwrap_or_else(|why| panic!("{what}: {why:#?}\n{}", compiled.plans));
    let text = compiled.plans.to_string();
    let parsed: Plans = text.parse().unwrap_or_else(|why| panic!("{what}: {why}\n{text}"));
    for (parsed, kernel) in parsed.kernels.iter().zip(&compiled.plans.kernels) {
        product(kernel).unwrap_or_else(|why| panic!("{what}: {why}: {kernel}"));
        assert_eq!(parsed, kernel, "{what}: {kernel}");
    }
    assert_eq!(parsed, compiled.plans, "{what}: {text}");
    for (plan, function) in compiled.plans.plans.iter().zip(&compiled.model.functions) {
        let names: Vec<&str> = function.dims.iter().map(|d| d.name.as_str()).collect();
        let rounds = if names.is_empty() { 1 } else { 6 };
        for round in 0..rounds {
            let extent = |k: usize, numbers: &mut Numbers| match round {
                0 => 1,
                1 => 1 + 40 * i64::from(k == 0),
                2 => 1 + 40 * i64::from(k != 0),
                _ => 1 + i64::from(numbers.below(24)),
            };
            let binding: BTreeMap<&str, i64> =
                names.iter().enumerate().map(|(k, n)| (*n, extent(k, numbers))).collect();
            let found = memory::check(plan, &compiled.plans.kernels, &|name| binding.get(name).copied());
            assert!(found.is_ok(), "{what}: {} at {binding:?}: {found:?}\n{}", function.name, report(compiled, 0));
        }
    }
}

/// What the drivers of products rely on: rows and columns are runs of one stride in every result, and operands
/// vary affinely with their own axes only.
fn product(kernel: &Kernel) -> Result<(), String> {
    let Skeleton::Contract { m, n, k, lhs, rhs, stores, .. } = &kernel.skeleton else { return Ok(()) };
    let affine = |o: &Operand| o.index.is_affine() && o.windows.iter().all(|w| w.index.is_affine() && w.divisor > 0);
    let strays = n.iter().any(|&a| lhs.mentions(a)) || m.iter().any(|&a| rhs.mentions(a));
    if strays || !affine(lhs) || !affine(rhs) {
        return Err("an operand varies with what it should not".into());
    }
    for store in stores {
        if k.iter().any(|&a| store.index.mentions(a)) || !store.index.is_affine() {
            return Err("a store varies with what it should not".into());
        }
        let stride = |a: usize| store.index.stride(a).unwrap();
        for pair in [m, n].iter().flat_map(|list| list.windows(2)) {
            if stride(pair[0]) != stride(pair[1]) * kernel.axes[pair[1]].clone() {
                return Err(format!("axes {pair:?} are no run"));
            }
        }
    }
    Ok(())
}

/// What the arguments of a function are filled with: argument, type and number of elements give numbers.
pub type Inputs<'f> = &'f dyn Fn(usize, &Type, usize, &mut Numbers) -> Option<Vec<f64>>;

/// Fills nothing in a way of its own.
pub fn plain(_: usize, _: &Type, _: usize, _: &mut Numbers) -> Option<Vec<f64>> {
    None
}

fn env(model: &Model, function: &Function, dims: &[(&str, i64)], inputs: Inputs<'_>) -> Env {
    let mut numbers = Numbers::new(5);
    let bound: BTreeMap<String, i64> = dims.iter().map(|(name, n)| (name.to_string(), *n)).collect();
    let size = |d: &Dim| d.eval(&|name| bound.get(name).copied()).unwrap() as usize;
    let mut args = vec![];
    for (k, argument) in function.args.iter().enumerate() {
        if let Some(position) = function.dims.iter().find(|d| d.binder == Binder::Argument(k)) {
            args.push(tensor(DType::U32, vec![], vec![bound[&position.name] as f64]));
            continue;
        }
        let shape: Vec<usize> = argument.ty.shape.iter().map(size).collect();
        let count = shape.iter().product();
        let values =
            inputs(k, &argument.ty, count, &mut numbers).unwrap_or_else(|| match argument.ty.dtype.category() {
                Category::Float => (0..count).map(|_| numbers.float()).collect(),
                Category::Signed | Category::Unsigned => (0..count).map(|_| f64::from(numbers.below(4))).collect(),
                Category::Bool => (0..count).map(|_| f64::from(numbers.below(2))).collect(),
            });
        args.push(tensor(argument.ty.dtype, shape, values));
    }
    let param = |p: &Param, numbers: &mut Numbers| {
        let shape: Vec<usize> = p.stacked().shape.iter().map(size).collect();
        let count = shape.iter().product();
        // Companions are running statistics, and variances are not negative.
        let value = |x: f64| if p.trained { 0.3 * x } else { 0.3 * x.abs() };
        Tensor::floats(shape, (0..count).map(|_| value(numbers.float())).collect())
    };
    let mut params: Vec<Tensor> = model.params.iter().map(|p| param(p, &mut numbers)).collect();
    // What is stored as integers is integers times scales.
    for (k, scales) in model.params.iter().enumerate().filter_map(|(k, p)| Some((k, p.scales?))) {
        let (scales, tensor) = (params[scales.0 as usize].f64s().to_vec(), &params[k]);
        let row = tensor.data.len() / scales.len();
        let values = tensor.f64s().iter().enumerate().map(|(at, x)| (60.0 * x).round() * scales[at / row]).collect();
        params[k] = Tensor::floats(tensor.shape.clone(), values);
    }
    let state = |state: &State, numbers: &mut Numbers| {
        let shape: Vec<usize> = state.stacked().shape.iter().map(size).collect();
        let count = shape.iter().product::<usize>();
        let value = |numbers: &mut Numbers| match state.ty.dtype.category() {
            Category::Float => numbers.float(),
            Category::Signed | Category::Unsigned => f64::from(numbers.below(9)),
            Category::Bool => f64::from(numbers.below(2)),
        };
        tensor(state.ty.dtype, shape, (0..count).map(|_| value(numbers)).collect())
    };
    let session = model.states.iter().map(|s| state(s, &mut numbers)).collect();
    let mut env = Env { args, params, session, dims: bound, key: [17, 23], ..Env::default() };
    if let Mode::Train(_) = &function.mode {
        let words = model.trained_len();
        let count = |number: fn(Source) -> Option<usize>| {
            let sources = function.graph.nodes.iter().filter_map(|node| match node.kind {
                Kind::Source(source) => number(source),
                _ => None,
            });
            sources.max().map_or(0, |last| last + 1)
        };
        let states = count(|source| if let Source::State(k) = source { Some(k) } else { None });
        let of_step = count(|source| if let Source::Number(k) = source { Some(k) } else { None });
        // Whatever the optimiser, its second moments must not be negative.
        env.states = (0..states).map(|_| (0..words).map(|_| numbers.float().abs()).collect()).collect();
        env.numbers = (0..of_step).map(|_| std::array::from_fn(|_| 0.1 + 0.2 * numbers.float().abs())).collect();
        env.groups = (0..words / CHUNK).map(|_| numbers.below(GROUPS as u32)).collect();
        env.clip_norm = Some(0.7);
        env.skip_nonfinite = true;
    }
    env
}

/// A tensor of numbers.
pub fn tensor(dtype: DType, shape: Vec<usize>, values: Vec<f64>) -> Tensor {
    Tensor::new(shape, Data::of(dtype, values))
}

/// Integers are equal; floats up to 1e-9 of the largest finite one, NaN and infinities at the same places.
pub fn same(expected: &Tensor, found: &Tensor) -> Result<(), String> {
    if expected.shape != found.shape || expected.data.dtype() != found.data.dtype() {
        return Err(format!("{:?} and {:?}", expected.shape, found.shape));
    }
    let (Data::Float(_, a), Data::Float(_, b)) = (&expected.data, &found.data) else {
        return if expected == found { Ok(()) } else { Err(format!("{expected:?}\nbut found\n{found:?}")) };
    };
    let largest = a.iter().filter(|x| x.is_finite()).fold(1e-3f64, |m, x| m.max(x.abs()));
    let close = |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * largest;
    match a.iter().zip(b).position(|(&x, &y)| !close(x, y)) {
        None => Ok(()),
        Some(i) => Err(format!("element {i} of {:?} is {}, not {}\n{a:?}\n{b:?}", expected.shape, b[i], a[i])),
    }
}

fn report(compiled: &Compiled, index: usize) -> String {
    format!("{}\n{}", compiled.model.functions[index], compiled.plans)
}

/// The models of a `model!` text, compiled.
pub fn compile(text: &str) -> Vec<Compiled> {
    let tokens: TokenStream = text.parse().unwrap_or_else(|why| panic!("{why}"));
    let (models, diags) = check(tokens);
    let errors = diags.to_compile_errors();
    assert!(diags.is_empty(), "{errors}");
    models.into_iter().map(lower).collect()
}

/// A model with one function around a graph of inputs and parameters; its dimensions are those of its inputs.
pub fn model(graph: Graph, params: Vec<Param>, mode: Mode) -> Model {
    let mut inputs: Vec<(usize, Value)> = graph.inputs().collect();
    inputs.sort_unstable();
    inputs.dedup_by_key(|(k, _)| *k);
    let arg = |(k, v): &(usize, Value)| Argument { name: ident(&format!("x{k}")), ty: graph.ty(*v).clone() };
    let args: Vec<Argument> = inputs.iter().map(arg).collect();
    assert!(inputs.iter().enumerate().all(|(i, (k, _))| i == *k), "every input is mentioned");
    let mut names = BTreeSet::new();
    names_of(&graph, &mut names);
    let function = Function {
        name: ident("run"),
        signature: Signature::default(),
        attrs: vec![],
        mode,
        args,
        dims: names.into_iter().map(|name| NamedDim { name, bound: None, binder: Binder::Extents }).collect(),
        results: Results::Tuple,
        frozen: vec![],
        in_session: false,
        effects: vec![],
        graph,
    };
    Model {
        name: ident("Net"),
        vis: TokenStream::new(),
        attrs: vec![],
        memory: Memory::default(),
        precision: Precision::default(),
        storage: None,
        deterministic: None,
        params,
        states: vec![],
        dims: vec![],
        functions: vec![function],
        foreign: vec![],
        private: vec![],
        origins: vec![],
        sketches: vec![],
    }
}

fn names_of(graph: &Graph, names: &mut BTreeSet<String>) {
    for node in &graph.nodes {
        for dim in node.ty.iter().flat_map(|t| &t.shape) {
            dim.names(&mut |name| _ = names.insert(name.to_owned()));
        }
        match &node.kind {
            Kind::Repeat(repeat) => {
                repeat.count.names(&mut |name| _ = names.insert(name.to_owned()));
                names_of(&repeat.body, names);
            }
            Kind::Branch(branch) => branch.cases.iter().for_each(|case| names_of(case, names)),
            _ => {}
        }
    }
}

/// Parameters of these shapes, one after the other in the pool.
pub fn params(shapes: &[Vec<Dim>]) -> Vec<Param> {
    let param = |(k, shape): (usize, &Vec<Dim>)| {
        let (name, init, ty) = (format!("p{k}"), Init::Zeros, Type::new(DType::F32, shape.clone()));
        let (stack, turns, scales, span) = (vec![], vec![], None, Span::call_site());
        Param { fields: vec![name.clone()], name, ty, stack, turns, init, trained: true, scales, offset: 0, span }
    };
    let mut params: Vec<Param> = shapes.iter().enumerate().map(param).collect();
    place(&mut params);
    params
}

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

/// Whether a node of the graph is an op: those are left to expand.
pub fn has_ops(graph: &Graph) -> bool {
    graph.nodes.iter().any(|n| matches!(n.kind, Kind::Op(_)))
}
