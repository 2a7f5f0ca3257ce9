//! grad: training functions in, the same with gradients, update and effects out. No `StopGradient` is left.
//!
//! Derivatives are ordinary graph: reverse mode with one rule for each primitive. A failure here is a
//! compiler bug; the user's mistakes were reported before.

mod activity;
mod keep;
mod map;
mod movement;
mod repeat;
mod reverse;
mod rules;
mod train;
mod window;

pub use reverse::differentiate;

use crate::ir::model::Mode;
use crate::ir::simplify::simplify;
use crate::ir::{Graph, Kind, Memory, Model, Value};

/// Completes every training function; the others stay as they are.
pub fn grad(mut model: Model) -> Model {
    let mut functions = std::mem::take(&mut model.functions);
    for function in &mut functions {
        choose(&mut function.graph, model.memory);
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
        if let Kind::Repeat(repeat) = &mut node.kind {
            if repeat.memory == Memory::default() {
                repeat.memory = memory;
            }
            choose(&mut repeat.body, memory);
        }
    }
}

/// Lets uses of a `StopGradient` use its argument, which it equals once all derivatives are taken.
fn pass_stops(graph: &mut Graph) {
    let mut passed: Vec<Value> = vec![];
    for value in graph.values() {
        let node = graph.node_mut(value);
        node.args.iter_mut().for_each(|a| *a = passed[a.0 as usize]);
        if let Kind::Repeat(repeat) = &mut node.kind {
            pass_stops(&mut repeat.body);
        }
        passed.push(if matches!(node.kind, Kind::StopGradient) { node.args[0] } else { value });
    }
    graph.outputs.iter_mut().for_each(|v| *v = passed[v.0 as usize]);
}
