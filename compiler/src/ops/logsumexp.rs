//! `logsumexp(x, axis = …)`.

use super::axes::REDUCED;
use super::{Domain, Example, Item, Op};
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
        // An infinite shift would make ∞ − ∞; without a shift the infinities come out right.
        let size = b.unary(MapOp::Abs, max)?;
        let largest = b.constant(max, f64::from(f32::MAX))?;
        let finite = b.map(MapOp::Le, &[size, largest])?;
        let zero = b.constant(max, 0.0)?;
        let shift = b.select(finite, max, zero)?;
        let shift = b.stop_gradient(shift);
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
