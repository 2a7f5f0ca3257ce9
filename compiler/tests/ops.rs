//! Every op, layer and optimiser: what its file declares holds, and what its examples compute has the right
//! derivatives on the oracle.

#![allow(unreachable_pub, dead_code, reason = "the shared module is public to all tests")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

#[path = "support/call.rs"]
mod call;
mod support;

use call::call;
use precast_compiler::diag::Code;
use precast_compiler::ir::attr::Attr;
use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::{DType, Dim, Graph, Kind, Type, Value};
use precast_compiler::ops::{
    AttrDecl, Bindings, Builder, Example, Item, Op, OpError, Signature, items, op_of, optimizer, resolve,
};
use precast_compiler::oracle::{Data, Tensor, run_graph};
use precast_compiler::stages::grad::differentiate;
use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};
use support::{BATCH, Numbers, builder, compare, extents, probe};

fn ops() -> impl Iterator<Item = &'static Op> {
    items().filter_map(|item| match item {
        Item::Op(op) => Some(op),
        Item::Layer(_) | Item::Optimizer(_) => None,
    })
}

fn declared(item: Item) -> (&'static str, &'static [AttrDecl], &'static str) {
    match item {
        Item::Op(op) => (op.name, op.attrs, op.doc),
        Item::Layer(layer) => (layer.name, layer.attrs, layer.doc),
        Item::Optimizer(optimizer) => (optimizer.name, &[], optimizer.doc),
    }
}

#[test]
fn names_are_unique_and_documented() {
    let mut seen = BTreeSet::new();
    for item in items() {
        let (name, attrs, doc) = declared(item);
        assert!(seen.insert(name), "`{name}` is defined twice");
        assert!(doc.len() > 10, "`{name}` has no documentation");
        let mut own = BTreeSet::new();
        for decl in attrs {
            assert!(own.insert(decl.name), "`{name}` has two attributes `{}`", decl.name);
            assert!(decl.doc.len() > 3, "`{}` of `{name}` has no documentation", decl.name);
            if let Some(value) = decl.default_value().filter(|_| decl.default != Some("")) {
                assert!(decl.fit(value).is_ok(), "the default of `{}` of `{name}` does not fit", decl.name);
            }
        }
    }
}

#[test]
fn signatures_parse_and_examples_keep_them() {
    for op in ops() {
        let signature = Signature::parse(op.signature).unwrap_or_else(|why| panic!("`{}`: {why}", op.name));
        assert!(op.examples.len() >= 2, "`{}` needs two examples", op.name);
        let named = |e: &Example| e.inputs.iter().any(|(_, ty, _)| ty.contains('B'));
        assert!(op.examples.iter().any(named) || op.name == "one_hot", "`{}` needs a named dimension", op.name);
        for example in op.examples {
            let (graph, inputs, results) = build(example);
            let found: Vec<&Type> = results.iter().map(|&r| graph.ty(r)).collect();
            let promised = example.result_types().unwrap();
            assert_eq!(found, promised.iter().collect::<Vec<_>>(), "`{}`", example.call);
            if !example.call.starts_with(&format!("{}(", op.name)) {
                continue;
            }
            let types: Vec<Type> = inputs.iter().map(|&v| graph.ty(v).clone()).collect();
            let bound: Bindings = precast_compiler::ops::check(op, &types, &[], DType::F32).unwrap();
            for (pattern, ty) in signature.results.iter().flatten().zip(found) {
                assert!(bound.admits(pattern, ty), "`{}` gives {ty}, against its signature", example.call);
            }
        }
    }
}

/// The graph of an example, its input nodes and its results.
fn build(example: &Example) -> (Graph, Vec<Value>, Vec<Value>) {
    build_in(example, DType::F32)
        .unwrap_or_else(|error| panic!("`{}`: {} {:?}", example.call, error.message, error.help))
}

