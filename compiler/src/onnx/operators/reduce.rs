//! Reductions: sums and their kin over axes, positions of extremes, and running sums.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::attr::Attr;
use crate::ir::dim::product;
use crate::ir::prim::{ArgOp, MapOp, Prim, ReduceOp};
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    computes("ReduceSum", |n| one(reduce(n, |n, x, axes| Ok(n.b.reduce_keep(ReduceOp::Sum, x, axes)?)))),
    computes("ReduceProd", |n| one(reduce(n, |n, x, axes| Ok(n.b.reduce_keep(ReduceOp::Prod, x, axes)?)))),
    computes("ReduceMax", |n| one(reduce(n, |n, x, axes| extreme(n, ReduceOp::Max, x, axes)))),
    computes("ReduceMin", |n| one(reduce(n, |n, x, axes| extreme(n, ReduceOp::Min, x, axes)))),
    computes("ReduceMean", |n| one(reduce(n, mean))),
    computes("ReduceL1", |n| one(reduce(n, |n, x, axes| summed(n, x, axes, MapOp::Abs)))),
    computes("ReduceSumSquare", |n| one(reduce(n, squares))),
    computes("ReduceL2", |n| one(reduce(n, length))),
    computes("ReduceLogSum", |n| one(reduce(n, |n, x, axes| as_floats(n, x, axes, log_sum)))),
    computes("ReduceLogSumExp", |n| one(reduce(n, |n, x, axes| as_floats(n, x, axes, log_sum_exp)))),
    computes("ArgMax", |n| one(position(n, ArgOp::Max))),
    computes("ArgMin", |n| one(position(n, ArgOp::Min))),
    computes("CumSum", |n| one(running(n, "cumsum"))),
    computes("CumProd", |n| one(running(n, "cumprod"))),
];

/// Reduces the axes that are named by an attribute or an argument: all where none are, unless that is to do nothing. `make` keeps
/// them, with extent 1.
fn reduce(n: &mut Node<'_>, make: impl FnOnce(&mut Node<'_>, Value, &[usize]) -> Made) -> Made {
    let x = n.arg(0)?;
    let rank = n.b.rank(x);
    let (named, is_noop) = (n.ints_or_arg("axes", 1)?.unwrap_or_default(), n.flag("noop_with_empty_axes"));
    let axes = match named.is_empty() {
        true if is_noop => vec![],
        true => (0..rank).collect(),
        false => n.axes_of(&named, rank)?,
    };
    let reduced = make(n, x, &axes)?;
    if n.int("keepdims", 1) != 0 {
        return Ok(reduced);
    }
    let shape = n.b.shape(reduced);
    let kept: Vec<Dim> = (0..rank).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis].clone()).collect();
    Ok(n.b.reshape(reduced, &kept)?)
}

/// Of truth values the largest is whether any is true.
fn extreme(n: &mut Node<'_>, op: ReduceOp, x: Value, axes: &[usize]) -> Made {
    if n.b.dtype(x) != DType::Bool {
        return Ok(n.b.reduce_keep(op, x, axes)?);
    }
    let numbers = n.b.convert(x, DType::U32)?;
    let extreme = n.b.reduce_keep(op, numbers, axes)?;
    Ok(n.b.convert(extreme, DType::Bool)?)
}

/// The mean over axes, which stay with extent 1.
pub(super) fn mean(n: &mut Node<'_>, x: Value, axes: &[usize]) -> Made {
    let (sum, shape) = (n.b.reduce_keep(ReduceOp::Sum, x, axes)?, n.b.shape(x));
    let count = n.b.extent(x, &product(axes.iter().map(|&axis| &shape[axis])))?;
    Ok(n.b.div(sum, count)?)
}

fn summed(n: &mut Node<'_>, x: Value, axes: &[usize], op: MapOp) -> Made {
    let mapped = n.b.unary(op, x)?;
    Ok(n.b.reduce_keep(ReduceOp::Sum, mapped, axes)?)
}

fn squares(n: &mut Node<'_>, x: Value, axes: &[usize]) -> Made {
    let squared = n.b.mul(x, x)?;
    Ok(n.b.reduce_keep(ReduceOp::Sum, squared, axes)?)
}

