//! Exponential linear units: `elu(x)`, `selu(x)` and `celu(x)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&ELU), Item::Op(&SELU), Item::Op(&CELU)];

/// The fixed point of means and variances (Klambauer et al. 2017, equation 14).
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

static ELU: Op = Op {
    name: "elu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional("alpha", AttrKind::Float, "1", "the negative of the limit at −∞")],
    doc: "`x` above zero and `alpha · (eˣ − 1)` elsewhere (Clevert, Unterthiner and Hochreiter 2015).",
    torch: Some("torch.nn.functional.elu"),
    onnx: Some("Elu"),
    body: |b, args, attrs| {
        let alpha = attrs.number("alpha");
        Ok(vec![linear_above(b, args[0], alpha, 1.0)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "elu(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "elu(x, 0.5)", result: "f32[B, 17]" },
    ],
};

static SELU: Op = Op {
    name: "selu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "The scaled `elu` that keeps mean 0 and variance 1: 1.0507 times `elu(x, alpha = 1.6733)` (Klambauer et al. \
          2017).",
    torch: Some("torch.nn.functional.selu"),
    onnx: Some("Selu"),
    body: |b, args, _| {
        let unit = linear_above(b, args[0], SELU_ALPHA, 1.0)?;
        Ok(vec![b.with(MapOp::Mul, unit, SELU_SCALE)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "selu(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "selu(x)", result: "f32[B, 17]" },
    ],
};

static CELU: Op = Op {
    name: "celu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional("alpha", AttrKind::Float, "1", "the negative of the limit at −∞; not 0")],
    doc: "`x` above zero and `alpha · (e^(x/alpha) − 1)` elsewhere, whose derivative at 0 is 1 for every alpha (Barron \
          2017).",
    torch: Some("torch.nn.functional.celu"),
    onnx: Some("Celu"),
    body: |b, args, attrs| {
        let alpha = attrs.number("alpha");
        if alpha == 0.0 {
            return Err(OpError::new(Code::WrongAttribute, "`alpha` divides `x` and cannot be 0").attr("alpha"));
        }
        Ok(vec![linear_above(b, args[0], alpha, 1.0 / alpha)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "celu(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "celu(x, 0.5)", result: "f32[B, 17]" },
    ],
};

/// `x` above zero and `alpha · (e^(x·rate) − 1)` elsewhere. The exponent of the branch that is not taken is 0: its
/// derivative must not be `0 · ∞`.
fn linear_above(b: &mut Builder<'_>, x: Value, alpha: f64, rate: f64) -> Result<Value, OpError> {
    let zero = b.constant(x, 0.0)?;
    let above = b.map(MapOp::Lt, &[zero, x])?;
    let below = b.select(above, zero, x)?;
    let exponent = if rate == 1.0 { below } else { b.with(MapOp::Mul, below, rate)? };
    let curve = b.unary(MapOp::Expm1, exponent)?;
    let curve = if alpha == 1.0 { curve } else { b.with(MapOp::Mul, curve, alpha)? };
    b.select(above, x, curve)
}
