//! Tensors that depend on no other: constants, ranges, windows of signals.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, moves, one};
use crate::ir::prim::{MapOp, Scalar};
use crate::ir::{DType, Dim};
use crate::oracle::{Data, Tensor};
use std::f64::consts::PI;
use std::rc::Rc;

pub(super) const OPERATORS: &[Operator] = &[
    moves("Constant", |n| Ok(vec![constant(n)?])),
    moves("ConstantOfShape", |n| one(of_shape(n))),
    moves("Range", range),
    moves("EyeLike", |n| one(eye_like(n))),
    moves("HannWindow", |n| window(n, [0.5, -0.5, 0.0])),
    moves("HammingWindow", |n| window(n, [25.0 / 46.0, -21.0 / 46.0, 0.0])),
    moves("BlackmanWindow", |n| window(n, [0.42, -0.5, 0.08])),
    moves("MelWeightMatrix", mel_weights),
];

/// A large tensor is a weight with the name of the result.
fn constant(n: &mut Node<'_>) -> Made<Operand> {
    let known = match n.large_tensor("value")? {
        Some(known) if known.is_raw() => return Ok(Operand::Known(Rc::new(known))),
        Some(known) => {
            n.room(known.len() as i64)?;
            return Ok(Operand::Known(Rc::new(known)));
        }
        None => numbers(n)?,
    };
    // A function may be called many times.
    n.room(known.data.len() as i64)?;
    Ok(Operand::known(known))
}

fn numbers(n: &Node<'_>) -> Made<Tensor> {
    let integers = |ints: Vec<i64>| Data::Int(DType::I64, ints.into_iter().map(i128::from).collect());
    if let Some(x) = n.maybe_float("value_float") {
        return Ok(Tensor::new([], Data::Float(DType::F32, vec![x])));
    }
    if let Some(x) = n.maybe_int("value_int") {
        return Ok(Tensor::new([], integers(vec![x])));
    }
    if let Some(all) = n.floats("value_floats") {
        return Ok(Tensor::new([all.len()], Data::Float(DType::F32, all)));
    }
    if let Some(all) = n.ints("value_ints") {
        return Ok(Tensor::new([all.len()], integers(all)));
    }
    Err(Failure::new("it holds no tensor of numbers"))
}

fn of_shape(n: &mut Node<'_>) -> Made {
    let shape = n.maybe_dims(0)?.ok_or_else(|| Failure::new("it lacks the shape"))?;
    if shape.iter().any(|extent| extent.as_const().is_some_and(|extent| extent < 0)) {
        return Err(Failure::new("an extent is negative"));
    }
    let value = n.tensor("value")?;
    let scalar = match value.filter(|value| !value.data.is_empty()) {
        Some(value) => value.data.element(0),
        None => Scalar::f32(0.0),
    };
    n.full(scalar, &shape)
}

/// `start + i · delta` as long as it is before `limit`; how many, must be known.
fn range(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let dtype = n.ty(0)?.dtype;
    if dtype.is_float() {
        return float_range(n, dtype);
    }
    let number = |n: &Node<'_>, k: usize| -> Made<Dim> {
        let dims = n.maybe_dims(k)?.unwrap_or_default();
        dims.into_iter().next().ok_or_else(|| Failure::new(format!("argument {} is missing", k + 1)))
    };
    let (start, limit, delta) = (number(n, 0)?, number(n, 1)?, number(n, 2)?);
    let delta = delta.as_const().filter(|&delta| delta != 0);
    let delta = delta.ok_or_else(|| Failure::new("its step must be a number other than 0"))?;
    let reach = if delta > 0 { limit - start.clone() } else { start.clone() - limit };
    let count = match reach.as_const() {
        Some(reach) => Dim::from(reach.max(0)).ceil_div(delta.saturating_abs()),
        None => reach.ceil_div(delta.saturating_abs()),
    };
    let own = n.b.iota(&[count], 0)?;
    let own = n.b.convert(own, dtype)?;
    let (start, delta) = (n.extent(&start, dtype)?, n.b.constant(own, delta as f64)?);
    let steps = n.b.mul(own, delta)?;
    one(Ok(n.b.add(steps, start)?))
}

