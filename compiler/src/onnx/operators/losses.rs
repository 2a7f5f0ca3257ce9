//! Losses of classes.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, all, computes, one};
use crate::ir::Value;
use crate::ir::attr::Attr;
use crate::ir::prim::MapOp;

pub(super) const OPERATORS: &[Operator] = &[
    computes("NegativeLogLikelihoodLoss", |n| {
        let x = n.arg(0)?;
        one(likelihood(n, x))
    }),
    computes("SoftmaxCrossEntropyLoss", |n| Ok(all(cross_entropy(n)?))),
];

/// The loss, and the logarithms of the probabilities.
fn cross_entropy(n: &mut Node<'_>) -> Made<Vec<Value>> {
    let scores = n.arg(0)?;
    let logs = n.call("log_softmax", &[scores], &[("axis", Attr::Int(1.into()))])?;
    Ok(vec![likelihood(n, logs)?, logs])
}

/// `−weight[target] · x[target]` along axis 1; targets that are ignored cost nothing. The mean is one of weights.
fn likelihood(n: &mut Node<'_>, x: Value) -> Made {
    let target = n.arg(1)?;
    let (shape, dtype) = (n.b.shape(target), n.b.dtype(x));
    if shape.is_empty() || n.b.rank(x) != shape.len() + 1 {
        return Err(Failure::new(format!("classes of type {} for {}", n.b.ty(target), n.b.ty(x))));
    }
    let ignored = match n.maybe_int("ignore_index") {
        Some(class) => Some(n.b.with(MapOp::Eq, target, class as f64)?),
        None => None,
    };
    let first = n.b.constant(target, 0.0)?;
    let class = ignored.map_or(Ok(target), |ignored| n.b.select(ignored, first, target))?;
    let mut column = shape.clone();
    column.insert(1, 1.into());
    let index = n.b.reshape(class, &column)?;
    let picked = super::index::elements(n, x, index, 1)?;
    let picked = n.b.reshape(picked, &shape)?;
    let weights = match n.maybe(2)? {
        Some(weights) => n.gather(weights, class, 0)?,
        None => n.b.full(dtype, &shape, 1.0)?,
    };
    let zero = n.b.constant(picked, 0.0)?;
    let weights = ignored.map_or(Ok(weights), |ignored| n.b.select(ignored, zero, weights))?;
    let weighed = n.b.mul(picked, weights)?;
    let loss = n.b.unary(MapOp::Neg, weighed)?;
    let axes: Vec<usize> = (0..shape.len()).collect();
    match n.text("reduction", "mean").as_str() {
        "none" => Ok(loss),
        "sum" => Ok(n.b.sum(loss, &axes)?),
        "mean" => {
            let (sum, weight) = (n.b.sum(loss, &axes)?, n.b.sum(weights, &axes)?);
            Ok(n.b.div(sum, weight)?)
        }
        other => Err(Failure::new(format!("the reduction `{other}` is not supported"))),
    }
}
