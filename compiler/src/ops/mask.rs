//! Parts of a tensor by position or mask: `masked_fill(x, mask, value)`, `tril(x)` and `triu(x)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::{Dim, Value};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&MASKED_FILL), Item::Op(&TRIL), Item::Op(&TRIU)];

static MASKED_FILL: Op = Op {
    name: "masked_fill",
    signature: "(x: number[...], mask: bool[...]) -> number[...]",
    attrs: &[AttrDecl::required("value", AttrKind::Float, "what stands where the mask holds")],
    doc: "`value` where the mask holds and `x` elsewhere; the mask broadcasts to the shape of `x`.",
    torch: Some("torch.Tensor.masked_fill"),
    onnx: None,
    body: |b, args, attrs| {
        let shape = b.shape(args[0]);
        if b.common_shape(args).ok() != Some(shape) {
            let message =
                format!("the mask {{1}} is {}, which does not broadcast to {{0}}, {}", b.ty(args[1]), b.ty(args[0]));
            return Err(OpError::new(Code::BroadcastMismatch, message).arg(1));
        }
        let value = b.constant(args[0], attrs.number("value"))?;
        Ok(vec![b.select(args[1], value, args[0])?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("m", "bool[5, 7]", Domain::Below(2))],
            call: "masked_fill(x, m, -1e9)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal), ("m", "bool[B, 1, 17]", Domain::Below(2))],
            call: "masked_fill(x, m, value = 2)",
            result: "f32[B, 3, 17]",
        },
    ],
};

const DIAGONAL: AttrDecl =
    AttrDecl::optional("diagonal", AttrKind::Int, "0", "how far the last diagonal that stays lies above the main one");

static TRIL: Op = Op {
    name: "tril",
    signature: "(x: number[.., _, _]) -> number[...]",
    attrs: &[DIAGONAL],
    doc: "The lower triangle of matrices over the last two axes, up to a diagonal; 0 elsewhere.",
    torch: Some("torch.tril"),
    onnx: Some("Trilu"),
    body: |b, args, attrs| {
        let zero = b.constant(args[0], 0.0)?;
        let lower = is_lower(b, args[0], offset(attrs, "diagonal")?)?;
        Ok(vec![b.select(lower, args[0], zero)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "tril(x, -1)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[2, B, 7]", Domain::Normal)], call: "tril(x)", result: "f32[2, B, 7]" },
    ],
};

static TRIU: Op = Op {
    name: "triu",
    signature: "(x: number[.., _, _]) -> number[...]",
    attrs: &[AttrDecl::optional(
        "diagonal",
        AttrKind::Int,
        "0",
        "how far the first diagonal that stays lies above the main one",
    )],
    doc: "The upper triangle of matrices over the last two axes, from a diagonal; 0 elsewhere.",
    torch: Some("torch.triu"),
    onnx: Some("Trilu"),
    body: |b, args, attrs| {
        let zero = b.constant(args[0], 0.0)?;
        let below = is_lower(b, args[0], offset(attrs, "diagonal")? - 1)?;
        Ok(vec![b.select(below, zero, args[0])?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "triu(x, 2)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[2, B, 7]", Domain::Normal)], call: "triu(x)", result: "f32[2, B, 7]" },
    ],
};

/// A number of diagonals, which is known at build time.
pub(super) fn offset(attrs: &Attrs, name: &'static str) -> Result<i64, OpError> {
    attrs.int(name).filter(|n| i32::try_from(*n).is_ok()).ok_or_else(|| {
        OpError::new(Code::WrongAttribute, format!("`{name}` must be known at build time, not {}", attrs.get(name)))
            .attr(name)
    })
}

/// Whether an element of the matrices of `x` lies on the diagonal of that number or below it.
fn is_lower(b: &mut Builder<'_>, x: Value, diagonal: i64) -> Result<Value, OpError> {
    let shape = b.shape(x);
    // Positions are unsigned: the smaller side moves.
    is_below(b, &shape[shape.len() - 2..], [diagonal.max(0), -diagonal.min(0)].map(Dim::from))
}

/// Whether the column of an element of a matrix is at most its row, where so much is added to rows and to columns.
pub(super) fn is_below(b: &mut Builder<'_>, matrix: &[Dim], added: [Dim; 2]) -> Result<Value, OpError> {
    let mut positions = [b.iota(matrix, 0)?, b.iota(matrix, 1)?];
    for (position, added) in positions.iter_mut().zip(added).filter(|(_, added)| !added.is(0)) {
        let added = b.extent_u32(&added)?;
        *position = b.add(*position, added)?;
    }
    let [row, column] = positions;
    b.map(MapOp::Le, &[column, row])
}
