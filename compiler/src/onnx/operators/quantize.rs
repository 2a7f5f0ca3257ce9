//! Numbers of 8 bits: `(q − zero point) · scale`.
//!
//! Products of 8-bit integers are sums of integers below 2¹⁶. As f32 a sum of 256 of them is exact; longer ones are cut into parts,
//! which are added as i32.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, all, moves, one};
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    moves("QuantizeLinear", |n| one(quantize(n))),
    moves("DequantizeLinear", |n| one(dequantize(n))),
    moves("DynamicQuantizeLinear", |n| Ok(all(dynamic(n)?))),
    moves("MatMulInteger", |n| one(product(n))),
    moves("QLinearMatMul", |n| one(quantized_product(n))),
    moves("ConvInteger", |n| one(convolution(n))),
    moves("QLinearConv", |n| one(quantized_convolution(n))),
];

/// Terms of a sum that f32 holds exactly.
const TERMS: i64 = 256;

/// A scale or zero point beside `x`: one number, one for each index of an axis, or one for each block of it.
fn beside(n: &mut Node<'_>, value: Value, x: &[Dim]) -> Made {
    let (own, rank) = (n.b.shape(value), x.len());
    if own.len() > 1 {
        let axis = n.axis(1, rank)?;
        if own.len() != rank {
            return Err(Failure::new(format!("{} beside {rank} axes", n.b.ty(value))));
        }
        let block = Dim::from(n.int("block_size", 0));
        let mut apart = own.clone();
        apart.insert(axis + 1, 1.into());
        let mut wide = own.clone();
        wide.insert(axis + 1, block.clone());
        let apart = n.b.reshape(value, &apart)?;
        let wide = n.b.broadcast_to(apart, &wide)?;
        let mut shape = own.clone();
        shape[axis] = own[axis].clone() * block;
        let blocks = n.b.reshape(wide, &shape)?;
        // The last block may be longer than what is left of the axis.
        return Ok(if shape[axis] == x[axis] { blocks } else { n.b.slice(blocks, axis, 0.into(), x[axis].clone())? });
    }
    if own.iter().all(|extent| extent.is(1)) {
        return Ok(n.b.reshape(value, &[])?);
    }
    let mut shape = vec![Dim::from(1); rank];
    shape[n.axis(1, rank)?] = own[0].clone();
    Ok(n.b.reshape(value, &shape)?)
}

/// Rounded to the nearest integer, ties to even, and cut off at the ends of the type.
fn rounded(n: &mut Node<'_>, x: Value, zero: Option<Value>, dtype: DType) -> Made {
    let mut x = x;
    if dtype.is_float() {
        let largest = dtype.largest();
        let low = n.b.with(MapOp::Max, x, -largest)?;
        let cut = n.b.with(MapOp::Min, low, largest)?;
        return Ok(n.b.convert(cut, dtype)?);
    }
    x = n.b.unary(MapOp::Round, x)?;
    if let Some(zero) = zero {
        let zero = n.b.convert(zero, n.b.dtype(x))?;
        x = n.b.add(x, zero)?;
    }
    let (least, greatest) = dtype.integers();
    let low = n.b.with(MapOp::Max, x, least as f64)?;
    let cut = n.b.with(MapOp::Min, low, greatest as f64)?;
    let wide = n.b.convert(cut, DType::I32)?;
    Ok(n.b.convert(wide, dtype)?)
}

fn quantize(n: &mut Node<'_>) -> Made {
    let [x, scale] = [n.arg(0)?, n.arg(1)?];
    let shape = n.b.shape(x);
    let zero = n.maybe(2)?;
    let dtype = match zero {
        Some(zero) => n.b.dtype(zero),
        None => n.dtype("output_dtype")?.unwrap_or(DType::U8),
    };
    let [x, scale] = [n.b.convert(x, DType::F32)?, n.b.convert(scale, DType::F32)?];
    let scale = beside(n, scale, &shape)?;
    let zero = zero.map(|zero| beside(n, zero, &shape)).transpose()?;
    let scaled = n.b.div(x, scale)?;
    rounded(n, scaled, zero, dtype)
}

fn dequantize(n: &mut Node<'_>) -> Made {
    let [x, scale] = [n.arg(0)?, n.arg(1)?];
    let shape = n.b.shape(x);
    let result = n.dtype("output_dtype")?.unwrap_or(n.b.dtype(scale));
    let mut difference = n.b.convert(x, DType::F32)?;
    if let Some(zero) = n.maybe(2)? {
        let zero = beside(n, zero, &shape)?;
        let zero = n.b.convert(zero, DType::F32)?;
        difference = n.b.sub(difference, zero)?;
    }
    let scale = n.b.convert(scale, DType::F32)?;
    let scale = beside(n, scale, &shape)?;
    let made = n.b.mul(difference, scale)?;
    Ok(n.b.convert(made, result)?)
}

