//! grad: functions in, the same without transforms out, those that are trained with gradients, update and
//! effects. No `StopGradient` is left.
//!
//! Derivatives are ordinary graph: reverse mode with one rule for each primitive. A failure here is a
//! compiler bug; the user's mistakes were reported before.

mod activity;
mod attend;
mod batch;
mod branch;
mod foreign;
mod keep;
mod lanes;
mod map;
mod movement;
mod repeat;
mod reverse;
mod rules;
mod train;
mod transform;
mod window;

pub use reverse::differentiate;
pub use transform::resolve;

use crate::ir::model::Mode;
use crate::ir::simplify::simplify;
use crate::ir::{Function, Graph, Kind, Memory, Model, Value};

/// Resolves what is mapped and differentiated, and completes every training function.
pub fn grad(mut model: Model) -> Model {
    let mut functions = std::mem::take(&mut model.functions);
    for function in &mut functions {
        choose(&mut function.graph, model.memory);
        if has_transforms(&function.graph) {
            resolve_function(function);
        }
        match function.mode {
            Mode::Evaluate => {}
            Mode::Train(optimizer) => train::complete(&model, function, optimizer),
        }
        pass_stops(&mut function.graph);
        let mut written: Vec<Value> = function.effects.iter().map(|(_, v)| *v).collect();
        function.graph = simplify(std::mem::take(&mut function.graph), &mut written);
        function.effects.iter_mut().zip(written).for_each(|((_, v), new)| *v = new);
    }
    Model { functions, ..model }
}

/// Tells every region that says nothing itself what its backward pass computes again.
fn choose(graph: &mut Graph, memory: Memory) {
    for node in &mut graph.nodes {
        match &mut node.kind {
            Kind::Repeat(repeat) => {
                if repeat.memory == Memory::default() {
                    repeat.memory = memory;
                }
                choose(&mut repeat.body, memory);
            }
            Kind::Branch(branch) => branch.cases.iter_mut().for_each(|case| choose(case, memory)),
            Kind::Transform(transform) => choose(&mut transform.body, memory),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Foreign(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::StopGradient
            | Kind::Written(_) => {}
        }
    }
}

/// Resolves the transforms of a function, whose effects so far are new values of companions.
fn resolve_function(function: &mut Function) {
    let results = function.graph.outputs.len();
    function.graph.outputs.extend(function.effects.iter().map(|(_, v)| *v));
    function.graph = simplify(transform::resolve(&function.graph), &mut []);
    let effects = function.graph.outputs.split_off(results);
    function.effects.iter_mut().zip(effects).for_each(|((_, v), new)| *v = new);
}

/// Whether the graph or the body of a region in it has a transform.
fn has_transforms(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| match &node.kind {
        Kind::Transform(_) => true,
        Kind::Repeat(repeat) => has_transforms(&repeat.body),
        Kind::Branch(branch) => branch.cases.iter().any(has_transforms),
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::StopGradient
        | Kind::Foreign(_)
        | Kind::Written(_) => false,
    })
}

/// Lets uses of a `StopGradient` use its argument, which it equals once all derivatives are taken.
fn pass_stops(graph: &mut Graph) {
    let mut passed: Vec<Value> = vec![];
    for value in graph.values() {
        let node = graph.node_mut(value);
        node.args.iter_mut().for_each(|a| *a = passed[a.0 as usize]);
        match &mut node.kind {
            Kind::Repeat(repeat) => pass_stops(&mut repeat.body),
            Kind::Branch(branch) => branch.cases.iter_mut().for_each(pass_stops),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::Transform(_)
            | Kind::StopGradient
            | Kind::Foreign(_)
            | Kind::Written(_) => {}
        }
        passed.push(if matches!(node.kind, Kind::StopGradient) { node.args[0] } else { value });
    }
    graph.outputs.iter_mut().for_each(|v| *v = passed[v.0 as usize]);
}
