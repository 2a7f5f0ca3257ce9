//! `binary_cross_entropy_with_logits(input, target)`.

use super::loss::{REDUCTION, reduce};
use super::softplus::log_one_plus_exp;
use super::{Domain, Example, Item, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&BINARY_CROSS_ENTROPY_WITH_LOGITS)];

static BINARY_CROSS_ENTROPY_WITH_LOGITS: Op = Op {
    name: "binary_cross_entropy_with_logits",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION],
    doc: "`−target · ln σ(input) − (1 − target) · ln(1 − σ(input))` with probabilities `target`, computed as \
          `softplus(input) − input · target`, which does not overflow.",
    torch: Some("torch.nn.functional.binary_cross_entropy_with_logits"),
    onnx: None,
    body: |b, args, attrs| {
        let curve = log_one_plus_exp(b, args[0])?;
        let line = b.mul(args[0], args[1])?;
        let each = b.sub(curve, line)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Unit)],
            call: "binary_cross_entropy_with_logits(x, y, reduction = \"none\")",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Unit)],
            call: "binary_cross_entropy_with_logits(x, y)",
            result: "f32",
        },
    ],
};
