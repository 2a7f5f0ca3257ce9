//! Diagonals: `diagonal(x)`, `trace(x)`, `diag(x)` and `eye(n)`.

use crate::diag::Code;
use super::mask::offset;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&DIAGONAL), Item::Op(&TRACE), Item::Op(&DIAG), Item::Op(&EYE)];

const OFFSET: AttrDecl =
    AttrDecl::optional("offset", AttrKind::Int, "0", "how far the diagonal lies above the main one; negative below");

static DIAGONAL: Op = Op {
    name: "diagonal",
    signature: "(x: number[.., Rows, Columns]) -> number[...]",
    attrs: &[OFFSET],
    doc: "A diagonal of matrices over the last two axes, which it replaces by one.",
    torch: Some("torch.diagonal"),
    onnx: None,
    body: |b, args, attrs| {
        let mut x = args[0];
        let (rank, offset) = (b.rank(x), offset(attrs, "offset")?);
        // Cut so that the diagonal starts in the corner, then to a square.
        let (axis, skipped) = if offset >= 0 { (rank - 1, offset) } else { (rank - 2, -offset) };
        if skipped != 0 {
            let left = b.shape(x)[axis].clone() - Dim::from(skipped);
            if left.as_const().is_some_and(|n| n < 0) {
                let message = format!("diagonal {offset} lies outside of {{0}}, which is {}", b.ty(x));
                return Err(OpError::new(Code::SliceOutOfRange, message).attr("offset"));
            }
            x = b.slice(x, axis, Dim::from(skipped), left)?;
        }
        let shape = b.shape(x);
        let (rows, columns) = (&shape[rank - 2], &shape[rank - 1]);
        match (columns.clone() - rows.clone()).as_const() {
            Some(n) if n >= 0 => x = b.slice(x, rank - 1, Dim::from(0), rows.clone())?,
            Some(_) => x = b.slice(x, rank - 2, Dim::from(0), columns.clone())?,
            None => {
                let message = format!("whether {rows} or {columns} is smaller is not known at build time");
                return Err(OpError::new(Code::ShapeMismatch, message)
                    .arg(0)
                    .help("write `{0}[.., ..n, ..n]` with the smaller"));
            }
        }
        Ok(vec![of_square(b, x)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "diagonal(x, 1)", result: "f32[5]" },
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "diagonal(x, -2)", result: "f32[3]" },
        Example { inputs: &[("x", "f32[3, B, B]", Domain::Normal)], call: "diagonal(x)", result: "f32[3, B]" },
    ],
};

static TRACE: Op = Op {
    name: "trace",
    signature: "(x: number[.., N, N]) -> wide[..]",
    attrs: &[],
    doc: "The sum of the main diagonal of square matrices over the last two axes.",
    torch: Some("torch.trace"),
    onnx: None,
    body: |b, args, _| {
        let diagonal = of_square(b, args[0])?;
        let last = b.rank(diagonal) - 1;
        Ok(vec![b.sum(diagonal, &[last])?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[7, 7]", Domain::Normal)], call: "trace(x)", result: "f32" },
        Example { inputs: &[("x", "f32[3, B, B]", Domain::Normal)], call: "trace(x)", result: "f32[3]" },
    ],
};

static DIAG: Op = Op {
    name: "diag",
    signature: "(x: number[.., N]) -> number[.., N, N]",
    attrs: &[],
    doc: "Square matrices with the last axis of `x` as their diagonal and 0 elsewhere.",
    torch: Some("torch.diag_embed"),
    onnx: None,
    body: |b, args, _| {
        let mut row = b.shape(args[0]);
        let n = row[row.len() - 1].clone();
        row.insert(row.len() - 1, Dim::from(1));
        let (row, zero) = (b.reshape(args[0], &row)?, b.constant(args[0], 0.0)?);
        let main = is_main(b, &n)?;
        Ok(vec![b.select(main, row, zero)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5]", Domain::Normal)], call: "diag(x)", result: "f32[5, 5]" },
        Example { inputs: &[("x", "f32[B, 7]", Domain::Normal)], call: "diag(x)", result: "f32[B, 7, 7]" },
    ],
};

static EYE: Op = Op {
    name: "eye",
    signature: "() -> float[..]",
    attrs: &[AttrDecl::required("n", AttrKind::Dim, "rows and columns")],
    doc: "The identity matrix.",
    torch: Some("torch.eye"),
    onnx: Some("EyeLike"),
    body: |b, _, attrs| {
        let main = is_main(b, &attrs.extent("n"))?;
        Ok(vec![b.convert(main, b.float)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 5]", Domain::Normal)], call: "sub(x, eye(5))", result: "f32[5, 5]" },
        Example { inputs: &[("x", "f32[B, B]", Domain::Normal)], call: "sub(x, eye(B))", result: "f32[B, B]" },
    ],
};

/// Where the row is the column: bool[n, n].
fn is_main(b: &mut Builder<'_>, n: &Dim) -> Result<Value, OpError> {
    let square = [n.clone(), n.clone()];
    let (row, column) = (b.iota(&square, 0)?, b.iota(&square, 1)?);
    b.map(MapOp::Eq, &[row, column])
}

/// The main diagonal of square matrices. A masked sum, which a named extent does not hinder.
fn of_square(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let shape = b.shape(x);
    let main = is_main(b, &shape[shape.len() - 1])?;
    let zero = b.constant(x, 0.0)?;
    let masked = b.select(main, x, zero)?;
    b.reduce(ReduceOp::Sum, masked, &[shape.len() - 1])
}
