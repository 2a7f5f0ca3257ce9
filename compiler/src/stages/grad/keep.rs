//! Which values of a forward iteration to keep for the backward one: a graph and what is wanted of it in,
//! the smallest sufficient set out.
//!
//! Values that are cheap to compute can be computed again from their arguments. What to keep is then a
//! minimum cut between the values that cannot and those that are wanted, where cutting a value costs its
//! size (Griewank and Walther's recomputation, posed as a flow as in JAX and PyTorch partitioners).

use super::repeat::moves;
use crate::ir::{Graph, Kind, Value};
use std::collections::{BTreeSet, VecDeque};

/// What a named dimension counts as when sizes are compared.
const NAMED: i64 = 64;

/// What a word counts.
const FINE: u64 = 1 << 8;

/// What more words than that count as: still far from an edge that must not be cut.
const MANY: i64 = i64::MAX >> 24;

/// How a forward value can be had in the backward iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is passed to both, or costs nothing.
    Given,
    /// It can be computed again from its arguments.
    Cheap,
    /// It must be kept, or what follows from it.
    Dear,
}

/// The smallest set of values from which, with given ones, all `wanted` ones can be computed again.
pub(super) fn smallest(graph: &Graph, origins: &[Origin], wanted: &BTreeSet<Value>) -> BTreeSet<Value> {
    // Each value is an edge from its entry 2v to its exit 2v + 1; cutting the edge is keeping the value.
    let (source, sink) = (2 * origins.len(), 2 * origins.len() + 1);
    let mut flow = Flow { ends: vec![], leaving: vec![vec![]; sink + 1] };
    let mut pending: Vec<Value> = wanted.iter().copied().collect();
    let mut seen: BTreeSet<Value> = wanted.clone();
    for value in wanted {
        flow.edge(2 * value.0 as usize + 1, sink, u64::MAX);
    }
    while let Some(value) = pending.pop() {
        let v = value.0 as usize;
        flow.edge(2 * v, 2 * v + 1, words(graph, value));
        match origins[v] {
            Origin::Given => {}
            Origin::Dear => flow.edge(source, 2 * v, u64::MAX),
            Origin::Cheap => {
                for &arg in &graph.node(value).args {
                    flow.edge(2 * arg.0 as usize + 1, 2 * v, u64::MAX);
                    if seen.insert(arg) {
                        pending.push(arg);
                    }
                }
            }
        }
    }
    while flow.augment(source, sink) {}
    // Of all smallest cuts the one nearest to the uses: it computes least again.
    let near = flow.reaching(sink);
    seen.into_iter().filter(|v| near[2 * v.0 as usize + 1] && !near[2 * v.0 as usize]).collect()
}

/// The size of a value, at least one word, and a little more where it is other indices into something: of equal sizes that
/// which a kernel writes anyway is kept, and no copy of it. A region cannot be kept itself, only its results.
pub(super) fn words(graph: &Graph, value: Value) -> u64 {
    let node = graph.node(value);
    let Some(ty) = &node.ty else { return u64::MAX };
    let count = ty.count().eval(&|_| Some(NAMED)).unwrap_or(MANY).clamp(1, MANY) as u64;
    count * FINE + u64::from(matches!(&node.kind, Kind::Prim(prim) if moves(prim)))
}

/// A flow network by the residual capacities of its edges; edge `e ^ 1` is the reverse of `e`.
struct Flow {
    /// Where each edge leads, and what it still can carry.
    ends: Vec<(usize, u64)>,
    /// The edges that leave each node.
    leaving: Vec<Vec<usize>>,
}

impl Flow {
    fn edge(&mut self, from: usize, to: usize, capacity: u64) {
        self.leaving[from].push(self.ends.len());
        self.ends.push((to, capacity));
        self.leaving[to].push(self.ends.len());
        self.ends.push((from, 0));
    }

    /// Sends as much as fits along a shortest path (Edmonds and Karp 1972); false where none is left.
    fn augment(&mut self, source: usize, sink: usize) -> bool {
        let mut through: Vec<Option<usize>> = vec![None; self.leaving.len()];
        let mut queue = VecDeque::from([source]);
        while let Some(at) = queue.pop_front() {
            for &e in &self.leaving[at] {
                let (to, capacity) = self.ends[e];
                if capacity > 0 && to != source && through[to].is_none() {
                    through[to] = Some(e);
                    queue.push_back(to);
                }
            }
        }
        let path: Vec<usize> = std::iter::successors(through[sink], |e| through[self.ends[*e ^ 1].0]).collect();
        let Some(amount) = path.iter().map(|e| self.ends[*e].1).min() else { return false };
        for e in path {
            self.ends[e].1 -= amount;
            self.ends[e ^ 1].1 = self.ends[e ^ 1].1.saturating_add(amount);
        }
        true
    }

    /// Whether more could flow from each node to `sink`.
    fn reaching(&self, sink: usize) -> Vec<bool> {
        let mut reaching = vec![false; self.leaving.len()];
        reaching[sink] = true;
        let mut pending = vec![sink];
        while let Some(at) = pending.pop() {
            for &e in &self.leaving[at] {
                let (from, _) = self.ends[e];
                if self.ends[e ^ 1].1 > 0 && !reaching[from] {
                    reaching[from] = true;
                    pending.push(from);
                }
            }
        }
        reaching
    }
}
