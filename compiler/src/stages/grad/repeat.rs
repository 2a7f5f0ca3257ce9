//! The derivative rule of repeats: cotangents of a region's results in, cotangents of its arguments out.
//!
//! The backward region is a repeat in the opposite order. Cotangents of carried values are carried, those
//! of stacked inputs are stacked, those of invariants are summed in carried values, or after the region from stacks
//! (`after.rs`). What it needs of the forward iteration is recomputed where that is cheap; the rest becomes stacked
//! outputs of the forward region. Stacked inputs and invariants are passed again.

use super::activity;
use super::after::{self, After, Stack};
use super::foreign;
use super::keep::{Origin, smallest};
use super::reverse::{pull_back as pull_back_body, write, zeros};
use crate::ir::attend::Part;
use crate::ir::prim::Prim;
use crate::ir::simplify::Uses;
use crate::ir::{Graph, Kind, Memory, Node, Repeat, Value};
use crate::ops::OpError;
use std::collections::{BTreeMap, BTreeSet};

/// The cotangents of the arguments of the repeat `region`, from those of its results.
///
/// `flows` says which arguments want one. The forward region gains stacked outputs.
pub(super) fn pull_back(
    graph: &mut Graph,
    region: Value,
    cotangents: &BTreeMap<usize, Value>,
    flows: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let Kind::Repeat(forward) = graph.node(region).kind.clone() else {
        unreachable!("the caller found a repeat");
    };
    let iteration = Iteration::of(&forward, cotangents, flows)?;
    let split = Split::of(&forward, &iteration)?;
    let after = After::default();
    Backward { graph, region, forward: &forward, iteration: &iteration, cotangents, after }.append(split)
}

/// One iteration forward and backward in one graph.
struct Iteration {
    /// The body, then what differentiation appended.
    combined: Graph,
    /// How many nodes the body has.
    forward: usize,
    /// The outputs whose cotangents come in, and the nodes that stand for them.
    seeds: BTreeMap<usize, Value>,
    /// The inputs of the body whose cotangents go out.
    gradients: BTreeMap<usize, Value>,
}

impl Iteration {
    fn of(forward: &Repeat, cotangents: &BTreeMap<usize, Value>, flows: &[bool]) -> Result<Iteration, OpError> {
        let active = activity::inputs(forward, flows);
        let mut seeded: BTreeSet<usize> = cotangents.keys().copied().collect();
        loop {
            let made = Iteration::with(forward, &seeded, &active)?;
            // A cotangent of a carried input is one of the previous iteration's output.
            let before = seeded.len();
            seeded.extend(made.gradients.keys().filter(|k| **k < forward.carried));
            if seeded.len() == before {
                return Ok(made);
            }
        }
    }

    fn with(forward: &Repeat, seeded: &BTreeSet<usize>, active: &[bool]) -> Result<Iteration, OpError> {
        let mut combined = forward.body.clone();
        let count = combined.nodes.len();
        let inputs: Vec<(usize, Value)> = combined.inputs().filter(|(k, _)| active[*k]).collect();
        let mut seeds = BTreeMap::new();
        for &k in seeded {
            let output = combined.outputs[k];
            let (ty, span) = (combined.ty(output).clone(), combined.node(output).span);
            // Numbered past the body's own inputs, so that nothing is taken for another.
            seeds.insert(k, combined.push(Kind::Input(active.len() + k), vec![], Some(ty), span));
        }
        let pairs: Vec<(Value, Value)> = seeds.iter().map(|(k, seed)| (forward.body.outputs[*k], *seed)).collect();
        let wrt: Vec<Value> = inputs.iter().map(|(_, v)| *v).collect();
        let arrived = pull_back_body(&mut combined, &pairs, &wrt)?;
        let mut gradients: BTreeMap<usize, Value> = BTreeMap::new();
        for ((k, value), cotangent) in inputs.into_iter().zip(arrived) {
            let Some(cotangent) = cotangent else { continue };
            let sum = match gradients.get(&k) {
                Some(&sum) => write(&mut combined, value, |b| b.add(sum, cotangent))?,
                None => cotangent,
            };
            gradients.insert(k, sum);
        }
        Ok(Iteration { combined, forward: count, seeds, gradients })
    }