/// The same with inputs of f32 converted to a type before the call.
fn build_in(example: &Example, float: DType) -> Result<(Graph, Vec<Value>, Vec<Value>), OpError> {
    let mut graph = Graph::default();
    let types = example.input_types().unwrap();
    let mut input = |(k, ty)| graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site());
    let inputs: Vec<Value> = types.into_iter().enumerate().map(&mut input).collect();
    let mut converted = inputs.clone();
    for value in &mut converted {
        if graph.ty(*value).dtype == DType::F32 {
            *value = builder(&mut graph, &mut 0).convert(*value, float)?;
        }
    }
    let names: Vec<(&str, Value)> = example.inputs.iter().map(|(name, ..)| *name).zip(converted).collect();
    let results = call(&mut graph, example.call, &names)?;
    Ok((graph, inputs, results))
}

fn tensor(ty: &Type, values: Vec<f64>) -> Tensor {
    Tensor::new(extents(&ty.shape), Data::of(ty.dtype, values))
}

/// The ops of a graph replaced by their bodies.
fn expand(old: &Graph) -> Graph {
    let (mut graph, mut sites) = (Graph::default(), 0);
    let mut renamed: Vec<Vec<Value>> = vec![];
    for node in &old.nodes {
        let args: Vec<Value> = node.args.iter().map(|a| renamed[a.0 as usize][0]).collect();
        renamed.push(match &node.kind {
            Kind::Op(call) => {
                let mut b = Builder { training: call.training, ..builder(&mut graph, &mut sites) };
                precast_compiler::ops::build(op_of(call), &mut b, &args, &call.attrs).unwrap()
            }
            Kind::Result(k) => vec![renamed[node.args[0].0 as usize][*k]],
            kind => vec![graph.push(kind.clone(), args, node.ty.clone(), Span::call_site())],
        });
    }
    graph.outputs = old.outputs.iter().map(|v| renamed[v.0 as usize][0]).collect();
    graph
}

/// The sum of all results, each times a weight.
fn weighted(b: &mut Builder<'_>, results: &[Value], weights: &[Value]) -> Result<Value, OpError> {
    let mut total = b.full(DType::F32, &[], 0.0)?;
    for (&result, &weight) in results.iter().zip(weights) {
        let float = b.convert(result, DType::F32)?;
        let product = b.mul(float, weight)?;
        let all: Vec<usize> = (0..b.rank(product)).collect();
        let sum = b.sum(product, &all)?;
        total = b.add(total, sum)?;
    }
    Ok(total)
}

/// The sum of an example's results, each times a weight, whose inputs follow the example's. Nothing where the example has
/// types of two bytes itself, or a call of it lacks the type.
fn weighted_in(example: &Example, float: DType) -> Option<Graph> {
    let (plain, ..) = build(example);
    // The derivative of rounding is taken for 1, and its differences are steps.
    if plain.nodes.iter().any(|node| node.ty.as_ref().is_some_and(|ty| ty.dtype.is_stored())) {
        return None;
    }
    let (mut graph, inputs, results) = build_in(example, float).ok()?;
    graph.outputs = results;
    let mut graph = expand(&graph);
    let results = std::mem::take(&mut graph.outputs);
    let mut weights = vec![];
    for &result in &results {
        let ty = Type { dtype: DType::F32, ..graph.ty(result).clone() };
        let place = inputs.len() + weights.len();
        weights.push(graph.push(Kind::Input(place), vec![], Some(ty), Span::call_site()));
    }
    let mut sites = 0;
    let loss = weighted(&mut builder(&mut graph, &mut sites), &results, &weights).unwrap();
    graph.outputs = vec![loss];
    Some(simplify(graph, &mut []))
}

/// Numbers for such a graph, and the inputs of the example that are floats.
fn sample(example: &Example, k: usize, graph: &Graph) -> (Vec<Tensor>, Vec<Value>) {
    let mut numbers = Numbers::new(7 * k as u32 + 3);
    let mut tensors: Vec<Tensor> = vec![];
    for (ty, (.., domain)) in example.input_types().unwrap().iter().zip(example.inputs) {
        let count = extents(&ty.shape).iter().product();
        tensors.push(tensor(ty, domain.sample(count, &mut || numbers.word())));
    }
    let mut floats = vec![];
    for (place, value) in graph.inputs() {
        let ty = graph.ty(value);
        if place < example.inputs.len() {
            floats.extend((ty.dtype == DType::F32).then_some(value));
        }
    }
    let types: BTreeMap<usize, Type> = graph.inputs().map(|(place, value)| (place, graph.ty(value).clone())).collect();
    for (_, ty) in types.range(example.inputs.len()..) {
        let count = extents(&ty.shape).iter().product();
        let values = (0..count).map(|_| numbers.float()).collect();
        tensors.push(tensor(ty, values));
    }
    (tensors, floats)
}

