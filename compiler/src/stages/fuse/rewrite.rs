//! Rewrites of a graph before it is grouped, each with its reason.

use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Function, Graph, Kind, Value};
use std::collections::BTreeMap;

/// The function with simpler, equal graphs.
pub(super) fn rewrite(mut function: Function) -> Function {
    let effects: Vec<Value> = function.effects.iter().map(|(_, v)| *v).collect();
    let results = function.graph.outputs.len();
    function.graph.outputs.extend(effects);
    sign_of_rectified(&mut function.graph);
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
    let node = graph.node(value);
    match &node.kind {
        Kind::Prim(Prim::Const(x)) => x.as_f64() == 0.0,
        Kind::Prim(Prim::Broadcast { .. } | Prim::Reshape(_)) => is_zero(graph, node.args[0]),
        _ => false,
    }
}
