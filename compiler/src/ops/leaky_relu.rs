//! `leaky_relu(x, negative_slope = 0.01)`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&LEAKY_RELU)];

static LEAKY_RELU: Op = Op {
    name: "leaky_relu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional("negative_slope", AttrKind::Float, "0.01", "the factor below zero")],
    doc: "`x` above zero and `negative_slope · x` elsewhere (Maas, Hannun and Ng 2013).",
    torch: Some("torch.nn.functional.leaky_relu"),
    onnx: Some("LeakyRelu"),
    body: |b, args, attrs| {
        let zero = b.constant(args[0], 0.0)?;
        let positive = b.map(MapOp::Lt, &[zero, args[0]])?;
        let small = b.with(MapOp::Mul, args[0], attrs.number("negative_slope"))?;
        Ok(vec![b.select(positive, args[0], small)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "leaky_relu(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "leaky_relu(x, 0.2)", result: "f32[B, 17]" },
    ],
};
