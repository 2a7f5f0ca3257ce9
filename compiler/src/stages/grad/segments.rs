//! Straight-line code of which little is to be kept: a graph in, the same out as regions that run once, between which little
//! is passed.
//!
//! What a region computes is known to its own backward region only, and that computes it again: a network that is written
//! out takes about the memory of one with repeated blocks. Always: the values are the same, and loops, branches and foreign
//! calls stay where they are.

use super::keep::words;
use crate::ir::pattern::Pattern;
use crate::ir::{Dim, Graph, Kind, Memory, Prim, Repeat, Value};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The graph in regions. The last one stays as it is: its backward pass comes at once.
pub(super) fn cut(old: Graph) -> Graph {
    let free = constants(&old);
    let uses = last_uses(&old);
    let mut segments = segments(&old, &free, &uses);
    segments.pop();
    let made = vec![None; old.nodes.len()];
    let mut cutting = Cutting { old: &old, free: &free, uses: &uses, new: Graph::default(), made };
    let (mut segments, mut at) = (segments.into_iter().peekable(), 0);
    while at < old.nodes.len() {
        match segments.next_if(|segment| segment.start == at) {
            Some(segment) => {
                at = segment.end;
                cutting.region(segment);
            }
            None => {
                cutting.copy(at);
                at += 1;
            }
        }
    }
    cutting.new.outputs = old.outputs.iter().map(|output| cutting.value(*output)).collect();
    cutting.new
}

/// Whether each value is known without arguments, so that it costs no memory.
fn constants(graph: &Graph) -> Vec<bool> {
    let mut free: Vec<bool> = vec![];
    for node in &graph.nodes {
        let is_free = match node.kind.pattern() {
            Some(Pattern::Constant) => true,
            Some(Pattern::Movement) => node.args.iter().all(|arg| free[arg.0 as usize]),
            Some(
                Pattern::Elementwise { .. }
                | Pattern::Barrier
                | Pattern::Selection
                | Pattern::Indexed
                | Pattern::Reduction
                | Pattern::Product,
            )
            | None => false,
        };
        free.push(is_free);
    }
    free
}

/// The last node that uses each value; results are used at the end.
fn last_uses(graph: &Graph) -> Vec<usize> {
    let mut uses = vec![0; graph.nodes.len()];
    for (at, node) in graph.nodes.iter().enumerate() {
        node.args.iter().for_each(|arg| uses[arg.0 as usize] = at);
    }
    graph.outputs.iter().for_each(|output| uses[output.0 as usize] = graph.nodes.len());
    uses
}

/// Whether a node can be computed in a region.
fn is_plain(kind: &Kind) -> bool {
    matches!(kind, Kind::Prim(_) | Kind::StopGradient)
}

/// Whether a call or the model gives a value, so that it can stand before any region.
fn is_given(kind: &Kind) -> bool {
    matches!(kind, Kind::Input(_) | Kind::Param(_) | Kind::State(_) | Kind::Source(_))
}

/// The parts that become regions: of several ways to cut the one whose passed values and longest part take least.
fn segments(graph: &Graph, free: &[bool], uses: &[usize]) -> Vec<Range<usize>> {
    let size = |value: Value| match is_plain(&graph.node(value).kind) && !free[value.0 as usize] {
        true => words(graph, value),
        false => 0,
    };
    let live = live(uses, &graph.values().map(size).collect::<Vec<u64>>());
    // Maps are computed on the way to what has loops of its own.
    let own: Vec<u64> = graph.values().map(|value| if is_heavy(graph, value) { size(value) } else { 0 }).collect();
    let (mut most, mut best) = (own.iter().sum::<u64>(), (u64::MAX, vec![]));
    while most > 0 {
        let ends = ends(&own, &live, most);
        let passed: u64 = ends.iter().map(|end| live[*end]).sum();
        let longest = starts(&ends).zip(&ends).map(|(start, end)| own[start..*end].iter().sum::<u64>()).max();
        let cost = passed + longest.unwrap_or(0);
        if cost < best.0 {
            best = (cost, ends);
        }
        most -= most.div_ceil(4);
    }
    starts(&best.1).zip(&best.1).flat_map(|(start, end)| plain(graph, start..*end)).collect()
}

fn is_heavy(graph: &Graph, value: Value) -> bool {
    matches!(graph.node(value).kind.pattern(), Some(Pattern::Reduction | Pattern::Product | Pattern::Indexed))
}

/// Where the parts start that end there.
fn starts(ends: &[usize]) -> impl Iterator<Item = usize> {
    std::iter::once(0).chain(ends.iter().copied())
}

/// The words that are computed before each node and used from there on.
fn live(uses: &[usize], sizes: &[u64]) -> Vec<u64> {
    let mut live = vec![0; sizes.len() + 1];
    let mut ending = vec![0; sizes.len() + 1];
    for at in 0..sizes.len() {
        ending[uses[at].max(at)] += sizes[at];
        live[at + 1] = live[at] + sizes[at] - ending[at];
    }
    live
}

