//! `max_pool1d(x, window = 2)`.

use super::pool::{CEIL_MODE, STRIDE, WINDOW1, largest};
use super::sliding::{DILATION, PADDING};
use super::{Domain, Example, Item, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&MAX_POOL1D)];

static MAX_POOL1D: Op = Op {
    name: "max_pool1d",
    signature: "(x: float[.., Length]) -> float[...]",
    attrs: &[WINDOW1, STRIDE, PADDING, DILATION, CEIL_MODE],
    doc: "The largest element of each window over the last axis; padding does not take part. The gradient goes to \
          the first largest.",
    torch: Some("torch.nn.functional.max_pool1d"),
    onnx: Some("MaxPool"),
    body: |b, args, attrs| largest(b, args, attrs, 1),
    examples: &[
        Example { inputs: &[("x", "f32[2, 3, 9]", Domain::Normal)], call: "max_pool1d(x, 2)", result: "f32[2, 3, 4]" },
        Example {
            inputs: &[("x", "f32[B, 3, 18]", Domain::Normal)],
            call: "max_pool1d(x, window = 4, stride = 3, padding = 1, dilation = 2, ceil_mode = true)",
            result: "f32[B, 3, 6]",
        },
    ],
};
