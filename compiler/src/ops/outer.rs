//! Products and distances of all pairs: `outer(a, b)` and `cdist(a, b)`.

use super::norm::{P, exponent, length};
use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&OUTER), Item::Op(&CDIST)];

static OUTER: Op = Op {
    name: "outer",
    signature: "(a: number[.., N], b: number[.., M]) -> number[.., N, M]",
    attrs: &[],
    doc: "The outer product `a[.., i] · b[.., j]` of the last axes; the other axes are equal.",
    torch: Some("torch.outer"),
    onnx: None,
    body: |b, args, _| {
        let column = unsqueezed(b, args[0], 0)?;
        let row = unsqueezed(b, args[1], 1)?;
        Ok(vec![b.mul(column, row)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5]", Domain::Normal), ("y", "f32[7]", Domain::Normal)],
            call: "outer(x, y)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 3]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "outer(x, y)",
            result: "f32[B, 3, 17]",
        },
    ],
};

static CDIST: Op = Op {
    name: "cdist",
    signature: "(a: float[.., N, Features], b: float[.., M, Features]) -> float[.., N, M]",
    attrs: &[P],
    doc: "The distance of each vector of `a` from each of `b`, `norm(a[.., i, :] − b[.., j, :], p)`.",
    torch: Some("torch.cdist"),
    onnx: None,
    body: |b, args, attrs| {
        let p = exponent(attrs)?;
        let (mut left, mut right) = (b.shape(args[0]), b.shape(args[1]));
        left.insert(left.len() - 1, Dim::from(1));
        right.insert(right.len() - 2, Dim::from(1));
        let (left, right) = (b.reshape(args[0], &left)?, b.reshape(args[1], &right)?);
        let apart = b.sub(left, right)?;
        let mut shape = b.shape(apart);
        let last = shape.len() - 1;
        let kept = length(b, apart, &[last], p)?;
        shape.truncate(last);
        Ok(vec![b.reshape(kept, &shape)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 3]", Domain::Normal), ("y", "f32[7, 3]", Domain::Normal)],
            call: "cdist(x, y)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[2, B, 3]", Domain::Normal), ("y", "f32[2, 5, 3]", Domain::Normal)],
            call: "cdist(x, y, p = 1)",
            result: "f32[2, B, 5]",
        },
    ],
};

/// With an axis of extent 1 that many places before the end, before the last axis or after it.
fn unsqueezed(b: &mut Builder<'_>, x: Value, from_end: usize) -> Result<Value, OpError> {
    let mut shape = b.shape(x);
    shape.insert(shape.len() - from_end, Dim::from(1));
    b.reshape(x, &shape)
}
