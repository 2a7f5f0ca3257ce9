//! `log_softmax(x, axis = -1)`.

use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&LOG_SOFTMAX)];

static LOG_SOFTMAX: Op = Op {
    name: "log_softmax",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis whose exponentials sum to one; negative counts from the end")],
    doc: "`x − ln Σ eˣ` along an axis, shifted by the largest element so that it neither overflows nor loses small \
          probabilities.",
    torch: Some("torch.nn.functional.log_softmax"),
    onnx: Some("LogSoftmax"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let (shifted, log_sum) = shifted_logits(b, args[0], axis)?;
        Ok(vec![b.sub(shifted, log_sum)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "log_softmax(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17, 3]", Domain::Normal)], call: "log_softmax(x, axis = 1)", result: "f32[B, 17, 3]" },
    ],
};

/// `x` less its largest element along the axis, and `ln Σ eˣ` of that with the axis kept.
pub(super) fn shifted_logits(b: &mut Builder<'_>, x: Value, axis: usize) -> Result<(Value, Value), OpError> {
    let max = b.reduce_keep(ReduceOp::Max, x, &[axis])?;
    let max = b.stop_gradient(max);
    let shifted = b.sub(x, max)?;
    let exp = b.unary(MapOp::Exp, shifted)?;
    let sum = b.reduce_keep(ReduceOp::Sum, exp, &[axis])?;
    Ok((shifted, b.unary(MapOp::Log, sum)?))
}
