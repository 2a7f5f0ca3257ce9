//! Losses that ask for a margin: `margin_ranking_loss`, `hinge_embedding_loss`, `soft_margin_loss`,
//! `cosine_embedding_loss` and `triplet_margin_loss`.

use super::loss::{REDUCTION, reduce};
use super::norm::{P, distance, exponent};
use super::softplus::log_one_plus_exp;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[
    Item::Op(&MARGIN_RANKING_LOSS),
    Item::Op(&HINGE_EMBEDDING_LOSS),
    Item::Op(&SOFT_MARGIN_LOSS),
    Item::Op(&COSINE_EMBEDDING_LOSS),
    Item::Op(&TRIPLET_MARGIN_LOSS),
];

/// The attribute with its usual default.
const fn margin(default: &'static str) -> AttrDecl {
    AttrDecl::optional("margin", AttrKind::Float, default, "the distance that is asked for")
}

/// `max(x, 0)`; the derivative at 0 is 0.
fn excess(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let zero = b.constant(x, 0.0)?;
    let flat = b.map(MapOp::Le, &[x, zero])?;
    b.select(flat, zero, x)
}

/// `near` for pairs that belong together, whose target is positive, and `far` for the others.
fn by_sign(b: &mut Builder<'_>, target: Value, near: Value, far: Value) -> Result<Value, OpError> {
    let zero = b.constant(target, 0.0)?;
    let together = b.map(MapOp::Lt, &[zero, target])?;
    b.select(together, near, far)
}

/// `max(margin − x, 0)`
fn short_of(b: &mut Builder<'_>, x: Value, margin: f64) -> Result<Value, OpError> {
    let margin = b.constant(x, margin)?;
    let missing = b.sub(margin, x)?;
    excess(b, missing)
}

static MARGIN_RANKING_LOSS: Op = Op {
    name: "margin_ranking_loss",
    signature: "(a: float[..], b: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION, margin("0")],
    doc: "`max(margin − target · (a − b), 0)`: with a target of 1, `a` should be larger, with −1 `b`.",
    torch: Some("torch.nn.functional.margin_ranking_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let apart = b.sub(args[0], args[1])?;
        let ahead = b.mul(args[2], apart)?;
        let each = short_of(b, ahead, attrs.number("margin"))?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("y", "f32[5, 7]", Domain::Normal),
                ("t", "f32[5, 7]", Domain::Normal),
            ],
            call: "margin_ranking_loss(x, y, sign(t), reduction = \"none\", margin = 0.5)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 17]", Domain::Normal),
                ("y", "f32[B, 17]", Domain::Normal),
                ("t", "f32[B, 17]", Domain::Normal),
            ],
            call: "margin_ranking_loss(x, y, sign(t))",
            result: "f32",
        },
    ],
};

static HINGE_EMBEDDING_LOSS: Op = Op {
    name: "hinge_embedding_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION, margin("1")],
    doc: "The distance `input` itself where the target is 1, and `max(margin − input, 0)` where it is −1.",
    torch: Some("torch.nn.functional.hinge_embedding_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let far = short_of(b, args[0], attrs.number("margin"))?;
        let each = by_sign(b, args[1], args[0], far)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("t", "f32[5, 7]", Domain::Normal)],
            call: "hinge_embedding_loss(x, sign(t), reduction = \"none\", margin = 0.5)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("t", "f32[B, 17]", Domain::Normal)],
            call: "hinge_embedding_loss(x, sign(t))",
            result: "f32",
        },
    ],
};

static SOFT_MARGIN_LOSS: Op = Op {
    name: "soft_margin_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION],
    doc: "`ln(1 + e^(−target · input))` with targets of 1 and −1.",
    torch: Some("torch.nn.functional.soft_margin_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let ahead = b.mul(args[0], args[1])?;
        let behind = b.unary(MapOp::Neg, ahead)?;
        let each = log_one_plus_exp(b, behind)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("t", "f32[5, 7]", Domain::Normal)],
            call: "soft_margin_loss(x, sign(t), reduction = \"none\")",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("t", "f32[B, 17]", Domain::Normal)],
            call: "soft_margin_loss(x, sign(t))",
            result: "f32",
        },
    ],
};

