//! `split(x, 3)`: equal parts.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;
use crate::ir::limits::RESULTS;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SPLIT)];

static SPLIT: Op = Op {
    name: "split",
    signature: "(x: any[...]) -> *",
    attrs: &[
        AttrDecl::required("parts", AttrKind::Int, "how many equal parts"),
        AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis that is cut; negative counts from the end"),
    ],
    doc: "Equal parts of an axis, by default the last: `let (a, b) = split(x, 2);`.",
    torch: Some("torch.chunk"),
    onnx: Some("Split"),
    body: |b, args, attrs| {
        let (parts, axis) = (attrs.positive("parts")?, b.axis(args[0], attrs, "axis")?);
        let extent = b.shape(args[0])[axis].clone();
        let Some(len) = extent.exact_div(&Dim::from(parts)) else {
            let message = format!("{parts} parts do not divide axis {axis} of {{0}}, which is {extent}");
            return Err(OpError::new(Code::NonDivisible, message).attr("parts"));
        };
        few(parts)?;
        (0..parts).map(|k| b.slice(args[0], axis, Dim::from(k) * len.clone(), len.clone())).collect()
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 21]", Domain::Normal)], call: "split(x, 3)", result: "(f32[5, 7], f32[5, 7], f32[5, 7])" },
        Example {
            inputs: &[("x", "f32[B, 10, 17]", Domain::Normal)],
            call: "split(x, 2, axis = 1)",
            result: "(f32[B, 5, 17], f32[B, 5, 17])",
        },
    ],
};

/// Reports more results than an op may have.
pub(super) fn few(results: i64) -> Result<(), OpError> {
    if results <= RESULTS {
        return Ok(());
    }
    let message = format!("`{{callee}}` would have {results} results, and the most are {RESULTS}");
    Err(OpError::new(Code::TooLarge, message))
}
