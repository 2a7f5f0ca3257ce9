//! Normalisations.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::reduce::mean;
use super::{Operator, all, computes, one};
use crate::ir::prim::{MapOp, Prim, ReduceOp, Window};
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    computes("LayerNormalization", |n| Ok(all(layer(n)?))),
    computes("RMSNormalization", |n| one(rms(n))),
    computes("BatchNormalization", |n| Ok(all(batch(n)?))),
    computes("InstanceNormalization", |n| one(instance(n))),
    computes("GroupNormalization", |n| one(group(n))),
    computes("MeanVarianceNormalization", |n| one(mean_variance(n))),
    computes("LpNormalization", |n| one(lp(n))),
    computes("LRN", |n| one(local_response(n))),
];

/// `(x − mean) / √(variance + epsilon)`, the mean, and the reciprocal of that root, with the population variance in two passes.
fn standardised(n: &mut Node<'_>, x: Value, axes: &[usize], epsilon: f64) -> Made<[Value; 3]> {
    let middle = mean(n, x, axes)?;
    let centred = n.b.sub(x, middle)?;
    let squared = n.b.mul(centred, centred)?;
    let variance = mean(n, squared, axes)?;
    let scale = reciprocal_root(n, variance, epsilon)?;
    Ok([n.b.mul(centred, scale)?, middle, scale])
}

fn reciprocal_root(n: &mut Node<'_>, variance: Value, epsilon: f64) -> Made {
    let shifted = n.b.with(MapOp::Add, variance, epsilon)?;
    Ok(n.b.unary(MapOp::Rsqrt, shifted)?)
}

/// Scaled and shifted by arguments, where they are there.
fn affine(n: &mut Node<'_>, mut y: Value, [scale, shift]: [Option<Value>; 2]) -> Made {
    if let Some(scale) = scale {
        y = n.b.mul(y, scale)?;
    }
    Ok(shift.map_or(Ok(y), |shift| n.b.add(y, shift))?)
}

fn layer(n: &mut Node<'_>) -> Made<Vec<Value>> {
    let of_statistics = n.dtype("stash_type")?.unwrap_or(DType::F32);
    if of_statistics != n.ty(0)?.dtype && (n.wants(1) || n.wants(2)) {
        return Err(Failure::new("statistics of another type than its argument are not supported"));
    }
    let x = n.arg(0)?;
    let axes: Vec<usize> = (n.axis(-1, n.b.rank(x))?..n.b.rank(x)).collect();
    let [y, mean, scale] = standardised(n, x, &axes, n.float("epsilon", 1e-5))?;
    let weights = [n.maybe(1)?, n.maybe(2)?];
    Ok(vec![affine(n, y, weights)?, mean, scale])
}

fn rms(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let axes: Vec<usize> = (n.axis(-1, n.b.rank(x))?..n.b.rank(x)).collect();
    let squared = n.b.mul(x, x)?;
    let squares = mean(n, squared, &axes)?;
    let scale = reciprocal_root(n, squares, n.float("epsilon", 1e-5))?;
    let y = n.b.mul(x, scale)?;
    let weights = [n.maybe(1)?, None];
    affine(n, y, weights)
}

/// A number for each channel beside `[batch, channels, …]`.
fn column(n: &mut Node<'_>, k: usize, rank: usize) -> Made {
    let value = n.arg(k)?;
    of_channels(n, value, rank)
}

/// As many numbers as there are channels, beside a tensor with so many axes.
pub(super) fn of_channels(n: &mut Node<'_>, value: Value, rank: usize) -> Made {
    let mut shape = vec![Dim::from(1); rank.saturating_sub(1).max(1)];
    shape[0] = n.b.ty(value).count();
    Ok(n.b.reshape(value, &shape)?)
}

/// Whether statistics are those of the batch: an attribute says so, and in between the number of results.
fn is_training(n: &Node<'_>) -> bool {
    match n.opset {
        ..7 => !n.flag("is_test"),
        7..14 => (1..n.outputs()).any(|k| n.wants(k)),
        _ => n.flag("training_mode"),
    }
}

