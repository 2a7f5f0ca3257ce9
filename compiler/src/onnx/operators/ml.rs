//! Features and labels of numbers (`ai.onnx.ml`): picked, scaled, replaced and translated.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, moves, one};
use crate::ir::prim::{ArgOp, MapOp, Prim, ReduceOp};
use crate::ir::{DType, Value};
use crate::oracle::{Data, Tensor};

const DOMAIN: &str = "ai.onnx.ml";

pub(super) const OPERATORS: &[Operator] = &[
    moves("ArrayFeatureExtractor", |n| one(features(n))).of(DOMAIN),
    computes("Binarizer", |n| one(binarizer(n))).of(DOMAIN),
    computes("Imputer", |n| one(imputer(n))).of(DOMAIN),
    moves("LabelEncoder", |n| one(labels(n))).of(DOMAIN),
    computes("LinearRegressor", |n| one(regressor(n))).of(DOMAIN),
    computes("Normalizer", |n| one(normalizer(n))).of(DOMAIN),
    computes("Scaler", |n| one(scaler(n))).of(DOMAIN),
];

/// Elements of the last axis; a list is one row.
fn features(n: &mut Node<'_>) -> Made {
    let [mut x, at] = [n.arg(0)?, n.arg(1)?];
    if n.b.rank(x) == 1 {
        x = n.b.reshape(x, &[1.into(), n.b.ty(x).count()])?;
    }
    let Some(axis) = n.b.rank(x).checked_sub(1) else { return Err(Failure::new("a scalar has no features")) };
    let at = n.b.reshape(at, &[n.b.ty(at).count()])?;
    n.gather(x, at, axis)
}

/// 1 above a threshold, 0 elsewhere.
fn binarizer(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let threshold = n.b.constant(x, n.float("threshold", 0.0))?;
    let is_above = n.b.map(MapOp::Lt, &[threshold, x])?;
    Ok(n.b.convert(is_above, n.b.dtype(x))?)
}

/// Numbers of an attribute as a row beside `like`; one number is that of all features.
fn row(n: &mut Node<'_>, numbers: Vec<f64>, like: Value) -> Made {
    let dtype = n.b.dtype(like);
    match numbers.as_slice() {
        [number] => Ok(n.b.constant(like, *number)?),
        _ => n.constant(Tensor::new([numbers.len()], Data::of(dtype, numbers))),
    }
}

/// `(x − offset) · scale`
fn scaler(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let mut made = n.b.convert(x, DType::F32)?;
    if let Some(offset) = n.floats("offset") {
        let offset = row(n, offset, made)?;
        made = n.b.sub(made, offset)?;
    }
    if let Some(scale) = n.floats("scale") {
        let scale = row(n, scale, made)?;
        made = n.b.mul(made, scale)?;
    }
    Ok(made)
}

/// Other numbers where there is none, or a certain one.
fn imputer(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let integers = n.ints("imputed_value_int64s").map(|all| all.into_iter().map(|x| x as f64).collect());
    let is_float = n.b.dtype(x).is_float();
    let (values, replaced) = match is_float {
        true => (n.floats("imputed_value_floats"), n.float("replaced_value_float", 0.0)),
        false => (integers, n.int("replaced_value_int64", 0) as f64),
    };
    let values = values.ok_or_else(|| Failure::new("it lacks what it puts in"))?;
    let is_replaced = match replaced.is_nan() {
        true => n.b.map(MapOp::Ne, &[x, x])?,
        false => n.b.with(MapOp::Eq, x, replaced)?,
    };
    let values = row(n, values, x)?;
    Ok(n.b.select(is_replaced, values, x)?)
}

/// Divided by the largest size, the sum of sizes, or the length along the last axis. What is zero stays.
fn normalizer(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let x = n.b.convert(x, DType::F32)?;
    let Some(axis) = n.b.rank(x).checked_sub(1) else { return Err(Failure::new("a scalar has no features")) };
    let norm = n.text("norm", "MAX");
    let over = match norm.as_str() {
        "MAX" => n.b.reduce_keep(ReduceOp::Max, x, &[axis])?,
        "L1" => {
            let size = n.b.unary(MapOp::Abs, x)?;
            n.b.reduce_keep(ReduceOp::Sum, size, &[axis])?
        }
        "L2" => {
            let squared = n.b.mul(x, x)?;
            let sum = n.b.reduce_keep(ReduceOp::Sum, squared, &[axis])?;
            n.b.unary(MapOp::Sqrt, sum)?
        }
        other => return Err(Failure::new(format!("the norm `{other}` is not supported"))),
    };
    let (is_zero, unit) = (n.b.with(MapOp::Eq, over, 0.0)?, n.b.constant(over, 1.0)?);
    let over = n.b.select(is_zero, unit, over)?;
    Ok(n.b.div(x, over)?)
}

