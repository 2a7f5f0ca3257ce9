//! `multi_margin_loss(x, target)`.

use super::labels::{CLASS_AXIS, IGNORE_INDEX, Labels};
use super::loss::REDUCTION;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::diag::Code;
use crate::ir::Dim;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&MULTI_MARGIN_LOSS)];

static MULTI_MARGIN_LOSS: Op = Op {
    name: "multi_margin_loss",
    signature: "(input: float[...], target: int[...]) -> float[...]",
    attrs: &[
        REDUCTION,
        AttrDecl::optional("p", AttrKind::Int, "1", "the power of what is missing: 1 or 2"),
        AttrDecl::optional("margin", AttrKind::Float, "1", "the distance that is asked for"),
        CLASS_AXIS,
        IGNORE_INDEX,
    ],
    doc: "The multi-class hinge loss of each row, `Σ max(margin − input[target] + input[i], 0)ᵖ / classes` over the classes \
          `i` that are not the target. An id that is no class makes the loss NaN.",
    torch: Some("torch.nn.functional.multi_margin_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let labels = Labels::of(b, args, attrs)?;
        let own = labels.own(b, args[0])?;
        let mut column = b.shape(args[0]);
        column[labels.axis] = Dim::from(1);
        let own = b.reshape(own, &column)?;
        let ahead = b.sub(args[0], own)?;
        let missing = b.with(MapOp::Add, ahead, attrs.number("margin"))?;
        let zero = b.constant(missing, 0.0)?;
        let short = b.map(MapOp::Lt, &[zero, missing])?;
        let missing = match attrs.known("p") {
            1 => missing,
            2 => b.mul(missing, missing)?,
            p => return Err(OpError::new(Code::WrongAttribute, format!("`p` is 1 or 2, not {p}")).attr("p")),
        };
        // The target is as far from itself as it must be from the others, which counts for nothing.
        let hot = labels.hot(b, args[0])?;
        let each = b.select(short, missing, zero)?;
        let each = b.select(hot, zero, each)?;
        let sum = b.reduce(ReduceOp::Sum, each, &[labels.axis])?;
        let classes = b.extent_u32(&labels.classes)?;
        let dtype = b.dtype(sum);
        let classes = b.convert(classes, dtype)?;
        let each = b.div(sum, classes)?;
        labels.reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "u32[5]", Domain::Below(7))],
            call: "multi_margin_loss(x, y, reduction = \"none\", p = 2)",
            result: "f32[5]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 3]", Domain::Normal), ("y", "i32[B, 3]", Domain::Below(5))],
            call: "multi_margin_loss(x, y, margin = 0.3, axis = 1, ignore_index = 2)",
            result: "f32",
        },
    ],
};
