//! Vectorisation: a function of slices in, the function of all slices at once out (the `vmap` of JAX).
//!
//! A value that depends on the slice has a leading axis, the lanes; the others stay as they are. The new
//! graph has no loop over the lanes: its primitives fuse like any others.

use super::lanes::{self, Lane};
use crate::ir::prim::Prim;
use crate::ir::simplify::simplify;
use crate::ir::{Branch, DType, Dim, Graph, Kind, Node, Repeat, Type, Value};
use crate::ops::{Builder, OpError};
use std::collections::BTreeMap;

/// The body for `count` slices; `varies` says which inputs have lanes. Every output has them.
///
/// `Counter(0)` of the body, which is the number of the slice, becomes that number of every lane.
pub(super) fn vectorise(mut body: Graph, varies: &[bool], count: &Dim) -> Result<Graph, OpError> {
    let number = varies.len();
    bind_counter(&mut body, 0, number);
    let body = simplify(body, &mut []);
    let varies: Vec<bool> = varies.iter().copied().chain([true]).collect();
    let mut made = Batch::of(&body, &varies, count).graph(&body, &vec![true; body.outputs.len()])?;
    // The number of the lane is no argument.
    for node in &mut made.nodes {
        if matches!(node.kind, Kind::Input(k) if k == number) {
            node.kind = Kind::Prim(Prim::Iota { shape: vec![count.clone()], axis: 0 });
        }
    }
    Ok(made)
}

/// Makes the counter `level` regions out an input, and the counters beyond it count one region less.
fn bind_counter(graph: &mut Graph, level: usize, input: usize) {
    let shifted = |v: &mut Value| v.0 += 1;
    graph.nodes.iter_mut().flat_map(|node| &mut node.args).for_each(shifted);
    graph.outputs.iter_mut().for_each(shifted);
    let number = Value(0);
    for node in &mut graph.nodes {
        match &mut node.kind {
            Kind::Counter(depth) if *depth == level => {
                // A conversion to its own type is the value itself.
                node.kind = Kind::Prim(Prim::Convert(DType::U32));
                node.args = vec![number];
            }
            Kind::Counter(depth) if *depth > level => *depth -= 1,
            Kind::Repeat(repeat) => {
                bind_counter(&mut repeat.body, level + 1, node.args.len());
                node.args.push(number);
            }
            Kind::Branch(branch) => {
                let input = node.args.len() - 1;
                branch.cases.iter_mut().for_each(|case| bind_counter(case, level, input));
                node.args.push(number);
            }
            Kind::Input(_)
            | Kind::Foreign(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::Transform(_)
            | Kind::StopGradient
            | Kind::Written(_) => {}
        }
    }
    let ty = Some(Type::scalar(DType::U32));
    let span = proc_macro2::Span::call_site();
    graph.nodes.insert(0, Node { kind: Kind::Input(input), args: vec![], ty, name: None, span });
}

/// Which nodes of a graph depend on the slice.
struct Varying {
    nodes: Vec<bool>,
    /// Of each repeat: its carried values.
    carried: BTreeMap<Value, Vec<bool>>,
    /// Of each region: its results.
    results: BTreeMap<Value, Vec<bool>>,
}

impl Varying {
    fn of(graph: &Graph, inputs: &[bool]) -> Varying {
        let mut varying = Varying { nodes: vec![], carried: BTreeMap::new(), results: BTreeMap::new() };
        for value in graph.values() {
            let node = graph.node(value);
            let args: Vec<bool> = node.args.iter().map(|a| varying.nodes[a.0 as usize]).collect();
            let varies = match &node.kind {
                Kind::Input(k) => inputs[*k],
                Kind::Param(_) | Kind::State(_) | Kind::Source(_) | Kind::Counter(_) => false,
                Kind::Prim(_) | Kind::StopGradient => args.contains(&true),
                Kind::Repeat(repeat) => {
                    let (carried, results) = of_repeat(repeat, &args);
                    varying.carried.insert(value, carried);
                    varying.results.insert(value, results);
                    args.contains(&true)
                }
                Kind::Branch(branch) => {
                    varying.results.insert(value, of_branch(branch, &args));
                    args.contains(&true)
                }
                Kind::Result(k) => varying.results[&node.args[0]][*k],
                Kind::Foreign(_) => unreachable!("shape has reported foreign calls in transforms"),
                Kind::Transform(_) => unreachable!("transforms are resolved from the inside out"),
                Kind::Op(call) => unreachable!("expand has replaced `{}`", call.op),
                Kind::Written(_) => unreachable!("shape has resolved what the user wrote"),
            };
            varying.nodes.push(varies);
        }
        varying
    }
}

/// The carried values and the results of a repeat that depend on the slice in some iteration.
fn of_repeat(repeat: &Repeat, args: &[bool]) -> (Vec<bool>, Vec<bool>) {
    let mut inputs = args.to_vec();
    loop {
        let inside = Varying::of(&repeat.body, &inputs);
        let outputs: Vec<bool> = repeat.body.outputs.iter().map(|v| inside.nodes[v.0 as usize]).collect();
        let grown: Vec<bool> = (0..repeat.carried).map(|k| inputs[k] || outputs[k]).collect();
        if grown == inputs[..repeat.carried] {
            let results = grown.iter().chain(&outputs[repeat.carried..]).copied().collect();
            return (grown, results);
        }
        inputs[..repeat.carried].copy_from_slice(&grown);
    }
}

/// The results of a branch that depend on the slice in some case.
fn of_branch(branch: &Branch, args: &[bool]) -> Vec<bool> {
    let mut results = vec![args[0]; branch.results()];
    for case in &branch.cases {
        let inside = Varying::of(case, &args[1..]);
        results.iter_mut().zip(&case.outputs).for_each(|(varies, v)| *varies |= inside.nodes[v.0 as usize]);
    }
    results
}

/// Rebuilds a graph with lanes.
struct Batch<'a> {
    varying: Varying,
    count: &'a Dim,
    new: Graph,
    lanes: Vec<Lane>,
    /// The results of branches of which every lane chooses its own case.
    chosen: BTreeMap<Value, Vec<Value>>,
}

