//! Every op, layer and optimiser: what its file declares holds, and what its examples compute has the right
//! derivatives on the oracle.

#![allow(unreachable_pub, dead_code, reason = "the shared module is public to all tests")]

#[path = "support/call.rs"]
mod call;
mod support;

use call::call;
use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::{DType, Graph, Kind, Type, Value};
use precast_compiler::ops::{AttrDecl, Bindings, Builder, Example, Item, Op, OpError, Signature, items};
use precast_compiler::oracle::{Data, Tensor};
use proc_macro2::Span;
use std::collections::BTreeSet;
use support::{Numbers, builder, compare, extents};

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
            assert!(!decl.doc.is_empty(), "`{}` of `{name}` has no documentation", decl.name);
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
            let bound: Bindings = precast_compiler::ops::check(op, &types, &[]).unwrap();
            for (pattern, ty) in signature.results.iter().flatten().zip(found) {
                assert!(bound.admits(pattern, ty), "`{}` gives {ty}, against its signature", example.call);
            }
        }
    }
}

/// The graph of an example, its input nodes and its results.
fn build(example: &Example) -> (Graph, Vec<Value>, Vec<Value>) {
    let mut graph = Graph::default();
    let types = example.input_types().unwrap();
    let inputs: Vec<Value> = types
        .into_iter()
        .enumerate()
        .map(|(k, ty)| graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site()))
        .collect();
    let names: Vec<(&str, Value)> = example.inputs.iter().map(|(name, ..)| *name).zip(inputs.iter().copied()).collect();
    let results = call(&mut graph, example.call, &names)
        .unwrap_or_else(|error| panic!("`{}`: {} {:?}", example.call, error.message, error.help));
    (graph, inputs, results)
}

fn tensor(ty: &Type, values: Vec<f64>) -> Tensor {
    let data = match ty.dtype {
        DType::F32 => Data::F32(values),
        DType::I32 => Data::I32(values.into_iter().map(|x| x as i32).collect()),
        DType::U32 => Data::U32(values.into_iter().map(|x| x as u32).collect()),
        DType::Bool => Data::Bool(values.into_iter().map(|x| x != 0.0).collect()),
    };
    Tensor::new(extents(&ty.shape), data)
}

/// The ops of a graph replaced by their bodies.
fn expand(old: &Graph) -> Graph {
    let (mut graph, mut sites) = (Graph::default(), 0);
    let mut renamed: Vec<Vec<Value>> = vec![];
    for node in &old.nodes {
        let args: Vec<Value> = node.args.iter().map(|a| renamed[a.0 as usize][0]).collect();
        renamed.push(match &node.kind {
            Kind::Op(call) => (call.op.body)(&mut builder(&mut graph, &mut sites), &args, &call.attrs).unwrap(),
            Kind::Result(k) => vec![renamed[node.args[0].0 as usize][*k]],
            kind => vec![graph.push(kind.clone(), args, node.ty.clone(), Span::call_site())],
        });
    }
    graph.outputs = old.outputs.iter().map(|v| renamed[v.0 as usize][0]).collect();
    graph
}

/// The sum of all results, each times a weight.
fn weighted(b: &mut Builder<'_>, results: &[Value], weights: &[Value]) -> Result<Value, OpError> {
    let mut total = b.f32(0.0)?;
    for (&result, &weight) in results.iter().zip(weights) {
        let float = b.convert(result, DType::F32)?;
        let product = b.mul(float, weight)?;
        let all: Vec<usize> = (0..b.rank(product)).collect();
        let sum = b.sum(product, &all)?;
        total = b.add(total, sum)?;
    }
    Ok(total)
}

#[test]
fn derivatives_of_examples_are_those_of_finite_differences() {
    for op in ops().filter(|op| op.name != "dropout") {
        for (k, example) in op.examples.iter().enumerate() {
            let (mut graph, inputs, results) = build(example);
            graph.outputs = results;
            let mut graph = expand(&graph);
            let mut numbers = Numbers::new(7 * k as u32 + 3);
            let mut tensors: Vec<Tensor> = vec![];
            for (&input, (.., domain)) in inputs.iter().zip(example.inputs) {
                let ty = graph.ty(input).clone();
                let count = extents(&ty.shape).iter().product();
                tensors.push(tensor(&ty, domain.sample(count, &mut || numbers.word())));
            }
            let results = std::mem::take(&mut graph.outputs);
            let mut weights = vec![];
            for &result in &results {
                let ty = Type { dtype: DType::F32, ..graph.ty(result).clone() };
                let count = extents(&ty.shape).iter().product();
                let values = (0..count).map(|_| numbers.float()).collect();
                weights.push(graph.push(Kind::Input(tensors.len()), vec![], Some(ty.clone()), Span::call_site()));
                tensors.push(tensor(&ty, values));
            }
            let mut sites = 0;
            let loss = weighted(&mut builder(&mut graph, &mut sites), &results, &weights).unwrap();
            graph.outputs = vec![loss];
            let graph = simplify(graph, &mut []);
            let nodes: Vec<(usize, Value)> = graph.inputs().collect();
            let floats: Vec<Value> = nodes
                .into_iter()
                .filter(|&(k, v)| k < example.inputs.len() && graph.ty(v).dtype == DType::F32)
                .map(|(_, v)| v)
                .collect();
            compare(example.call, graph, tensors, &floats, 1);
        }
    }
}
