//! `max_pool2d(x, window = 2)`.

use super::pool::{CEIL_MODE, STRIDE, WINDOW2, largest};
use super::sliding::{DILATION, PADDING};
use super::{Domain, Example, Item, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&MAX_POOL2D)];

static MAX_POOL2D: Op = Op {
    name: "max_pool2d",
    signature: "(x: float[.., Height, Width]) -> float[...]",
    attrs: &[WINDOW2, STRIDE, PADDING, DILATION, CEIL_MODE],
    doc: "The largest element of each window over the last two axes; padding does not take part. The gradient goes to \
          the first largest.",
    torch: Some("torch.nn.functional.max_pool2d"),
    onnx: Some("MaxPool"),
    body: |b, args, attrs| largest(b, args, attrs, 2),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 8, 6]", Domain::Normal)],
            call: "max_pool2d(x, window = 2)",
            result: "f32[2, 3, 4, 3]",
        },
        Example {
            inputs: &[("x", "f32[B, 7, 17]", Domain::Normal)],
            call: "max_pool2d(x, window = [3, 2], stride = 2, padding = 1, dilation = [1, 3])",
            result: "f32[B, 4, 8]",
        },
        Example {
            inputs: &[("x", "f32[B, 7, 6]", Domain::Normal)],
            call: "max_pool2d(x, window = 3, stride = 2, ceil_mode = true)",
            result: "f32[B, 3, 3]",
        },
    ],
};
