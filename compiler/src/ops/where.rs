//! `where(condition, a, b)`.

use crate::diag::Code;
use super::{Domain, Example, Item, Op, OpError};

pub(super) const ITEMS: &[Item] = &[Item::Op(&WHERE)];

static WHERE: Op = Op {
    name: "where",
    signature: "(condition: bool[...], a: any[...], b: any[...]) -> any[...]",
    attrs: &[],
    doc: "`a` where the condition holds and `b` elsewhere; all three broadcast. A branch that is not taken gets a \
          gradient of 0. Where that meets a slope that is not finite, as that of `sqrt` at 0, their product is NaN, as in \
          PyTorch: bound what such a branch is computed from.",
    torch: Some("torch.where"),
    onnx: Some("Where"),
    body: |b, args, _| {
        if b.common_shape(args).is_err() {
            let types: Vec<String> = args.iter().map(|&a| b.ty(a).to_string()).collect();
            let message = format!("`{{callee}}` cannot broadcast {}", types.join(", "));
            return Err(OpError::new(Code::BroadcastMismatch, message));
        }
        Ok(vec![b.select(args[0], args[1], args[2])?])
    },
    examples: &[
        Example {
            inputs: &[
                ("c", "bool[5, 7]", Domain::Below(2)),
                ("x", "f32[5, 7]", Domain::Normal),
                ("y", "f32[7]", Domain::Normal),
            ],
            call: "where(c, x, y)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[
                ("c", "bool[B, 1]", Domain::Below(2)),
                ("x", "f32[B, 17]", Domain::Normal),
                ("y", "f32", Domain::Normal),
            ],
            call: "where(c, x, y)",
            result: "f32[B, 17]",
        },
        Example {
            inputs: &[
                ("c", "bool[B, 17]", Domain::Below(2)),
                ("x", "bool[B, 17]", Domain::Below(2)),
                ("y", "bool[17]", Domain::Below(2)),
            ],
            call: "where(c, x, y)",
            result: "bool[B, 17]",
        },
        Example {
            inputs: &[("c", "bool[B, 7]", Domain::Below(2)), ("x", "i8[B, 7]", Domain::Below(9)), ("y", "i8[7]", Domain::Below(9))],
            call: "where(c, x, y)",
            result: "i8[B, 7]",
        },
    ],
};
