//! The derivative rule of foreign calls: the cotangent of the result in, those of the arguments out, by a call of the
//! foreign function that the declaration names, or by the graph of the function of the language.

use crate::ir::graph::{GradientBy, Taken};
use crate::ir::{Foreign, Graph, Kind, Node, Type, Value};

/// The cotangents of the arguments of a foreign call; none for integers.
pub(super) fn pull_back(graph: &mut Graph, call: Value, cotangent: Value) -> Vec<Option<Value>> {
    let node = graph.node(call).clone();
    let Kind::Foreign(foreign) = &node.kind else { unreachable!("the caller found a foreign call") };
    let Some(gradient) = &foreign.gradient else {
        unreachable!("shape has reported foreign functions whose derivative is missing")
    };
    let floats: Vec<bool> = node.args.iter().map(|&a| graph.ty(a).dtype.is_float()).collect();
    let of_floats = node.args.iter().zip(&floats).filter(|(_, float)| **float).map(|(&a, _)| graph.ty(a).clone());
    let results: Vec<Type> = of_floats.collect();
    let mut args = vec![];
    for taken in &gradient.takes {
        args.push(match taken {
            Taken::Argument(k) => node.args[*k],
            Taken::Cotangent => cotangent,
            Taken::Result => result(graph, call, foreign),
        });
    }
    let made = match &gradient.by {
        GradientBy::Body(body) => graph.append(body, &args),
        GradientBy::Foreign(function) => {
            graph.foreign(Foreign { function: *function, results, gradient: None }, args, node.span)
        }
    };
    let mut made = made.into_iter();
    floats.into_iter().map(|float| if float { made.next() } else { None }).collect()
}

/// Whether computing a node's value calls a foreign function.
pub(super) fn calls(graph: &Graph, node: &Node) -> bool {
    // The results of a node within a body say nothing that the node does not.
    let inside =
        |graph: &Graph| graph.nodes.iter().any(|node| !matches!(node.kind, Kind::Result(_)) && calls(graph, node));
    match &node.kind {
        Kind::Foreign(_) => true,
        Kind::Repeat(repeat) => inside(&repeat.body),
        Kind::Branch(branch) => branch.cases.iter().any(inside),
        Kind::Result(_) => calls(graph, graph.node(node.args[0])),
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Transform(_)
        | Kind::StopGradient
        | Kind::Written(_) => false,
    }
}

/// What the call gave.
fn result(graph: &mut Graph, call: Value, foreign: &Foreign) -> Value {
    let is_result = |v: &Value| matches!(graph.node(*v).kind, Kind::Result(0)) && graph.node(*v).args == [call];
    match graph.values().find(is_result) {
        Some(value) => value,
        None => {
            let (ty, span) = (foreign.results[0].clone(), graph.node(call).span);
            graph.push(Kind::Result(0), vec![call], Some(ty), span)
        }
    }
}
