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
    torch: Some("torch.nn.functional.softplus"),
    onnx: Some("Softplus"),
    body: |b, args, _| Ok(vec![log_one_plus_exp(b, args[0])?]),
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softplus(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "softplus(x)", result: "f32[B, 17]" },
    ],
};

/// `ln(1 + eˣ)`. The choice between the two forms has no derivative, so those of all orders are right, at 0 as well.
pub(super) fn log_one_plus_exp(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let zero = b.constant(x, 0.0)?;
    let above = b.map(MapOp::Lt, &[zero, x])?;
    let minus = b.unary(MapOp::Neg, x)?;
    let (linear, below) = (b.select(above, x, zero)?, b.select(above, minus, x)?);
    let exp = b.unary(MapOp::Exp, below)?;
    let curve = b.unary(MapOp::Log1p, exp)?;
    b.add(linear, curve)
}
