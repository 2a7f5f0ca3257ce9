//! `mse_loss(input, target)`.

use super::loss::{REDUCTION, reduce};
use super::{Domain, Example, Item, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&MSE_LOSS)];

static MSE_LOSS: Op = Op {
    name: "mse_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION],
    doc: "The mean squared error `mean((input − target)²)`.",
    torch: Some("torch.nn.functional.mse_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let error = b.sub(args[0], args[1])?;
        let each = b.mul(error, error)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "mse_loss(x, y, reduction = \"none\")",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "mse_loss(x, y)",
            result: "f32",
        },
    ],
};
