//! The derivative rule of branches: cotangents of a branch's results in, cotangents of its arguments out.
//!
//! The backward branch has the same selector, so that only the case that ran is differentiated at run time. What a
//! case needs of its forward computation is computed again where that is cheap; the rest becomes further results of
//! the forward branch. Cases share these results by type, and fill those that they do not need with zeros.

use super::keep::{Origin, smallest};
use super::repeat::cheap;
use super::reverse::pull_back as pull_back_body;
use crate::ir::simplify::Uses;
use crate::ir::{Branch, Graph, Kind, Node, Type, Value};
use crate::ops::{Builder, OpError};
use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};

/// The cotangents of the arguments of the branch `region`, from those of its results.
///
/// `flows` says which arguments want one. The forward branch gains results.
pub(super) fn pull_back(
    graph: &mut Graph,
    region: Value,
    cotangents: &BTreeMap<usize, Value>,
    flows: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let Kind::Branch(forward) = graph.node(region).kind.clone() else {
        unreachable!("the caller found a branch");
    };
    let seeded: Vec<usize> = cotangents.keys().copied().collect();
    let cases: Vec<Case> =
        forward.cases.iter().map(|case| Case::of(case, &seeded, &flows[1..])).collect::<Result<_, _>>()?;
    let wanted: BTreeSet<usize> = cases.iter().flat_map(|case| case.gradients.keys().copied()).collect();
    let slots = Slots::of(&cases);
    let kept = keep(graph, region, &cases, &slots)?;
    let args = graph.node(region).args.clone();
    let again: BTreeSet<usize> = cases.iter().flat_map(|case| case.again.keys().copied()).collect();
    let inputs = Inputs { again: again.into_iter().collect(), seeded };
    let wanted: Vec<(usize, Type)> = wanted.into_iter().map(|k| (k, graph.ty(args[1 + k]).clone())).collect();
    let span = graph.node(region).span;
    let mut backward = vec![];
    for (n, case) in cases.iter().enumerate() {
        backward.push(inputs.case(case, &slots.of_case[n], &wanted, span)?);
    }
    let passed = inputs.again.iter().map(|k| args[1 + k]).chain(inputs.seeded.iter().map(|k| cotangents[k]));
    let all: Vec<Value> = std::iter::once(args[0]).chain(passed).chain(kept).collect();
    let results = graph.branch(Branch { cases: backward }, all, span);
    let mut onward = vec![None; args.len()];
    wanted.iter().zip(results).for_each(|((k, _), result)| onward[1 + k] = Some(result));
    Ok(onward)
}

/// One case forward and backward in one graph.
struct Case {
    /// The case, then what differentiation appended.
    combined: Graph,
    /// How many nodes the case has.
    forward: usize,
    /// The outputs whose cotangents come in, and the nodes that stand for them.
    seeds: BTreeMap<usize, Value>,
    /// The inputs whose cotangents go out.
    gradients: BTreeMap<usize, Value>,
    /// Forward values that the forward branch gives besides its results.
    saved: Vec<Value>,
    /// Nodes that the backward case contains: its own, and forward ones that are computed again.
    inside: BTreeSet<Value>,
    /// Inputs of the forward case that are passed again.
    again: BTreeMap<usize, Value>,
}

impl Case {
    fn of(forward: &Graph, seeded: &[usize], flows: &[bool]) -> Result<Case, OpError> {
        let mut combined = forward.clone();
        let mut seeds = BTreeMap::new();
        for &k in seeded {
            let output = combined.outputs[k];
            let (ty, span) = (combined.ty(output).clone(), combined.node(output).span);
            // Numbered past the case's own inputs, so that nothing is taken for another.
            seeds.insert(k, combined.push(Kind::Input(flows.len() + k), vec![], Some(ty), span));
        }
        let pairs: Vec<(Value, Value)> = seeds.iter().map(|(k, seed)| (forward.outputs[*k], *seed)).collect();
        let inputs: Vec<(usize, Value)> = forward.inputs().filter(|(k, _)| flows[*k]).collect();
        let wrt: Vec<Value> = inputs.iter().map(|(_, v)| *v).collect();
        let arrived = pull_back_body(&mut combined, &pairs, &wrt)?;
        let gradients = inputs.iter().zip(arrived).filter_map(|((k, _), g)| Some((*k, g?))).collect();
        let (saved, inside, again) = (vec![], BTreeSet::new(), BTreeMap::new());
        let mut case = Case { combined, forward: forward.nodes.len(), seeds, gradients, saved, inside, again };
        case.split();
        Ok(case)
    }

    /// Whether a node computes a forward value: the case's own, and results that its regions gained.
    fn is_forward(&self, value: Value) -> bool {
        let node = self.combined.node(value);
        let gained = matches!(node.kind, Kind::Result(_)) && (node.args[0].0 as usize) < self.forward;
        gained || (value.0 as usize) < self.forward
    }