#[test]
fn derivatives_of_examples_are_those_of_finite_differences() {
    for op in ops() {
        for (k, example) in op.examples.iter().enumerate() {
            let Some(graph) = weighted_in(example, DType::F32) else { continue };
            let (tensors, floats) = sample(example, k, &graph);
            compare(example.call, graph, tensors, &floats, 1);
        }
    }
}

/// Numbers of the type near others: whole where those are, and else all different, and no multiples of a quarter, at
/// which functions of the examples have bends and steps.
fn rounded(dtype: DType, numbers: &mut [f64]) {
    let mut seen = BTreeSet::new();
    for x in numbers.iter_mut().filter(|x| **x != x.trunc()) {
        let mut near = dtype.nearest(*x);
        let small = |x: f64| x != 0.0 && x.abs() < 16.0;
        while small(near) && (4.0 * near == (4.0 * near).trunc() || !seen.insert(near.to_bits())) {
            near = dtype.nearest(near * (1.0 + dtype.epsilon()));
        }
        *x = near;
    }
}

/// Compares the gradients of an example in a type of two bytes with differences of the example in f32 at the same inputs;
/// gives how many there are. Each gradient is of the type, and rounded so often.
fn narrow_derivatives(example: &Example, k: usize, dtype: DType, roundings: f64) -> usize {
    let Some(plain) = weighted_in(example, DType::F32) else { return 0 };
    let (mut tensors, _) = sample(example, k, &plain);
    let Some(mut graph) = weighted_in(example, dtype) else { return 0 };
    for tensor in &mut tensors {
        if let Data::Float(DType::F32, numbers) = &mut tensor.data {
            rounded(dtype, numbers);
        }
    }
    let own = graph.inputs().filter(|(place, _)| *place < example.inputs.len());
    let inputs: Vec<(usize, Value)> = own.filter(|(_, v)| graph.ty(*v).dtype == DType::F32).collect();
    let wrt: Vec<Value> = inputs.iter().map(|(_, v)| *v).collect();
    let loss = graph.outputs[0];
    graph.outputs = differentiate(&mut graph, loss, &wrt);
    let gradients = run_graph(&simplify(graph, &mut []), &tensors, &[("B", BATCH)]);
    // Half a unit in the last place, and what f64 adds.
    let rounding = |x: f64| roundings * 0.501 * dtype.epsilon() * x.abs().max(dtype.smallest_normal());
    for ((place, _), gradient) in inputs.iter().zip(&gradients) {
        assert!(gradient.f64s().iter().all(|x| dtype.nearest(*x) == *x), "`{}` in {dtype}", example.call);
        let what = format!("{} in {dtype}", example.call);
        probe(&what, &plain, &tensors, *place, gradient, &rounding).unwrap_or_else(|why| panic!("{why}"));
    }
    gradients.len()
}

#[test]
fn derivatives_in_two_bytes_are_finite_differences_of_what_is_not_rounded() {
    for dtype in [DType::BF16, DType::F16] {
        let (mut count, mut compared) = (0, BTreeSet::new());
        for op in ops() {
            // Quotients of numbers of few bits are whole, where a remainder steps.
            if op.name == "rem" {
                continue;
            }
            // What lies at several places beyond an edge is added up in the type.
            let roundings = if op.name == "pad" { 4.0 } else { 1.0 };
            for (k, example) in op.examples.iter().enumerate() {
                let found = narrow_derivatives(example, k, dtype, roundings);
                count += found;
                compared.extend((found > 0).then_some(op.name));
            }
        }
        println!("{dtype}: {count} gradients of {} ops", compared.len());
        assert!(count >= 550 && compared.len() >= 150, "{dtype}: {count} of {} ops", compared.len());
    }
}

