//! `mean(x, axis = …)`.

use super::axes::REDUCED;
use super::{Domain, Example, Item, Op};
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&MEAN)];

static MEAN: Op = Op {
    name: "mean",
    signature: "(x: float[..]) -> float[...]",
    attrs: &REDUCED,
    doc: "The arithmetic mean `Σ x / n` over the axes.",
    torch: Some("torch.mean"),
    onnx: Some("ReduceMean"),
    body: |b, args, attrs| {
        let axes = b.reduced(args[0], attrs)?;
        let mean = b.mean(args[0], &axes)?;
        let mut kept = b.shape(args[0]);
        axes.iter().for_each(|&a| kept[a] = Dim::from(1));
        let mean = b.reshape(mean, &kept)?;
        b.finish(mean, &axes, attrs)
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)], call: "mean(x, axis = 1)", result: "f32[5, 17]" },
        Example {
            inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)],
            call: "mean(x, axes = [0, 2], keepdims = true)",
            result: "f32[1, 5, 1]",
        },
        Example { inputs: &[("x", "f32[3, B]", Domain::Normal)], call: "mean(x)", result: "f32" },
        Example { inputs: &[("x", "f16[B, 17]", Domain::Normal)], call: "mean(x, axis = 1)", result: "f16[B]" },
    ],
};
