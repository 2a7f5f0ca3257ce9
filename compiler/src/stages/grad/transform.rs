//! Functions mapped and differentiated: a graph with transforms in, the same of primitives and regions out.
//!
//! Transforms are resolved from the inside out, so that each sees a body without one. What it gives takes
//! the node's place and can be differentiated again.

use super::batch::vectorise;
use super::reverse::{differentiate, pull_back, zeros};
use crate::ir::prim::MapOp;
use crate::ir::simplify::simplify;
use crate::ir::{Dim, Graph, How, Kind, Node, Transform, Type, Value};
use crate::ops::{Builder, OpError};
use proc_macro2::Span;
use std::collections::BTreeMap;

/// What a named dimension counts as when two ways are compared.
const NAMED: i64 = 64;

/// The graph without transforms: those of it and of the bodies of its regions are resolved.
pub fn resolve(old: &Graph) -> Graph {
    let mut graph = Graph::default();
    let mut renamed: Vec<Value> = vec![];
    let mut results: BTreeMap<Value, Vec<Value>> = BTreeMap::new();
    for value in old.values() {
        let node = old.node(value);
        let args: Vec<Value> = node.args.iter().map(|a| renamed.get(a.0 as usize).copied().unwrap_or(*a)).collect();
        let new = match &node.kind {
            Kind::Transform(transform) => {
                let types: Vec<Type> = args.iter().map(|&a| graph.ty(a).clone()).collect();
                let made = function(transform, &types, node.span);
                let made = made.unwrap_or_else(|error| unreachable!("rules are well typed: {}", error.message));
                results.insert(value, graph.append(&made, &args));
                // Only results of the node are used.
                Value(u32::MAX)
            }
            Kind::Result(k) if results.contains_key(&node.args[0]) => {
                let result = results[&node.args[0]][*k];
                if graph.node(result).name.is_none() {
                    graph.node_mut(result).name.clone_from(&node.name);
                }
                result
            }
            kind => {
                graph.nodes.push(Node { kind: inside(kind), args, ..node.clone() });
                Value(graph.nodes.len() as u32 - 1)
            }
        };
        renamed.push(new);
    }
    graph.outputs = old.outputs.iter().map(|v| renamed[v.0 as usize]).collect();
    graph
}

/// The kind of node, with the bodies of a region resolved.
fn inside(kind: &Kind) -> Kind {
    let mut kind = kind.clone();
    kind.bodies_mut().iter_mut().for_each(|body| *body = resolve(body));
    kind
}

/// The graph whose inputs are the arguments of the transform and whose outputs are its results.
fn function(transform: &Transform, args: &[Type], span: Span) -> Result<Graph, OpError> {
    let body = simplify(resolve(&transform.body), &mut []);
    let body = match &transform.how {
        How::Map { mapped } => {
            let varies: Vec<bool> = (0..args.len()).map(|k| k < *mapped).collect();
            vectorise(body, &varies, &args[0].shape[0])?
        }
        How::Gradient { wrt, value } => gradient(body, wrt, *value, args, span),
        How::Jvp { wrt } => jvp(body, *wrt, args, span)?,
        How::Vjp { wrt, cotangents } => vjp(body, wrt, *cotangents, args, span)?,
        How::Jacobian { wrt } => jacobian(&body, wrt, args, span)?,
    };
    Ok(simplify(body, &mut []))
}

/// The node of an input, which is appended where nothing mentions it.
fn input(graph: &mut Graph, k: usize, args: &[Type], span: Span) -> Value {
    let known = graph.inputs().find(|(at, _)| *at == k).map(|(_, v)| v);
    known.unwrap_or_else(|| graph.push(Kind::Input(k), vec![], Some(args[k].clone()), span))
}

fn gradient(mut body: Graph, wrt: &[usize], value: bool, args: &[Type], span: Span) -> Graph {
    let wrt: Vec<Value> = wrt.iter().map(|&k| input(&mut body, k, args, span)).collect();
    let output = body.outputs[0];
    let gradients = differentiate(&mut body, output, &wrt);
    body.outputs.retain(|_| value);
    body.outputs.extend(gradients);
    body
}

/// Forward mode is reverse mode transposed: cotangents depend linearly on the one that comes in, and the
/// derivative of that map, seeded with the tangents, is the tangent that goes out (Townsend 2017). What the
/// first transposition computed by itself is dead.
fn jvp(mut body: Graph, count: usize, args: &[Type], span: Span) -> Result<Graph, OpError> {
    let first = args.len() - count;
    let wrt: Vec<Value> = (0..count).map(|k| input(&mut body, k, args, span)).collect();
    let tangents: Vec<Value> = (first..args.len()).map(|k| input(&mut body, k, args, span)).collect();
    let outputs = body.outputs.clone();
    let mut seeds = vec![];
    for &output in &outputs {
        // The map is linear, so that any value serves.
        seeds.push((output, zeros(&mut body, output)?));
    }
    let arrived = pull_back(&mut body, &seeds, &wrt)?;
    let known = |(cotangent, tangent): (Option<Value>, Value)| cotangent.map(|c| (c, tangent));
    let pairs: Vec<(Value, Value)> = arrived.into_iter().zip(tangents).filter_map(known).collect();
    let incoming: Vec<Value> = seeds.iter().map(|(_, seed)| *seed).collect();
    let pushed = pull_back(&mut body, &pairs, &incoming)?;
    for (tangent, output) in pushed.into_iter().zip(outputs) {
        let tangent = match tangent {
            Some(tangent) => tangent,
            None => zeros(&mut body, output)?,
        };
        body.outputs.push(tangent);
    }
    Ok(body)
}

