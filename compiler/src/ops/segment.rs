//! Sums by index: `scatter_add(x, index, updates, axis)`, `index_add(x, index, updates)`, `segment_sum(x, segments, count)`
//! and `segment_mean`.

use crate::diag::Code;
use super::gather::flat_positions;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] =
    &[Item::Op(&SCATTER_ADD), Item::Op(&INDEX_ADD), Item::Op(&SEGMENT_SUM), Item::Op(&SEGMENT_MEAN)];

static SCATTER_ADD: Op = Op {
    name: "scatter_add",
    signature: "(x: number[...], index: int[..], updates: number[..]) -> number[...]",
    attrs: &[AttrDecl::required("axis", AttrKind::Int, "the indexed axis; negative counts from the end")],
    doc: "`x` with each update added at its index: `result[i, index[i, j]] += updates[i, j]` for axis 1, and so on, as \
          PyTorch's: all other axes run along. An index outside of the axis is dropped.",
    torch: Some("torch.scatter_add"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let flat = flat_positions(b, args[0], args[1], axis)?;
        let (ty, updates) = (b.ty(args[0]).clone(), b.ty(args[2]).count());
        let updates = b.reshape(args[2], &[updates])?;
        let count = b.ty(flat).count();
        let flat = b.reshape(flat, &[count])?;
        let sums = b.prim(Prim::ScatterAdd { axis: 0, extent: ty.count() }, &[updates, flat])?;
        let sums = b.reshape(sums, &ty.shape)?;
        Ok(vec![b.add(args[0], sums)?])
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("i", "u32[5, 3]", Domain::Below(7)),
                ("u", "f32[5, 3]", Domain::Normal),
            ],
            call: "scatter_add(x, i, u, axis = 1)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 5, 3]", Domain::Normal),
                ("i", "i32[B, 9, 3]", Domain::Below(5)),
                ("u", "f32[B, 9, 3]", Domain::Normal),
            ],
            call: "scatter_add(x, i, u, axis = 1)",
            result: "f32[B, 5, 3]",
        },
    ],
};

static INDEX_ADD: Op = Op {
    name: "index_add",
    signature: "(x: number[...], index: int[Count], updates: number[...]) -> number[...]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Int, "0", "the indexed axis; negative counts from the end")],
    doc: "`x` with each slice of `updates` added to the slice of `x` at its index, which may come several times. An \
          index outside of the axis is dropped.",
    torch: Some("torch.index_add"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let (x, mut wanted) = (b.ty(args[0]).clone(), b.ty(args[0]).clone());
        wanted.shape[axis] = b.shape(args[1])[0].clone();
        let updates = b.ty(args[2]);
        if updates.shape != wanted.shape {
            let message = format!("{{0}} is {x}, so the updates must be {wanted}, but {{2}} is {updates}");
            return Err(OpError::new(Code::ShapeMismatch, message).arg(2));
        }
        let index = b.index(args[1])?;
        let sums = b.prim(Prim::ScatterAdd { axis, extent: x.shape[axis].clone() }, &[args[2], index])?;
        Ok(vec![b.add(args[0], sums)?])
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("i", "u32[9]", Domain::Below(5)),
                ("u", "f32[9, 7]", Domain::Normal),
            ],
            call: "index_add(x, i, u)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[
                ("x", "i32[17, 3]", Domain::Below(9)),
                ("i", "i32[B]", Domain::Below(17)),
                ("u", "i32[B, 3]", Domain::Below(9)),
            ],
            call: "index_add(x, i, u)",
            result: "i32[17, 3]",
        },
        Example {
            inputs: &[
                ("x", "f32[3, 17]", Domain::Normal),
                ("i", "i32[B]", Domain::Below(17)),
                ("u", "f32[3, B]", Domain::Normal),
            ],
            call: "index_add(x, i, u, axis = 1)",
            result: "f32[3, 17]",
        },
    ],
};

const COUNT: AttrDecl = AttrDecl::required("count", AttrKind::Dim, "the number of segments");

static SEGMENT_SUM: Op = Op {
    name: "segment_sum",
    signature: "(x: number[Count, ..], segments: int[Count]) -> wide*",
    attrs: &[COUNT],
    doc: "The sum of the slices of the first axis that belong to each segment, 0 for one without any; a segment number \
          outside is dropped.",
    torch: None,
    onnx: None,
    body: |b, args, attrs| Ok(vec![sums(b, args[0], args[1], attrs)?]),
    examples: &[
        Example {
            inputs: &[("x", "f32[9, 7]", Domain::Normal), ("i", "u32[9]", Domain::Below(5))],
            call: "segment_sum(x, i, 5)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "u32[B]", Domain::Below(9)), ("i", "i32[B]", Domain::Below(4))],
            call: "segment_sum(x, i, count = 4)",
            result: "u32[4]",
        },
    ],
};

static SEGMENT_MEAN: Op = Op {
    name: "segment_mean",
    signature: "(x: float[Count, ..], segments: int[Count]) -> float*",
    attrs: &[COUNT],
    doc: "The mean of the slices of the first axis that belong to each segment, 0 for one without any; a segment number \
          outside is dropped.",
    torch: None,
    onnx: None,
    body: |b, args, attrs| {
        let sum = sums(b, args[0], args[1], attrs)?;
        let ones = b.full(b.dtype(args[0]), &b.shape(args[1]), 1.0)?;
        let sizes = sums(b, ones, args[1], attrs)?;
        let sizes = b.with(MapOp::Max, sizes, 1.0)?;
        let mut column = vec![Dim::from(1); b.rank(sum)];
        column[0] = b.shape(sizes)[0].clone();
        let sizes = b.reshape(sizes, &column)?;
        Ok(vec![b.div(sum, sizes)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[9, 7]", Domain::Normal), ("i", "u32[9]", Domain::Below(5))],
            call: "segment_mean(x, i, 6)",
            result: "f32[6, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 3]", Domain::Normal), ("i", "i32[B]", Domain::Below(4))],
            call: "segment_mean(x, i, count = 4)",
            result: "f32[4, 3]",
        },
    ],
};

/// The sum of each segment along the first axis.
fn sums(b: &mut Builder<'_>, x: Value, segments: Value, attrs: &Attrs) -> Result<Value, OpError> {
    let extent = attrs.extent("count");
    if extent.as_const().is_some_and(|n| n < 1) {
        return Err(OpError::new(Code::WrongAttribute, format!("`count` must be positive, not {extent}")).attr("count"));
    }
    let segments = b.index(segments)?;
    b.prim(Prim::ScatterAdd { axis: 0, extent }, &[x, segments])
}
