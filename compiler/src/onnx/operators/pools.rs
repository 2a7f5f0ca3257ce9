//! Pools: what windows over spatial axes, or all of these axes, are reduced to.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::reduce::mean;
use super::sliding::{Sliding, numbers, sliding};
use super::{Operator, all, computes, one};
use crate::ir::dim::product;
use crate::ir::prim::{MapOp, Prim, ReduceOp, Window};
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    computes("MaxPool", |n| Ok(all(max(n)?))),
    computes("AveragePool", |n| one(average(n))),
    computes("LpPool", |n| one(lp(n))),
    computes("GlobalMaxPool", |n| one(global(n, |n, x, axes| Ok(n.b.reduce_keep(ReduceOp::Max, x, axes)?)))),
    computes("GlobalAveragePool", |n| one(global(n, mean))),
    computes("GlobalLpPool", |n| one(global(n, global_lp))),
];

fn windows(n: &Node<'_>, x: Value) -> Made<Sliding> {
    let rank = n.b.rank(x).saturating_sub(2);
    let sizes: Vec<Dim> = numbers(n, "kernel_shape", rank, 0)?.into_iter().map(Dim::from).collect();
    match sizes.iter().any(|size| size.is(0)) {
        true => Err(Failure::new("it lacks `kernel_shape`")),
        false => sliding(n, &n.b.ty(x).clone(), &sizes),
    }
}

fn max(n: &mut Node<'_>) -> Made<Vec<Value>> {
    let x = n.arg(0)?;
    let Sliding { windows, .. } = windows(n, x)?;
    let by_columns = n.flag("storage_order");
    let largest = n.b.prim(Prim::WindowReduce { op: ReduceOp::Max, windows: windows.clone() }, &[x])?;
    if !n.wants(1) {
        return Ok(vec![largest]);
    }
    let index = positions(n, x, &windows, by_columns)?;
    Ok(vec![largest, index])
}

/// Where each window's first largest element stands in the whole argument: row-major, or with the last two spatial axes in the other
/// order.
fn positions(n: &mut Node<'_>, x: Value, windows: &[Window], by_columns: bool) -> Made {
    let shape = n.b.shape(x);
    let mut rest = n.b.prim(Prim::WindowArgMax { windows: windows.to_vec() }, &[x])?;
    let outputs = n.b.shape(rest);
    let mut strides = n.b.ty(x).strides();
    if by_columns && windows.len() > 1 {
        let mut stride = Dim::from(1);
        for axis in 2..shape.len() {
            strides[axis] = stride.clone();
            stride = stride * shape[axis].clone();
        }
    }
    let mut sum = n.b.full(DType::I64, &outputs, 0.0)?;
    let add = |n: &mut Node<'_>, sum: Value, position: Value, stride: &Dim| -> Made {
        let stride = n.b.extent(position, stride)?;
        let step = n.b.mul(position, stride)?;
        Ok(n.b.add(sum, step)?)
    };
    for axis in (0..shape.len()).rev() {
        let own = n.b.iota(&outputs, axis)?;
        let mut position = n.b.convert(own, DType::I64)?;
        if let Some(window) = axis.checked_sub(2).map(|k| &windows[k]) {
            let size = n.b.extent_u32(&window.size)?;
            let tap = n.b.map(MapOp::Rem, &[rest, size])?;
            rest = n.b.div(rest, size)?;
            let tap = n.b.convert(tap, DType::I64)?;
            let tap = n.b.with(MapOp::Mul, tap, window.dilation as f64)?;
            let start = n.b.with(MapOp::Mul, position, window.stride as f64)?;
            let low = n.b.extent(start, &window.low)?;
            let start = n.b.sub(start, low)?;
            position = n.b.add(start, tap)?;
        }
        sum = add(n, sum, position, &strides[axis])?;
    }
    Ok(sum)
}

fn average(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let Sliding { windows, ends } = windows(n, x)?;
    let sum = n.b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows: windows.clone() }, &[x])?;
    let counts = counts(n, x, &windows, &ends)?;
    Ok(n.b.div(sum, counts)?)
}

/// How many elements each window sees: with those of the padding, if they count.
fn counts(n: &mut Node<'_>, x: Value, windows: &[Window], ends: &[Dim]) -> Made {
    let (shape, counts_padding) = (n.b.shape(x), n.flag("count_include_pad"));
    let is_whole = |(window, end): (&Window, &Dim)| {
        let is_none = window.low.is(0) && window.high.as_const().is_some_and(|high| high <= 0);
        is_none || counts_padding && window.high.as_const() <= end.as_const()
    };
    if windows.iter().zip(ends).all(is_whole) {
        let count = product(windows.iter().map(|window| &window.size));
        return Ok(n.b.extent(x, &count)?);
    }
    let (mut extents, mut seen) = (vec![Dim::from(1); 2], vec![]);
    for (k, (window, end)) in windows.iter().zip(ends).enumerate() {
        let (mut extent, mut window) = (shape[2 + k].clone(), window.clone());
        if counts_padding {
            extent = extent + window.low.clone() + end.clone();
            window.high = window.high.clone() - end.clone();
            window.low = 0.into();
        }
        extents.push(extent);
        seen.push(window);
    }
    let ones = n.b.full(n.b.dtype(x), &extents, 1.0)?;
    Ok(n.b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows: seen }, &[ones])?)
}

/// The `p`-th root of the sum of `p`-th powers.
fn lp(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (Sliding { windows, .. }, p) = (windows(n, x)?, exponent(n));
    let powers = powers(n, x, p)?;
    let sum = n.b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows }, &[powers])?;
    root(n, sum, p)
}

/// A float in the first version.
fn exponent(n: &Node<'_>) -> f64 {
    if n.opset < 2 { n.float("p", 2.0) } else { n.int("p", 2) as f64 }
}

fn powers(n: &mut Node<'_>, x: Value, p: f64) -> Made {
    let size = n.b.unary(MapOp::Abs, x)?;
    Ok(if p == 1.0 {
        size
    } else if p == 2.0 {
        n.b.mul(x, x)?
    } else {
        n.b.with(MapOp::Pow, size, p)?
    })
}

fn root(n: &mut Node<'_>, sum: Value, p: f64) -> Made {
    Ok(if p == 1.0 {
        sum
    } else if p == 2.0 {
        n.b.unary(MapOp::Sqrt, sum)?
    } else {
        n.b.with(MapOp::Pow, sum, 1.0 / p)?
    })
}

/// Reduces all spatial axes to one element each.
fn global(n: &mut Node<'_>, make: fn(&mut Node<'_>, Value, &[usize]) -> Made) -> Made {
    let x = n.arg(0)?;
    if n.b.rank(x) < 2 {
        return Err(Failure::new(format!("{} has no channels", n.b.ty(x))));
    }
    let axes: Vec<usize> = (2..n.b.rank(x)).collect();
    make(n, x, &axes)
}

fn global_lp(n: &mut Node<'_>, x: Value, axes: &[usize]) -> Made {
    let p = exponent(n);
    let powers = powers(n, x, p)?;
    let sum = n.b.reduce_keep(ReduceOp::Sum, powers, axes)?;
    root(n, sum, p)
}
