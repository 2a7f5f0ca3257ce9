//! `huber_loss(input, target, delta = 1)`.

use crate::diag::Code;
use super::loss::{REDUCTION, reduce, square_and_rest};
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&HUBER_LOSS)];

static HUBER_LOSS: Op = Op {
    name: "huber_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION, AttrDecl::optional("delta", AttrKind::Float, "1", "the error beyond which it grows linearly; positive")],
    doc: "`e²/2` for errors `e` up to `delta` and `delta · (|e| − delta/2)` beyond (Huber 1964).",
    torch: Some("torch.nn.functional.huber_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let delta = attrs.number("delta");
        if delta <= 0.0 {
            return Err(OpError::new(Code::WrongAttribute, format!("`delta` must be positive, not {delta}")).attr("delta"));
        }
        let (squared, rest) = square_and_rest(b, args[0], args[1], delta)?;
        let squared = b.with(MapOp::Mul, squared, 0.5)?;
        let far = b.with(MapOp::Mul, rest, delta)?;
        let each = b.add(squared, far)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "huber_loss(x, y, reduction = \"none\", delta = 0.5)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "huber_loss(x, y)",
            result: "f32",
        },
    ],
};