    /// Whether a node computes a forward value: the body's own, results that it gained, and what attention knows of
    /// each query, which the forward kernel gives for nothing.
    fn is_forward(&self, value: Value) -> bool {
        let node = self.combined.node(value);
        let own = |v: &Value| (v.0 as usize) < self.forward;
        let gained = match &node.kind {
            Kind::Result(_) => own(&node.args[0]),
            Kind::Prim(Prim::Attend(attend)) => {
                matches!(attend.part, Part::Max | Part::Reciprocal) && node.args.iter().all(own)
            }
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::Repeat(_)
            | Kind::Branch(_)
            | Kind::Transform(_)
            | Kind::Foreign(_)
            | Kind::StopGradient
            | Kind::Written(_) => false,
        };
        gained || (value.0 as usize) < self.forward
    }
}

/// Where the backward iteration finds each forward value.
struct Split {
    /// Kept by the forward region as stacked outputs, in this order.
    saved: Vec<Value>,
    /// Nodes that the backward body contains: its own, and forward ones that are recomputed.
    inside: BTreeSet<Value>,
    /// Inputs of the forward body that are passed again.
    again: BTreeMap<usize, Value>,
}

impl Split {
    fn of(forward: &Repeat, iteration: &Iteration) -> Result<Split, OpError> {
        let graph = &iteration.combined;
        let roots: Vec<Value> = iteration.gradients.values().copied().collect();
        let uses = Uses::of(graph, &roots);
        let mut split = Split { saved: vec![], inside: BTreeSet::new(), again: BTreeMap::new() };
        let mut wanted: BTreeSet<Value> = roots.iter().copied().collect();
        let backward = graph.values().filter(|v| uses.live[v.0 as usize] && !iteration.is_forward(*v));
        for value in backward.filter(|v| !iteration.seeds.values().any(|s| s == v)) {
            wanted.extend(&graph.node(value).args);
            split.inside.insert(value);
        }
        wanted.retain(|v| iteration.is_forward(*v));
        let kept = smallest(graph, &origins(forward, iteration), &wanted);
        while let Some(value) = wanted.pop_last() {
            let node = graph.node(value);
            if let Kind::Input(k) = node.kind
                && k >= forward.carried
            {
                split.again.insert(k, value);
            } else if kept.contains(&value) {
                split.saved.push(value);
            } else {
                wanted.extend(&node.args);
                split.inside.insert(value);
            }
        }
        split.saved.reverse();
        Ok(split)
    }
}

/// How the backward iteration can have each forward value.
fn origins(forward: &Repeat, iteration: &Iteration) -> Vec<Origin> {
    let of = |node: &Node| match &node.kind {
        Kind::Input(k) if *k < forward.carried => Origin::Dear,
        Kind::Input(_) | Kind::Source(_) | Kind::Counter(_) => Origin::Given,
        Kind::StopGradient => Origin::Cheap,
        Kind::Prim(prim) => match (forward.memory, cost(prim)) {
            (Memory::Minimize, _) | (_, Cost::Nothing) | (Memory::Balanced, Cost::Access) => Origin::Cheap,
            (Memory::Balanced, Cost::More) | (Memory::Speed, Cost::Access | Cost::More) => Origin::Dear,
        },
        // What the program does is not done again.
        Kind::Result(_) | Kind::Repeat(_) | Kind::Branch(_) if foreign::calls(&iteration.combined, node) => {
            Origin::Dear
        }
        Kind::Result(_) | Kind::Repeat(_) | Kind::Branch(_) => match forward.memory {
            Memory::Minimize => Origin::Cheap,
            Memory::Balanced | Memory::Speed => Origin::Dear,
        },
        Kind::Param(_) | Kind::State(_) | Kind::Op(_) | Kind::Written(_) | Kind::Transform(_) | Kind::Foreign(_) => {
            Origin::Dear
        }
    };
    iteration.combined.nodes.iter().map(of).collect()
}

