//! Activations that are zero or less steep near zero: `hardshrink(x)`, `softshrink(x)`, `tanhshrink(x)` and
//! `threshold(x, threshold, value)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] =
    &[Item::Op(&HARDSHRINK), Item::Op(&SOFTSHRINK), Item::Op(&TANHSHRINK), Item::Op(&THRESHOLD)];

const LAMBDA: AttrDecl =
    AttrDecl::optional("lambd", AttrKind::Float, "0.5", "numbers up to this size give 0; not negative");

/// The half width of the flat part.
fn lambda(attrs: &Attrs) -> Result<f64, OpError> {
    let lambda = attrs.number("lambd");
    match lambda >= 0.0 {
        true => Ok(lambda),
        false => {
            Err(OpError::new(Code::WrongAttribute, format!("`lambd` cannot be negative, as {lambda} is")).attr("lambd"))
        }
    }
}

static HARDSHRINK: Op = Op {
    name: "hardshrink",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[LAMBDA],
    doc: "`x` where `|x| > lambd` and 0 elsewhere.",
    torch: Some("torch.nn.functional.hardshrink"),
    onnx: Some("Shrink"),
    body: |b, args, attrs| {
        let lambda = lambda(attrs)?;
        let size = b.unary(MapOp::Abs, args[0])?;
        let bound = b.constant(size, lambda)?;
        let (small, zero) = (b.map(MapOp::Le, &[size, bound])?, b.constant(size, 0.0)?);
        Ok(vec![b.select(small, zero, args[0])?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "hardshrink(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "hardshrink(x, 0.8)", result: "f32[B, 17]" },
    ],
};

static SOFTSHRINK: Op = Op {
    name: "softshrink",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[LAMBDA],
    doc: "`x` drawn towards 0 by `lambd`, and 0 where it is no larger than that: the proximal map of `lambd · |x|`.",
    torch: Some("torch.nn.functional.softshrink"),
    onnx: Some("Shrink"),
    body: |b, args, attrs| {
        let lambda = lambda(attrs)?;
        let x = args[0];
        let (less, more) = (b.with(MapOp::Sub, x, lambda)?, b.with(MapOp::Add, x, lambda)?);
        let size = b.unary(MapOp::Abs, x)?;
        let (bound, zero) = (b.constant(x, lambda)?, b.constant(x, 0.0)?);
        let (small, negative) = (b.map(MapOp::Le, &[size, bound])?, b.map(MapOp::Lt, &[x, zero])?);
        let moved = b.select(negative, more, less)?;
        Ok(vec![b.select(small, zero, moved)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "softshrink(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "softshrink(x, 0.8)", result: "f32[B, 17]" },
    ],
};

static TANHSHRINK: Op = Op {
    name: "tanhshrink",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`x − tanh(x)`.",
    torch: Some("torch.nn.functional.tanhshrink"),
    onnx: None,
    body: |b, args, _| {
        let curve = b.unary(MapOp::Tanh, args[0])?;
        Ok(vec![b.sub(args[0], curve)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "tanhshrink(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "tanhshrink(x)", result: "f32[B, 17]" },
    ],
};

static THRESHOLD: Op = Op {
    name: "threshold",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[
        AttrDecl::required("threshold", AttrKind::Float, "numbers above it stay"),
        AttrDecl::required("value", AttrKind::Float, "what the others become"),
    ],
    doc: "`x` where it is above the threshold and `value` elsewhere.",
    torch: Some("torch.nn.functional.threshold"),
    onnx: None,
    body: |b, args, attrs| {
        let bound = b.constant(args[0], attrs.number("threshold"))?;
        let value = b.constant(args[0], attrs.number("value"))?;
        let under = b.map(MapOp::Le, &[args[0], bound])?;
        Ok(vec![b.select(under, value, args[0])?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "threshold(x, 0.2, -3.0)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "threshold(x, -1, 20)", result: "f32[B, 17]" },
    ],
};
