//! `mish(x)`.

use super::softplus::log_one_plus_exp;
use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&MISH)];

static MISH: Op = Op {
    name: "mish",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`x · tanh(ln(1 + eˣ))` (Misra 2019).",
    torch: Some("torch.nn.functional.mish"),
    onnx: Some("Mish"),
    body: |b, args, _| {
        let curve = log_one_plus_exp(b, args[0])?;
        let gate = b.unary(MapOp::Tanh, curve)?;
        Ok(vec![b.mul(args[0], gate)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "mish(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "mish(x)", result: "f32[B, 17]" },
    ],
};