/// What is made of floats; integers become floats, and what is made of them is cut off.
fn as_floats(n: &mut Node<'_>, x: Value, axes: &[usize], make: fn(&mut Node<'_>, Value, &[usize]) -> Made) -> Made {
    let dtype = n.b.dtype(x);
    if dtype.is_float() {
        return make(n, x, axes);
    }
    let floats = n.b.convert(x, DType::F32)?;
    let made = make(n, floats, axes)?;
    Ok(n.b.convert(made, dtype)?)
}

fn length(n: &mut Node<'_>, x: Value, axes: &[usize]) -> Made {
    let sum = squares(n, x, axes)?;
    if n.b.dtype(sum).is_float() { Ok(n.b.unary(MapOp::Sqrt, sum)?) } else { whole_root(n, sum) }
}

/// The largest integer whose square is not larger. The root of f32 has 24 of its bits, and a step of Newton's method doubles them: what
/// it gives may be one too large.
fn whole_root(n: &mut Node<'_>, x: Value) -> Made {
    let dtype = n.b.dtype(x);
    let float = n.b.convert(x, DType::F32)?;
    let root = n.b.unary(MapOp::Sqrt, float)?;
    let root = n.b.convert(root, dtype)?;
    let root = n.b.with(MapOp::Max, root, 1.0)?;
    let other = n.b.div(x, root)?;
    let sum = n.b.add(root, other)?;
    let root = n.b.with(MapOp::Div, sum, 2.0)?;
    // Compared by division, as a square may not fit.
    let least = n.b.with(MapOp::Max, root, 1.0)?;
    let over = n.b.div(x, least)?;
    let (is_large, less) = (n.b.map(MapOp::Lt, &[over, root])?, n.b.with(MapOp::Sub, root, 1.0)?);
    Ok(n.b.select(is_large, less, root)?)
}

fn log_sum(n: &mut Node<'_>, x: Value, axes: &[usize]) -> Made {
    let sum = n.b.reduce_keep(ReduceOp::Sum, x, axes)?;
    Ok(n.b.unary(MapOp::Log, sum)?)
}

/// The largest element is taken out, where it is finite, so that no exponential overflows.
fn log_sum_exp(n: &mut Node<'_>, x: Value, axes: &[usize]) -> Made {
    let largest = n.b.reduce_keep(ReduceOp::Max, x, axes)?;
    let size = n.b.unary(MapOp::Abs, largest)?;
    let (is_finite, zero) = (n.b.with(MapOp::Lt, size, f64::INFINITY)?, n.b.constant(x, 0.0)?);
    let largest = n.b.select(is_finite, largest, zero)?;
    let largest = n.b.stop_gradient(largest);
    let less = n.b.sub(x, largest)?;
    let sum = summed(n, less, axes, MapOp::Exp)?;
    let logarithm = n.b.unary(MapOp::Log, sum)?;
    Ok(n.b.add(logarithm, largest)?)
}

/// The position of an extreme along an axis, of several the first, or the last.
fn position(n: &mut Node<'_>, op: ArgOp) -> Made {
    let mut x = n.arg(0)?;
    let axis = n.axis(0, n.b.rank(x))?;
    let is_last = n.flag("select_last_index");
    if is_last {
        x = n.b.prim(Prim::Flip(vec![axis]), &[x])?;
    }
    let found = n.b.prim(Prim::ArgReduce { op, axis }, &[x])?;
    let mut found = n.b.convert(found, DType::I64)?;
    let mut shape = n.b.shape(x);
    if is_last {
        let last = n.b.extent(found, &(shape[axis].clone() - 1.into()))?;
        found = n.b.sub(last, found)?;
    }
    if n.int("keepdims", 1) == 0 {
        return Ok(found);
    }
    shape[axis] = 1.into();
    Ok(n.b.reshape(found, &shape)?)
}

fn running(n: &mut Node<'_>, name: &str) -> Made {
    let x = n.arg(0)?;
    let axis = n.maybe_ints(1)?.and_then(|axis| axis.first().copied());
    let axis = n.axis_of(axis.ok_or_else(|| Failure::new("it lacks its axis"))?, n.b.rank(x))?;
    let flag = |n: &Node<'_>, name: &str| Attr::Bool(n.flag(name));
    let attrs = [
        ("axis", Attr::Int((axis as i64).into())),
        ("reverse", flag(n, "reverse")),
        ("exclusive", flag(n, "exclusive")),
    ];
    n.call(name, &[x], &attrs)
}
