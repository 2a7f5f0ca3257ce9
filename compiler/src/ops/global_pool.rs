//! `global_avg_pool(x)` and `global_max_pool(x)`: one number for each channel.

use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::dim::product;
use crate::ir::prim::{ArgOp, MapOp, Prim, ReduceOp};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&AVG), Item::Op(&MAX)];

static AVG: Op = Op {
    name: "global_avg_pool",
    signature: "(x: float[Batch, Channels, ..]) -> float[...]",
    attrs: &[],
    doc: "The mean over all axes after the second, which stay with extent 1.",
    torch: Some("torch.nn.functional.adaptive_avg_pool2d"),
    onnx: Some("GlobalAveragePool"),
    body: |b, args, _| {
        let shape = b.shape(args[0]);
        let axes: Vec<usize> = (2..shape.len()).collect();
        let sum = b.reduce_keep(ReduceOp::Sum, args[0], &axes)?;
        let count = b.extent(args[0], &product(&shape[2..]))?;
        Ok(vec![b.div(sum, count)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 7, 5]", Domain::Normal)],
            call: "global_avg_pool(x)",
            result: "f32[2, 3, 1, 1]",
        },
        Example {
            inputs: &[("x", "f32[3, 5, B]", Domain::Normal)],
            call: "global_avg_pool(x)",
            result: "f32[3, 5, 1]",
        },
    ],
};

static MAX: Op = Op {
    name: "global_max_pool",
    signature: "(x: float[Batch, Channels, ..]) -> float[...]",
    attrs: &[],
    doc: "The largest element over all axes after the second, which stay with extent 1. The gradient goes to the first largest.",
    torch: Some("torch.nn.functional.adaptive_max_pool2d"),
    onnx: Some("GlobalMaxPool"),
    body: |b, args, _| Ok(vec![first_largest(b, args[0], 2)?]),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 7, 5]", Domain::Normal)],
            call: "global_max_pool(x)",
            result: "f32[2, 3, 1, 1]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 17]", Domain::Normal)],
            call: "global_max_pool(x)",
            result: "f32[B, 5, 1]",
        },
    ],
};

/// The largest element over the axes from `first` on, which stay with extent 1. The gradient goes to one element, as
/// a pool's does, where that of a reduction would be shared by equal ones.
pub(super) fn first_largest(b: &mut Builder<'_>, x: Value, first: usize) -> Result<Value, OpError> {
    let shape = b.shape(x);
    let flat = [&shape[..first], &[product(&shape[first..])]].concat();
    let flat = b.reshape(x, &flat)?;
    let position = b.prim(Prim::ArgReduce { op: ArgOp::Max, axis: first }, &[flat])?;
    let column = [&shape[..first], &[Dim::from(1)]].concat();
    let position = b.reshape(position, &column)?;
    let place = b.iota(&b.shape(flat), first)?;
    let here = b.map(MapOp::Eq, &[place, position])?;
    let zero = b.constant(flat, 0.0)?;
    let chosen = b.select(here, flat, zero)?;
    let largest = b.sum(chosen, &[first])?;
    b.reshape(largest, &[&shape[..first], &*vec![Dim::from(1); shape.len() - first]].concat())
}
