//! What is known at build time is computed at build time: a graph of known arguments in, its results as tensors out.
//!
//! The oracle computes it. What would take long is left to the model. What is computed from weights stays in the graph as well, as they
//! may be other ones when the model runs; where it is small, it is known to operators that must know it.

use super::budget::Budget;
use super::node::Made;
use super::operand::{Known, Operand};
use super::params::Params;
use crate::ir::{Dim, Graph, Kind, Node, Prim, Type};
use crate::oracle::{self, Tensor};
use std::rc::Rc;

/// The most elements of all values of what is evaluated.
const ELEMENTS: i64 = 1 << 20;

/// The most elements of weights that are computed with: those that decide a shape are few.
const MOST_OF_WEIGHTS: usize = 1 << 12;

/// The most steps of it.
const STEPS: i64 = 1 << 24;

/// What a node gives that is computed at build time.
pub(super) struct Folded {
    pub(super) results: Vec<Operand>,
    /// What was computed with, where a weight is among it.
    pub(super) of_weights: Option<Vec<Rc<Known>>>,
}

/// What a node whose arguments are known gives, where it is computed at build time; `run` makes its graph.
pub(super) fn folded(
    budget: &mut Budget,
    run: impl FnOnce(&mut Graph, &mut Params, &mut Budget) -> Made<Vec<Operand>>,
) -> Made<Option<Folded>> {
    let (mut graph, mut tensors) = (Graph::default(), Params::inputs(0));
    let mut results = run(&mut graph, &mut tensors, budget)?;
    let tensors = tensors.into_known();
    let value = |operand: &Operand| if let Operand::Value(value) = operand { Some(*value) } else { None };
    graph.outputs = results.iter().filter_map(value).collect();
    let weights = || tensors.iter().filter(|known| known.is_weight());
    let is_few = weights().map(|known| known.len()).sum::<usize>() <= MOST_OF_WEIGHTS;
    if !(is_known(&graph) && is_few && is_worth(&graph, budget)) {
        return Ok(None);
    }
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

/// Whether a graph is evaluated at build time. What that takes is taken from what is left for the file.
fn is_worth(graph: &Graph, budget: &mut Budget) -> bool {
    let elements = each(graph, &|node| node.ty.as_ref().map_or(0, count));
    let steps = each(graph, &|node| steps(graph, node));
    let results = graph.outputs.iter().fold(0i64, |sum, &value| sum.saturating_add(count(graph.ty(value))));
    elements < ELEMENTS && steps < STEPS && budget.has(steps, results)
}

/// The sum over the nodes of a graph, with those of each turn of its bodies.
fn each(graph: &Graph, of: &dyn Fn(&Node) -> i64) -> i64 {
    graph.nodes.iter().fold(0, |sum, node| {
        let turns = if let Kind::Repeat(repeat) = &node.kind { count_of([&repeat.count]) } else { 1 };
        let inside = node.kind.bodies().iter().fold(0i64, |sum, body| sum.saturating_add(each(body, of)));
        sum.saturating_add(of(node)).saturating_add(inside.saturating_mul(turns))
    })
}

/// The elements of a tensor, where an empty axis counts as one: the oracle takes its time for those beside it, too.
fn count(ty: &Type) -> i64 {
    count_of(&ty.shape)
}

fn count_of<'d>(dims: impl IntoIterator<Item = &'d Dim>) -> i64 {
    let extent = |dim: &Dim| dim.as_const().filter(|&extent| extent >= 0).map_or(i64::MAX, |extent| extent.max(1));
    dims.into_iter().fold(1, |count, dim| count.saturating_mul(extent(dim)))
}

/// How often the oracle reads an element for a node.
fn steps(graph: &Graph, node: &Node) -> i64 {
    let args: Vec<&Type> = node.args.iter().filter_map(|&arg| graph.node(arg).ty.as_ref()).collect();
    let own = node.ty.as_ref().map_or(0, count);
    let read = args.iter().fold(own, |sum, ty| sum.saturating_add(count(ty)));
    match &node.kind {
        Kind::Prim(prim) => read.saturating_mul(times(prim, &args)),
        _ => read,
    }
}

/// How often a primitive reads each element of its arguments and of its result, at most.
fn times(prim: &Prim, args: &[&Type]) -> i64 {
    match (prim, args) {
        (Prim::Contract { lhs, rhs, .. }, [_, right]) => {
            let alone = rhs.iter().zip(&right.shape).filter(|(label, _)| !lhs.contains(label));
            count_of(alone.map(|(_, extent)| extent))
        }
        (Prim::Conv { .. }, [_, weight]) => count_of(&weight.shape[2..]),
        (Prim::Attend(_), [_, rest @ ..]) => rest.iter().fold(1, |times: i64, ty| times.saturating_mul(count(ty))),
        (
            Prim::WindowReduce { windows, .. }
            | Prim::WindowArgMax { windows }
            | Prim::WindowTake { windows }
            | Prim::WindowPut { windows, .. },
            _,
        ) => count_of(windows.iter().map(|window| &window.size)),
        _ => 1,
    }
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
