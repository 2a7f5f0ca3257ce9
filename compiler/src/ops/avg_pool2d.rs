//! `avg_pool2d(x, window = 2)`.

use super::pool::{CEIL_MODE, COUNT_INCLUDE_PAD, STRIDE, WINDOW2, means};
use super::sliding::PADDING;
use super::{Domain, Example, Item, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&AVG_POOL2D)];

static AVG_POOL2D: Op = Op {
    name: "avg_pool2d",
    signature: "(x: float[.., Height, Width]) -> float[...]",
    attrs: &[WINDOW2, STRIDE, PADDING, CEIL_MODE, COUNT_INCLUDE_PAD],
    doc: "The mean of each window over the last two axes.",
    torch: Some("torch.nn.functional.avg_pool2d"),
    onnx: Some("AveragePool"),
    body: |b, args, attrs| means(b, args, attrs, 2),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 8, 6]", Domain::Normal)],
            call: "avg_pool2d(x, window = 2)",
            result: "f32[2, 3, 4, 3]",
        },
        Example {
            inputs: &[("x", "f32[B, 7, 17]", Domain::Normal)],
            call: "avg_pool2d(x, window = [3, 2], stride = 2, padding = 1)",
            result: "f32[B, 4, 9]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)],
            call: "avg_pool2d(x, window = 3, stride = 2, padding = 1, count_include_pad = false)",
            result: "f32[B, 3, 4]",
        },
        Example {
            inputs: &[("x", "f32[B, 7, 6]", Domain::Normal)],
            call: "avg_pool2d(x, window = 3, stride = 2, padding = 1, ceil_mode = true)",
            result: "f32[B, 4, 4]",
        },
    ],
};
