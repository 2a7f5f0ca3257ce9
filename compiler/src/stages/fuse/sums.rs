//! Sums that others make superfluous.
//!
//! In: a graph. Out: the same values from fewer sums. Always: in exact arithmetic nothing changes. `Σ (a·u + b·(x - mean x))`,
//! with `a` and `b` constant along the axes of sum and mean, becomes `a·Σu`, because nothing is left around a mean; this is the
//! derivative of a variance by way of its mean. Sums that differ by factors that are constant along their axes become
//! multiples of one: the gradients by a norm's scale and by its variance are multiples of `Σ u·(x - mean x)`. So a norm needs one
//! pass on its way back before the one that stores. What remains is not cut into further sums, which might cancel.

use crate::ir::dim::product;
use crate::ir::prim::{MapOp, Prim, ReduceOp};
use crate::ir::simplify::{simplify, splat};
use crate::ir::{DType, Dim, Graph, Kind, Node, Value};
use std::collections::BTreeMap;

/// Most values of a sum's argument that are looked at.
const MOST: usize = 32;

/// Replaces these sums.
pub(super) fn replace(graph: &mut Graph) {
    for value in graph.values() {
        graph.node_mut(value).kind.bodies_mut().iter_mut().for_each(replace);
    }
    let mut rests: BTreeMap<Value, (Form, bool)> = graph.values().filter_map(|v| Some((v, rest(graph, v)?))).collect();
    let key = |sum: Value, rest: &Form| Some((summed(graph, sum)?.0.to_vec(), rest.product.clone()));
    let mut alike: BTreeMap<_, usize> = BTreeMap::new();
    rests.iter().filter_map(|(sum, (rest, _))| key(*sum, rest)).for_each(|key| *alike.entry(key).or_default() += 1);
    rests.retain(|sum, (rest, is_centred)| *is_centred || key(*sum, rest).is_some_and(|key| alike[&key] > 1));
    if rests.is_empty() {
        return;
    }
    let made = graph.rebuilt(|made, value, new| {
        let sum = Sum { graph, value, new }.of(&rests.get(&value)?.0, made);
        made.node_mut(sum).name.clone_from(&graph.node(value).name);
        Some(sum)
    });
    *graph = simplify(made, &mut []);
}

/// A value as `± product · factors`.
#[derive(Clone, PartialEq, Eq)]
struct Form {
    product: Product,
    is_negative: bool,
    /// Broadcasts that are constant along the axes of the sum.
    factors: Vec<Value>,
}

/// A product in the order in which it is computed, without its constant factors; those of two factors in one order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Product {
    Value(Value),
    Of(Box<[Product; 2]>),
}

impl Form {
    fn value(value: Value) -> Form {
        Form { product: Product::Value(value), is_negative: false, factors: vec![] }
    }

    fn times(self, factor: Value) -> Form {
        Form { factors: [self.factors, vec![factor]].concat(), ..self }
    }

    fn negated(self, negates: bool) -> Form {
        Form { is_negative: self.is_negative != negates, ..self }
    }

    /// The product of two, if there are factors or signs to be pulled out of it.
    fn of(self, other: Form) -> Option<Form> {
        let is_plain = |form: &Form| form.factors.is_empty() && !form.is_negative;
        let has_some = !(is_plain(&self) && is_plain(&other));
        let mut both = [self.product, other.product];
        both.sort_unstable();
        let factors = [self.factors, other.factors].concat();
        let is_negative = self.is_negative != other.is_negative;
        has_some.then(|| Form { product: Product::Of(Box::new(both)), is_negative, factors })
    }
}

/// A value that is to be summed.
enum Part {
    /// It is repeated along the axes of the sum.
    Constant(Value),
    /// It varies: what it is, and what is left of it in the sum, if anything.
    Varying(Form, Option<Form>),
}

/// What is left of a sum's argument, and whether something has vanished; nothing if it is long, or constant, or all vanishes.
fn rest(graph: &Graph, sum: Value) -> Option<(Form, bool)> {
    let (axes, argument) = summed(graph, sum)?;
    match (Search { graph, axes, looked: 0 }).part(argument)? {
        Part::Varying(whole, Some(rest)) => {
            let is_centred = whole != rest;
            Some((rest, is_centred))
        }
        Part::Varying(_, None) | Part::Constant(_) => None,
    }
}

struct Search<'a> {
    graph: &'a Graph,
    /// Those of the sum.
    axes: &'a [usize],
    looked: usize,
}

