//! Numbers of 8 bits: `(q − zero point) · scale`.
//!
//! Sums of products of 8-bit integers are made in f32, as long as all of them are integers that it holds; longer ones are cut into
//! parts, an axis of a batch or groups of a convolution, whose sums are added as i32.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Known;
use super::{Operator, all, moves, one};
use crate::ir::dim::product as product_of;
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::{DType, Dim, Value};
use std::rc::Rc;

pub(super) const OPERATORS: &[Operator] = &[
    moves("QuantizeLinear", |n| one(quantize(n))),
    moves("DequantizeLinear", |n| one(dequantize(n))),
    moves("DynamicQuantizeLinear", |n| Ok(all(dynamic(n)?))),
    moves("MatMulInteger", |n| one(product(n))),
    moves("QLinearMatMul", |n| one(quantized_product(n))),
    moves("ConvInteger", |n| one(convolution(n))),
    moves("QLinearConv", |n| one(quantized_convolution(n))),
];

/// Up to here f32 holds all integers.
const EXACT: i64 = 1 << 24;

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
        // One number is for all elements, whichever axis and blocks the attributes name.
        let _ = (n.maybe_int("axis"), n.maybe_int("block_size"));
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
    let asked = n.dtype("output_dtype")?;
    let dtype = match (zero.map(|zero| n.b.dtype(zero)), asked) {
        (Some(own), Some(asked)) if own != asked => {
            return Err(Failure::new(format!("its `output_dtype` is {asked}, and its zero point has {own}")));
        }
        (own, asked) => own.or(asked).unwrap_or(DType::U8),
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

/// A factor of a product of integers: an argument less its zero point, as f32.
#[derive(Clone, Copy)]
struct Factor {
    value: Value,
    /// The largest magnitude that an element can have.
    reach: i64,
}

impl Factor {
    /// Argument `k`, whose zero point, argument `zero`, is shaped so that it stands beside it.
    fn new(n: &mut Node<'_>, k: usize, zero: usize, beside: impl FnOnce(&mut Node<'_>, Value) -> Made) -> Made<Factor> {
        let x = n.arg(k)?;
        let (least, greatest) = n.b.dtype(x).integers();
        let mut value = n.b.convert(x, DType::F32)?;
        // With symmetric quantisation nothing is left to subtract.
        let is_symmetric = |known: &Rc<Known>| known.tensor().data.numbers().iter().all(|&zero| zero == 0.0);
        let is_centred = !n.has(zero) || n.known(zero).as_ref().is_some_and(is_symmetric);
        if !is_centred {
            let zero = n.arg(zero)?;
            let zero = beside(n, zero)?;
            let zero = n.b.convert(zero, DType::F32)?;
            value = n.b.sub(value, zero)?;
        }
        let reach = if is_centred { greatest.max(-least) } else { greatest - least };
        Ok(Factor { value, reach: i64::try_from(reach).map_or(EXACT, |reach| reach.clamp(1, EXACT)) })
    }

    /// Terms of a sum of products that f32 holds exactly.
    fn terms(self, other: Factor) -> i64 {
        (EXACT / self.reach.saturating_mul(other.reach)).max(1)
    }
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
    let [a, b] = [Factor::new(n, 0, 2, column)?, Factor::new(n, 1, 3, |_, zero| Ok(zero))?];
    integer_product(n, a, b)
}

/// The product of two matrices of integers, as i32.
fn integer_product(n: &mut Node<'_>, a: Factor, b: Factor) -> Made {
    let (most, [a, b]) = (a.terms(b), [a.value, b.value]);
    let [left, right] = [n.b.shape(a), n.b.shape(b)];
    let (Some((terms, rows)), Some((_, columns))) =
        (left.split_last(), right.split_first().filter(|_| right.len() < 3))
    else {
        return batched_product(n, a, b, most);
    };
    let Some(parts) = parts(terms, most)? else {
        let made = super::products::matmul(n, a, b)?;
        return Ok(n.b.convert(made, DType::I32)?);
    };
    // One matrix on the right: all rows are of one product.
    let shape = [rows, columns].concat();
    let a = n.b.reshape(a, &[product_of(rows), terms.clone()])?;
    let a = apart(n, a, 1, parts)?;
    let b = n.b.reshape(b, &[terms.clone(), product_of(columns)])?;
    let b = apart(n, b, 0, parts)?;
    let made = n.b.contract("mpk,pkn->pmn", a, b)?;
    let made = n.b.convert(made, DType::I32)?;
    let sum = n.b.sum(made, &[0])?;
    Ok(n.b.reshape(sum, &shape)?)
}

/// The same where both have leading axes.
fn batched_product(n: &mut Node<'_>, a: Value, b: Value, most: i64) -> Made {
    let [left, right] = [n.b.rank(a), n.b.rank(b)];
    let terms = n.b.shape(a).last().cloned().filter(|_| right > 1);
    let terms = terms.ok_or_else(|| Failure::new("a scalar is no matrix"))?;
    let Some(parts) = parts(&terms, most)? else {
        let made = super::products::matmul(n, a, b)?;
        return Ok(n.b.convert(made, DType::I32)?);
    };
    let is_row = left == 1;
    let a = if is_row { n.b.reshape(a, &[1.into(), terms])? } else { a };
    let left = left.max(2);
    let a = apart(n, a, left - 1, parts)?;
    // The parts in front of the rows.
    let order: Vec<usize> = (0..left - 2).chain([left - 1, left - 2, left]).collect();
    let a = n.b.transpose(a, &order)?;
    let b = apart(n, b, right - 2, parts)?;
    let made = super::products::matmul(n, a, b)?;
    let made = n.b.convert(made, DType::I32)?;
    let rank = n.b.rank(made);
    let sum = n.b.sum(made, &[rank - 3])?;
    if !is_row {
        return Ok(sum);
    }
    let mut shape = n.b.shape(sum);
    shape.remove(rank - 3);
    Ok(n.b.reshape(sum, &shape)?)
}