/// Four steps from (1, −2, 0.5) with these gradients.
const GRADIENTS: [[f64; 3]; 4] = [[0.5, -1.0, 2.0], [-0.25, 0.75, 1.0], [1.5, 0.1, -0.3], [0.0, -0.6, 0.9]];

/// Where the steps lead, with the numbers of each step, counted from 1.
fn descend(name: &str, numbers: impl Fn(i32) -> Vec<f64>) -> Vec<f64> {
    let rule = optimizer(name).unwrap();
    let vector = Type::new(DType::F32, vec![3.into()]);
    let (count, mut graph) = (rule.states.len(), Graph::default());
    let inputs: Vec<Value> = (0..2 + count + rule.numbers.len())
        .map(|k| graph.push(Kind::Input(k), vec![], Some(vector.clone()), Span::call_site()))
        .collect();
    let (states, scalars) = inputs[2..].split_at(count);
    let (new, mut outputs) =
        (rule.update)(&mut builder(&mut graph, &mut 0), inputs[0], inputs[1], states, scalars).unwrap();
    outputs.insert(0, new);
    graph.outputs = outputs;
    let mut kept = vec![Tensor::floats([3], vec![0.0; 3]); 1 + count];
    kept[0] = Tensor::floats([3], vec![1.0, -2.0, 0.5]);
    for (step, gradient) in GRADIENTS.iter().enumerate() {
        let numbers = numbers(step as i32 + 1);
        assert_eq!(numbers.len(), rule.numbers.len());
        let mut inputs = vec![kept[0].clone(), Tensor::floats([3], gradient.to_vec())];
        inputs.extend(kept[1..].iter().cloned());
        inputs.extend(numbers.into_iter().map(|x| Tensor::floats([3], vec![x; 3])));
        kept = run_graph(&graph, &inputs, &[]);
    }
    kept[0].f64s().to_vec()
}

/// The expected numbers are those of `torch.optim` 2.15 in float64.
#[test]
fn optimisers_take_the_steps_of_pytorch() {
    let close = |found: Vec<f64>, expected: [f64; 3]| {
        let far = found.iter().zip(expected).any(|(a, b)| (a - b).abs() > 1e-9);
        assert!(!far, "{found:?} against {expected:?}");
    };
    let gain = |step| if step == 1 { 1.0 } else { 0.9 };
    let sgd = descend("Sgd", |step| vec![0.1, 0.9, gain(step), 0.01, 0.0]);
    close(sgd, [0.6244996970661789, -1.785746362357358, -0.4637300913268356]);
    let nesterov = descend("Sgd", |_| vec![0.1, 0.9, 1.0, 0.01, 1.0]);
    close(nesterov, [0.4639135537663371, -1.7385257290076743, -0.753677501101214]);
    let plain = descend("Sgd", |_| vec![0.1, 0.0, 1.0, 0.0, 0.0]);
    close(plain, [0.825, -1.925, 0.14]);
    let moments = |step| vec![0.1, 0.9, 0.99, 1e-6, 0.01, 1.0 - 0.9_f64.powi(step), 1.0 - 0.99_f64.powi(step)];
    close(descend("Adam", moments), [0.7481851755058707, -1.8554260028883383, 0.17355089240073046]);
    close(descend("AdamW", moments), [0.7480872287747714, -1.855100028175825, 0.1723769629917724]);
    let rms_prop = descend("RmsProp", |_| vec![0.1, 0.9, 1e-6, 0.01, 0.5]);
    close(rms_prop, [0.20586581609197874, -1.6200063878578743, -0.4134264904359034]);
}

