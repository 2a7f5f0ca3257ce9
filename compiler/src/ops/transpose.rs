//! `transpose(x)` and `transpose(x, [2, 0, 1])`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};

pub(super) const ITEMS: &[Item] = &[Item::Op(&TRANSPOSE)];

static TRANSPOSE: Op = Op {
    name: "transpose",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::optional("axes", AttrKind::Shape, "", "for each axis of the result, the axis of `x`; where absent, the last two change places")],
    doc: "Axis `i` of the result is axis `axes[i]` of `x`; by default the last two change places.",
    torch: Some("torch.permute"),
    onnx: Some("Transpose"),
    body: |b, args, attrs| {
        let rank = b.rank(args[0]);
        let axes = match b.axes(args[0], attrs, "axes")? {
            Some(axes) => axes,
            None if rank < 2 => {
                let message = format!("`transpose` needs two axes, but {{0}} is {}", b.ty(args[0]));
                return Err(OpError::new(Code::WrongRank, message).arg(0));
            }
            None => (0..rank - 2).chain([rank - 1, rank - 2]).collect(),
        };
        if axes.len() != rank {
            let message = format!("{} axes are given for {{0}}, which has {rank}", axes.len());
            let error = OpError::new(Code::WrongRank, message).attr("axes");
            let [a, b] = axes[..] else { return Err(error) };
            // PyTorch's `transpose` names the two that change places.
            let mut order: Vec<usize> = (0..rank).collect();
            order.swap(a, b);
            let order: Vec<String> = order.iter().map(usize::to_string).collect();
            return Err(error.help(format!("write `transpose({{0}}, {})`", order.join(", "))));
        }
        Ok(vec![b.transpose(args[0], &axes)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)], call: "transpose(x)", result: "f32[5, 17, 7]" },
        Example { inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)], call: "transpose(x, [2, 0, 1])", result: "f32[7, B, 5]" },
        Example { inputs: &[("x", "u8[B, 5, 7]", Domain::Below(200))], call: "transpose(x, [2, 0, 1])", result: "u8[7, B, 5]" },
        Example { inputs: &[("x", "f16[5, 7, 3]", Domain::Normal)], call: "transpose(x)", result: "f16[5, 3, 7]" },
        Example { inputs: &[("x", "i64[B, 7]", Domain::Below(200))], call: "transpose(x)", result: "i64[7, B]" },
    ],
};
