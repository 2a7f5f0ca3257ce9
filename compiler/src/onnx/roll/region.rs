//! Regions in the place of runs: a graph and its runs in, the graph with regions out, and which parameters their stacks are of.
//!
//! Always: what a region computes is what its last turn computed. What all turns compute in the same way from values around them is
//! computed before the region; what only moves them, and constants, are in it.

use super::Reading;
use super::turns::{Run, Turn};
use crate::ir::graph::{Memory, Node, Repeat};
use crate::ir::model::ParamId;
use crate::ir::{Dim, Graph, Kind, Type, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The graph with a region for each run, and of which parameters each of its parameters is made. What regions stand for is left
/// out, and nodes that nothing reads any more are left.
pub(super) fn replaced(reading: &Reading<'_>, mut runs: Vec<Run>) -> (Graph, Vec<Vec<ParamId>>) {
    let mut regions = Regions::of(reading, &runs);
    while let Some(run) = regions.cycle() {
        runs.remove(run);
        regions = Regions::of(reading, &runs);
    }
    let gone: BTreeSet<Value> = runs.iter().flat_map(|run| &run.turns).flat_map(|turn| &turn.own).copied().collect();
    let mut made = Replacing { regions, new: BTreeMap::new(), graph: Graph::default(), stacks: vec![] };
    reading.graph.values().filter(|value| !gone.contains(value)).for_each(|value| made.value(value));
    let outputs = &reading.graph.outputs;
    outputs.iter().for_each(|&output| made.value(output));
    made.graph.outputs = outputs.iter().map(|output| made.new[output]).collect();
    (made.graph, made.stacks)
}

/// A graph in which each run is one node.
struct Regions<'r> {
    reading: &'r Reading<'r>,
    runs: &'r [Run],
    bodies: Vec<Body>,
    /// Which run gives a value.
    given: BTreeMap<Value, usize>,
}

impl<'r> Regions<'r> {
    fn of(reading: &'r Reading<'r>, runs: &'r [Run]) -> Regions<'r> {
        let last = |run: &'r Run| run.turns.last().into_iter().flat_map(|turn| &turn.outs);
        let given = runs.iter().enumerate().flat_map(|(number, run)| last(run).map(move |&out| (out, number)));
        let bodies = runs.iter().map(|run| Body::of(reading, run)).collect();
        Regions { reading, runs, bodies, given: given.collect() }
    }

    /// What has to be there before a value.
    fn needs(&self, value: Value) -> impl Iterator<Item = Value> + '_ {
        let (first, more): (&[Value], &[Value]) = match self.given.get(&value) {
            Some(&run) => (&self.runs[run].before, &self.bodies[run].around),
            None => (&self.reading.graph.node(value).args, &[]),
        };
        first.iter().chain(more).copied()
    }

    /// A run that waits for itself: what one of its turns gives is needed for what it takes.
    fn cycle(&self) -> Option<usize> {
        // The values that need one another, from a result on, and those of which nothing needs itself.
        let (mut path, mut done): (Vec<Value>, BTreeSet<Value>) = (vec![], BTreeSet::new());
        let mut on_path: BTreeSet<Value> = BTreeSet::new();
        let mut rest = self.reading.graph.outputs.clone();
        while let Some(&value) = rest.last() {
            if path.last() == Some(&value) {
                on_path.remove(&value);
                done.extend(path.pop());
            }
            if done.contains(&value) {
                rest.pop();
                continue;
            }
            path.push(value);
            on_path.insert(value);
            for need in self.needs(value).filter(|need| !done.contains(need)) {
                if on_path.contains(&need) {
                    let circle = path.iter().skip_while(|value| **value != need);
                    return circle.filter_map(|value| self.given.get(value)).copied().next();
                }
                rest.push(need);
            }
        }
        None
    }
}

/// A graph that is made anew.
struct Replacing<'r> {
    regions: Regions<'r>,
    /// What is made, for each value of the old graph.
    new: BTreeMap<Value, Value>,
    graph: Graph,
    /// Which parameters those of the new graph are made of.
    stacks: Vec<Vec<ParamId>>,
}

