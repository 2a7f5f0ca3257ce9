//! What is known at build time is computed at build time: a graph of known arguments in, its results as tensors out.
//!
//! The oracle computes it. What would take long is left to the model.

use crate::ir::{Dim, Graph, Kind, Node};
use crate::oracle::{self, Tensor};

/// The most elements of all values of what is evaluated.
const MOST: i64 = 1 << 20;

/// Whether a graph is evaluated at build time.
pub(super) fn is_small(graph: &Graph) -> bool {
    // The oracle takes its time for axes beside an empty one, too.
    let times = |count: i64, dim: &Dim| count.checked_mul(dim.as_const().filter(|&extent| extent >= 0)?.max(1));
    let count = |node: &Node| node.ty.as_ref()?.shape.iter().try_fold(1, times);
    let mut all = 0i64;
    graph.nodes.iter().all(|node| {
        all = all.saturating_add(count(node).unwrap_or(MOST));
        all < MOST && node.kind.bodies().iter().all(is_small)
    })
}

/// The results of a graph whose inputs are these.
pub(super) fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Vec<Tensor> {
    let mut results = oracle::run_graph(graph, inputs, &[]);
    // What the oracle computes in binary64 becomes what the element type holds.
    for result in &mut results {
        if let oracle::Data::Float(dtype, numbers) = &mut result.data {
            numbers.iter_mut().for_each(|x| *x = dtype.nearest(*x));
        }
    }
    results
}

/// Whether all extents of a graph are constants and none of it is what only a call knows.
pub(super) fn is_known(graph: &Graph) -> bool {
    graph.nodes.iter().all(|node| {
        let is_source = matches!(node.kind, Kind::Source(_) | Kind::Param(_) | Kind::State(_));
        let is_constant = node.ty.as_ref().is_none_or(|ty| ty.shape.iter().all(|dim: &Dim| dim.as_const().is_some()));
        !is_source && is_constant && node.kind.bodies().iter().all(is_known)
    })
}
