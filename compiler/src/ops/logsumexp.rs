//! `logsumexp(x, axis = …)`.

use super::axes::REDUCED;
use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&LOGSUMEXP)];

static LOGSUMEXP: Op = Op {
    name: "logsumexp",
    signature: "(x: float[..]) -> float[...]",
    attrs: &REDUCED,
    doc: "`ln Σ eˣ` over the axes, shifted by the largest element so that it does not overflow.",
    torch: Some("torch.logsumexp"),
    onnx: Some("ReduceLogSumExp"),
    body: |b, args, attrs| {
        let axes = b.reduced(args[0], attrs)?;
        let max = b.reduce_keep(ReduceOp::Max, args[0], &axes)?;
        let shift = finite_shift(b, max)?;
        let shifted = b.sub(args[0], shift)?;
        let exp = b.unary(MapOp::Exp, shifted)?;
        let sum = b.reduce_keep(ReduceOp::Sum, exp, &axes)?;
        let log = b.unary(MapOp::Log, sum)?;
        let kept = b.add(log, shift)?;
        b.finish(kept, &axes, attrs)
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)], call: "logsumexp(x, axis = 1)", result: "f32[5, 17]" },
        Example {
            inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)],
            call: "logsumexp(x, axes = [0, 2], keepdims = true)",
            result: "f32[1, 5, 1]",
        },
    ],
};

/// What is taken from logarithms before they are powers: the largest, or 0 where that is infinite. An infinite shift would make
/// ∞ − ∞; without a shift the infinities come out right.
pub(super) fn finite_shift(b: &mut Builder<'_>, largest: Value) -> Result<Value, OpError> {
    let size = b.unary(MapOp::Abs, largest)?;
    let finite = b.with(MapOp::Le, size, b.dtype(largest).largest())?;
    let zero = b.constant(largest, 0.0)?;
    let shift = b.select(finite, largest, zero)?;
    Ok(b.stop_gradient(shift))
}
