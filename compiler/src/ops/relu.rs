//! `relu(x)`: the rectified linear unit.

use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&RELU)];

static RELU: Op = Op {
    name: "relu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "The rectified linear unit `max(x, 0)`; its derivative at 0 is 0.",
    torch: Some("torch.nn.functional.relu"),
    onnx: Some("Relu"),
    body: |b, args, _| {
        let zero = b.constant(args[0], 0.0)?;
        // The test is false for NaN, which passes through.
        let flat = b.map(MapOp::Le, &[args[0], zero])?;
        Ok(vec![b.select(flat, zero, args[0])?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "relu(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "relu(x)", result: "f32[B, 17]" },
    ],
};
