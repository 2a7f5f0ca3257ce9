//! Which values change when the differentiated ones do: a graph in, a flag for each node out.

use crate::ir::{Branch, Graph, Kind, Repeat, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Whether a derivative flows to each node's value from one of `wrt`. Only floats carry derivatives.
pub(super) fn active(graph: &Graph, wrt: &[Value]) -> Vec<bool> {
    let wrt: BTreeSet<Value> = wrt.iter().copied().collect();
    let mut active: Vec<bool> = vec![];
    let mut regions: BTreeMap<Value, Vec<bool>> = BTreeMap::new();
    for value in graph.values() {
        let node = graph.node(value);
        let float = node.ty.as_ref().is_some_and(|ty| ty.dtype.is_float());
        let args: Vec<bool> = node.args.iter().map(|a| active[a.0 as usize]).collect();
        let any = args.contains(&true);
        let flows = match &node.kind {
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Counter(_)
            | Kind::StopGradient => false,
            Kind::Prim(_) => float && any,
            Kind::Repeat(repeat) => {
                regions.insert(value, settled(repeat, &args).1);
                any
            }
            Kind::Branch(branch) => {
                regions.insert(value, results(branch, &args[1..]));
                any
            }
            Kind::Foreign(foreign) => {
                regions.insert(value, vec![any; foreign.results.len()]);
                any
            }
            Kind::Result(k) => float && regions.get(&node.args[0]).is_some_and(|r| r[*k]),
            Kind::Transform(_) => unreachable!("transforms are resolved before derivatives are taken"),
            Kind::Op(call) => unreachable!("expand has replaced `{}`", call.op),
            Kind::Written(_) => unreachable!("shape has resolved what the user wrote"),
        };
        active.push(flows || (float && wrt.contains(&value)));
    }
    active
}

/// Whether a derivative flows to each input of a repeat's body in some iteration.
pub(super) fn inputs(repeat: &Repeat, args: &[bool]) -> Vec<bool> {
    settled(repeat, args).0
}

/// The same, and whether it flows to each output.
fn settled(repeat: &Repeat, args: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let mut inputs = args.to_vec();
    loop {
        // What was active stays active, so that what is nested is looked through once where it was.
        let outputs = outputs(repeat, &inputs);
        if outputs[..repeat.carried] == inputs[..repeat.carried] {
            return (inputs, outputs);
        }
        inputs[..repeat.carried].copy_from_slice(&outputs[..repeat.carried]);
    }
}

/// Whether a derivative flows to each result of a branch in some case.
fn results(branch: &Branch, inputs: &[bool]) -> Vec<bool> {
    let mut results = vec![false; branch.results()];
    for case in &branch.cases {
        let wrt: Vec<Value> = case.inputs().filter(|(k, _)| inputs[*k]).map(|(_, v)| v).collect();
        let active = active(case, &wrt);
        results.iter_mut().zip(&case.outputs).for_each(|(r, v)| *r |= active[v.0 as usize]);
    }
    results
}

fn outputs(repeat: &Repeat, inputs: &[bool]) -> Vec<bool> {
    let wrt: Vec<Value> = repeat.body.inputs().filter(|(k, _)| inputs[*k]).map(|(_, v)| v).collect();
    let active = active(&repeat.body, &wrt);
    let carried = |(k, v): (usize, &Value)| active[v.0 as usize] || (k < repeat.carried && inputs[k]);
    repeat.body.outputs.iter().enumerate().map(carried).collect()
}