/// How many parts of an axis there are, and of how many elements, where one would have more than so many: parts that fill the axis, if
/// they are not much smaller.
fn parts(extent: &Dim, most: i64) -> Made<Option<[i64; 2]>> {
    let extent = extent.as_const().ok_or_else(|| Failure::new("the number of terms of its sums must be known"))?;
    if extent <= most {
        return Ok(None);
    }
    let fewest = extent.div_euclid(most) + i64::from(extent % most != 0);
    let count = (fewest..=2 * fewest).find(|count| extent % count == 0);
    Ok(Some(count.map_or([fewest, most], |count| [count, extent / count])))
}

/// An axis as one of parts and one of their elements; zeros fill the last part.
fn apart(n: &mut Node<'_>, x: Value, axis: usize, [count, each]: [i64; 2]) -> Made {
    let mut shape = n.b.shape(x);
    let mut borders = vec![(Dim::from(0), Dim::from(0)); shape.len()];
    borders[axis].1 = Dim::from(count * each) - shape[axis].clone();
    let x = if borders[axis].1.is(0) { x } else { n.b.pad(x, &borders)? };
    shape.splice(axis..=axis, [count.into(), each.into()]);
    Ok(n.b.reshape(x, &shape)?)
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
    let [a, b] = [Factor::new(n, 0, 2, column)?, Factor::new(n, 3, 5, |_, zero| Ok(zero))?];
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

/// The convolution of integers, as i32: with parts of the channels as groups where a sum would not be exact.
fn integer_convolution(n: &mut Node<'_>, x: Factor, weight: Factor) -> Made {
    let (most, [x, weight]) = (x.terms(weight), [x.value, weight.value]);
    let (own, filters) = (n.b.shape(x), n.b.shape(weight));
    if own.len() != filters.len() || own.len() < 3 {
        return Err(Failure::new(format!("{} by filters of type {}", n.b.ty(x), n.b.ty(weight))));
    }
    let (groups, taps) = (n.int("group", 1).max(1), product_of(&filters[2..]));
    let taps = taps.as_const().ok_or_else(|| Failure::new("the extents of its filters must be known"))?;
    if taps > most {
        return Err(Failure::new(format!("filters of {taps} elements are too large to be exact")));
    }
    let Some([count, each]) = parts(&filters[1], most / taps.max(1))? else {
        let made = super::convolutions::convolution(n, x, weight, groups)?;
        return Ok(n.b.convert(made, DType::I32)?);
    };
    let outputs = filters[0].exact_div(&groups.into());
    let outputs = outputs.ok_or_else(|| Failure::new(format!("{groups} groups of {} outputs", filters[0])))?;
    let grouped = [&[own[0].clone(), groups.into(), filters[1].clone()], &own[2..]].concat();
    let x = n.b.reshape(x, &grouped)?;
    let x = apart(n, x, 2, [count, each])?;
    let channels = groups.saturating_mul(count).saturating_mul(each);
    let x = n.b.reshape(x, &[&[own[0].clone(), channels.into()], &own[2..]].concat())?;
    // Filters by group, part and output.
    let weight = apart(n, weight, 1, [count, each])?;
    let apart = [&[groups.into(), outputs.clone(), count.into(), each.into()], &filters[2..]].concat();
    let weight = n.b.reshape(weight, &apart)?;
    let order: Vec<usize> = [0, 2, 1].into_iter().chain(3..apart.len()).collect();
    let weight = n.b.transpose(weight, &order)?;
    let joined = [product_of(&apart[..3]), each.into()];
    let weight = n.b.reshape(weight, &[&joined, &filters[2..]].concat())?;
    let made = super::convolutions::convolution(n, x, weight, groups.saturating_mul(count))?;
    let mut shape = n.b.shape(made);
    shape.splice(1..2, [groups.into(), count.into(), outputs]);
    let made = n.b.reshape(made, &shape)?;
    let made = n.b.convert(made, DType::I32)?;
    let sum = n.b.sum(made, &[2])?;
    shape.splice(1..4, [filters[0].clone()]);
    Ok(n.b.reshape(sum, &shape)?)
}

fn convolution(n: &mut Node<'_>) -> Made {
    let rank = n.ty(1)?.rank();
    let beside = |n: &mut Node<'_>, zero| of_filters(n, zero, rank);
    let [x, weight] = [Factor::new(n, 0, 2, beside)?, Factor::new(n, 1, 3, beside)?];
    integer_convolution(n, x, weight)
}

fn quantized_convolution(n: &mut Node<'_>) -> Made {
    let rank = n.ty(3)?.rank();
    let beside = |n: &mut Node<'_>, zero| of_filters(n, zero, rank);
    let [x, weight] = [Factor::new(n, 0, 2, beside)?, Factor::new(n, 3, 5, beside)?];
    let mut sum = integer_convolution(n, x, weight)?;
    let bias = n.maybe(8)?;
    sum = super::convolutions::with_bias(n, sum, bias)?;
    let [of_x, of_w, of_y, zero] = [n.arg(1)?, n.arg(4)?, n.arg(6)?, n.arg(7)?];
    let of_w = of_filters(n, of_w, rank - 1)?;
    let dtype = n.b.dtype(zero);
    scaled(n, sum, [of_x, of_w, of_y], (Some(zero), dtype))
}
