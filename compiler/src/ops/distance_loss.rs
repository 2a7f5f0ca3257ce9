//! Losses of differences: `l1_loss(input, target)` and `smooth_l1_loss(input, target, beta = 1)`.

use crate::diag::Code;
use super::loss::{REDUCTION, reduce, square_and_rest};
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&L1_LOSS), Item::Op(&SMOOTH_L1_LOSS)];

static L1_LOSS: Op = Op {
    name: "l1_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION],
    doc: "The mean absolute error `mean(|input − target|)`; the derivative of equal numbers is 0.",
    torch: Some("torch.nn.functional.l1_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let error = b.sub(args[0], args[1])?;
        let each = b.unary(MapOp::Abs, error)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "l1_loss(x, y, reduction = \"none\")",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "l1_loss(x, y)",
            result: "f32",
        },
    ],
};

static SMOOTH_L1_LOSS: Op = Op {
    name: "smooth_l1_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[
        REDUCTION,
        AttrDecl::optional("beta", AttrKind::Float, "1", "the error beyond which it grows linearly; positive"),
    ],
    doc: "`e²/(2 · beta)` for errors `e` up to `beta` and `|e| − beta/2` beyond (Girshick 2015): `huber_loss` divided \
          by its `delta`.",
    torch: Some("torch.nn.functional.smooth_l1_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let beta = attrs.number("beta");
        if beta <= 0.0 {
            let error = OpError::new(Code::WrongAttribute, format!("`beta` must be positive, not {beta}")).attr("beta");
            return Err(if beta == 0.0 { error.help("write `l1_loss({0}, {1})`") } else { error });
        }
        let (squared, rest) = square_and_rest(b, args[0], args[1], beta)?;
        let squared = b.with(MapOp::Mul, squared, 0.5 / beta)?;
        let each = b.add(squared, rest)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "smooth_l1_loss(x, y, reduction = \"none\", beta = 0.5)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "smooth_l1_loss(x, y)",
            result: "f32",
        },
    ],
};
