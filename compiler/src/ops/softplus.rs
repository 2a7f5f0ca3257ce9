//! `softplus(x)`.

use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SOFTPLUS)];

static SOFTPLUS: Op = Op {
    name: "softplus",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`ln(1 + eˣ)`, as `max(x, 0) + ln(1 + e^−|x|)`, which neither overflows nor rounds to zero early.",
    onnx: Some("Softplus"),
    body: |b, args, _| Ok(vec![log_one_plus_exp(b, args[0])?]),
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softplus(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "softplus(x)", result: "f32[B, 17]" },
    ],
};

/// `ln(1 + eˣ)`. The derivative of the larger of `x` and 0 is 1/2 where they are equal, as that of the whole is.
pub(super) fn log_one_plus_exp(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let size = b.unary(MapOp::Abs, x)?;
    let linear = b.with(MapOp::Max, x, 0.0)?;
    let below = b.unary(MapOp::Neg, size)?;
    let exp = b.unary(MapOp::Exp, below)?;
    let curve = b.unary(MapOp::Log1p, exp)?;
    b.add(linear, curve)
}