/// To u8 by the smallest and the largest element, or 0: the integers, their scale and their zero point.
fn dynamic(n: &mut Node<'_>) -> Made<Vec<Value>> {
    let x = n.arg(0)?;
    let axes: Vec<usize> = (0..n.b.rank(x)).collect();
    let (low, high) = (n.b.reduce(ReduceOp::Min, x, &axes)?, n.b.reduce(ReduceOp::Max, x, &axes)?);
    let (low, high) = (n.b.with(MapOp::Min, low, 0.0)?, n.b.with(MapOp::Max, high, 0.0)?);
    let reach = n.b.sub(high, low)?;
    let (is_none, unit) = (n.b.with(MapOp::Eq, reach, 0.0)?, n.b.constant(reach, 1.0)?);
    let reach = n.b.select(is_none, unit, reach)?;
    let scale = n.b.with(MapOp::Div, reach, 255.0)?;
    let steps = n.b.div(low, scale)?;
    let zero = n.b.unary(MapOp::Neg, steps)?;
    let zero = rounded(n, zero, None, DType::U8)?;
    let scaled = n.b.div(x, scale)?;
    Ok(vec![rounded(n, scaled, Some(zero), DType::U8)?, scale, zero])
}

/// An argument less its zero point, as f32.
fn centred(n: &mut Node<'_>, x: Value, zero: Option<Value>) -> Made {
    let x = n.b.convert(x, DType::F32)?;
    let Some(zero) = zero else { return Ok(x) };
    let zero = n.b.convert(zero, DType::F32)?;
    Ok(n.b.sub(x, zero)?)
}

/// One number, or a column of as many as there are.
fn column(n: &mut Node<'_>, value: Value) -> Made {
    let shape = n.b.shape(value);
    match shape.as_slice() {
        [rows] if !rows.is(1) => Ok(n.b.reshape(value, &[rows.clone(), 1.into()])?),
        _ => Ok(value),
    }
}

fn product(n: &mut Node<'_>) -> Made {
    let [a, b] = [n.arg(0)?, n.arg(1)?];
    let rows = n.maybe(2)?.map(|zero| column(n, zero)).transpose()?;
    let columns = n.maybe(3)?;
    let [a, b] = [centred(n, a, rows)?, centred(n, b, columns)?];
    integer_product(n, a, b)
}

/// The product of two matrices of integers in f32, as i32.
fn integer_product(n: &mut Node<'_>, a: Value, b: Value) -> Made {
    let [left, right] = [n.b.shape(a), n.b.shape(b)];
    let terms = left.last().and_then(Dim::as_const);
    let terms = terms.ok_or_else(|| Failure::new("the number of terms of its sums must be known"))?;
    let rows = right.len().saturating_sub(2);
    let mut sum: Option<Value> = None;
    for start in (0..terms.max(1)).step_by(TERMS as usize) {
        let count = Dim::from(TERMS.min(terms - start));
        let a = n.b.slice(a, left.len() - 1, start.into(), count.clone())?;
        let b = n.b.slice(b, rows, start.into(), count)?;
        let part = super::products::matmul(n, a, b)?;
        let part = n.b.convert(part, DType::I32)?;
        sum = Some(sum.map_or(Ok(part), |sum| n.b.add(sum, part))?);
    }
    sum.ok_or_else(|| Failure::new("it has no terms"))
}

/// A sum of products as a number of the result's scale.
fn scaled(n: &mut Node<'_>, sum: Value, [a, b, y]: [Value; 3], (zero, dtype): (Option<Value>, DType)) -> Made {
    let sum = n.b.convert(sum, DType::F32)?;
    let [a, b, y] = [n.b.convert(a, DType::F32)?, n.b.convert(b, DType::F32)?, n.b.convert(y, DType::F32)?];
    let both = n.b.mul(a, b)?;
    let factor = n.b.div(both, y)?;
    let made = n.b.mul(sum, factor)?;
    rounded(n, made, zero, dtype)
}

