//! `avg_pool1d(x, window = 2)`.

use super::pool::{CEIL_MODE, COUNT_INCLUDE_PAD, STRIDE, WINDOW1, means};
use super::sliding::PADDING;
use super::{Domain, Example, Item, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&AVG_POOL1D)];

static AVG_POOL1D: Op = Op {
    name: "avg_pool1d",
    signature: "(x: float[.., Length]) -> float[...]",
    attrs: &[WINDOW1, STRIDE, PADDING, CEIL_MODE, COUNT_INCLUDE_PAD],
    doc: "The mean of each window over the last axis.",
    torch: Some("torch.nn.functional.avg_pool1d"),
    onnx: Some("AveragePool"),
    body: |b, args, attrs| means(b, args, attrs, 1),
    examples: &[
        Example { inputs: &[("x", "f32[2, 3, 9]", Domain::Normal)], call: "avg_pool1d(x, 2)", result: "f32[2, 3, 4]" },
        Example {
            inputs: &[("x", "f32[3, 5, B]", Domain::Normal)],
            call: "avg_pool1d(x, window = 3, stride = 1, padding = 1, count_include_pad = false)",
            result: "f32[3, 5, B]",
        },
    ],
};
