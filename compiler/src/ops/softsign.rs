//! `softsign(x)`.

use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SOFTSIGN)];

static SOFTSIGN: Op = Op {
    name: "softsign",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`x / (1 + |x|)` (Turian, Bergstra and Bengio 2009).",
    torch: Some("torch.nn.functional.softsign"),
    onnx: Some("Softsign"),
    body: |b, args, _| {
        let size = b.unary(MapOp::Abs, args[0])?;
        let scale = b.with(MapOp::Add, size, 1.0)?;
        Ok(vec![b.div(args[0], scale)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softsign(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "softsign(x)", result: "f32[B, 17]" },
    ],
};