fn quantized_product(n: &mut Node<'_>) -> Made {
    let [a, b] = [n.arg(0)?, n.arg(3)?];
    let (rows, columns) = (n.arg(2)?, n.arg(5)?);
    let rows = column(n, rows)?;
    let [a, b] = [centred(n, a, Some(rows))?, centred(n, b, Some(columns))?];
    let sum = integer_product(n, a, b)?;
    let [of_a, of_b, of_y, zero] = [n.arg(1)?, n.arg(4)?, n.arg(6)?, n.arg(7)?];
    let of_a = column(n, of_a)?;
    let dtype = n.b.dtype(zero);
    scaled(n, sum, [of_a, of_b, of_y], (Some(zero), dtype))
}

/// A number for each output of filters.
fn of_filters(n: &mut Node<'_>, value: Value, rank: usize) -> Made {
    let shape = n.b.shape(value);
    match shape.as_slice() {
        [outputs] if !outputs.is(1) && rank > 0 => {
            let mut wide = vec![Dim::from(1); rank];
            wide[0] = outputs.clone();
            Ok(n.b.reshape(value, &wide)?)
        }
        _ => Ok(n.b.reshape(value, &[])?),
    }
}

/// The convolution of integers in f32, as i32: of parts of the channels where a sum would not be exact.
fn integer_convolution(n: &mut Node<'_>, x: Value, weight: Value) -> Made {
    let (own, filters) = (n.b.shape(x), n.b.shape(weight));
    if own.len() != filters.len() {
        return Err(Failure::new(format!("{} by filters of type {}", n.b.ty(x), n.b.ty(weight))));
    }
    let taps = crate::ir::dim::product(filters.get(2..).unwrap_or_default()).as_const();
    let (Some(taps), Some(each)) = (taps, filters.get(1).and_then(Dim::as_const)) else {
        return Err(Failure::new("the extents of its filters must be known"));
    };
    if taps > TERMS {
        return Err(Failure::new(format!("filters of {taps} elements are too large to be exact")));
    }
    let (step, groups) = ((TERMS / taps.max(1)).max(1), n.int("group", 1).max(1));
    let mut sum: Option<Value> = None;
    for start in (0..each.max(1)).step_by(step as usize) {
        let count = step.min(each - start);
        let part = match count == each {
            true => super::convolutions::convolution(n, x, weight)?,
            false => {
                // Of each group these channels.
                let apart = [&[own[0].clone(), groups.into(), each.into()], &own[2..]].concat();
                let apart = n.b.reshape(x, &apart)?;
                let apart = n.b.slice(apart, 2, start.into(), count.into())?;
                let channels = [&[own[0].clone(), Dim::from(groups * count)], &own[2..]].concat();
                let x = n.b.reshape(apart, &channels)?;
                let weight = n.b.slice(weight, 1, start.into(), count.into())?;
                super::convolutions::convolution(n, x, weight)?
            }
        };
        let part = n.b.convert(part, DType::I32)?;
        sum = Some(sum.map_or(Ok(part), |sum| n.b.add(sum, part))?);
    }
    sum.ok_or_else(|| Failure::new("it has no terms"))
}

fn convolution(n: &mut Node<'_>) -> Made {
    let [x, weight] = [n.arg(0)?, n.arg(1)?];
    let rank = n.b.rank(weight);
    let zero = n.maybe(2)?.map(|zero| of_filters(n, zero, rank)).transpose()?;
    let of_weight = n.maybe(3)?.map(|zero| of_filters(n, zero, rank)).transpose()?;
    let [x, weight] = [centred(n, x, zero)?, centred(n, weight, of_weight)?];
    integer_convolution(n, x, weight)
}

fn quantized_convolution(n: &mut Node<'_>) -> Made {
    let [x, weight] = [n.arg(0)?, n.arg(3)?];
    let rank = n.b.rank(weight);
    let [zero, of_weight] = [n.arg(2)?, n.arg(5)?];
    let [zero, of_weight] = [of_filters(n, zero, rank)?, of_filters(n, of_weight, rank)?];
    let [x, weight] = [centred(n, x, Some(zero))?, centred(n, weight, Some(of_weight))?];
    let mut sum = integer_convolution(n, x, weight)?;
    let bias = n.maybe(8)?;
    sum = super::convolutions::with_bias(n, sum, bias)?;
    let [of_x, of_w, of_y, zero] = [n.arg(1)?, n.arg(4)?, n.arg(6)?, n.arg(7)?];
    let of_w = of_filters(n, of_w, rank - 1)?;
    let dtype = n.b.dtype(zero);
    scaled(n, sum, [of_x, of_w, of_y], (Some(zero), dtype))
}
