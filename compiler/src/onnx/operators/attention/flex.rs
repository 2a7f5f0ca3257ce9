//! `FlexAttention`: attention of which graphs of the file change the scores and their softmax.
//!
//! Without graphs it is `attend`. With them it is three operators, between which the walk over the file (`import.rs`) stands.

use super::{Operator, computed, moves, one, product, restored, scores};
use crate::ir::DType;
use crate::ir::attr::Attr;
use crate::onnx::node::{Made, Node};

/// The scores of queries and keys, their softmax, and the products of weights and values, with a graph after each but the last.
pub(in crate::onnx) static PARTS: [&Operator; 3] = [
    &moves("FlexAttention", |n| one(compared(n))),
    &moves("FlexAttention", |n| one(weights(n))),
    &moves("FlexAttention", |n| one(weighed(n))),
];

/// What has no graphs.
pub(super) fn attention(n: &mut Node<'_>) -> Made {
    let args = [computed(n, 0)?, computed(n, 1)?, computed(n, 2)?];
    let scale = n.maybe_float("scale").map(|scale| ("scale", Attr::Float(scale)));
    let made = n.call("attend", &args, scale.as_slice())?;
    restored(n, made, 0)
}

/// The scores, of the type that the file names for the softmax.
fn compared(n: &mut Node<'_>) -> Made {
    let (q, k) = (computed(n, 0)?, computed(n, 1)?);
    let made = scores(n, q, k)?;
    let dtype = n.dtype("softmax_precision")?.unwrap_or_else(|| n.b.dtype(made));
    Ok(n.b.convert(made, dtype)?)
}

fn weights(n: &mut Node<'_>) -> Made {
    let scores = computed(n, 0)?;
    let made = n.call("softmax", &[scores], &[])?;
    restored(n, made, 0)
}

/// Of weights and values, of the type of the values.
fn weighed(n: &mut Node<'_>) -> Made {
    let (weights, v) = (computed(n, 0)?, computed(n, 1)?);
    let dtype = if n.b.dtype(weights) == DType::F64 { DType::F64 } else { n.b.dtype(v) };
    let [weights, v] = [n.b.convert(weights, dtype)?, n.b.convert(v, dtype)?];
    let made = product(n, weights, v)?;
    restored(n, made, 1)
}
