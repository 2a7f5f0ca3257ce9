//! `Dropout(p)` and `dropout(x, p = 0.5, key = key)`.

use super::{Attr, AttrDecl, AttrKind, Attrs, Domain, Example, Item, Layer, Op, OpError};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&DROPOUT), Item::Layer(&LAYER)];

const P: AttrDecl = AttrDecl::optional("p", AttrKind::Float, "0.5", "the probability of a zero, from 0 to 1");

static DROPOUT: Op = Op {
    name: "dropout",
    signature: "(x: float[..], key: u32[2]!) -> float[..]",
    attrs: &[P],
    doc: "In training, each element is 0 with probability `p` and `x / (1 − p)` otherwise (Srivastava et al. 2014, \
          inverted); elsewhere `x` itself, unless a key says which to drop: `dropout(x, 0.1, key = key)`.",
    onnx: Some("Dropout"),
    body: |b, args, attrs| {
        let (x, p) = (args[0], attrs.float("p").unwrap_or(0.5));
        if !(0.0..=1.0).contains(&p) {
            return Err(OpError::new("wrong-attribute", format!("`p` is a probability, not {p}")).attr("p"));
        }
        if !b.training && args.len() == 1 || p == 0.0 {
            return Ok(vec![x]);
        }
        let zero = b.constant(x, 0.0)?;
        if p == 1.0 {
            return Ok(vec![b.mul(x, zero)?]);
        }
        let key = b.key(args.get(1).copied())?;
        let draw = b.unit(key, &b.shape(x))?;
        let bound = b.constant(x, p)?;
        let kept = b.map(MapOp::Le, &[bound, draw])?;
        let scaled = b.with(MapOp::Mul, x, 1.0 / (1.0 - p))?;
        Ok(vec![b.select(kept, scaled, zero)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "dropout(x, 0.25)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "dropout(x)", result: "f32[B, 17]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("k", "u32[2]", Domain::Below(1 << 30))],
            call: "dropout(x, 0.25, key = k)",
            result: "f32[B, 17]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "Dropout",
    attrs: &[P],
    params: |_| Ok(vec![]),
    op: &DROPOUT,
    op_attrs: |attrs| Attrs(vec![("p", Attr::Float(attrs.float("p").unwrap_or(0.5)))]),
    doc: "Drops elements at random in training.",
};
