//! `Dropout(p)` and `dropout(x, p = 0.5, key = key)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Layer, LayerExample, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&DROPOUT), Item::Layer(&LAYER)];

const P: AttrDecl = AttrDecl::optional("p", AttrKind::Float, "0.5", "the probability of a zero, from 0 to 1");

static DROPOUT: Op = Op {
    name: "dropout",
    signature: "(x: float[..], key: u32[2]!) -> float[..]",
    attrs: &[P],
    doc: "In training, each element is 0 with probability `p` and `x / (1 − p)` otherwise (Srivastava et al. 2014, \
          inverted); elsewhere `x` itself, unless a key says which to drop: `dropout(x, 0.1, key = key)`.",
    torch: Some("torch.nn.functional.dropout"),
    onnx: Some("Dropout"),
    body: |b, args, attrs| {
        let p = probability(attrs, "p")?;
        Ok(vec![drop(b, args[0], p, args.get(1).copied())?])
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

/// The report of a number that is no probability; one of percents is meant as their hundredth.
pub(super) fn no_probability(name: &'static str, p: f64) -> OpError {
    let message = format!("{p} is no probability, which `{name}` must be: a number from 0 to 1");
    let error = OpError::new(Code::WrongAttribute, message).attr(name);
    match p > 1.0 && p <= 100.0 && p.fract() == 0.0 {
        true => error.help(format!("write `{}`", p / 100.0)),
        false => error,
    }
}

/// The attribute of that name, which is a probability.
pub(super) fn probability(attrs: &Attrs, name: &'static str) -> Result<f64, OpError> {
    let p = attrs.number(name);
    match (0.0..=1.0).contains(&p) {
        true => Ok(p),
        false => Err(no_probability(name, p)),
    }
}

/// Whether anything is dropped with probability `p`: in training or where a key is given.
pub(super) fn is_dropped(b: &Builder<'_>, p: f64, key: Option<Value>) -> bool {
    (b.training || key.is_some()) && p != 0.0
}

/// `x` with elements dropped with probability `p`, in training or where a key is given.
pub(super) fn drop(b: &mut Builder<'_>, x: Value, p: f64, key: Option<Value>) -> Result<Value, OpError> {
    if !is_dropped(b, p, key) {
        return Ok(x);
    }
    let zero = b.constant(x, 0.0)?;
    if p == 1.0 {
        return b.mul(x, zero);
    }
    let key = b.key(key)?;
    let draw = b.unit(key, &b.shape(x))?;
    let bound = b.constant(draw, p)?;
    let kept = b.map(MapOp::Le, &[bound, draw])?;
    let scaled = b.with(MapOp::Mul, x, 1.0 / (1.0 - p))?;
    b.select(kept, scaled, zero)
}

static LAYER: Layer = Layer {
    name: "Dropout",
    torch: "torch.nn.Dropout",
    attrs: &[P],
    // A mistake is one of the declaration, not of each call.
    params: |attrs| probability(attrs, "p").map(|_| vec![]),
    op: &DROPOUT,
    op_attrs: |attrs| attrs.only(&["p"]),
    doc: "Drops elements at random in training.",
    example: LayerExample {
        declared: "Dropout(0.1)",
        inputs: &[("x", "f32[B, 8]")],
        call: "self.layer(x)",
        result: "f32[B, 8]",
    },
};
