//! `nll_loss(log_probabilities, target, weight)`.

use super::labels::{CLASS_AXIS, IGNORE_INDEX, Labels};
use super::loss::REDUCTION;
use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&NLL_LOSS)];

static NLL_LOSS: Op = Op {
    name: "nll_loss",
    signature: "(input: float[...], target: int[...], weight: float[_]?) -> float[...]",
    attrs: &[REDUCTION, CLASS_AXIS, IGNORE_INDEX],
    doc: "The negative log likelihood `−weight[target] · input[target]` of class ids, from logarithms of \
          probabilities such as `log_softmax` gives; the weight, which may be left out, is a number for each class. An \
          id that is no class makes the loss NaN. The mean is over the rows, or over the sum of their weights.",
    torch: Some("torch.nn.functional.nll_loss"),
    onnx: Some("NegativeLogLikelihoodLoss"),
    body: |b, args, attrs| {
        let labels = Labels::of(b, args, attrs)?;
        let own = labels.own(b, args[0])?;
        let each = b.unary(MapOp::Neg, own)?;
        let each = labels.weigh(b, each)?;
        labels.reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "u32[5]", Domain::Below(7))],
            call: "nll_loss(x, y, reduction = \"none\")",
            result: "f32[5]",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 5, 3]", Domain::Normal),
                ("y", "i32[B, 3]", Domain::Below(5)),
                ("w", "f32[5]", Domain::Positive),
            ],
            call: "nll_loss(x, y, w, axis = 1, ignore_index = 2)",
            result: "f32",
        },
    ],
};