/// Where parts end that compute no more than so many words: where least is passed on.
fn ends(own: &[u64], live: &[u64], most: u64) -> Vec<usize> {
    let (mut ends, mut start) = (vec![], 0);
    while start < own.len() {
        let (mut sum, mut best) = (0, None);
        for at in start..own.len() {
            sum += own[at];
            if sum > most && best.is_some() {
                break;
            }
            // A part that is too short gains nothing.
            if 2 * sum >= most && best.is_none_or(|best| live[at + 1] <= live[best]) {
                best = Some(at + 1);
            }
        }
        start = best.unwrap_or(own.len());
        ends.push(start);
    }
    ends
}

/// The runs of a part without loops, branches and foreign calls.
fn plain(graph: &Graph, part: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = vec![];
    for at in part.filter(|at| is_plain(&graph.nodes[*at].kind) || is_given(&graph.nodes[*at].kind)) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

struct Cutting<'g> {
    old: &'g Graph,
    free: &'g [bool],
    uses: &'g [usize],
    new: Graph,
    /// The new values; `None` for those that only their region knows.
    made: Vec<Option<Value>>,
}

impl Cutting<'_> {
    fn value(&self, old: Value) -> Value {
        self.made[old.0 as usize].unwrap_or_else(|| unreachable!("what is used later is a result"))
    }

    fn copy(&mut self, at: usize) {
        let mut node = self.old.nodes[at].clone();
        node.args.iter_mut().for_each(|arg| *arg = self.value(*arg));
        self.new.nodes.push(node);
        self.made[at] = Some(Value(self.new.nodes.len() as u32 - 1));
    }

    /// A region that computes a part once, behind what is known or given.
    fn region(&mut self, part: Range<usize>) {
        let is_own = |at: &usize| is_plain(&self.old.nodes[*at].kind) && !self.free[*at];
        let (own, others): (Vec<usize>, Vec<usize>) = part.clone().partition(is_own);
        others.into_iter().for_each(|at| self.copy(at));
        let Some(&first) = own.first() else { return };
        let (body, results, args) = self.body(&own, part.end);
        let args = args.into_iter().map(|arg| self.value(arg)).collect();
        let span = self.old.nodes[first].span;
        let region =
            Repeat { count: Dim::from(1), reverse: false, carried: 0, stacked: 0, memory: Memory::Minimize, body };
        let stacks = self.new.repeat(region, args, span);
        for (result, stack) in results.into_iter().zip(stacks) {
            // The only slice of the stacked result.
            let ty = self.old.ty(result).clone();
            let slice = Kind::Prim(Prim::Reshape(ty.shape.clone()));
            self.made[result.0 as usize] = Some(self.new.push(slice, vec![stack], Some(ty), span));
        }
    }

    /// What computes those nodes, which of them are used from `end` on, and what they need.
    fn body(&self, own: &[usize], end: usize) -> (Graph, Vec<Value>, Vec<Value>) {
        let mut body = Graph::default();
        let (mut inside, mut args): (BTreeMap<Value, Value>, Vec<Value>) = (BTreeMap::new(), vec![]);
        for &at in own {
            let node = self.old.nodes[at].clone();
            for &arg in &node.args {
                if self.free[arg.0 as usize] {
                    self.constant(arg, &mut body, &mut inside);
                } else if let Entry::Vacant(unknown) = inside.entry(arg) {
                    let ty = self.old.node(arg).ty.clone();
                    unknown.insert(body.push(Kind::Input(args.len()), vec![], ty, node.span));
                    args.push(arg);
                }
            }
            let inner = node.args.iter().map(|arg| inside[arg]).collect();
            inside.insert(Value(at as u32), body.push(node.kind, inner, node.ty, node.span));
        }
        let used = own.iter().filter(|at| self.uses[**at] >= end).map(|at| Value(*at as u32));
        let results: Vec<Value> = used.collect();
        body.outputs = results.iter().map(|result| inside[result]).collect();
        (body, results, args)
    }

    /// Copies a constant and what it is made of into a body.
    fn constant(&self, value: Value, body: &mut Graph, inside: &mut BTreeMap<Value, Value>) {
        let (mut needed, mut todo) = (BTreeSet::new(), vec![value]);
        while let Some(value) = todo.pop() {
            if self.free[value.0 as usize] && !inside.contains_key(&value) && needed.insert(value) {
                todo.extend(&self.old.node(value).args);
            }
        }
        for value in needed {
            let node = self.old.node(value).clone();
            let args = node.args.iter().map(|arg| inside[arg]).collect();
            inside.insert(value, body.push(node.kind, args, node.ty, node.span));
        }
    }
}
