//! `softmin(x, axis = -1)`.

use super::softmax::normalised_exp;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SOFTMIN)];

static SOFTMIN: Op = Op {
    name: "softmin",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional(
        "axis",
        AttrKind::Int,
        "-1",
        "the axis that sums to one; negative counts from the end",
    )],
    doc: "`exp(−x) / Σ exp(−x)` along an axis: `softmax` of `−x`.",
    torch: Some("torch.nn.functional.softmin"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let minus = b.unary(MapOp::Neg, args[0])?;
        Ok(vec![normalised_exp(b, minus, axis)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softmin(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17, 3]", Domain::Normal)],
            call: "softmin(x, axis = 1)",
            result: "f32[B, 17, 3]",
        },
    ],
};