static COSINE_EMBEDDING_LOSS: Op = Op {
    name: "cosine_embedding_loss",
    signature: "(a: float[.., N], b: float[.., N], target: float[..]) -> float[...]",
    attrs: &[REDUCTION, margin("0")],
    doc: "`1 − cos` of the angle between vectors along the last axis where the target is 1, and \
          `max(cos − margin, 0)` where it is −1.",
    torch: Some("torch.nn.functional.cosine_embedding_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let cosine = cosine(b, args[0], args[1])?;
        let one = b.constant(cosine, 1.0)?;
        let near = b.sub(one, cosine)?;
        let beyond = b.with(MapOp::Sub, cosine, attrs.number("margin"))?;
        let far = excess(b, beyond)?;
        let each = by_sign(b, args[2], near, far)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("y", "f32[5, 7]", Domain::Normal),
                ("t", "f32[5]", Domain::Normal),
            ],
            call: "cosine_embedding_loss(x, y, sign(t), reduction = \"none\", margin = 0.1)",
            result: "f32[5]",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 3, 17]", Domain::Normal),
                ("y", "f32[B, 3, 17]", Domain::Normal),
                ("t", "f32[B, 3]", Domain::Normal),
            ],
            call: "cosine_embedding_loss(x, y, sign(t))",
            result: "f32",
        },
    ],
};

/// The cosine of the angle between vectors along the last axis; each squared length is raised by 1e-12, as in PyTorch.
fn cosine(b: &mut Builder<'_>, x: Value, y: Value) -> Result<Value, OpError> {
    let (xx, yy, xy) = (dot(b, x, x)?, dot(b, y, y)?, dot(b, x, y)?);
    let (xx, yy) = (b.with(MapOp::Add, xx, 1e-12)?, b.with(MapOp::Add, yy, 1e-12)?);
    let (xx, yy) = (b.unary(MapOp::Rsqrt, xx)?, b.unary(MapOp::Rsqrt, yy)?);
    let scale = b.mul(xx, yy)?;
    b.mul(xy, scale)
}

/// The sum of products along the last axis.
fn dot(b: &mut Builder<'_>, x: Value, y: Value) -> Result<Value, OpError> {
    let product = b.mul(x, y)?;
    let last = b.rank(product) - 1;
    b.sum(product, &[last])
}

static TRIPLET_MARGIN_LOSS: Op = Op {
    name: "triplet_margin_loss",
    signature: "(anchor: float[.., N], positive: float[.., N], negative: float[.., N]) -> float[...]",
    attrs: &[
        REDUCTION,
        margin("1"),
        P,
        AttrDecl::optional("eps", AttrKind::Float, "1e-6", "added to every difference"),
        AttrDecl::optional("swap", AttrKind::Bool, "false", "whether the negative may be closer to the positive"),
    ],
    doc: "`max(d(anchor, positive) − d(anchor, negative) + margin, 0)` with the distances of `pairwise_distance`; with \
          `swap` the second is the smaller of the two distances to the negative (Balntas et al. 2016).",
    torch: Some("torch.nn.functional.triplet_margin_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let (p, eps) = (exponent(attrs)?, attrs.number("eps"));
        let near = distance(b, args[0], args[1], p, eps)?;
        let mut far = distance(b, args[0], args[2], p, eps)?;
        if attrs.flag("swap") {
            let other = distance(b, args[1], args[2], p, eps)?;
            far = b.map(MapOp::Min, &[far, other])?;
        }
        let apart = b.sub(far, near)?;
        let each = short_of(b, apart, attrs.number("margin"))?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("y", "f32[5, 7]", Domain::Normal),
                ("z", "f32[5, 7]", Domain::Normal),
            ],
            call: "triplet_margin_loss(x, y, z, reduction = \"none\", swap = true)",
            result: "f32[5]",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 17]", Domain::Normal),
                ("y", "f32[B, 17]", Domain::Normal),
                ("z", "f32[B, 17]", Domain::Normal),
            ],
            call: "triplet_margin_loss(x, y, z, p = 1)",
            result: "f32",
        },
    ],
};