impl<'a> Batch<'a> {
    fn of(graph: &Graph, inputs: &[bool], count: &'a Dim) -> Batch<'a> {
        let varying = Varying::of(graph, inputs);
        Batch { varying, count, new: Graph::default(), lanes: vec![], chosen: BTreeMap::new() }
    }

    /// The graph; the outputs that `wanted` says have lanes in any case.
    fn graph(mut self, old: &Graph, wanted: &[bool]) -> Result<Graph, OpError> {
        for value in old.values() {
            let lane = self.node(old, value)?;
            if self.new.nodes.get(lane.value.0 as usize).is_some_and(|node| node.name.is_none()) {
                self.new.node_mut(lane.value).name.clone_from(&old.node(value).name);
            }
            self.lanes.push(lane);
        }
        for (output, &wanted) in old.outputs.iter().zip(wanted) {
            let lane = self.lanes[output.0 as usize];
            let value = match wanted {
                true => self.build(old.node(*output), |b, count| lanes::spread(b, lane, count))?,
                false => lane.value,
            };
            self.new.outputs.push(value);
        }
        Ok(self.new)
    }

    fn build<R>(&mut self, node: &Node, build: impl FnOnce(&mut Builder<'_>, &Dim) -> R) -> R {
        let graph = &mut self.new;
        let mut sites = 0;
        let mut builder = Builder::of_derivatives(graph, node.span, &mut sites);
        build(&mut builder, self.count)
    }

    fn node(&mut self, old: &Graph, value: Value) -> Result<Lane, OpError> {
        let node = old.node(value);
        let args: Vec<Lane> = node.args.iter().map(|a| self.lanes[a.0 as usize]).collect();
        let varies = self.varying.nodes[value.0 as usize];
        Ok(match &node.kind {
            Kind::Prim(prim) => self.build(node, |b, count| lanes::prim(b, prim, &args, count))?,
            Kind::Repeat(repeat) => self.repeat(node, value, repeat, &args)?,
            Kind::Branch(branch) if args[0].varies => self.choose(node, value, branch, &args)?,
            Kind::Branch(branch) => self.branch(node, value, branch, &args)?,
            Kind::Result(k) => match self.chosen.get(&node.args[0]) {
                Some(results) => Lane { value: results[*k], varies },
                None => self.result(old, node, *k, args[0].value, varies)?,
            },
            Kind::Input(_)
            | Kind::Source(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Counter(_)
            | Kind::StopGradient => {
                let ty = old.ty(value).clone();
                let ty = if varies { lanes::with_lanes(&ty, self.count) } else { ty };
                let args = args.iter().map(|lane| lane.value).collect();
                Lane { value: self.new.push(node.kind.clone(), args, Some(ty), node.span), varies }
            }
            Kind::Foreign(_) => unreachable!("shape has reported foreign calls in transforms"),
            Kind::Transform(_) => unreachable!("transforms are resolved from the inside out"),
            Kind::Op(call) => unreachable!("expand has replaced `{}`", call.op),
            Kind::Written(_) => unreachable!("shape has resolved what the user wrote"),
        })
    }

    /// The region of all lanes. In stacks the lanes stand behind the axis of the iterations.
    fn repeat(&mut self, node: &Node, value: Value, repeat: &Repeat, args: &[Lane]) -> Result<Lane, OpError> {
        let (carried, results) = (self.varying.carried[&value].clone(), self.varying.results[&value].clone());
        let stacks = repeat.carried..repeat.carried + repeat.stacked;
        let mut inputs: Vec<bool> = args.iter().map(|lane| lane.varies).collect();
        inputs[..repeat.carried].copy_from_slice(&carried);
        let mut given = vec![];
        for (k, &lane) in args.iter().enumerate() {
            given.push(match inputs[k] {
                true if stacks.contains(&k) => self.build(node, |b, _| lanes::exchange(b, lane.value))?,
                true => self.build(node, |b, count| lanes::spread(b, lane, count))?,
                false => lane.value,
            });
        }
        let body = Batch::of(&repeat.body, &inputs, self.count).graph(&repeat.body, &results)?;
        let mut repeat = repeat.clone();
        repeat.body = body;
        let region = self.new.push(Kind::Repeat(Box::new(repeat)), given, None, node.span);
        Ok(Lane { value: region, varies: true })
    }

    /// The branch whose selector is the same for all lanes.
    fn branch(&mut self, node: &Node, value: Value, branch: &Branch, args: &[Lane]) -> Result<Lane, OpError> {
        let inputs: Vec<bool> = args[1..].iter().map(|lane| lane.varies).collect();
        let results = self.varying.results[&value].clone();
        let case = |case: &Graph| Batch::of(case, &inputs, self.count).graph(case, &results);
        let cases = branch.cases.iter().map(case).collect::<Result<_, _>>()?;
        let args = args.iter().map(|lane| lane.value).collect();
        let region = self.new.push(Kind::Branch(Box::new(Branch { cases })), args, None, node.span);
        Ok(Lane { value: region, varies: true })
    }

    /// The branch of which every lane chooses its own case: all cases are computed, and each lane takes its own.
    fn choose(&mut self, node: &Node, value: Value, branch: &Branch, args: &[Lane]) -> Result<Lane, OpError> {
        let inputs: Vec<bool> = args[1..].iter().map(|lane| lane.varies).collect();
        let given: Vec<Value> = args[1..].iter().map(|lane| lane.value).collect();
        let wanted = vec![true; branch.results()];
        let mut cases = vec![];
        for case in &branch.cases {
            let batched = Batch::of(case, &inputs, self.count).graph(case, &wanted)?;
            cases.push(self.new.append(&batched, &given));
        }
        let chosen = (0..branch.results()).map(|k| {
            let of: Vec<Value> = cases.iter().map(|case| case[k]).collect();
            self.build(node, |b, _| lanes::choose(b, args[0].value, &of))
        });
        let chosen = chosen.collect::<Result<Vec<_>, _>>()?;
        self.chosen.insert(value, chosen);
        // Nothing but its results mentions a region.
        Ok(args[0])
    }

    fn result(&mut self, old: &Graph, node: &Node, k: usize, region: Value, varies: bool) -> Result<Lane, OpError> {
        let carried = match &old.node(node.args[0]).kind {
            Kind::Repeat(repeat) => repeat.carried,
            _ => usize::MAX,
        };
        let ty = match &self.new.node(region).kind {
            Kind::Repeat(made) => made.result(k),
            Kind::Branch(made) => made.cases[0].ty(made.cases[0].outputs[k]).clone(),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::Transform(_)
            | Kind::Foreign(_)
            | Kind::StopGradient
            | Kind::Written(_) => unreachable!("the region was carried over"),
        };
        let value = self.new.push(Kind::Result(k), vec![region], Some(ty), node.span);
        let value = match varies && k >= carried {
            true => self.build(node, |b, _| lanes::exchange(b, value))?,
            false => value,
        };
        Ok(Lane { value, varies })
    }
}
