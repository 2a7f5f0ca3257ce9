//! Where the gradient of a loss flows: a typed graph in, a flag for each node out, whether its value depends on what is
//! trained through nothing but what has derivatives.

use crate::ir::model::ParamId;
use crate::ir::prim::MapOp;
use crate::ir::{Branch, Graph, Kind, Node, Repeat, Value};
use std::collections::BTreeMap;

/// What is followed from parameters to the loss.
pub(super) struct Flow<'f> {
    /// Whether a parameter is trained.
    pub(super) trained: &'f dyn Fn(ParamId) -> bool,
    /// On which nodes the loss depends that are looked at.
    pub(super) of: Dependence,
    /// Sees each of them that has an argument through which the gradient flows, and whether it flows through the node.
    pub(super) see: &'f mut dyn FnMut(&Node, bool),
}

/// How a loss depends on a node.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dependence {
    /// Its value does.
    Value,
    /// Its value does, and no `stop_gradient` stands between.
    Gradient,
}

impl Flow<'_> {
    /// Whether a gradient flows from the loss of a function to anything that is trained.
    pub(super) fn of_loss(&mut self, graph: &Graph) -> bool {
        let loss = graph.outputs[0];
        self.graph(graph, &|_| false, &[loss])[loss.0 as usize]
    }

    fn graph(&mut self, graph: &Graph, input: &dyn Fn(usize) -> bool, wanted: &[Value]) -> Vec<bool> {
        let reached = reached(graph, wanted, self.of);
        let mut flows: Vec<bool> = vec![];
        let mut results: BTreeMap<Value, Vec<bool>> = BTreeMap::new();
        for value in graph.values() {
            let node = graph.node(value);
            let args: Vec<bool> = node.args.iter().map(|a| flows[a.0 as usize]).collect();
            let any = args.contains(&true);
            let through = match &node.kind {
                Kind::Input(k) => input(*k),
                Kind::Param(id) => (self.trained)(*id),
                Kind::State(_) | Kind::Source(_) | Kind::Counter(_) | Kind::StopGradient => false,
                Kind::Op(call) => any && !MapOp::from_name(&call.op).is_some_and(MapOp::is_step),
                Kind::Prim(_) | Kind::Transform(_) | Kind::Written(_) | Kind::Foreign(_) => any,
                Kind::Repeat(repeat) => Flow::keep(&mut results, value, self.repeat(repeat, &args)),
                Kind::Branch(branch) => Flow::keep(&mut results, value, self.branch(branch, &args)),
                Kind::Result(k) => results.get(&node.args[0]).map_or(any, |of| of[*k]),
            };
            let through = through && node.ty.as_ref().is_none_or(|ty| ty.dtype.is_float());
            if any && reached[value.0 as usize] {
                (self.see)(node, through);
            }
            flows.push(through);
        }
        flows
    }

    /// Keeps what is known of the results of a region; its node stands for the first.
    fn keep(results: &mut BTreeMap<Value, Vec<bool>>, region: Value, of: Vec<bool>) -> bool {
        let first = of.first().is_some_and(|first| *first);
        results.insert(region, of);
        first
    }

    /// What flows to each result of a region; what is carried may depend on any argument after some rounds.
    fn repeat(&mut self, repeat: &Repeat, args: &[bool]) -> Vec<bool> {
        let any = args.contains(&true);
        let inside = self.graph(&repeat.body, &|k| args[k] || (k < repeat.carried && any), &repeat.body.outputs);
        let outputs = repeat.body.outputs.iter().enumerate();
        outputs.map(|(k, v)| inside[v.0 as usize] || (k < repeat.carried && args[k])).collect()
    }

    /// What flows to each result of a branch in some case.
    fn branch(&mut self, branch: &Branch, args: &[bool]) -> Vec<bool> {
        let mut all = vec![false; branch.results()];
        for case in &branch.cases {
            let inside = self.graph(case, &|k| args[k + 1], &case.outputs);
            all.iter_mut().zip(&case.outputs).for_each(|(all, v)| *all |= inside[v.0 as usize]);
        }
        all
    }
}

/// Whether what is wanted depends on each node.
pub(super) fn reached(graph: &Graph, wanted: &[Value], of: Dependence) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    wanted.iter().for_each(|v| reached[v.0 as usize] = true);
    for value in graph.values().rev() {
        let stops = of == Dependence::Gradient && matches!(graph.node(value).kind, Kind::StopGradient);
        if reached[value.0 as usize] && !stops {
            graph.node(value).args.iter().for_each(|a| reached[a.0 as usize] = true);
        }
    }
    reached
}
