//! `flatten(x, start = 1, end = -1)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::dim::product;

pub(super) const ITEMS: &[Item] = &[Item::Op(&FLATTEN)];

static FLATTEN: Op = Op {
    name: "flatten",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[
        AttrDecl::optional("start", AttrKind::Int, "1", "the first axis that is merged"),
        AttrDecl::optional("end", AttrKind::Int, "-1", "the last axis that is merged"),
    ],
    doc: "Merges the axes from `start` to `end`; by default all but the first, which is the batch.",
    torch: Some("torch.flatten"),
    onnx: Some("Flatten"),
    body: |b, args, attrs| {
        let (start, end) = (b.axis(args[0], attrs, "start")?, b.axis(args[0], attrs, "end")?);
        if start > end {
            let message = format!("axis {start} stands after axis {end}");
            return Err(OpError::new(Code::AxisOutOfRange, message).attr("start"));
        }
        let shape = b.shape(args[0]);
        let merged = [product(&shape[start..=end])];
        Ok(vec![b.reshape(args[0], &[&shape[..start], &merged, &shape[end + 1..]].concat())?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)], call: "flatten(x)", result: "f32[5, 119]" },
        Example {
            inputs: &[("x", "f32[B, 5, 7, 3]", Domain::Normal)],
            call: "flatten(x, start = 0, end = 2)",
            result: "f32[35 * B, 3]",
        },
    ],
};
