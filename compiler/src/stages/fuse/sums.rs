//! Sums that others make superfluous.
//!
//! In: a graph. Out: the same values from fewer sums. Always: what is constant along the axes of a sum is pulled out of it where
//! that leaves a sum that there is anyway, or none: around a mean nothing is left. Without this, norms need a pass more on their
//! way back: `Σ (a·u + b·(x - mean x))` is `a·Σu`, because the derivative of a variance by way of its mean is zero; and the
//! gradients by scale and by variance are multiples of one sum, `Σ u·(x - mean x)`.

use crate::ir::prim::{MapOp, Prim, ReduceOp, Scalar};
use crate::ir::simplify::{simplify, splat};
use crate::ir::{Dim, Graph, Kind, Node, Type, Value};
use std::collections::BTreeMap;

/// Most values of a sum's argument that are looked at.
const MOST: usize = 32;
/// Most sums in the place of one.
const SUMS: usize = 2;

/// Replaces these sums.
pub(super) fn replace(graph: &mut Graph) {
    if let Some(changed) = replaced(graph) {
        *graph = simplify(changed, &mut []);
    }
}

fn replaced(graph: &Graph) -> Option<Graph> {
    let parts: BTreeMap<Value, Parts> = graph.values().filter_map(|v| Some((v, parts(graph, v)?))).collect();
    let mut alike: BTreeMap<_, usize> = BTreeMap::new();
    let shared = |sum: Value, parts: &Parts| match parts.terms.as_slice() {
        [only] => Some((summed(graph, sum)?.0.to_vec(), only.product.clone())),
        _ => None,
    };
    parts.iter().filter_map(|(sum, parts)| shared(*sum, parts)).for_each(|key| *alike.entry(key).or_default() += 1);
    let pays = |sum: Value, parts: &Parts| {
        let multiple = || shared(sum, parts).is_some_and(|key| alike[&key] > 1);
        parts.is_centred && parts.terms.len() <= SUMS || multiple()
    };
    let (mut made, mut new, mut changes) = (Graph::default(), vec![], false);
    for value in graph.values() {
        if let Some(parts) = parts.get(&value).filter(|parts| pays(value, parts)) {
            changes = true;
            let sum = Sum { graph, value, new: &new }.of(&parts.terms, &mut made);
            new.push(sum);
            continue;
        }
        let mut node = graph.node(value).clone();
        node.args.iter_mut().for_each(|arg: &mut Value| *arg = new[arg.0 as usize]);
        for body in node.kind.bodies_mut() {
            if let Some(changed) = replaced(body) {
                (*body, changes) = (changed, true);
            }
        }
        made.nodes.push(node);
        new.push(Value(made.nodes.len() as u32 - 1));
    }
    made.outputs = graph.outputs.iter().map(|output| new[output.0 as usize]).collect();
    changes.then_some(made)
}

/// What a sum is made of.
struct Parts {
    terms: Vec<Term>,
    /// Whether there is something around a mean beside these terms, of which nothing is left.
    is_centred: bool,
}

/// A part of a sum's argument: `± product · factors`.
#[derive(Clone)]
struct Term {
    /// In ascending order.
    product: Vec<Value>,
    is_negative: bool,
    /// Broadcasts that are constant along the axes of the sum, and whether they multiply or divide.
    factors: Vec<(MapOp, Value)>,
}

/// The parts of a sum, unless there are very many, or some are constant along its axes.
fn parts(graph: &Graph, sum: Value) -> Option<Parts> {
    let (axes, argument) = summed(graph, sum)?;
    let is_constant = |value: Value| match &graph.node(value).kind {
        Kind::Prim(Prim::Broadcast { axes: kept, .. }) => kept.iter().all(|axis| !axes.contains(axis)),
        _ => false,
    };
    let (mut terms, mut is_centred, mut looked) = (vec![], false, 0);
    let mut todo = vec![Term { product: vec![argument], is_negative: false, factors: vec![] }];
    while let Some(mut term) = todo.pop() {
        let mut leaves = vec![];
        while let Some(value) = term.product.pop() {
            looked += 1;
            if looked > MOST {
                return None;
            }
            let node = graph.node(value);
            match (&node.kind, node.args.as_slice()) {
                _ if is_constant(value) => term.factors.push((MapOp::Mul, value)),
                (Kind::Prim(Prim::Map(MapOp::Mul)), &[x, y]) => term.product.extend([x, y]),
                (Kind::Prim(Prim::Map(MapOp::Div)), &[x, y]) if is_constant(y) => {
                    term.product.push(x);
                    term.factors.push((MapOp::Div, y));
                }
                (Kind::Prim(Prim::Map(MapOp::Neg)), &[x]) => {
                    term.product.push(x);
                    term.is_negative = !term.is_negative;
                }
                _ => leaves.push(value),
            }
        }
        leaves.sort_unstable();
        term.product = leaves;
        let &[only] = term.product.as_slice() else {
            // What is constant would have to be counted.
            (!term.product.is_empty()).then_some(())?;
            terms.push(term);
            continue;
        };
        let with = |value: Value, is_negative: bool| Term { product: vec![value], is_negative, ..term.clone() };
        let (same, other) = (term.is_negative, !term.is_negative);
        let node = graph.node(only);
        match (&node.kind, node.args.as_slice()) {
            (Kind::Prim(Prim::Map(MapOp::Sub)), &[x, mean]) if is_mean(graph, mean, x, axes) => is_centred = true,
            (Kind::Prim(Prim::Map(MapOp::Add)), &[x, y]) => todo.extend([with(x, same), with(y, same)]),
            (Kind::Prim(Prim::Map(MapOp::Sub)), &[x, y]) => todo.extend([with(x, same), with(y, other)]),
            _ => terms.push(term),
        }
    }
    Some(Parts { terms, is_centred })
}

