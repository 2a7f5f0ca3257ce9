//! `log_sigmoid(x)`.

use super::softplus::log_one_plus_exp;
use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&LOG_SIGMOID)];

static LOG_SIGMOID: Op = Op {
    name: "log_sigmoid",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`ln(1 / (1 + e⁻ˣ))`, as `−softplus(−x)`, which neither overflows nor becomes −∞.",
    torch: Some("torch.nn.functional.logsigmoid"),
    onnx: None,
    body: |b, args, _| {
        let minus = b.unary(MapOp::Neg, args[0])?;
        let curve = log_one_plus_exp(b, minus)?;
        Ok(vec![b.unary(MapOp::Neg, curve)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "log_sigmoid(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "log_sigmoid(x)", result: "f32[B, 17]" },
    ],
};