/// Whether computing costs about as much as reading the value back.
pub(super) fn cheap(prim: &Prim) -> bool {
    matches!(cost(prim), Cost::Nothing | Cost::Access)
}

/// Whether the result is other indices into the arguments.
pub(super) fn moves(prim: &Prim) -> bool {
    matches!(cost(prim), Cost::Nothing)
}

/// What it costs to compute a value again, whose arguments are there.
enum Cost {
    /// Other indices into the arguments.
    Nothing,
    /// About as much as reading the value back.
    Access,
    /// More.
    More,
}

fn cost(prim: &Prim) -> Cost {
    match prim {
        Prim::Const(_)
        | Prim::Extent(_)
        | Prim::Iota { .. }
        | Prim::Reshape(_)
        | Prim::Transpose(_)
        | Prim::Broadcast { .. }
        | Prim::Slice(_)
        | Prim::Barrier
        | Prim::Flip(_) => Cost::Nothing,
        Prim::Map(_) | Prim::Convert(_) | Prim::SetSlice(_) | Prim::Pad { .. } | Prim::Concat { .. } => Cost::Access,
        Prim::Reduce { .. }
        | Prim::ArgReduce { .. }
        | Prim::WindowReduce { .. }
        | Prim::WindowArgMax { .. }
        | Prim::WindowTake { .. }
        | Prim::WindowPut { .. }
        | Prim::Contract { .. }
        | Prim::Conv { .. }
        | Prim::Gather { .. }
        | Prim::ScatterAdd { .. }
        | Prim::Attend(_) => Cost::More,
    }
}

/// Makes the backward region.
struct Backward<'a> {
    graph: &'a mut Graph,
    region: Value,
    forward: &'a Repeat,
    iteration: &'a Iteration,
    cotangents: &'a BTreeMap<usize, Value>,
    after: After,
}