/// `x · coefficients + intercepts`, for each target.
fn regressor(n: &mut Node<'_>) -> Made {
    let x = n.of_rank(0, 2)?;
    let x = n.b.convert(x, DType::F32)?;
    let targets = n.int("targets", 1);
    let coefficients = n.floats("coefficients").unwrap_or_default();
    let each =
        usize::try_from(targets).ok().filter(|&targets| targets > 0 && coefficients.len().is_multiple_of(targets));
    let each = each.map(|targets| [targets, coefficients.len() / targets]);
    let each = each.ok_or_else(|| Failure::new(format!("{} coefficients of {targets} targets", coefficients.len())))?;
    if n.text("post_transform", "NONE") != "NONE" {
        return Err(Failure::new("what it makes of its sums is not supported"));
    }
    let weights = n.constant(Tensor::new(each, Data::of(DType::F32, coefficients)))?;
    let made = n.b.contract("bk,tk->bt", x, weights)?;
    let Some(shift) = n.floats("intercepts") else { return Ok(made) };
    let shift = row(n, shift, made)?;
    Ok(n.b.add(made, shift)?)
}

/// The numbers of one side of a table: a tensor or a list.
fn side(n: &mut Node<'_>, name: &str) -> Made<Data> {
    if let Some(tensor) = n.tensor(&format!("{name}_tensor"))? {
        return Ok(tensor.data);
    }
    let integers = n.ints(&format!("{name}_int64s")).map(|all| all.into_iter().map(i128::from).collect());
    let floats = n.floats(&format!("{name}_floats")).map(|all| Data::Float(DType::F32, all));
    let found = integers.map(|all| Data::Int(DType::I64, all)).or(floats);
    found.ok_or_else(|| Failure::new(format!("its `{name}` are no numbers")))
}

/// The value beside the key that equals an element, or a default.
fn labels(n: &mut Node<'_>) -> Made {
    let (x, keys, values) = (n.arg(0)?, side(n, "keys")?, side(n, "values")?);
    let (count, shape) = (keys.len(), n.b.shape(x));
    if count != values.len() || count == 0 || keys.dtype() != n.b.dtype(x) {
        return Err(Failure::new(format!("{count} keys and {} values for {}", values.len(), n.b.ty(x))));
    }
    let default = match n.tensor("default_tensor")?.and_then(|tensor| tensor.data.numbers().first().copied()) {
        Some(default) => default,
        None if values.dtype().is_float() => n.float("default_float", 0.0),
        None => n.int("default_int64", -1) as f64,
    };
    let (key_type, value_type) = (keys.dtype(), values.dtype());
    let keys = n.constant(Tensor::new([count], keys))?;
    let values = n.constant(Tensor::new([count], values))?;
    let apart = n.b.reshape(x, &[&shape[..], &[1.into()]].concat())?;
    let mut is_own = n.b.map(MapOp::Eq, &[apart, keys])?;
    if key_type.is_float() {
        // What is no number is a key, too.
        let [x, key] = [n.b.map(MapOp::Ne, &[apart, apart])?, n.b.map(MapOp::Ne, &[keys, keys])?];
        let neither = n.b.map(MapOp::And, &[x, key])?;
        is_own = n.b.map(MapOp::Or, &[is_own, neither])?;
    }
    let is_own = n.b.convert(is_own, DType::U32)?;
    // Of equal keys the last one counts.
    let turned = n.b.prim(Prim::Flip(vec![shape.len()]), &[is_own])?;
    let from_end = n.b.prim(Prim::ArgReduce { op: ArgOp::Max, axis: shape.len() }, &[turned])?;
    let last = n.b.u32(count as u32 - 1)?;
    let at = n.b.sub(last, from_end)?;
    let picked = n.b.prim(Prim::Gather { axis: 0 }, &[values, at])?;
    let found = n.b.reduce(ReduceOp::Max, is_own, &[shape.len()])?;
    let (is_found, default) =
        (n.b.with(MapOp::Ne, found, 0.0)?, n.full(crate::ir::prim::Scalar::of(value_type, default), &[])?);
    Ok(n.b.select(is_found, picked, default)?)
}
