//! `avg_pool2d(x, window = 2)`.

use super::max_pool2d::{STRIDE, WINDOW, pool_windows};
use super::sliding::{PADDING, positive};
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::{MapOp, Prim, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&AVG_POOL2D)];

static AVG_POOL2D: Op = Op {
    name: "avg_pool2d",
    signature: "(x: float[.., Height, Width]) -> float[...]",
    attrs: &[
        WINDOW,
        STRIDE,
        PADDING,
        AttrDecl::optional("count_include_pad", AttrKind::Bool, "true", "whether the padding counts as zeros"),
    ],
    doc: "The mean of each window over the last two axes.",
    onnx: Some("AveragePool"),
    body: |b, args, attrs| {
        let windows = pool_windows(b, args[0], attrs)?;
        let (dtype, spatial) = (b.dtype(args[0]), b.shape(args[0])[b.rank(args[0]) - 2..].to_vec());
        let sum = b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows: windows.clone() }, args)?;
        if attrs.flag("count_include_pad") {
            let count: i64 = positive(attrs, "window", 2)?.iter().product();
            return Ok(vec![b.with(MapOp::Mul, sum, 1.0 / count as f64)?]);
        }
        let ones = b.full(dtype, &spatial, 1.0)?;
        let count = b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows }, &[ones])?;
        Ok(vec![b.div(sum, count)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[2, 3, 8, 6]", Domain::Normal)], call: "avg_pool2d(x, window = 2)", result: "f32[2, 3, 4, 3]" },
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
    ],
};
