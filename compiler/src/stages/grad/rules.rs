//! The derivative rule of every primitive: arguments, result and its cotangent in, cotangents of the
//! arguments out.

use super::{attend, map, movement, window};
use crate::ir::Value;
use crate::ir::prim::{MapOp, Prim, ReduceOp};
use crate::ops::{Builder, OpError};

/// The cotangents of `args` from the cotangent `g` of `y = prim(args)`; `None` where zero or not wanted.
pub(super) fn pull_back(
    b: &mut Builder<'_>,
    prim: &Prim,
    args: &[Value],
    y: Value,
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let x = || args[0];
    let one = |cotangent: Value| Ok(vec![Some(cotangent)]);
    match prim {
        Prim::Const(_) | Prim::Extent(_) | Prim::Iota { .. } => Ok(vec![]),
        Prim::Map(op) => {
            let each = |(i, wanted): (usize, &bool)| match wanted {
                true => map::pull_back(b, *op, args, y, g, i),
                false => Ok(None),
            };
            wanted.iter().enumerate().map(each).collect()
        }
        Prim::Convert(_) => one(b.convert(g, b.dtype(x()))?),
        Prim::Reduce { op, axes } => one(reduce(b, *op, x(), axes, y, g)?),
        Prim::ArgReduce { .. } | Prim::WindowArgMax { .. } => Ok(vec![None]),
        Prim::WindowReduce { op, windows } => one(window::reduce(b, *op, windows, x(), g)?),
        Prim::WindowTake { windows } => {
            let extents = last(b, x(), windows.len());
            Ok(vec![Some(window::put(b, windows, extents, g, args[1])?), None])
        }
        Prim::WindowPut { windows, .. } => {
            Ok(vec![Some(b.prim(Prim::WindowTake { windows: windows.clone() }, &[g, args[1]])?), None])
        }
        Prim::Conv { windows } => window::conv(b, windows, args[0], args[1], g, wanted),
        Prim::Reshape(_) => {
            let shape = b.shape(x());
            one(b.reshape(g, &shape)?)
        }
        Prim::Transpose(permutation) => {
            let mut inverse = vec![0; permutation.len()];
            permutation.iter().enumerate().for_each(|(i, &p)| inverse[p] = i);
            one(b.transpose(g, &inverse)?)
        }
        Prim::Broadcast { shape, axes } => {
            let repeated: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
            one(b.sum(g, &repeated)?)
        }
        Prim::Slice(cuts) => one(movement::slice(b, cuts, x(), g)?),
        Prim::SetSlice(cuts) => movement::set_slice(b, cuts, args[1], g, wanted),
        Prim::Barrier => one(g),
        Prim::Flip(axes) => one(b.prim(Prim::Flip(axes.clone()), &[g])?),
        Prim::Pad { borders, .. } => one(movement::pad(b, borders, x(), g)?),
        Prim::Concat { axis } => movement::concat(b, *axis, args, g, wanted),
        Prim::Contract { lhs, rhs, out } => Ok(vec![
            wanted[0].then(|| contract(b, g, out, args[1], rhs, args[0], lhs)).transpose()?,
            wanted[1].then(|| contract(b, g, out, args[0], lhs, args[1], rhs)).transpose()?,
        ]),
        Prim::Gather { axis } => {
            let extent = b.shape(x())[*axis].clone();
            Ok(vec![Some(b.prim(Prim::ScatterAdd { axis: *axis, extent }, &[g, args[1]])?), None])
        }
        Prim::Attend(attend) => attend::pull_back(b, attend, args, y, g, wanted),
        Prim::ScatterAdd { axis, extent } => Ok(vec![Some(movement::scatter_add(b, *axis, extent, args[1], g)?), None]),
    }
}

/// The extents of the last axes.
pub(super) fn last(b: &Builder<'_>, x: Value, count: usize) -> Vec<crate::ir::Dim> {
    let shape = b.shape(x);
    shape[shape.len() - count..].to_vec()
}

