//! What is known at build time is computed at build time: a graph of known arguments in, its results as tensors out.
//!
//! The oracle computes it. What would take long is left to the model. What is computed from weights stays in the graph as well, as they
//! may be other ones when the model runs; where it is small, it is known to operators that must know it.

use super::node::Made;
use super::operand::{Known, Operand};
use super::params::Params;
use crate::ir::{Dim, Graph, Kind, Node};
use crate::oracle::{self, Tensor};
use std::rc::Rc;

/// The most elements of all values of what is evaluated.
const MOST: i64 = 1 << 20;

/// The most elements of weights that are computed with: those that decide a shape are few.
const MOST_OF_WEIGHTS: usize = 1 << 12;

/// What a node gives that is computed at build time.
pub(super) struct Folded {
    pub(super) results: Vec<Operand>,
    /// What was computed with, where a weight is among it.
    pub(super) of_weights: Option<Vec<Rc<Known>>>,
}

/// What a node whose arguments are known gives, where it is computed at build time; `run` makes its graph.
pub(super) fn folded(run: impl FnOnce(&mut Graph, &mut Params) -> Made<Vec<Operand>>) -> Made<Option<Folded>> {
    let (mut graph, mut tensors) = (Graph::default(), Params::Inputs(vec![]));
    let mut results = run(&mut graph, &mut tensors)?;
    let Params::Inputs(tensors) = tensors else { unreachable!("they were made as inputs") };
    let weights = || tensors.iter().filter(|known| known.is_weight());
    let is_few = weights().map(|known| known.len()).sum::<usize>() <= MOST_OF_WEIGHTS;
    if !(is_known(&graph) && is_small(&graph) && is_few) {
        return Ok(None);
    }
    let value = |operand: &Operand| if let Operand::Value(value) = operand { Some(*value) } else { None };
    graph.outputs = results.iter().filter_map(value).collect();
    let of_weights = weights().next().is_some().then(|| tensors.clone());
    // What becomes a constant of the program decides what that is.
    let elements = |known: &Known| if of_weights.is_some() { known.elements() } else { known.tensor() }.clone();
    let tensors: Vec<Tensor> = tensors.iter().map(|known| elements(known)).collect();
    let made = evaluate(&graph, &tensors);
    let places = results.iter_mut().filter(|operand| value(operand).is_some());
    places.zip(made).for_each(|(place, tensor)| *place = Operand::known(tensor));
    Ok(Some(Folded { results, of_weights }))
}

/// A result as a value that is known, too.
pub(super) fn both(made: Operand, known: Operand, sources: &[Rc<Known>]) -> Operand {
    match (made, known) {
        (Operand::Value(value), Operand::Known(known)) => {
            Operand::Known(Rc::new(Known::of_weights(known.elements().clone(), value, sources.to_vec())))
        }
        (made, _) => made,
    }
}

/// Whether a graph is evaluated at build time.
fn is_small(graph: &Graph) -> bool {
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
fn evaluate(graph: &Graph, inputs: &[Tensor]) -> Vec<Tensor> {
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
fn is_known(graph: &Graph) -> bool {
    graph.nodes.iter().all(|node| {
        let is_source = matches!(node.kind, Kind::Source(_) | Kind::Param(_) | Kind::State(_));
        let is_constant = node.ty.as_ref().is_none_or(|ty| ty.shape.iter().all(|dim: &Dim| dim.as_const().is_some()));
        !is_source && is_constant && node.kind.bodies().iter().all(is_known)
    })
}
