//! `clamp(x, min = …, max = …)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&CLAMP)];

static CLAMP: Op = Op {
    name: "clamp",
    signature: "(x: number[..]) -> number[..]",
    attrs: &[
        AttrDecl::optional("min", AttrKind::Float, "", "the lower bound; none where absent"),
        AttrDecl::optional("max", AttrKind::Float, "", "the upper bound; none where absent"),
    ],
    doc: "`min(max(x, lower), upper)`; the derivative is 0 outside of the bounds.",
    torch: Some("torch.clamp"),
    onnx: Some("Clip"),
    body: |b, args, attrs| {
        let (min, max) = (attrs.float("min"), attrs.float("max"));
        if let (Some(low), Some(high)) = (min, max)
            && low > high
        {
            return Err(OpError::new(Code::WrongAttribute, format!("`min` is {low}, above `max`, which is {high}")).attr("min"));
        }
        let mut x = args[0];
        if let Some(low) = min {
            x = b.with(MapOp::Max, x, low)?;
        }
        if let Some(high) = max {
            x = b.with(MapOp::Min, x, high)?;
        }
        Ok(vec![x])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "clamp(x, min = -0.5, max = 0.75)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "i32[B, 17]", Domain::Below(9))], call: "clamp(x, 2, 6)", result: "i32[B, 17]" },
    ],
};