/// Reverse mode, seeded with cotangents that are inputs.
fn vjp(mut body: Graph, wrt: &[usize], count: usize, args: &[Type], span: Span) -> Result<Graph, OpError> {
    let first = args.len() - count;
    let wrt: Vec<Value> = wrt.iter().map(|&k| input(&mut body, k, args, span)).collect();
    let cotangents: Vec<Value> = (first..args.len()).map(|k| input(&mut body, k, args, span)).collect();
    let seeds: Vec<(Value, Value)> = body.outputs.iter().copied().zip(cotangents).collect();
    for (value, arrived) in wrt.iter().zip(pull_back(&mut body, &seeds, &wrt)?) {
        let cotangent = match arrived {
            Some(cotangent) => cotangent,
            None => zeros(&mut body, *value)?,
        };
        body.outputs.push(cotangent);
    }
    Ok(body)
}

/// Rows from cotangents or columns from tangents, whichever are fewer, all at once.
fn jacobian(body: &Graph, wrt: &[usize], args: &[Type], span: Span) -> Result<Graph, OpError> {
    let output = body.ty(body.outputs[0]).clone();
    let mut graph = Graph::default();
    let inputs: Vec<Value> =
        args.iter().enumerate().map(|(k, ty)| graph.push(Kind::Input(k), vec![], Some(ty.clone()), span)).collect();
    let size = |ty: &Type| ty.count().eval(&|_| Some(NAMED)).unwrap_or(i64::MAX);
    let columns: i64 = wrt.iter().fold(0, |sum, &k| sum.saturating_add(size(&args[k])));
    let made = match columns < size(&output) {
        false => rows(&mut graph, body, wrt, args, &inputs, span)?,
        true => {
            let column = |&k: &usize| columns_of(&mut graph, body, k, args, &inputs, span);
            wrt.iter().map(column).collect::<Result<_, _>>()?
        }
    };
    graph.outputs = made;
    Ok(graph)
}

/// The Jacobians from the cotangent of each element of the output.
fn rows(
    graph: &mut Graph,
    body: &Graph,
    wrt: &[usize],
    args: &[Type],
    inputs: &[Value],
    span: Span,
) -> Result<Vec<Value>, OpError> {
    let mut body = body.clone();
    let output = body.outputs[0];
    let ty = body.ty(output).clone();
    let seed = body.push(Kind::Input(args.len()), vec![], Some(ty.clone()), span);
    let wrt: Vec<Value> = wrt.iter().map(|&k| input(&mut body, k, args, span)).collect();
    let arrived = pull_back(&mut body, &[(output, seed)], &wrt)?;
    body.outputs = vec![];
    for (cotangent, value) in arrived.into_iter().zip(wrt) {
        let cotangent = match cotangent {
            Some(cotangent) => cotangent,
            None => zeros(&mut body, value)?,
        };
        body.outputs.push(cotangent);
    }
    let of_all = over_basis(graph, &body, inputs, &ty, span)?;
    let shaped = |(all, &input): (Value, &Value)| {
        let shape = [&ty.shape[..], &body.ty(input).shape].concat();
        build(graph, span, |b| b.reshape(all, &shape))
    };
    of_all.into_iter().zip(&body.outputs.clone()).map(shaped).collect()
}

/// The Jacobian by one input from the tangent of each of its elements.
fn columns_of(
    graph: &mut Graph,
    body: &Graph,
    k: usize,
    args: &[Type],
    inputs: &[Value],
    span: Span,
) -> Result<Value, OpError> {
    let mut body = body.clone();
    let (output, wrt) = (body.outputs[0], input(&mut body, k, args, span));
    let (ty, of) = (body.ty(output).clone(), args[k].clone());
    let tangent = body.push(Kind::Input(args.len()), vec![], Some(of.clone()), span);
    let seed = zeros(&mut body, output)?;
    let arrived = pull_back(&mut body, &[(output, seed)], &[wrt])?;
    let pairs: Vec<(Value, Value)> = arrived.into_iter().flatten().map(|cotangent| (cotangent, tangent)).collect();
    let pushed = pull_back(&mut body, &pairs, &[seed])?;
    body.outputs = match pushed[0] {
        Some(pushed) => vec![pushed],
        None => vec![zeros(&mut body, output)?],
    };
    let all = over_basis(graph, &body, inputs, &of, span)?[0];
    build(graph, span, |b| {
        let columns = b.reshape(all, &[&of.shape[..], &ty.shape].concat())?;
        // The output's axes come first.
        let order: Vec<usize> = (of.rank()..of.rank() + ty.rank()).chain(0..of.rank()).collect();
        b.transpose(columns, &order)
    })
}

/// The results of `body` for every unit tensor of type `of` as its last input.
fn over_basis(graph: &mut Graph, body: &Graph, inputs: &[Value], of: &Type, span: Span) -> Result<Vec<Value>, OpError> {
    let count: Dim = of.count();
    let basis = build(graph, span, |b| {
        let square = [count.clone(), count.clone()];
        let (row, column) = (b.iota(&square, 0)?, b.iota(&square, 1)?);
        let diagonal = b.map(MapOp::Eq, &[row, column])?;
        let unit = b.convert(diagonal, of.dtype)?;
        b.reshape(unit, &[&square[..1], &of.shape].concat())
    })?;
    let varies: Vec<bool> = inputs.iter().map(|_| false).chain([true]).collect();
    let all = vectorise(simplify(body.clone(), &mut []), &varies, &count)?;
    let args: Vec<Value> = inputs.iter().copied().chain([basis]).collect();
    Ok(graph.append(&all, &args))
}

fn build<R>(graph: &mut Graph, span: Span, build: impl FnOnce(&mut Builder<'_>) -> R) -> R {
    build(&mut Builder::of_derivatives(graph, span, &mut 0))
}
