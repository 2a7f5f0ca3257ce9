//! `softmax(x, axis = -1)`.

use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&SOFTMAX)];

static SOFTMAX: Op = Op {
    name: "softmax",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional(
        "axis",
        AttrKind::Int,
        "-1",
        "the axis that sums to one; negative counts from the end",
    )],
    doc: "`exp(x) / Σ exp(x)` along an axis, shifted by the maximum so that it does not overflow.",
    torch: Some("torch.nn.functional.softmax"),
    onnx: Some("Softmax"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        Ok(vec![normalised_exp(b, args[0], axis)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softmax(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17, 3]", Domain::Normal)],
            call: "softmax(x, axis = 1)",
            result: "f32[B, 17, 3]",
        },
        Example { inputs: &[("x", "bf16[B, 17]", Domain::Normal)], call: "softmax(x)", result: "bf16[B, 17]" },
    ],
};

/// `exp(x) / Σ exp(x)` along an axis.
pub(super) fn normalised_exp(b: &mut Builder<'_>, x: Value, axis: usize) -> Result<Value, OpError> {
    let max = b.reduce_keep(ReduceOp::Max, x, &[axis])?;
    let max = b.stop_gradient(max);
    let shifted = b.sub(x, max)?;
    let exp = b.unary(MapOp::Exp, shifted)?;
    let sum = b.reduce_keep(ReduceOp::Sum, exp, &[axis])?;
    // One division for each row; the sum is at least one.
    let one = b.constant(sum, 1.0)?;
    let inverse = b.div(one, sum)?;
    b.mul(exp, inverse)
}
