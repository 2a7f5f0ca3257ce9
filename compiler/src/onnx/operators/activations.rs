//! Activations and what normalises along one axis.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::arithmetic::named;
use super::{Operator, computes, one};
use crate::ir::attr::Attr;
use crate::ir::dim::product;
use crate::ir::prim::{ArgOp, MapOp, Prim};
use crate::ir::{Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    computes("Relu", |n| one(relu(n))),
    computes("Sigmoid", |n| one(named(n, "sigmoid"))),
    computes("Softplus", |n| one(softplus(n))),
    computes("Softsign", |n| one(named(n, "softsign"))),
    computes("Mish", |n| one(named(n, "mish"))),
    computes("HardSwish", |n| one(hard_swish(n))),
    computes("HardSigmoid", |n| one(hard_sigmoid(n))),
    computes("LeakyRelu", |n| one(leaky(n))),
    computes("PRelu", |n| one(prelu(n))),
    computes("ThresholdedRelu", |n| one(thresholded(n))),
    computes("Elu", |n| one(exponential(n, [("alpha", 1.0), ("", 1.0)]))),
    computes("Selu", |n| one(exponential(n, [("alpha", 1.673_263_192_176_818_8), ("gamma", 1.050_701_022_148_132_3)]))),
    computes("Celu", |n| one(celu(n))),
    computes("Gelu", |n| one(gelu(n))),
    computes("Swish", |n| one(swish(n))),
    computes("SwiGLU", |n| one(swiglu(n))),
    computes("Shrink", |n| one(shrink(n))),
    computes("Softmax", |n| one(along(n, "softmax"))),
    computes("LogSoftmax", |n| one(along(n, "log_softmax"))),
    computes("Hardmax", |n| one(hardmax(n))),
];

/// Of integers, too.
fn relu(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    match n.b.dtype(x).is_float() {
        true => n.call("relu", &[x], &[]),
        false => Ok(n.b.with(MapOp::Max, x, 0.0)?),
    }
}

/// `max(x, 0) + ln(1 + e^−|x|)`
fn softplus(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let size = n.b.unary(MapOp::Abs, x)?;
    let negative = n.b.unary(MapOp::Neg, size)?;
    let power = n.b.unary(MapOp::Exp, negative)?;
    let rest = n.b.unary(MapOp::Log1p, power)?;
    let positive = n.b.with(MapOp::Max, x, 0.0)?;
    Ok(n.b.add(positive, rest)?)
}

/// `max(0, min(1, alpha · x + beta))`
fn ramp(n: &mut Node<'_>, x: Value, alpha: f64, beta: f64) -> Made {
    let scaled = n.b.with(MapOp::Mul, x, alpha)?;
    let shifted = n.b.with(MapOp::Add, scaled, beta)?;
    let low = n.b.with(MapOp::Max, shifted, 0.0)?;
    Ok(n.b.with(MapOp::Min, low, 1.0)?)
}

fn hard_sigmoid(n: &mut Node<'_>) -> Made {
    let (x, alpha, beta) = (n.arg(0)?, n.float("alpha", 0.2), n.float("beta", 0.5));
    ramp(n, x, alpha, beta)
}

fn hard_swish(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let gate = ramp(n, x, 1.0 / 6.0, 0.5)?;
    Ok(n.b.mul(x, gate)?)
}

/// `x` where it is not negative, `negative` elsewhere.
fn rectified(n: &mut Node<'_>, x: Value, negative: Value) -> Made {
    let is_negative = n.b.with(MapOp::Lt, x, 0.0)?;
    Ok(n.b.select(is_negative, negative, x)?)
}

fn leaky(n: &mut Node<'_>) -> Made {
    let (x, alpha) = (n.arg(0)?, n.float("alpha", 0.01));
    let negative = n.b.with(MapOp::Mul, x, alpha)?;
    rectified(n, x, negative)
}

fn prelu(n: &mut Node<'_>) -> Made {
    let [x, mut slope] = [n.arg(0)?, n.arg(1)?];
    // Before version 9 slopes belong to channels.
    if n.opset < 9 && n.b.rank(slope) == 1 && n.b.rank(x) > 1 {
        let mut shape = vec![Dim::from(1); n.b.rank(x) - 1];
        shape[0] = n.b.shape(slope)[0].clone();
        slope = n.b.reshape(slope, &shape)?;
    }
    let negative = n.b.mul(x, slope)?;
    rectified(n, x, negative)
}

fn thresholded(n: &mut Node<'_>) -> Made {
    let (x, alpha) = (n.arg(0)?, n.float("alpha", 1.0));
    let limit = n.b.constant(x, alpha)?;
    let is_above = n.b.map(MapOp::Lt, &[limit, x])?;
    let zero = n.b.constant(x, 0.0)?;
    Ok(n.b.select(is_above, x, zero)?)
}