impl Replacing<'_> {
    /// Makes a value, after those that it needs: a region may stand before others that its turns stood behind.
    fn value(&mut self, wanted: Value) {
        let mut rest = vec![wanted];
        while let Some(value) = rest.pop() {
            if self.new.contains_key(&value) {
                continue;
            }
            let missing: Vec<Value> = self.regions.needs(value).filter(|need| !self.new.contains_key(need)).collect();
            if missing.is_empty() {
                self.make(value);
            } else {
                rest.push(value);
                rest.extend(missing.into_iter().rev());
            }
        }
    }

    fn make(&mut self, value: Value) {
        if let Some(&run) = self.regions.given.get(&value) {
            return self.region(run);
        }
        let Node { kind, args, ty, name, span } = self.regions.reading.graph.node(value).clone();
        let kind = if let Kind::Param(id) = kind { Kind::Param(self.stack(vec![id])) } else { kind };
        let args = args.iter().map(|arg| self.new[arg]).collect();
        let new = self.graph.push(kind, args, ty, span);
        self.graph.node_mut(new).name = name;
        self.new.insert(value, new);
    }

    fn stack(&mut self, of: Vec<ParamId>) -> ParamId {
        self.stacks.push(of);
        ParamId(self.stacks.len() as u32 - 1)
    }

    /// The region of a run, and its results.
    fn region(&mut self, number: usize) {
        let Regions { reading, runs, bodies, .. } = &self.regions;
        let (reading, run, Body { graph, stacked, around }) = (*reading, &runs[number], &bodies[number]);
        let (count, span) = (Dim::from(run.turns.len() as i64), reading.graph.node(run.outs[0]).span);
        let (body, around, stacked) = (graph.clone(), around.clone(), stacked.clone());
        let mut args: Vec<Value> = run.before.iter().map(|before| self.new[before]).collect();
        for (place, slice) in &stacked {
            let of_turn = |turn: &Turn| match reading.graph.node(turn.own[*place]).kind {
                Kind::Param(id) => id,
                _ => unreachable!("it is like a parameter"),
            };
            let stack = self.stack(run.turns.iter().map(of_turn).collect());
            let shape: Vec<Dim> = [std::slice::from_ref(&count), &*slice.shape].concat();
            args.push(self.graph.push(Kind::Param(stack), vec![], Some(Type::new(slice.dtype, shape)), span));
        }
        args.extend(around.iter().map(|around| self.new[around]));
        let (carried, stacked, memory) = (run.outs.len(), stacked.len(), Memory::default());
        let results = self.graph.repeat(Repeat { count, reverse: false, carried, stacked, memory, body }, args, span);
        let last = run.turns.last().map_or(&[][..], |last| &last.outs);
        self.new.extend(last.iter().copied().zip(results));
    }
}

/// The body of a region.
struct Body {
    graph: Graph,
    /// Which of a turn's own nodes are parameters, and their types.
    stacked: Vec<(usize, Type)>,
    /// What is the same for all turns.
    around: Vec<Value>,
}

impl Body {
    fn of(reading: &Reading<'_>, run: &Run) -> Body {
        let node = |value: Value| reading.graph.node(value);
        let places = run.own.iter().enumerate();
        let parameters: Vec<(usize, Value)> =
            places.filter(|(_, own)| matches!(node(**own).kind, Kind::Param(_))).map(|(at, own)| (at, *own)).collect();
        let stacked = parameters.iter().map(|&(at, own)| (at, reading.graph.ty(own).clone())).collect();
        let mut body = Body { graph: Graph::default(), stacked, around: vec![] };
        let mut new: BTreeMap<Value, Value> = BTreeMap::new();
        for value in run.ins.iter().copied().chain(parameters.iter().map(|(_, own)| *own)) {
            body.input(reading, value, &mut new);
        }
        run.own.iter().for_each(|&value| body.computed(reading, run, value, &mut new));
        body.graph.outputs = run.outs.iter().map(|out| new[out]).collect();
        body
    }

    /// What comes in.
    fn input(&mut self, reading: &Reading<'_>, value: Value, new: &mut BTreeMap<Value, Value>) {
        let (node, number) = (reading.graph.node(value), self.graph.inputs().count());
        new.insert(value, self.graph.push(Kind::Input(number), vec![], node.ty.clone(), node.span));
    }

    /// A value of the turn, with what it needs.
    fn computed(&mut self, reading: &Reading<'_>, run: &Run, wanted: Value, new: &mut BTreeMap<Value, Value>) {
        let mut rest = vec![wanted];
        while let Some(value) = rest.pop() {
            if new.contains_key(&value) {
                continue;
            }
            let node = reading.graph.node(value);
            if run.own.binary_search(&value).is_err() && !reading.is_inside(value) {
                self.around.push(value);
                self.input(reading, value, new);
                continue;
            }
            let missing: Vec<Value> = node.args.iter().copied().filter(|arg| !new.contains_key(arg)).collect();
            if missing.is_empty() {
                let args = node.args.iter().map(|arg| new[arg]).collect();
                self.graph.nodes.push(Node { args, ..node.clone() });
                new.insert(value, Value(self.graph.nodes.len() as u32 - 1));
            } else {
                rest.push(value);
                rest.extend(missing.into_iter().rev());
            }
        }
    }
}
