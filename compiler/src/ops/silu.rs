//! `silu(x)`, also known as swish.

use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SILU)];

static SILU: Op = Op {
    name: "silu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "The sigmoid linear unit `x / (1 + e⁻ˣ)` (Elfwing, Uchibe and Doya 2017).",
    torch: Some("torch.nn.functional.silu"),
    onnx: None,
    body: |b, args, _| {
        let gate = b.unary(MapOp::Sigmoid, args[0])?;
        Ok(vec![b.mul(args[0], gate)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "silu(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "silu(x)", result: "f32[B, 17]" },
    ],
};