/// `gamma · x` where it is positive, `gamma · alpha · (eˣ − 1)` elsewhere.
fn exponential(n: &mut Node<'_>, [alpha, gamma]: [(&str, f64); 2]) -> Made {
    let x = n.arg(0)?;
    let (alpha, gamma) = (n.float(alpha.0, alpha.1), n.float(gamma.0, gamma.1));
    let below = n.b.with(MapOp::Min, x, 0.0)?;
    let power = n.b.unary(MapOp::Expm1, below)?;
    let negative = n.b.with(MapOp::Mul, power, alpha)?;
    let made = rectified(n, x, negative)?;
    Ok(n.b.with(MapOp::Mul, made, gamma)?)
}

/// `max(0, x) + min(0, alpha · (e^(x / alpha) − 1))`
fn celu(n: &mut Node<'_>) -> Made {
    let (x, alpha) = (n.arg(0)?, n.float("alpha", 1.0));
    let scaled = n.b.with(MapOp::Div, x, alpha)?;
    let below = n.b.with(MapOp::Min, scaled, 0.0)?;
    let power = n.b.unary(MapOp::Expm1, below)?;
    let negative = n.b.with(MapOp::Mul, power, alpha)?;
    rectified(n, x, negative)
}

fn gelu(n: &mut Node<'_>) -> Made {
    let (x, approximate) = (n.arg(0)?, n.text("approximate", "none"));
    n.call("gelu", &[x], &[("approximate", Attr::Text(approximate))])
}

fn swish(n: &mut Node<'_>) -> Made {
    let (x, alpha) = (n.arg(0)?, n.float("alpha", 1.0));
    swished(n, x, alpha)
}

/// `x · sigmoid(alpha · x)`
fn swished(n: &mut Node<'_>, x: Value, alpha: f64) -> Made {
    let scaled = n.b.with(MapOp::Mul, x, alpha)?;
    let gate = n.b.unary(MapOp::Sigmoid, scaled)?;
    Ok(n.b.mul(x, gate)?)
}

/// `swish(a) · b` of two arguments, or of the halves of one.
fn swiglu(n: &mut Node<'_>) -> Made {
    let (x, alpha) = (n.arg(0)?, n.float("alpha", 1.0));
    let (a, b) = match n.maybe(1)? {
        Some(b) => (x, b),
        None => {
            let axis = n.axis(-1, n.b.rank(x))?;
            let half = n.b.shape(x)[axis].exact_div(&2.into());
            let half = half.ok_or_else(|| Failure::new("the axis has an odd number of elements"))?;
            let a = n.b.slice(x, axis, 0.into(), half.clone())?;
            (a, n.b.slice(x, axis, half.clone(), half)?)
        }
    };
    let gate = swished(n, a, alpha)?;
    Ok(n.b.mul(gate, b)?)
}

/// `x + bias` below −lambd, `x − bias` above lambd, 0 between.
fn shrink(n: &mut Node<'_>) -> Made {
    let (x, lambd, bias) = (n.arg(0)?, n.float("lambd", 0.5), n.float("bias", 0.0));
    let (low, high) = (n.b.with(MapOp::Add, x, bias)?, n.b.with(MapOp::Sub, x, bias)?);
    let (limit, zero) = (n.b.constant(x, lambd)?, n.b.constant(x, 0.0)?);
    let is_above = n.b.map(MapOp::Lt, &[limit, x])?;
    let is_below = n.b.with(MapOp::Lt, x, -lambd)?;
    let high = n.b.select(is_above, high, zero)?;
    Ok(n.b.select(is_below, low, high)?)
}

/// Runs `make` on a tensor and an axis of it. Before version 13 all axes from the named one on are one.
fn flattened(n: &mut Node<'_>, make: impl FnOnce(&mut Node<'_>, Value, usize) -> Made) -> Made {
    let x = n.arg(0)?;
    let rank = n.b.rank(x);
    if n.opset >= 13 {
        let axis = n.axis(-1, rank)?;
        return make(n, x, axis);
    }
    let (axis, shape) = (n.axis(1, rank)?, n.b.shape(x));
    let rows = n.b.reshape(x, &[product(&shape[..axis]), product(&shape[axis..])])?;
    let made = make(n, rows, 1)?;
    Ok(n.b.reshape(made, &shape)?)
}

fn along(n: &mut Node<'_>, name: &str) -> Made {
    flattened(n, |n, x, axis| n.call(name, &[x], &[("axis", Attr::Int((axis as i64).into()))]))
}

/// 1 at the first largest element, 0 elsewhere.
fn hardmax(n: &mut Node<'_>) -> Made {
    flattened(n, |n, x, axis| {
        let first = n.b.prim(Prim::ArgReduce { op: ArgOp::Max, axis }, &[x])?;
        let mut shape = n.b.shape(x);
        let own = n.b.iota(&shape, axis)?;
        shape[axis] = 1.into();
        let first = n.b.reshape(first, &shape)?;
        let is_first = n.b.map(MapOp::Eq, &[own, first])?;
        let dtype = n.b.dtype(x);
        Ok(n.b.convert(is_first, dtype)?)
    })
}