fn float_range(n: &mut Node<'_>, dtype: DType) -> Made<Vec<Operand>> {
    let number = |n: &Node<'_>, k: usize| -> Made<f64> {
        let numbers = n.maybe_floats(k)?.unwrap_or_default();
        numbers.first().copied().ok_or_else(|| Failure::new(format!("argument {} is missing", k + 1)))
    };
    let (start, limit, delta) = (number(n, 0)?, number(n, 1)?, number(n, 2)?);
    let count = ((limit - start) / delta).ceil().max(0.0);
    if count.is_nan() {
        return Err(Failure::new(format!("a range from {start} to {limit} by {delta}")));
    }
    let count = n.room(count as i64)?;
    let numbers: Vec<f64> = (0..count).map(|i| dtype.nearest(start + i as f64 * delta)).collect();
    Ok(vec![Operand::known(Tensor::new([numbers.len()], Data::of(dtype, numbers)))])
}

/// 1 on a diagonal, 0 elsewhere.
fn eye_like(n: &mut Node<'_>) -> Made {
    let ty = n.ty(0)?;
    let dtype = n.dtype("dtype")?.unwrap_or(ty.dtype);
    if ty.rank() != 2 {
        return Err(Failure::new("it takes a matrix"));
    }
    let [row, column] = [n.b.iota(&ty.shape, 0)?, n.b.iota(&ty.shape, 1)?];
    let [row, column] = [n.b.convert(row, DType::I64)?, n.b.convert(column, DType::I64)?];
    let diagonal = n.b.with(MapOp::Add, row, n.int("k", 0) as f64)?;
    let is_on = n.b.map(MapOp::Eq, &[diagonal, column])?;
    Ok(n.b.convert(is_on, dtype)?)
}

/// A sum of cosines over as many points as are asked for: `a + b · cos(2πi / N) + c · cos(4πi / N)`.
fn window(n: &mut Node<'_>, [a, b, c]: [f64; 3]) -> Made<Vec<Operand>> {
    let size = n.maybe_ints(0)?.and_then(|size| size.first().copied());
    let size = size.ok_or_else(|| Failure::new("it lacks its size"))?;
    n.room(size)?;
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    let around = if n.int("periodic", 1) != 0 { size } else { size - 1 }.max(1) as f64;
    let point = |i: i64| {
        let angle = 2.0 * PI * i as f64 / around;
        a + b * angle.cos() + c * (2.0 * angle).cos()
    };
    let points: Vec<f64> = (0..size).map(|i| dtype.nearest(point(i))).collect();
    Ok(vec![Operand::known(Tensor::new([points.len()], Data::of(dtype, points)))])
}

/// Triangles that are equally wide on the mel scale, over the bins of a spectrum: `[bins, bands]`.
fn mel_weights(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let mut numbers = vec![];
    for k in 0..5 {
        let all = n.maybe_floats(k)?.unwrap_or_default();
        numbers.push(all.first().copied().ok_or_else(|| Failure::new(format!("argument {} is missing", k + 1)))?);
    }
    let [bands, length, rate, lower, upper] = numbers[..] else { unreachable!("there are five") };
    let dtype = n.dtype("output_datatype")?.unwrap_or(DType::F32);
    let (bands, bins) = (bands as i64, (length as i64 / 2).saturating_add(1));
    let mut weights = vec![0.0; n.room(bands.saturating_mul(bins))?];
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let (low, step) = (mel(lower), (mel(upper) - mel(lower)) / (bands + 2) as f64);
    let edge = |k: i64| {
        let hertz = 700.0 * (10f64.powf((low + step * k as f64) / 2595.0) - 1.0);
        ((length + 1.0) * hertz / rate).floor()
    };
    for band in 0..bands {
        let [from, top, to] = [edge(band), edge(band + 1), edge(band + 2)];
        let weight = |bin: f64| match bin {
            _ if bin == top && from == top => 1.0,
            _ if from <= bin && bin <= top => (bin - from) / (top - from),
            _ if top < bin && bin < to => (to - bin) / (to - top),
            _ => 0.0,
        };
        (0..bins).for_each(|bin| weights[(bin * bands + band) as usize] = weight(bin as f64));
    }
    let shape = [bins as usize, bands as usize];
    Ok(vec![Operand::known(Tensor::new(shape, Data::of(dtype, weights)))])
}
