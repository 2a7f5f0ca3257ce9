//! Rewrites of a graph before it is grouped, each with its reason.

use super::sums;
use crate::ir::prim::{Border, MapOp, Prim};
use crate::ir::simplify::splat;
use crate::ir::{Dim, Function, Graph, Kind, Node, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The function with simpler, equal graphs.
pub(super) fn rewrite(mut function: Function) -> Function {
    let effects: Vec<Value> = function.effects.iter().map(|(_, v)| *v).collect();
    let results = function.graph.outputs.len();
    function.graph.outputs.extend(effects);
    sums::replace(&mut function.graph);
    sign_of_rectified(&mut function.graph);
    parts_of_sums(&mut function.graph);
    contract(&mut function.graph);
    let effects = function.graph.outputs.split_off(results);
    function.effects.iter_mut().zip(effects).for_each(|((_, v), new)| *v = new);
    function
}

/// `x ≤ 0` is `y ≤ 0` for `y = select(x ≤ 0, 0, x)`: the backward pass of a rectifier then reads its result,
/// and the argument need not be kept.
fn sign_of_rectified(graph: &mut Graph) {
    let old = std::mem::take(graph);
    let mut new: BTreeMap<Value, Value> = BTreeMap::new();
    for value in old.values() {
        let mut node = old.node(value).clone();
        node.args = node.args.iter().map(|a| new[a]).collect();
        node.kind.bodies_mut().iter_mut().for_each(sign_of_rectified);
        graph.nodes.push(node);
        let y = Value(graph.nodes.len() as u32 - 1);
        new.insert(value, y);
        if let Some((test, zero)) = rectifier(&old, value) {
            let (span, ty) = (old.node(value).span, old.node(test).ty.clone());
            let sign = graph.push(Kind::Prim(Prim::Map(MapOp::Le)), vec![y, new[&zero]], ty, span);
            new.insert(test, sign);
        }
    }
    graph.outputs = old.outputs.iter().map(|o| new[o]).collect();
}

/// The test and the zero of `select(x ≤ 0, 0, x)`.
fn rectifier(graph: &Graph, value: Value) -> Option<(Value, Value)> {
    let node = graph.node(value);
    let (Kind::Prim(Prim::Map(MapOp::Select)), &[flat, zero, x]) = (&node.kind, node.args.as_slice()) else {
        return None;
    };
    let test = graph.node(flat);
    let (Kind::Prim(Prim::Map(MapOp::Le)), &[low, high]) = (&test.kind, test.args.as_slice()) else { return None };
    (low == x && is_zero(graph, zero) && is_zero(graph, high)).then_some((flat, zero))
}

fn is_zero(graph: &Graph, value: Value) -> bool {
    splat(graph, value) == Some(0.0)
}

/// A sum of parts that are padded with zeros up to one whole, side by side, is their concatenation: the gradient of a value
/// that is used in slices. Nothing is added, and a kernel can write each part where it belongs.
fn parts_of_sums(graph: &mut Graph) {
    for value in graph.values() {
        graph.node_mut(value).kind.bodies_mut().iter_mut().for_each(parts_of_sums);
        if let Some((axis, parts)) = padded_leaves(graph, value).and_then(|leaves| side_by_side(graph, value, leaves)) {
            let node = graph.node_mut(value);
            (node.kind, node.args) = (Kind::Prim(Prim::Concat { axis }), parts);
        }
    }
}

/// What a value is the sum of, where that is nothing but different values padded with zeros.
fn padded_leaves(graph: &Graph, sum: Value) -> Option<Vec<(&Vec<Border>, Value)>> {
    let (mut leaves, mut seen, mut todo) = (vec![], BTreeSet::new(), vec![sum]);
    while let Some(value) = todo.pop() {
        let node = graph.node(value);
        match &node.kind {
            _ if !seen.insert(value) => return None,
            Kind::Prim(Prim::Map(MapOp::Add)) => todo.extend(&node.args),
            Kind::Prim(Prim::Pad { borders, value }) if value.as_f64() == 0.0 => leaves.push((borders, node.args[0])),
            _ => return None,
        }
    }
    Some(leaves)
}

/// The axis along which two or more padded leaves lie side by side, and what they pad, in order.
fn side_by_side(graph: &Graph, whole: Value, mut left: Vec<(&Vec<Border>, Value)>) -> Option<(usize, Vec<Value>)> {
    let moved = |border: &Border| !border.low.is(0) || !border.high.is(0) || border.interior != 0;
    let axis = left.first()?.0.iter().position(moved)?;
    let along =
        |borders: &[Border]| borders.iter().enumerate().all(|(d, b)| (d == axis && b.interior == 0) || !moved(b));
    if left.len() < 2 || !left.iter().all(|(borders, _)| along(borders)) {
        return None;
    }
    let (mut parts, mut end) = (vec![], Dim::default());
    while let Some(next) = left.iter().position(|(borders, _)| borders[axis].low == end) {
        let (_, part) = left.remove(next);
        end = end + graph.ty(part).shape[axis].clone();
        parts.push(part);
    }
    (left.is_empty() && end == graph.ty(whole).shape[axis]).then_some((axis, parts))
}

/// `a · b + c` is rounded once where nothing else uses the product. This is decided here, for the value: whichever kernels
/// then compute it, and however often, it has the same bits.
fn contract(graph: &mut Graph) {
    let uses = uses(graph);
    for value in graph.values() {
        graph.node_mut(value).kind.bodies_mut().iter_mut().for_each(contract);
    }
    *graph = graph.rebuilt(|made, value, new| {
        let (path, [a, b], c) = product_and_addend(graph, value, &uses)?;
        let [a, b] = [a, b].map(|factor| moved(made, graph, &path, new[factor.0 as usize]));
        let kind = Kind::Prim(Prim::Map(MapOp::MulAdd));
        made.nodes.push(Node { kind, args: vec![a, b, new[c.0 as usize]], ..graph.node(value).clone() });
        Some(Value(made.nodes.len() as u32 - 1))
    });
}

/// How often each value is used.
fn uses(graph: &Graph) -> Vec<usize> {
    let mut uses = vec![0; graph.nodes.len()];
    let args = graph.nodes.iter().flat_map(|node| &node.args);
    args.chain(&graph.outputs).for_each(|value| uses[value.0 as usize] += 1);
    uses
}

/// The factors of the product in a sum of floats and what is added to it, with the movements between product and sum, the
/// last one first. A product that is broadcast is not taken: it is made once for many sums.
fn product_and_addend(graph: &Graph, sum: Value, uses: &[usize]) -> Option<(Vec<Value>, [Value; 2], Value)> {
    let Some(&[x, y]) = graph.operands(sum, MapOp::Add).filter(|_| graph.ty(sum).dtype.is_float()) else {
        return None;
    };
    [(x, y), (y, x)].into_iter().find_map(|(mut product, addend)| {
        let mut path = vec![];
        while uses[product.0 as usize] == 1 {
            match &graph.node(product).kind {
                Kind::Prim(Prim::Map(MapOp::Mul)) => {
                    let args = &graph.node(product).args;
                    return Some((path, [args[0], args[1]], addend));
                }
                Kind::Prim(Prim::Reshape(_) | Prim::Transpose(_)) => {
                    path.push(product);
                    product = graph.node(product).args[0];
                }
                _ => return None,
            }
        }
        None
    })
}

/// A factor moved as its product was.
fn moved(made: &mut Graph, graph: &Graph, path: &[Value], mut factor: Value) -> Value {
    for &step in path.iter().rev() {
        let node = graph.node(step);
        factor = made.push(node.kind.clone(), vec![factor], node.ty.clone(), node.span);
    }
    factor
}
