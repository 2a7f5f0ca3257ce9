//! Kernels and memory plans against the oracle: what fuse, schedule and memory make of every op's examples and
//! of whole models computes what the graphs say.

#![allow(unreachable_pub, dead_code, reason = "the shared modules are public to all tests")]

#[path = "support/call.rs"]
mod call;
#[path = "support/judge.rs"]
mod judge;
mod support;

use call::call;
use judge::{check_memory, compile, judge, model, params, plain};
use precast_compiler::ir::{DType, Dim, Graph, Kind, Mode, ParamId, Type, Value};
use precast_compiler::ops::{Builder, Example, Item, OpError, Optimizer, items};
use precast_compiler::pipeline::lower;
use precast_compiler::stages::grad::differentiate;
use proc_macro2::Span;
use support::{Numbers, builder};

const EXTENTS: [i64; 3] = [1, 5, 17];

fn optimizers() -> Vec<&'static Optimizer> {
    let found = |item| match item {
        Item::Optimizer(optimizer) => Some(optimizer),
        Item::Op(_) | Item::Layer(_) => None,
    };
    items().filter_map(found).collect()
}

fn examples() -> impl Iterator<Item = &'static Example> {
    items().flat_map(|item| match item {
        Item::Op(op) => op.examples,
        Item::Layer(_) | Item::Optimizer(_) => &[],
    })
}

/// Every example at several batch sizes.
fn each_example(what: &str, mut make: impl FnMut(&Example) -> Option<(Graph, Vec<Vec<Dim>>, Mode)>) {
    let mut numbers = Numbers::new(1);
    for example in examples() {
        let Some((graph, shapes, mode)) = make(example) else { continue };
        let compiled = lower(model(graph, params(&shapes), mode));
        let name = format!("{what} of `{}`", example.call);
        check_memory(&name, &compiled, &mut numbers);
        for extent in EXTENTS {
            // Named dimensions of examples are B, and sometimes another one.
            let dims: Vec<(&str, i64)> =
                compiled.model.functions[0].dims.iter().map(|d| (d.name.as_str(), extent)).collect();
            judge(&name, &compiled, &dims, &|k, _, count, numbers| {
                let (.., domain) = example.inputs.get(k)?;
                Some(domain.sample(count, &mut || numbers.word()))
            });
            if dims.is_empty() {
                break;
            }
        }
    }
}

fn input(graph: &mut Graph, k: usize, ty: Type) -> Value {
    graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site())
}

fn apply(graph: &mut Graph, example: &Example, inputs: &[Value]) -> Vec<Value> {
    let names: Vec<(&str, Value)> = example.inputs.iter().map(|(name, ..)| *name).zip(inputs.iter().copied()).collect();
    call(graph, example.call, &names).unwrap_or_else(|e| panic!("`{}`: {}", example.call, e.message))
}

#[test]
fn values_of_examples() {
    each_example("value", |example| {
        let mut graph = Graph::default();
        let types = example.input_types().unwrap();
        let inputs: Vec<Value> = types.into_iter().enumerate().map(|(k, ty)| input(&mut graph, k, ty)).collect();
        graph.outputs = apply(&mut graph, example, &inputs);
        Some((graph, vec![], Mode::Evaluate))
    });
}

/// The sum of all results, each times itself where that has a derivative.
fn squares(b: &mut Builder<'_>, results: &[Value]) -> Result<Value, OpError> {
    let mut total = b.f32(0.0)?;
    for &result in results {
        let float = b.convert(result, DType::F32)?;
        let product = b.mul(float, float)?;
        let all: Vec<usize> = (0..b.rank(product)).collect();
        let sum = b.sum(product, &all)?;
        total = b.add(total, sum)?;
    }
    Ok(total)
}

#[test]
fn derivatives_of_examples() {
    each_example("derivative", |example| {
        let mut graph = Graph::default();
        let types = example.input_types().unwrap();
        let inputs: Vec<Value> = types.into_iter().enumerate().map(|(k, ty)| input(&mut graph, k, ty)).collect();
        graph.outputs = apply(&mut graph, example, &inputs);
        // Derivatives are of primitives.
        let expanded = precast_compiler::stages::expand::expand(model(graph, vec![], Mode::Evaluate));
        let mut graph = expanded.functions.into_iter().next()?.graph;
        let results = graph.outputs.clone();
        let loss = squares(&mut builder(&mut graph, &mut 0), &results).unwrap();
        let mut inputs: Vec<(usize, Value)> = graph.inputs().collect();
        inputs.sort_unstable();
        let floats: Vec<Value> = inputs.iter().map(|(_, v)| *v).filter(|v| graph.ty(*v).dtype.is_float()).collect();
        let gradients = differentiate(&mut graph, loss, &floats);
        graph.outputs = results.into_iter().chain([loss]).chain(gradients).collect();
        (inputs.len() == example.inputs.len()).then_some((graph, vec![], Mode::Evaluate))
    });
}

#[test]
fn training_steps_of_examples() {
    let optimizers = optimizers();
    let mut turn = 0;
    each_example("training", |example| {
        turn += 1;
        let mut graph = Graph::default();
        let (mut inputs, mut shapes) = (vec![], vec![]);
        for (k, ty) in example.input_types().unwrap().into_iter().enumerate() {
            let x = input(&mut graph, k, ty.clone());
            // A parameter is added to every float input; it repeats along the named axes.
            inputs.push(match ty.dtype.is_float() {
                false => x,
                true => {
                    let fixed = |d: &Dim| if d.as_const().is_some() { d.clone() } else { Dim::from(1) };
                    let shape: Vec<Dim> = ty.shape.iter().map(fixed).collect();
                    let kind = Kind::Param(ParamId(shapes.len() as u32));
                    let param = graph.push(kind, vec![], Some(Type::new(DType::F32, shape.clone())), Span::call_site());
                    shapes.push(shape);
                    let mut b = builder(&mut graph, &mut turn);
                    let square = b.mul(param, param).unwrap();
                    b.add(x, square).unwrap()
                }
            });
        }
        let results = apply(&mut graph, example, &inputs);
        let loss = squares(&mut builder(&mut graph, &mut 0), &results).unwrap();
        graph.outputs = [loss].into_iter().chain(results).collect();
        (!shapes.is_empty()).then_some((graph, shapes, Mode::Train(optimizers[turn as usize % optimizers.len()])))
    });
}
