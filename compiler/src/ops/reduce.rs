//! Reductions by one associative operation: `sum`, `max`, `min` and `prod` over any axes.

use super::axes::REDUCED;
use super::{Domain, Example, Item, Op};
use crate::ir::prim::ReduceOp;

/// One op from each line: its name, PyTorch's and ONNX's names, operation with the class of its result and what it gives of u8, test domain and
/// documentation.
macro_rules! table {
    ($($item:ident = $name:literal $torch:literal $onnx:literal, $op:ident $result:literal $narrow:literal, $domain:ident, $doc:literal;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: concat!("(x: number[..]) -> ", $result, "[...]"),
            attrs: &REDUCED,
            doc: $doc,
            torch: Some($torch),
            onnx: Some($onnx),
            body: |b, args, attrs| {
                let axes = b.reduced(args[0], attrs)?;
                let kept = b.reduce_keep(ReduceOp::$op, args[0], &axes)?;
                b.finish(kept, &axes, attrs)
            },
            examples: &[
                Example {
                    inputs: &[("x", "f32[5, 7, 17]", Domain::$domain)],
                    call: concat!($name, "(x, axis = 1)"),
                    result: "f32[5, 17]",
                },
                Example {
                    inputs: &[("x", "f32[B, 5, 7]", Domain::$domain)],
                    call: concat!($name, "(x, axes = [0, -1], keepdims = true)"),
                    result: "f32[1, 5, 1]",
                },
                Example {
                    inputs: &[("x", "i32[3, B]", Domain::Below(3))],
                    call: concat!($name, "(x)"),
                    result: "i32",
                },
                Example {
                    inputs: &[("x", "u8[B, 17]", Domain::Below(200))],
                    call: concat!($name, "(x, axis = 1)"),
                    result: $narrow,
                },
            ],
        };)*
    };
}

table! {
    SUM = "sum" "torch.sum" "ReduceSum", Sum "wide" "u32[B]", Normal, "The sum over the axes.";
    MAX = "max" "torch.amax" "ReduceMax", Max "number" "u8[B]", Normal, "The largest element over the axes; NaN if any is. Equal ones share the gradient.";
    MIN = "min" "torch.amin" "ReduceMin", Min "number" "u8[B]", Normal, "The smallest element over the axes; NaN if any is. Equal ones share the gradient.";
    PROD = "prod" "torch.prod" "ReduceProd", Prod "wide" "u32[B]", Positive, "The product over the axes.";
}
