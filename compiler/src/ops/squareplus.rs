//! `squareplus(x)`: a rectifier without a corner.

use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SQUAREPLUS)];

static SQUAREPLUS: Op = Op {
    name: "squareplus",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`(x + √(x² + 4)) / 2` (Barron 2021).",
    torch: None,
    onnx: None,
    body: |b, args, _| {
        let square = b.mul(args[0], args[0])?;
        let raised = b.with(MapOp::Add, square, 4.0)?;
        let root = b.unary(MapOp::Sqrt, raised)?;
        let twice = b.add(args[0], root)?;
        Ok(vec![b.with(MapOp::Mul, twice, 0.5)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "squareplus(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "squareplus(x)", result: "f32[B, 17]" },
    ],
};
