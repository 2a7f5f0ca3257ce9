//! `broadcast_to(x, [B, 3, 17])`.

use crate::diag::Code;
use super::axes::show;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};

pub(super) const ITEMS: &[Item] = &[Item::Op(&BROADCAST_TO)];

static BROADCAST_TO: Op = Op {
    name: "broadcast_to",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::required("shape", AttrKind::Shape, "the extents of the result")],
    doc: "Repeats along missing leading axes and axes of extent 1, as NumPy does.",
    torch: Some("torch.broadcast_to"),
    onnx: Some("Expand"),
    body: |b, args, attrs| {
        let shape = attrs.extents("shape");
        let message = format!("{{0}} is {}, which does not broadcast to {}", b.ty(args[0]), show(&shape));
        let result = b.broadcast_to(args[0], &shape);
        Ok(vec![result.map_err(|_| OpError::new(Code::BroadcastMismatch, message).attr("shape"))?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[7]", Domain::Normal)], call: "broadcast_to(x, [5, 7])", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 1, 17]", Domain::Normal)], call: "broadcast_to(x, [B, 3, 17])", result: "f32[B, 3, 17]" },
    ],
};