/// By running statistics, or in training by those of the batch, which move the running ones.
fn batch(n: &mut Node<'_>) -> Made<Vec<Value>> {
    if n.opset < 9 && n.int("spatial", 1) == 0 {
        return Err(Failure::new("statistics of each element rather than of each channel are not supported"));
    }
    let x = n.arg(0)?;
    let (rank, epsilon) = (n.b.rank(x), n.float("epsilon", 1e-5));
    let [scale, shift] = [column(n, 1, rank)?, column(n, 2, rank)?];
    if !is_training(n) {
        // What is left of the norm is a scale and a shift of each channel.
        let [mean, variance] = [n.fixed(3)?, n.fixed(4)?];
        let [mean, variance] = [of_channels(n, mean, rank)?, of_channels(n, variance, rank)?];
        let root = reciprocal_root(n, variance, epsilon)?;
        let factor = n.b.mul(scale, root)?;
        let moved = n.b.mul(mean, factor)?;
        let offset = n.b.sub(shift, moved)?;
        return Ok(vec![affine(n, x, [Some(factor), Some(offset)])?]);
    }
    let axes: Vec<usize> = (0..rank).filter(|&axis| axis != 1).collect();
    let middle = mean(n, x, &axes)?;
    let centred = n.b.sub(x, middle)?;
    let squared = n.b.mul(centred, centred)?;
    let variance = mean(n, squared, &axes)?;
    let root = reciprocal_root(n, variance, epsilon)?;
    let y = n.b.mul(centred, root)?;
    let mut results = vec![affine(n, y, [Some(scale), Some(shift)])?];
    let momentum = n.float("momentum", 0.9);
    let mut saved = vec![];
    for (k, own) in [(3, middle), (4, variance)] {
        let running = n.fixed(k)?;
        let own = n.b.reshape(own, &n.b.shape(running))?;
        saved.push(own);
        let (kept, new) = (n.b.with(MapOp::Mul, running, momentum)?, n.b.with(MapOp::Mul, own, 1.0 - momentum)?);
        results.push(n.b.add(kept, new)?);
    }
    // Before version 14 the statistics of the batch are results, too.
    if n.opset < 14 {
        results.extend(saved);
    }
    Ok(results)
}

fn instance(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let rank = n.b.rank(x);
    let axes: Vec<usize> = (2..rank).collect();
    let [y, ..] = standardised(n, x, &axes, n.float("epsilon", 1e-5))?;
    let weights = [Some(column(n, 1, rank)?), Some(column(n, 2, rank)?)];
    affine(n, y, weights)
}

/// Before version 21 there are weights for each group, from then on for each channel.
fn group(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (shape, groups) = (n.b.shape(x), n.int("num_groups", 1));
    let each = shape.get(1).and_then(|channels| channels.exact_div(&Dim::from(groups.max(1))));
    let each = each.ok_or_else(|| Failure::new(format!("{groups} groups of the channels of {}", n.b.ty(x))))?;
    let grouped = [&[shape[0].clone(), groups.into(), each], &shape[2..]].concat();
    let apart = n.b.reshape(x, &grouped)?;
    let axes: Vec<usize> = (2..grouped.len()).collect();
    let [y, ..] = standardised(n, apart, &axes, n.float("epsilon", 1e-5))?;
    if n.opset < 21 {
        let weights = [Some(column(n, 1, grouped.len())?), Some(column(n, 2, grouped.len())?)];
        let y = affine(n, y, weights)?;
        return Ok(n.b.reshape(y, &shape)?);
    }
    let y = n.b.reshape(y, &shape)?;
    let weights = [Some(column(n, 1, shape.len())?), Some(column(n, 2, shape.len())?)];
    affine(n, y, weights)
}

/// `(x − mean) / (√variance + 1e-9)`
fn mean_variance(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let axes = n.ints("axes").unwrap_or_else(|| vec![0, 2, 3]);
    let axes = n.axes_of(&axes, n.b.rank(x))?;
    let middle = mean(n, x, &axes)?;
    let centred = n.b.sub(x, middle)?;
    let squared = n.b.mul(centred, centred)?;
    let variance = mean(n, squared, &axes)?;
    let deviation = n.b.unary(MapOp::Sqrt, variance)?;
    let deviation = n.b.with(MapOp::Add, deviation, 1e-9)?;
    Ok(n.b.div(centred, deviation)?)
}

/// Divided by the length along an axis; what has none stays zero.
fn lp(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let axis = [n.axis(-1, n.b.rank(x))?];
    let length = if n.int("p", 2) == 1 {
        let size = n.b.unary(MapOp::Abs, x)?;
        n.b.reduce_keep(ReduceOp::Sum, size, &axis)?
    } else {
        let squared = n.b.mul(x, x)?;
        let sum = n.b.reduce_keep(ReduceOp::Sum, squared, &axis)?;
        n.b.unary(MapOp::Sqrt, sum)?
    };
    let (is_none, unit) = (n.b.with(MapOp::Eq, length, 0.0)?, n.b.constant(length, 1.0)?);
    let length = n.b.select(is_none, unit, length)?;
    Ok(n.b.div(x, length)?)
}

/// `x / (bias + alpha / size · Σ x²)^beta`, summed over the neighbouring channels.
fn local_response(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (size, rank) = (n.int("size", 1).max(1), n.b.rank(x));
    let squared = n.b.mul(x, x)?;
    let low = (size - 1) / 2;
    let whole = Window { size: 1.into(), stride: 1, dilation: 1, low: 0.into(), high: 0.into(), base: 1 };
    let mut windows = vec![whole; rank.saturating_sub(1).max(1)];
    windows[0] = Window { size: size.into(), low: low.into(), high: (size - 1 - low).into(), ..windows[0].clone() };
    let sum = n.b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows }, &[squared])?;
    let scaled = n.b.with(MapOp::Mul, sum, n.float("alpha", 1e-4) / size as f64)?;
    let shifted = n.b.with(MapOp::Add, scaled, n.float("bias", 1.0))?;
    let power = n.b.with(MapOp::Pow, shifted, n.float("beta", 0.75))?;
    Ok(n.b.div(x, power)?)
}
