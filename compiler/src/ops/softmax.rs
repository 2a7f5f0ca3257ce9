//! `softmax(x, axis = -1)`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&SOFTMAX)];

static SOFTMAX: Op = Op {
    name: "softmax",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis that sums to one; negative counts from the end")],
    doc: "`exp(x) / Σ exp(x)` along an axis, shifted by the maximum so that it does not overflow.",
    onnx: Some("Softmax"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let max = b.reduce_keep(ReduceOp::Max, args[0], &[axis])?;
        let max = b.stop_gradient(max);
        let shifted = b.sub(args[0], max)?;
        let exp = b.unary(MapOp::Exp, shifted)?;
        let sum = b.reduce_keep(ReduceOp::Sum, exp, &[axis])?;
        Ok(vec![b.div(exp, sum)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softmax(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17, 3]", Domain::Normal)], call: "softmax(x, axis = 1)", result: "f32[B, 17, 3]" },
    ],
};