impl Backward<'_> {
    fn append(mut self, split: Split) -> Result<Vec<Option<Value>>, OpError> {
        self.after = self.later(&split);
        let saved = self.save(&split.saved);
        let (region, args) = self.region(&split, &saved)?;
        let span = self.graph.node(self.region).span;
        let results = self.graph.repeat(region, args, span);
        // Carried cotangents, then sums, then stacks: the order of the region's results.
        let order = self.order();
        let mut cotangents = vec![None; self.graph.node(self.region).args.len()];
        for (k, sum) in self.sums(&split, &saved, &results)? {
            cotangents[k] = Some(sum);
        }
        for (k, result) in order.into_iter().zip(results) {
            cotangents[k] = Some(match self.is_sole(k) {
                true => {
                    let shape = self.graph.ty(result).shape[1..].to_vec();
                    write(self.graph, result, |b| b.reshape(result, &shape))?
                }
                false => result,
            });
        }
        Ok(cotangents)
    }

    fn stacks(&self) -> std::ops::Range<usize> {
        self.forward.carried..self.forward.carried + self.forward.stacked
    }

    /// The outputs of the forward body whose cotangents are carried.
    fn carried(&self) -> Vec<usize> {
        self.iteration.seeds.keys().copied().filter(|k| *k < self.forward.carried).collect()
    }

    /// Whether the argument is an invariant of a region that runs once: its cotangent is the only slice of a stack.
    fn is_sole(&self, k: usize) -> bool {
        self.forward.count.is(1) && k >= self.stacks().end
    }

    /// The invariants whose cotangents are summed by the iterations.
    fn summed(&self) -> Vec<usize> {
        let keys = self.iteration.gradients.keys().copied();
        keys.filter(|k| *k >= self.stacks().end && !self.is_sole(*k) && !self.after.sums.contains(k)).collect()
    }

    /// The invariants whose cotangents are summed after the region.
    fn later(&self, split: &Split) -> After {
        let summed = self.summed();
        let gradients = self.iteration.gradients.iter().filter(|(k, _)| summed.contains(k));
        let gradients: BTreeMap<usize, Value> = gradients.map(|(k, v)| (*k, *v)).collect();
        let stacked: Vec<Value> = self.stacked().iter().map(|k| self.iteration.gradients[k]).collect();
        let given = |value: Value| self.iteration.seeds.iter().any(|(k, v)| *k >= self.forward.carried && *v == value);
        let stack = |value: Value| match split.again.iter().find(|(_, v)| **v == value) {
            Some((k, _)) if self.stacks().contains(k) => Stack::Known,
            Some(_) => Stack::Invariant,
            None if stacked.contains(&value) || split.saved.contains(&value) || given(value) => Stack::Known,
            None => Stack::New,
        };
        After::of(&self.iteration.combined, &gradients, &stack, self.forward.memory == Memory::Minimize)
    }

    /// The sums that are made after the region, with their arguments.
    fn sums(&mut self, split: &Split, saved: &[Value], results: &[Value]) -> Result<Vec<(usize, Value)>, OpError> {
        let mut stacks: BTreeMap<Value, Value> = BTreeMap::new();
        let first = results.len() - self.after.stacked.len();
        stacks.extend(self.after.stacked.iter().copied().zip(results[first..].iter().copied()));
        let gradients = self.stacked().into_iter().map(|k| self.iteration.gradients[&k]);
        stacks.extend(gradients.zip(results[first - self.stacked().len()..].iter().copied()));
        stacks.extend(split.saved.iter().copied().zip(saved.iter().copied()));
        let seeds = self.iteration.seeds.iter().filter(|(k, _)| **k >= self.forward.carried);
        stacks.extend(seeds.map(|(k, seed)| (*seed, self.cotangents[k])));
        let args = &self.graph.node(self.region).args;
        let again = split.again.iter().filter(|(k, _)| self.stacks().contains(k));
        stacks.extend(again.map(|(k, value)| (*value, args[*k])));
        let (region, combined) = (self.region, &self.iteration.combined);
        let mut sums = vec![];
        for k in &self.after.sums {
            let gradient = self.iteration.gradients[k];
            let sum = write(self.graph, region, |b| after::total(b, combined, gradient, &|v| stacks[&v]))?;
            sums.push((*k, sum));
        }
        Ok(sums)
    }

    /// The arguments whose cotangents are stacked.
    fn stacked(&self) -> Vec<usize> {
        let keys = self.iteration.gradients.keys().copied();
        keys.filter(|k| self.stacks().contains(k) || self.is_sole(*k)).collect()
    }

    /// The forward arguments in the order in which the backward results are their cotangents.
    fn order(&self) -> Vec<usize> {
        self.carried().into_iter().chain(self.summed()).chain(self.stacked()).collect()
    }

    /// Lets the forward region keep these values; gives their stacks.
    fn save(&mut self, saved: &[Value]) -> Vec<Value> {
        let combined = &self.iteration.combined;
        let mut body = Graph { nodes: combined.nodes[..self.iteration.forward].to_vec(), outputs: vec![] };
        body.outputs.clone_from(&combined.outputs);
        let first = body.outputs.len();
        for &value in saved {
            let inside = match (value.0 as usize) < self.iteration.forward {
                true => value,
                false => {
                    body.nodes.push(combined.node(value).clone());
                    Value(body.nodes.len() as u32 - 1)
                }
            };
            body.outputs.push(inside);
        }
        let grown = self.forward.with_body(body);
        let types: Vec<_> = (first..grown.body.outputs.len()).map(|k| (k, grown.result(k))).collect();
        let span = self.graph.node(self.region).span;
        self.graph.node_mut(self.region).kind = Kind::Repeat(Box::new(grown));
        types.into_iter().map(|(k, ty)| self.graph.push(Kind::Result(k), vec![self.region], Some(ty), span)).collect()
    }

    /// The region and its arguments.
    fn region(&mut self, split: &Split, saved: &[Value]) -> Result<(Repeat, Vec<Value>), OpError> {
        let forward_args = self.graph.node(self.region).args.clone();
        let mut inputs = Inputs::default();
        // Of the carried values: cotangents and sums, with what they are before the last iteration.
        for k in self.carried() {
            let start = match self.cotangents.get(&k) {
                Some(&cotangent) => cotangent,
                None => zeros(self.graph, forward_args[k])?,
            };
            inputs.add(Some(self.iteration.seeds[&k]), start);
        }
        for k in self.summed() {
            let zero = zeros(self.graph, forward_args[k])?;
            inputs.add(None, zero);
        }
        let carried = inputs.args.len();
        for (k, seed) in self.iteration.seeds.iter().filter(|(k, _)| **k >= self.forward.carried) {
            inputs.add(Some(*seed), self.cotangents[k]);
        }
        split.saved.iter().zip(saved).for_each(|(value, stack)| inputs.add(Some(*value), *stack));
        let stacks = self.stacks();
        for (k, value) in split.again.iter().filter(|(k, _)| stacks.contains(k)) {
            inputs.add(Some(*value), forward_args[*k]);
        }
        let stacked = inputs.args.len() - carried;
        for (k, value) in split.again.iter().filter(|(k, _)| !stacks.contains(k)) {
            inputs.add(Some(*value), forward_args[*k]);
        }
        let body = self.body(split, &inputs)?;
        let reverse = !self.forward.reverse;
        let (count, memory) = (self.forward.count.clone(), self.forward.memory);
        Ok((Repeat { count, reverse, carried, stacked, memory, body }, inputs.args))
    }

    fn body(&self, split: &Split, inputs: &Inputs) -> Result<Graph, OpError> {
        let combined = &self.iteration.combined;
        let mut body = Graph::default();
        let mut renamed: BTreeMap<Value, Value> = BTreeMap::new();
        let mut sums = vec![];
        let of_sums = self.summed();
        for (k, stands_for) in inputs.inside.iter().enumerate() {
            let like = stands_for.unwrap_or_else(|| self.iteration.gradients[&of_sums[sums.len()]]);
            let node = combined.node(like);
            let input = body.push(Kind::Input(k), vec![], node.ty.clone(), node.span);
            match stands_for {
                // One value may be passed twice, as a saved output and as an input: the first serves.
                Some(value) => _ = renamed.entry(*value).or_insert(input),
                None => sums.push(input),
            }
        }
        for &value in &split.inside {
            let node = combined.node(value);
            let args = node.args.iter().map(|a| renamed[a]).collect();
            body.nodes.push(Node { args, ..node.clone() });
            renamed.insert(value, Value(body.nodes.len() as u32 - 1));
        }
        for k in self.carried() {
            let before = match self.iteration.gradients.get(&k) {
                Some(cotangent) => renamed[cotangent],
                None => zeros(&mut body, renamed[&self.iteration.seeds[&k]])?,
            };
            body.outputs.push(before);
        }
        for (&k, sum) in of_sums.iter().zip(sums) {
            let cotangent = renamed[&self.iteration.gradients[&k]];
            let next = write(&mut body, sum, |b| b.add(sum, cotangent))?;
            body.outputs.push(next);
        }
        body.outputs.extend(self.stacked().iter().map(|k| renamed[&self.iteration.gradients[k]]));
        body.outputs.extend(self.after.stacked.iter().map(|v| renamed[v]));
        Ok(body)
    }
}

/// The inputs of the backward body: which value of the iteration each stands for (none for a sum), and
/// the argument.
#[derive(Default)]
struct Inputs {
    inside: Vec<Option<Value>>,
    args: Vec<Value>,
}

impl Inputs {
    fn add(&mut self, stands_for: Option<Value>, arg: Value) {
        self.inside.push(stands_for);
        self.args.push(arg);
    }
}