/// The axes and the argument of a sum of floats.
fn summed(graph: &Graph, value: Value) -> Option<(&[usize], Value)> {
    let Node { kind: Kind::Prim(Prim::Reduce { op: ReduceOp::Sum, axes }), args, .. } = graph.node(value) else {
        return None;
    };
    graph.ty(value).dtype.is_float().then_some((axes, args[0]))
}

/// Whether a value is the mean of `x` along `axes`, repeated along them.
fn is_mean(graph: &Graph, value: Value, x: Value, axes: &[usize]) -> bool {
    let Node { kind: Kind::Prim(Prim::Broadcast { axes: kept, .. }), args, .. } = graph.node(value) else {
        return false;
    };
    let Node { kind: Kind::Prim(Prim::Map(MapOp::Div)), args: quotient, .. } = graph.node(in_order(graph, args[0]))
    else {
        return false;
    };
    let (shape, sum) = (&graph.ty(x).shape, in_order(graph, quotient[0]));
    let others = (0..shape.len()).filter(|axis| !axes.contains(axis));
    let count = axes.iter().fold(Dim::from(1), |count, &axis| count * shape[axis].clone());
    kept.iter().copied().eq(others)
        && summed(graph, sum) == Some((axes, x))
        && graph.ty(sum).shape == graph.ty(args[0]).shape
        && is_number(graph, quotient[1], &count)
}

/// What is below reshapes: the same elements in the same order.
fn in_order(graph: &Graph, mut value: Value) -> Value {
    while let Kind::Prim(Prim::Reshape(_)) = graph.node(value).kind {
        value = graph.node(value).args[0];
    }
    value
}

/// Whether every element of a value is that number.
fn is_number(graph: &Graph, value: Value, number: &Dim) -> bool {
    let node = graph.node(value);
    match &node.kind {
        Kind::Prim(Prim::Broadcast { .. } | Prim::Reshape(_) | Prim::Convert(_)) => {
            is_number(graph, node.args[0], number)
        }
        Kind::Prim(Prim::Extent(dim)) => dim == number,
        _ => number.as_const().is_some_and(|number| splat(graph, value) == Some(number as f64)),
    }
}

/// A sum that is to be made of others.
struct Sum<'a> {
    graph: &'a Graph,
    value: Value,
    /// The values of the graph in the one that is made.
    new: &'a [Value],
}

impl Sum<'_> {
    fn of(&self, terms: &[Term], made: &mut Graph) -> Value {
        let mut all = None;
        for term in terms {
            let mut sum = self.product(term, made);
            for &(op, factor) in term.factors.iter().rev() {
                let factor = self.without_axes(factor, made);
                sum = self.map(op, vec![sum, factor], made);
            }
            if term.is_negative {
                sum = self.map(MapOp::Neg, vec![sum], made);
            }
            all = Some(match all {
                None => sum,
                Some(all) => self.map(MapOp::Add, vec![all, sum], made),
            });
        }
        all.unwrap_or_else(|| self.zero(made))
    }

    /// The sum of a product.
    fn product(&self, term: &Term, made: &mut Graph) -> Value {
        let Node { kind, args, ty, span, .. } = self.graph.node(self.value);
        let (whole, mut factors) =
            (self.graph.ty(args[0]), term.product.iter().map(|value| self.new[value.0 as usize]));
        let Some(first) = factors.next() else { unreachable!("a term is a product of something") };
        let multiply = |product: Value, factor: Value| {
            made.push(Kind::Prim(Prim::Map(MapOp::Mul)), vec![product, factor], Some(whole.clone()), *span)
        };
        let product = factors.fold(first, multiply);
        made.push(kind.clone(), vec![product], ty.clone(), *span)
    }

    /// An operation of values in the shape of the sum.
    fn map(&self, op: MapOp, args: Vec<Value>, made: &mut Graph) -> Value {
        let node = self.graph.node(self.value);
        made.push(Kind::Prim(Prim::Map(op)), args, node.ty.clone(), node.span)
    }

    /// A factor as it is where the axes of the sum are gone.
    fn without_axes(&self, factor: Value, made: &mut Graph) -> Value {
        let (Some((gone, _)), Node { kind: Kind::Prim(Prim::Broadcast { axes, .. }), args, .. }) =
            (summed(self.graph, self.value), self.graph.node(factor))
        else {
            unreachable!("a factor of a term of a sum is a broadcast")
        };
        let axes = axes.iter().map(|axis| axis - gone.iter().filter(|gone| *gone < axis).count()).collect();
        self.broadcast(self.new[args[0].0 as usize], axes, made)
    }

    fn broadcast(&self, value: Value, axes: Vec<usize>, made: &mut Graph) -> Value {
        let (ty, span) = (self.graph.ty(self.value), self.graph.node(self.value).span);
        let kind = Kind::Prim(Prim::Broadcast { shape: ty.shape.clone(), axes });
        made.push(kind, vec![value], Some(ty.clone()), span)
    }

    fn zero(&self, made: &mut Graph) -> Value {
        let (dtype, span) = (self.graph.ty(self.value).dtype, self.graph.node(self.value).span);
        let zero = Kind::Prim(Prim::Const(Scalar::of(dtype, 0.0)));
        let zero = made.push(zero, vec![], Some(Type { dtype, shape: vec![] }), span);
        self.broadcast(zero, vec![], made)
    }
}