/// The mistake in a call with arguments `x`, `y` of these types: its code, and its texts as the user sees them.
fn mistake(text: &str, types: &[&'static str]) -> (Code, String, String) {
    let mut graph = Graph::default();
    let names: Vec<(&str, Value)> = ["x", "y", "z"]
        .into_iter()
        .zip(types)
        .enumerate()
        .map(|(k, (name, ty))| {
            let example = Example { inputs: &[], call: "", result: ty };
            let ty = example.result_types().unwrap().remove(0);
            (name, graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site()))
        })
        .collect();
    let error = call(&mut graph, text, &names).expect_err("a mistake");
    let callee = text.split('(').next().unwrap_or_default();
    let args = ["x", "y", "z"].map(str::to_owned);
    let (message, help) = error.render(callee, &args);
    (error.code, message, help.unwrap_or_default())
}

#[test]
fn mistakes_are_told_in_the_users_words() {
    let cases: &[(&str, &[&'static str], Code, &str, &str)] = &[
        (
            "sum(x, axis = 2)",
            &["f32[5, 7]"],
            Code::AxisOutOfRange,
            "axis 2 is out of range for `x`, which is f32[5, 7]",
            "use an axis from -2 to 1",
        ),
        (
            "reshape(x, [B, 5])",
            &["f32[B, 6]"],
            Code::ReshapeCount,
            "`reshape` keeps the number of elements: `x` has 6*B, [B, 5] has 5*B",
            "write `[B, 6]`",
        ),
        (
            "reshape(x, [-1, 4])",
            &["f32[5, 7]"],
            Code::ReshapeCount,
            "`reshape` keeps the number of elements: `x` has 35, which 4 does not divide",
            "",
        ),
        (
            "add(x, y)",
            &["f32[5, 7]", "f32[5]"],
            Code::BroadcastMismatch,
            "`x` is f32[5, 7] and `y` is f32[5]: shapes that do not broadcast",
            "write `reshape(y, [5, 1])`",
        ),
        (
            "add(x, y)",
            &["f32[5]", "u32[5]"],
            Code::MixedDtype,
            "`add` needs one element type, but `x` is f32[5] and `y` is u32[5]",
            "convert it: `y.f32()`",
        ),
        (
            "matmul(x, y)",
            &["f32[B, 7]", "f32[5, 7]"],
            Code::InnerDimension,
            "`matmul` needs equal inner dimensions: `x` is f32[B, 7] and `y` is f32[5, 7], 7 against 5",
            "write `transpose(y)`",
        ),
        (
            "conv2d(x, y)",
            &["f32[B, 3, 8, 8]", "f32[16, 1, 3, 3]"],
            Code::WrongFeatures,
            "`conv2d` takes 1 channel, but `x` has 3",
            "",
        ),
        (
            "conv2d(x, y, groups = 2)",
            &["f32[B, 4, 8, 8]", "f32[3, 2, 3, 3]"],
            Code::NonDivisible,
            "2 groups do not divide the 3 outputs of `y`",
            "write `groups = 1`",
        ),
        (
            "conv2d(x, y)",
            &["f32[B, 1, 8, 2]", "f32[3, 1, 3, 3]"],
            Code::KernelTooLarge,
            "a window of `conv2d` covers 3 elements, but axis 3 of `x` has 2 with its padding",
            "write `padding = 1`",
        ),
        (
            "conv2d(x, y)",
            &["f32[B, 64]", "f32[3, 1, 3, 3]"],
            Code::WrongRank,
            "`conv2d` takes [batch, channels, height, width], but `x` is f32[B, 64]",
            "",
        ),
        (
            "conv_transpose2d(x, y, groups = 3)",
            &["f32[B, 4, 8, 8]", "f32[4, 2, 3, 3]"],
            Code::NonDivisible,
            "3 groups do not divide the 4 channels of `x`",
            "write `groups = 2`",
        ),
        (
            "conv_transpose1d(x, y, z)",
            &["f32[B, 4, 8]", "f32[4, 2, 3]", "f32[4]"],
            Code::ShapeMismatch,
            "the result has 2 channels, but `z` is f32[4]",
            "",
        ),
        (
            "conv_transpose1d(x, y, padding = 3)",
            &["f32[B, 4, 2]", "f32[4, 2, 3]"],
            Code::WrongAttribute,
            "a padding of 3 leaves -2 elements of axis 2 of the result",
            "write `padding = 1`",
        ),
        (
            "max_pool1d(x, 3, padding = 2)",
            &["f32[B, 8]"],
            Code::WrongAttribute,
            "a padding of 2 is more than half of the window of 3",
            "write `padding = 1`",
        ),
        (
            "adaptive_max_pool1d(x, 3)",
            &["f32[4, B]"],
            Code::NotSupported,
            "`adaptive_max_pool1d` needs extents known at build time, but axis 1 of `x` is B",
            "",
        ),
        (
            "group_norm(x, groups = 4)",
            &["f32[B, 6, 8]"],
            Code::NonDivisible,
            "4 groups do not divide 6 channels",
            "write `3`",
        ),
        (
            "batch_norm(x, y, z, training = true)",
            &["f32[1, 6]", "f32[6]", "f32[6]"],
            Code::ShapeMismatch,
            "`x` is f32[1, 6]: one element of each channel has no variance",
            "",
        ),
        (
            "upsample(x)",
            &["f32[B, 6, 8]"],
            Code::MissingAttribute,
            "`upsample` needs `scale_factor` or `size`",
            "add `scale_factor = 2`",
        ),
        (
            "upsample(x, 2, \"bilinear\")",
            &["f32[B, 6, 8]"],
            Code::WrongRank,
            "mode \"bilinear\" resizes 2 axes after the second, but `x` is f32[B, 6, 8]",
            "",
        ),
        (
            "pixel_shuffle(x, 2)",
            &["f32[B, 6, 8, 8]"],
            Code::NonDivisible,
            "2 · 2 places do not divide the 6 channels of `x`",
            "",
        ),
        (
            "pad(x, low = 4, axis = 1, mode = \"reflect\")",
            &["f32[B, 4]"],
            Code::WrongAttribute,
            "axis 1 of `x` has 4 elements: mode \"reflect\" adds at most 3, not 4",
            "write `low = 3`",
        ),
        ("split(x, 3)", &["f32[B, 64]"], Code::NonDivisible, "3 parts do not divide axis 1 of `x`, which is 64", ""),
        (
            "slice(x, 3, 9, axis = 1)",
            &["f32[B, 7]"],
            Code::SliceOutOfRange,
            "3..9 is outside of axis 1 of `x`, which is 7",
            "",
        ),
        (
            "cross_entropy(x, y)",
            &["f32[B, 10]", "u32[B, 10]"],
            Code::ShapeMismatch,
            "`x` is f32[B, 10], so the target must be u32[B], but `y` is u32[B, 10]",
            "",
        ),
        (
            "mse_loss(x, y)",
            &["f32[B, 1]", "f32[B]"],
            Code::ShapeMismatch,
            "`mse_loss` needs equal shapes, but `x` is f32[B, 1] and `y` is f32[B]",
            "",
        ),
        (
            "einsum(\"ik,kj->ij\", x, y)",
            &["f32[5, 7]", "f32[8, 3]"],
            Code::InnerDimension,
            "`k` is 7 in `x`, but 8 in `y`",
            "",
        ),
        (
            "concat(x, y, axis = 0)",
            &["f32[5, 7]", "f32[5, 8]"],
            Code::ShapeMismatch,
            "`x` is f32[5, 7], but `y` is f32[5, 8]: only axis 0 may differ",
            "",
        ),
        (
            "max_pool2d(x)",
            &["f32[B, 8, 8]"],
            Code::MissingAttribute,
            "`max_pool2d` needs `window`: height and width of the window",
            "add `window = …`",
        ),
        (
            "mse_loss(x, y, reduction = \"avg\")",
            &["f32[B]", "f32[B]"],
            Code::WrongAttribute,
            "`reduction` must be \"mean\" or \"sum\" or \"none\", not \"avg\"",
            "",
        ),
        (
            "dropout(x, 1.5)",
            &["f32[B]"],
            Code::WrongAttribute,
            "1.5 is no probability, which `p` must be: a number from 0 to 1",
            "",
        ),
        (
            "embedding(x, y)",
            &["f32[B]", "f32[9, 3]"],
            Code::WrongDtype,
            "`embedding` takes integers, but `x` is f32[B]",
            "convert it: `x.u32()`",
        ),
    ];
    for (text, types, code, message, help) in cases {
        let found = mistake(text, types);
        assert_eq!(found, (*code, (*message).to_owned(), (*help).to_owned()), "`{text}`");
    }
}

#[test]
fn constructors_of_layers_check_their_numbers() {
    let conv = precast_compiler::ops::layer("Conv2d").unwrap();
    let int = |n: i64| Attr::Int(n.into());
    let attrs = resolve(conv.attrs, vec![int(3), int(8), int(3)], vec![("groups".into(), int(2))]).unwrap();
    let error = (conv.params)(&attrs).unwrap_err();
    assert_eq!(error.message, "2 groups do not divide the 3 channels of `input`");
    let attrs = resolve(conv.attrs, vec![int(4), int(8), int(3)], vec![("groups".into(), int(2))]).unwrap();
    let params = (conv.params)(&attrs).unwrap();
    assert_eq!(params[0].shape, [8, 2, 3, 3].map(Dim::from));
    assert_eq!(params[1].shape, [Dim::from(8)]);
}

/// Large numbers, which formulas that are not arranged for them turn into infinities or NaN.
#[test]
fn extremes_have_the_right_value() {
    let value = |text: &str, inputs: &[(&'static str, &[f64])]| {
        let mut graph = Graph::default();
        let mut names = vec![];
        let mut tensors = vec![];
        for (k, (name, numbers)) in inputs.iter().enumerate() {
            let dtype = if name.starts_with('i') { DType::U32 } else { DType::F32 };
            let ty = Type::new(dtype, vec![Dim::from(numbers.len())]);
            tensors.push(tensor(&ty, numbers.to_vec()));
            names.push((*name, graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site())));
        }
        graph.outputs = call(&mut graph, text, &names).unwrap();
        run_graph(&expand(&graph), &tensors, &[])[0].f64s().to_vec()
    };
    let big: &[f64] = &[-1e4, 0.0, 1e4];
    assert_eq!(value("softplus(x)", &[("x", big)]), [0.0, 2_f64.ln(), 1e4]);
    assert_eq!(value("softmax(x)", &[("x", big)]), [0.0, 0.0, 1.0]);
    assert_eq!(value("log_softmax(x)", &[("x", big)]), [-2e4, -1e4, 0.0]);
    assert_eq!(value("logsumexp(x)", &[("x", big)]), [1e4]);
    assert_eq!(value("logsumexp(x)", &[("x", &[f64::NEG_INFINITY; 2])]), [f64::NEG_INFINITY]);
    let loss = "binary_cross_entropy_with_logits(x, y, reduction = \"none\")";
    assert_eq!(value(loss, &[("x", big), ("y", &[1.0, 0.5, 1.0])]), [1e4, 2_f64.ln(), 0.0]);
    let shifted = value("var(x)", &[("x", &[1e8 + 1.0, 1e8 + 2.0, 1e8 + 3.0])]);
    assert_eq!(shifted, [1.0]);
}

#[test]
fn a_label_that_is_no_class_makes_the_loss_nan() {
    let mut graph = Graph::default();
    let mut push = |k, ty| graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site());
    let logits = push(0, Type::new(DType::F32, [2, 3].map(Dim::from)));
    let labels = push(1, Type::new(DType::U32, [Dim::from(2)]));
    let text = "cross_entropy(x, i, reduction = \"none\")";
    graph.outputs = call(&mut graph, text, &[("x", logits), ("i", labels)]).unwrap();
    let logits = Tensor::floats([2, 3], vec![1.0, 2.0, 3.0, 1.0, 1.0, 1.0]);
    let loss = run_graph(&expand(&graph), &[logits, Tensor::words([2], vec![3, 1])], &[]);
    assert!(loss[0].f64s()[0].is_nan());
    assert!((loss[0].f64s()[1] - 3_f64.ln()).abs() < 1e-12);
}
