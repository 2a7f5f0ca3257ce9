//! grad: functions in, the same without transforms out, those that are trained with gradients, update and
//! effects. No `StopGradient` is left.
//!
//! Derivatives are ordinary graph: reverse mode with one rule for each primitive. A failure here is a
//! compiler bug; the user's mistakes were reported before.

mod activity;
mod after;
mod attend;
mod batch;
mod branch;
mod foreign;
mod keep;
mod lanes;
mod map;
mod movement;
mod reach;
mod repeat;
mod reverse;
mod rules;
mod segments;
mod train;
mod transform;
mod window;

pub use reverse::differentiate;
pub use transform::resolve;

use crate::ir::model::Mode;
use crate::ir::simplify::simplify;
use crate::ir::{Graph, Kind, Memory, Model, Value};
use crate::ops::Optimizer;

/// Resolves what is mapped and differentiated, and completes every training function by the optimiser of its name.
pub fn grad(mut model: Model, optimizer: fn(&str) -> &'static Optimizer) -> Model {
    let mut functions = std::mem::take(&mut model.functions);
    for function in &mut functions {
        choose(&mut function.graph, model.memory);
        if has_transforms(&function.graph) {
            // The effects so far are new values of companions.
            function.change_graph(|graph| simplify(transform::resolve(&graph), &mut []));
        }
        if let Mode::Train(name) = &function.mode {
            let optimizer = optimizer(name);
            if model.memory == Memory::Minimize {
                function.change_graph(segments::cut);
            }
            train::complete(&model, function, optimizer);
        }
        pass_stops(&mut function.graph);
        forget_gradients(&mut function.graph);
        let mut written: Vec<Value> = function.effects.iter().map(|(_, v)| *v).collect();
        function.graph = simplify(std::mem::take(&mut function.graph), &mut written);
        function.effects.iter_mut().zip(written).for_each(|((_, v), new)| *v = new);
    }
    Model { functions, ..model }
}

/// Tells every region that says nothing itself what its backward pass computes again.
fn choose(graph: &mut Graph, memory: Memory) {
    for node in &mut graph.nodes {
        if let Kind::Repeat(repeat) = &mut node.kind
            && repeat.memory == Memory::default()
        {
            repeat.memory = memory;
        }
        node.kind.bodies_mut().iter_mut().for_each(|body| choose(body, memory));
    }
}

/// Whether the graph or the body of a region in it has a transform.
fn has_transforms(graph: &Graph) -> bool {
    let inside = |kind: &Kind| kind.bodies().iter().any(has_transforms);
    graph.nodes.iter().any(|node| matches!(node.kind, Kind::Transform(_)) || inside(&node.kind))
}

/// Drops the functions that were gradients of foreign functions: every derivative is taken.
fn forget_gradients(graph: &mut Graph) {
    for node in &mut graph.nodes {
        if let Kind::Foreign(foreign) = &mut node.kind
            && foreign.body().is_some()
        {
            foreign.gradient = None;
        }
        node.kind.bodies_mut().iter_mut().for_each(forget_gradients);
    }
}

/// Lets uses of a `StopGradient` use its argument, which it equals once all derivatives are taken.
fn pass_stops(graph: &mut Graph) {
    let mut passed: Vec<Value> = vec![];
    for value in graph.values() {
        let node = graph.node_mut(value);
        node.args.iter_mut().for_each(|a| *a = passed[a.0 as usize]);
        node.kind.bodies_mut().iter_mut().for_each(pass_stops);
        passed.push(if matches!(node.kind, Kind::StopGradient) { node.args[0] } else { value });
    }
    graph.outputs.iter_mut().for_each(|v| *v = passed[v.0 as usize]);
}