    /// Decides where the backward case finds each forward value.
    fn split(&mut self) {
        let graph = &self.combined;
        let roots: Vec<Value> = self.gradients.values().copied().collect();
        let uses = Uses::of(graph, &roots);
        let mut wanted: BTreeSet<Value> = roots.iter().copied().collect();
        let is_seed = |v: &Value| self.seeds.values().any(|s| s == v);
        let own: Vec<Value> =
            graph.values().filter(|v| uses.live[v.0 as usize] && !self.is_forward(*v) && !is_seed(v)).collect();
        wanted.extend(own.iter().flat_map(|v| &graph.node(*v).args));
        wanted.retain(|v| self.is_forward(*v));
        let kept = smallest(graph, &graph.nodes.iter().map(origin).collect::<Vec<_>>(), &wanted);
        self.inside.extend(own);
        while let Some(value) = wanted.pop_last() {
            let node = self.combined.node(value);
            if let Kind::Input(k) = node.kind {
                self.again.insert(k, value);
            } else if kept.contains(&value) {
                self.saved.push(value);
            } else {
                wanted.extend(&node.args);
                self.inside.insert(value);
            }
        }
        self.saved.reverse();
    }
}

/// How the backward case can have a forward value.
fn origin(node: &Node) -> Origin {
    match &node.kind {
        Kind::Input(_) | Kind::Source(_) | Kind::Counter(_) => Origin::Given,
        Kind::StopGradient => Origin::Cheap,
        Kind::Prim(prim) if cheap(prim) => Origin::Cheap,
        Kind::Prim(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Op(_)
        | Kind::Written(_)
        | Kind::Result(_)
        | Kind::Repeat(_)
        | Kind::Branch(_)
        | Kind::Transform(_)
        | Kind::Foreign(_) => Origin::Dear,
    }
}

/// The further results of the forward branch.
struct Slots {
    types: Vec<Type>,
    /// By case the slots of its saved values, in their order.
    of_case: Vec<Vec<(usize, Value)>>,
}

impl Slots {
    /// As few as possible: the cases use the same ones where the types are equal.
    fn of(cases: &[Case]) -> Slots {
        let mut slots = Slots { types: vec![], of_case: vec![] };
        for case in cases {
            let mut taken: Vec<(usize, Value)> = vec![];
            for &value in &case.saved {
                let ty = case.combined.ty(value);
                let free = (0..slots.types.len()).find(|s| slots.types[*s] == *ty && taken.iter().all(|(t, _)| t != s));
                let slot = free.unwrap_or_else(|| {
                    slots.types.push(ty.clone());
                    slots.types.len() - 1
                });
                taken.push((slot, value));
            }
            slots.of_case.push(taken);
        }
        slots
    }
}

/// Lets the forward branch keep the saved values; gives its further results.
fn keep(graph: &mut Graph, region: Value, cases: &[Case], slots: &Slots) -> Result<Vec<Value>, OpError> {
    let span = graph.node(region).span;
    let mut grown = vec![];
    for (case, of_case) in cases.iter().zip(&slots.of_case) {
        let outputs = case.combined.outputs.clone();
        let mut body = Graph { nodes: case.combined.nodes[..case.forward].to_vec(), outputs };
        for (slot, ty) in slots.types.iter().enumerate() {
            let output = match of_case.iter().find(|(s, _)| *s == slot) {
                Some((_, value)) if (value.0 as usize) < case.forward => *value,
                Some((_, value)) => {
                    body.nodes.push(case.combined.node(*value).clone());
                    Value(body.nodes.len() as u32 - 1)
                }
                None => zeros(&mut body, ty, span)?,
            };
            body.outputs.push(output);
        }
        grown.push(body);
    }
    let first = cases[0].combined.outputs.len();
    graph.node_mut(region).kind = Kind::Branch(Box::new(Branch { cases: grown }));
    let take = |(k, ty): (usize, &Type)| graph.push(Kind::Result(first + k), vec![region], Some(ty.clone()), span);
    Ok(slots.types.iter().enumerate().map(take).collect())
}

/// The inputs of the backward cases: forward inputs, then cotangents, then what the forward branch keeps.
struct Inputs {
    again: Vec<usize>,
    seeded: Vec<usize>,
}

impl Inputs {
    fn case(
        &self,
        case: &Case,
        slots: &[(usize, Value)],
        wanted: &[(usize, Type)],
        span: Span,
    ) -> Result<Graph, OpError> {
        let mut body = Graph::default();
        let mut renamed: BTreeMap<Value, Value> = BTreeMap::new();
        let again = self.again.iter().enumerate().filter_map(|(at, k)| Some((at, *case.again.get(k)?)));
        let seeds = self.seeded.iter().enumerate().map(|(at, k)| (self.again.len() + at, case.seeds[k]));
        let first = self.again.len() + self.seeded.len();
        let kept = slots.iter().map(|(slot, value)| (first + slot, *value));
        for (at, value) in again.chain(seeds).chain(kept) {
            let node = case.combined.node(value);
            renamed.insert(value, body.push(Kind::Input(at), vec![], node.ty.clone(), node.span));
        }
        for &value in &case.inside {
            let node = case.combined.node(value);
            let args = node.args.iter().map(|a| renamed[a]).collect();
            body.nodes.push(Node { args, ..node.clone() });
            renamed.insert(value, Value(body.nodes.len() as u32 - 1));
        }
        for (k, ty) in wanted {
            let gradient = match case.gradients.get(k) {
                Some(gradient) => renamed[gradient],
                None => zeros(&mut body, ty, span)?,
            };
            body.outputs.push(gradient);
        }
        Ok(body)
    }
}

/// A value of that type that is zero everywhere.
fn zeros(graph: &mut Graph, ty: &Type, span: Span) -> Result<Value, OpError> {
    let mut sites = 0;
    let mut builder = Builder::of_derivatives(graph, span, &mut sites);
    builder.full(ty.dtype, &ty.shape, 0.0)
}