impl Search<'_> {
    fn part(&mut self, value: Value) -> Option<Part> {
        self.looked += 1;
        if self.looked > MOST {
            return None;
        }
        if self.is_constant(value) {
            return Some(Part::Constant(value));
        }
        let whole = Form::value(value);
        if let Some(&[x, y]) = self.graph.operands(value, MapOp::Mul) {
            return self.product(whole, x, y);
        }
        if let Some(&[x]) = self.graph.operands(value, MapOp::Neg) {
            return Some(match self.part(x)? {
                Part::Varying(form, rest) => Part::Varying(form.negated(true), rest.map(|rest| rest.negated(true))),
                Part::Constant(_) => Part::Varying(whole.clone(), Some(whole)),
            });
        }
        if let Some(&[x, y]) = self.graph.operands(value, MapOp::Sub) {
            let centred = is_mean(self.graph, y, x, self.axes);
            return if centred { Some(Part::Varying(whole, None)) } else { self.addends(whole, x, y, true) };
        }
        match self.graph.operands(value, MapOp::Add) {
            Some(&[x, y]) => self.addends(whole, x, y, false),
            _ => Some(Part::Varying(whole.clone(), Some(whole))),
        }
    }

    fn product(&mut self, whole: Form, x: Value, y: Value) -> Option<Part> {
        Some(match (self.part(x)?, self.part(y)?) {
            (Part::Constant(_), Part::Constant(_)) => Part::Varying(whole.clone(), Some(whole)),
            (Part::Varying(form, rest), Part::Constant(factor))
            | (Part::Constant(factor), Part::Varying(form, rest)) => {
                Part::Varying(form.times(factor), rest.map(|rest| rest.times(factor)))
            }
            // Nothing vanishes of a product of what varies.
            (Part::Varying(x, _), Part::Varying(y, _)) => {
                let product = x.of(y).unwrap_or(whole);
                Part::Varying(product.clone(), Some(product))
            }
        })
    }

    /// A sum or a difference, one side of which may vanish.
    fn addends(&mut self, whole: Form, x: Value, y: Value, subtracts: bool) -> Option<Part> {
        let rest = match (self.part(x)?, self.part(y)?) {
            (Part::Varying(_, None), Part::Varying(_, None)) => None,
            (Part::Varying(_, Some(rest)), Part::Varying(_, None)) => Some(rest),
            (Part::Varying(_, None), Part::Varying(_, Some(rest))) => Some(rest.negated(subtracts)),
            (Part::Varying(_, Some(_)) | Part::Constant(_), Part::Varying(_, Some(_)) | Part::Constant(_))
            | (Part::Varying(_, None), Part::Constant(_))
            | (Part::Constant(_), Part::Varying(_, None)) => Some(whole.clone()),
        };
        Some(Part::Varying(whole, rest))
    }

    /// Whether a value is repeated along the axes of the sum.
    fn is_constant(&self, value: Value) -> bool {
        match &self.graph.node(value).kind {
            Kind::Prim(Prim::Broadcast { axes: kept, .. }) => kept.iter().all(|axis| !self.axes.contains(axis)),
            _ => false,
        }
    }
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
    let count = product(axes.iter().map(|&axis| &shape[axis]));
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
    if let Kind::Prim(Prim::Broadcast { .. } | Prim::Reshape(_) | Prim::Convert(_)) = &node.kind {
        return graph.ty(value).dtype != DType::Bool && is_number(graph, node.args[0], number);
    }
    match &node.kind {
        Kind::Prim(Prim::Extent(dim)) => dim == number,
        _ => number.as_const().is_some_and(|number| splat(graph, value) == Some(number as f64)),
    }
}

/// A sum that is to be made of another one.
struct Sum<'a> {
    graph: &'a Graph,
    value: Value,
    /// The values of the graph in the one that is made.
    new: &'a [Value],
}

impl Sum<'_> {
    fn of(&self, rest: &Form, made: &mut Graph) -> Value {
        let Node { kind, ty, span, .. } = self.graph.node(self.value);
        let product = self.product(&rest.product, made);
        let mut sum = made.push(kind.clone(), vec![product], ty.clone(), *span);
        for &factor in &rest.factors {
            let factor = self.without_axes(factor, made);
            sum = made.push(Kind::Prim(Prim::Map(MapOp::Mul)), vec![sum, factor], ty.clone(), *span);
        }
        if rest.is_negative {
            sum = made.push(Kind::Prim(Prim::Map(MapOp::Neg)), vec![sum], ty.clone(), *span);
        }
        sum
    }

    fn product(&self, product: &Product, made: &mut Graph) -> Value {
        let Node { args, span, .. } = self.graph.node(self.value);
        match product {
            Product::Value(value) => self.new[value.0 as usize],
            Product::Of(both) => {
                let both = both.iter().map(|factor| self.product(factor, made)).collect();
                made.push(Kind::Prim(Prim::Map(MapOp::Mul)), both, Some(self.graph.ty(args[0]).clone()), *span)
            }
        }
    }

    /// A factor as it is where the axes of the sum are gone.
    fn without_axes(&self, factor: Value, made: &mut Graph) -> Value {
        let (Some((gone, _)), Node { kind: Kind::Prim(Prim::Broadcast { axes, .. }), args, span, .. }) =
            (summed(self.graph, self.value), self.graph.node(factor))
        else {
            unreachable!("a factor of a sum's argument is a broadcast")
        };
        let axes = axes.iter().map(|axis| axis - gone.iter().filter(|gone| *gone < axis).count()).collect();
        let ty = self.graph.ty(self.value);
        let kind = Kind::Prim(Prim::Broadcast { shape: ty.shape.clone(), axes });
        made.push(kind, vec![self.new[args[0].0 as usize]], Some(ty.clone()), *span)
    }
}
