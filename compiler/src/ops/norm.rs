//! Lengths and angles: `norm(x)`, `normalize(x)`, `pairwise_distance(a, b)` and `cosine_similarity(a, b)`.

use crate::diag::Code;
use super::axes::REDUCED;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] =
    &[Item::Op(&NORM), Item::Op(&NORMALIZE), Item::Op(&PAIRWISE_DISTANCE), Item::Op(&COSINE_SIMILARITY)];

/// The exponent of a norm.
pub(super) const P: AttrDecl = AttrDecl::optional("p", AttrKind::Float, "2", "the exponent, at least 1");
const AXIS: AttrDecl =
    AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis of the vectors; negative counts from the end");

static NORM: Op = Op {
    name: "norm",
    signature: "(x: float[..]) -> float[...]",
    attrs: &[P, REDUCED[0], REDUCED[1], REDUCED[2]],
    doc: "The length `(Σ |x|ᵖ)^(1/p)` over the axes; the derivative at 0 is 0.",
    torch: Some("torch.linalg.vector_norm"),
    onnx: Some("ReduceL2"),
    body: |b, args, attrs| {
        let axes = b.reduced(args[0], attrs)?;
        let p = exponent(attrs)?;
        let kept = length(b, args[0], &axes, p)?;
        b.finish(kept, &axes, attrs)
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)], call: "norm(x, axis = 1)", result: "f32[5, 17]" },
        Example {
            inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)],
            call: "norm(x, 3, axes = [0, 2], keepdims = true)",
            result: "f32[1, 5, 1]",
        },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "norm(x, p = 1, axis = 1)", result: "f32[B]" },
    ],
};

static NORMALIZE: Op = Op {
    name: "normalize",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[P, AXIS, AttrDecl::optional("eps", AttrKind::Float, "1e-12", "the least length that is divided by")],
    doc: "Vectors of length 1: `x / max(norm(x, p), eps)` along an axis.",
    torch: Some("torch.nn.functional.normalize"),
    onnx: Some("LpNormalization"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let p = exponent(attrs)?;
        let length = length(b, args[0], &[axis], p)?;
        let length = b.with(MapOp::Max, length, attrs.number("eps"))?;
        Ok(vec![b.div(args[0], length)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "normalize(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 5, 17]", Domain::Normal)],
            call: "normalize(x, p = 1, axis = 1)",
            result: "f32[B, 5, 17]",
        },
    ],
};

static PAIRWISE_DISTANCE: Op = Op {
    name: "pairwise_distance",
    signature: "(a: float[.., N], b: float[.., N]) -> float[..]",
    attrs: &[P, AttrDecl::optional("eps", AttrKind::Float, "1e-6", "added to every difference")],
    doc: "The distance `norm(a − b + eps, p)` of vectors along the last axis, as PyTorch's.",
    torch: Some("torch.nn.functional.pairwise_distance"),
    onnx: None,
    body: |b, args, attrs| {
        let p = exponent(attrs)?;
        Ok(vec![distance(b, args[0], args[1], p, attrs.number("eps"))?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "pairwise_distance(x, y)",
            result: "f32[5]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal), ("y", "f32[B, 3, 17]", Domain::Normal)],
            call: "pairwise_distance(x, y, p = 1)",
            result: "f32[B, 3]",
        },
    ],
};

static COSINE_SIMILARITY: Op = Op {
    name: "cosine_similarity",
    signature: "(a: float[..], b: float[..]) -> float[...]",
    attrs: &[AXIS, AttrDecl::optional("eps", AttrKind::Float, "1e-8", "the least length that is divided by")],
    doc: "The cosine of the angle between vectors along an axis: `a · b / (max(|a|, eps) · max(|b|, eps))`.",
    torch: Some("torch.nn.functional.cosine_similarity"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let eps = attrs.number("eps");
        let mut units = [args[0], args[1]];
        for unit in &mut units {
            let length = length(b, *unit, &[axis], 2.0)?;
            let length = b.with(MapOp::Max, length, eps)?;
            *unit = b.div(*unit, length)?;
        }
        let product = b.mul(units[0], units[1])?;
        Ok(vec![b.sum(product, &[axis])?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "cosine_similarity(x, y)",
            result: "f32[5]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal), ("y", "f32[B, 3, 17]", Domain::Normal)],
            call: "cosine_similarity(x, y, axis = 1)",
            result: "f32[B, 17]",
        },
    ],
};

/// The exponent that a call asks for.
pub(super) fn exponent(attrs: &Attrs) -> Result<f64, OpError> {
    let p = attrs.number("p");
    match p >= 1.0 {
        true => Ok(p),
        false => Err(OpError::new(Code::WrongAttribute, format!("`p` must be at least 1, not {p}")).attr("p")),
    }
}

/// The length of vectors over the axes, which are kept. At 0 its derivative is 0, where that of the root is infinite.
pub(super) fn length(b: &mut Builder<'_>, x: Value, axes: &[usize], p: f64) -> Result<Value, OpError> {
    if p == 2.0 {
        let squares = b.mul(x, x)?;
        let sum = b.reduce_keep(ReduceOp::Sum, squares, axes)?;
        return above_zero(b, sum, |b, sum| b.unary(MapOp::Sqrt, sum));
    }
    let sizes = b.unary(MapOp::Abs, x)?;
    if p == 1.0 {
        return b.reduce_keep(ReduceOp::Sum, sizes, axes);
    }
    let powers = above_zero(b, sizes, |b, sizes| b.with(MapOp::Pow, sizes, p))?;
    let sum = b.reduce_keep(ReduceOp::Sum, powers, axes)?;
    above_zero(b, sum, |b, sum| b.with(MapOp::Pow, sum, 1.0 / p))
}

/// A function of positive numbers, with the value and the derivative 0 at 0.
pub(super) fn above_zero(
    b: &mut Builder<'_>,
    x: Value,
    function: impl Fn(&mut Builder<'_>, Value) -> Result<Value, OpError>,
) -> Result<Value, OpError> {
    let (zero, one) = (b.constant(x, 0.0)?, b.constant(x, 1.0)?);
    let flat = b.map(MapOp::Eq, &[x, zero])?;
    let safe = b.select(flat, one, x)?;
    let y = function(b, safe)?;
    b.select(flat, zero, y)
}

/// The distance of vectors along the last axis, which is dropped.
pub(super) fn distance(b: &mut Builder<'_>, x: Value, y: Value, p: f64, eps: f64) -> Result<Value, OpError> {
    let apart = b.sub(x, y)?;
    let apart = b.with(MapOp::Add, apart, eps)?;
    let mut shape = b.shape(apart);
    let last = shape.len() - 1;
    let kept = length(b, apart, &[last], p)?;
    shape.truncate(last);
    b.reshape(kept, &shape)
}