/// The cotangent of the operand with labels `to`: the product of `g` and the other operand, summed over
/// what `to` lacks and repeated along what only `to` has.
fn contract(
    b: &mut Builder<'_>,
    g: Value,
    out: &[u8],
    other: Value,
    labels: &[u8],
    like: Value,
    to: &[u8],
) -> Result<Value, OpError> {
    let axes: Vec<usize> = (0..to.len()).filter(|&i| out.contains(&to[i]) || labels.contains(&to[i])).collect();
    let kept = axes.iter().map(|&i| to[i]).collect();
    let product = b.prim(Prim::Contract { lhs: out.to_vec(), rhs: labels.to_vec(), out: kept }, &[g, other])?;
    let shape = b.shape(like);
    if axes.len() == to.len() { Ok(product) } else { b.prim(Prim::Broadcast { shape, axes }, &[product]) }
}

/// Along the kept axes, back to the argument's shape.
fn spread(b: &mut Builder<'_>, value: Value, like: Value, reduced: &[usize]) -> Result<Value, OpError> {
    let shape = b.shape(like);
    let axes = (0..shape.len()).filter(|a| !reduced.contains(a)).collect();
    b.prim(Prim::Broadcast { shape, axes }, &[value])
}

fn reduce(b: &mut Builder<'_>, op: ReduceOp, x: Value, axes: &[usize], y: Value, g: Value) -> Result<Value, OpError> {
    match op {
        ReduceOp::Sum => spread(b, g, x, axes),
        ReduceOp::Max | ReduceOp::Min => {
            // Equal extremes share equally, as in PyTorch's amax.
            let (x, extreme) = (b.barrier(x)?, spread(b, y, x, axes)?);
            let hit = b.map(MapOp::Eq, &[x, extreme])?;
            let counted = b.convert(hit, b.dtype(g))?;
            let count = b.sum(counted, axes)?;
            let share = b.div(g, count)?;
            let (share, zero) = (spread(b, share, x, axes)?, b.constant(g, 0.0)?);
            b.select(hit, share, zero)
        }
        ReduceOp::Prod => {
            let sum = |b: &mut Builder<'_>, v| b.sum(v, axes);
            let product = |b: &mut Builder<'_>, v| b.reduce(ReduceOp::Prod, v, axes);
            product_rule(b, x, g, sum, product, |b: &mut Builder<'_>, v| spread(b, v, x, axes))
        }
    }
}

/// The derivative of products of groups of `x`, also where elements are zero: with one zero in a group its
/// derivative is the product of the others; with more, all are zero. Its own derivative is right too: factors that
/// are zero, but vary, are written as the sum of the zeros of the group.
pub(super) fn product_rule(
    b: &mut Builder<'_>,
    x: Value,
    g: Value,
    sum: impl Fn(&mut Builder<'_>, Value) -> Result<Value, OpError>,
    product: impl Fn(&mut Builder<'_>, Value) -> Result<Value, OpError>,
    back: impl Fn(&mut Builder<'_>, Value) -> Result<Value, OpError>,
) -> Result<Value, OpError> {
    let (zero, one) = (b.constant(x, 0.0)?, b.constant(x, 1.0)?);
    // Where zeros are counted and where they are looked for, they are the same ones.
    let x = b.barrier(x)?;
    let is_zero = b.map(MapOp::Eq, &[x, zero])?;
    let filled = b.select(is_zero, one, x)?;
    let counted = b.convert(is_zero, b.dtype(x))?;
    let zeros = sum(b, counted)?;
    let others = product(b, filled)?;
    let weighted = b.mul(g, others)?;
    let vanishing = b.select(is_zero, x, zero)?;
    let vanishing = sum(b, vanishing)?;
    let vanishing = b.mul(weighted, vanishing)?;
    let number = |b: &mut Builder<'_>, n: f64| b.with(MapOp::Eq, zeros, n);
    let (none, single, double) = (number(b, 0.0)?, number(b, 1.0)?, number(b, 2.0)?);
    // Of an element that is not zero: the others, of which at most one is zero.
    let others = b.select(single, vanishing, zero)?;
    let others = b.select(none, weighted, others)?;
    let others = back(b, others)?;
    let others = b.div(others, filled)?;
    // Of a zero: the others, of which at most one is zero as well: the sum of the two without itself.
    let zeros = b.select(double, vanishing, zero)?;
    let zeros = b.select(single, weighted, zeros)?;
    let (zeros, own) = (back(b, zeros)?, b.select(double, weighted, zero)?);
    let own = back(b, own)?;
    let own = b.mul(own, x)?;
    let zeros = b.sub(zeros, own)?;
    b.select(is_zero, zeros, others)
}
