//! `unbind(x, axis = 0)`: the slices of an axis.

use crate::diag::Code;
use super::split::few;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&UNBIND)];

static UNBIND: Op = Op {
    name: "unbind",
    signature: "(x: any[...]) -> *",
    attrs: &[AttrDecl::optional(
        "axis",
        AttrKind::Int,
        "0",
        "the axis that is taken apart; negative counts from the end",
    )],
    doc: "The slices of an axis, each without it: `let (x, y) = unbind(points, axis = 1);`. `stack` puts them together.",
    torch: Some("torch.unbind"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let mut left = b.shape(args[0]);
        let extent = left.remove(axis);
        let Some(count) = extent.as_const() else {
            let message = format!(
                "`{{callee}}` needs an extent that is known at build time, but axis {axis} of {{0}} is {extent}"
            );
            return Err(OpError::new(Code::DynamicValue, message).arg(0));
        };
        few(count)?;
        (0..count)
            .map(|k| {
                let slice = b.slice(args[0], axis, Dim::from(k), Dim::from(1))?;
                b.reshape(slice, &left)
            })
            .collect()
    },
    examples: &[
        Example { inputs: &[("x", "f32[2, 7]", Domain::Normal)], call: "unbind(x)", result: "(f32[7], f32[7])" },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal)],
            call: "unbind(x, axis = 1)",
            result: "(f32[B, 17], f32[B, 17], f32[B, 17])",
        },
    ],
};
