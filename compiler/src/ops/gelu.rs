//! `gelu(x)`, exact or by tanh.

use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

pub(super) const ITEMS: &[Item] = &[Item::Op(&GELU)];

static GELU: Op = Op {
    name: "gelu",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[AttrDecl::optional(
        "approximate",
        AttrKind::Word(&["none", "tanh"]),
        "\"none\"",
        "\"tanh\" takes the cheaper formula",
    )],
    doc: "The Gaussian error linear unit `x/2 · (1 + erf(x/√2))`, or with \"tanh\" \
          `x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))` (Hendrycks and Gimpel 2016).",
    torch: Some("torch.nn.functional.gelu"),
    onnx: Some("Gelu"),
    body: |b, args, attrs| {
        if attrs.text("approximate") != Some("tanh") {
            return Ok(vec![exact(b, args[0])?]);
        }
        let x = args[0];
        let squared = b.mul(x, x)?;
        let bend = b.with(MapOp::Mul, squared, 0.044715)?;
        let bend = b.with(MapOp::Add, bend, 1.0)?;
        let inner = b.mul(x, bend)?;
        let inner = b.with(MapOp::Mul, inner, FRAC_2_SQRT_PI * FRAC_1_SQRT_2)?;
        let gate = b.unary(MapOp::Tanh, inner)?;
        Ok(vec![half_gated(b, x, gate)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "gelu(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal)],
            call: "gelu(x, approximate = \"tanh\")",
            result: "f32[B, 17]",
        },
    ],
};

/// `x/2 · (1 + erf(x/√2))`
pub(super) fn exact(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let inner = b.with(MapOp::Mul, x, FRAC_1_SQRT_2)?;
    let gate = b.unary(MapOp::Erf, inner)?;
    half_gated(b, x, gate)
}

/// `x/2 · (1 + gate)`
fn half_gated(b: &mut Builder<'_>, x: Value, gate: Value) -> Result<Value, OpError> {
    let gate = b.with(MapOp::Add, gate, 1.0)?;
    let half = b.with(MapOp::Mul, x, 0.5)?;
    b.mul(half, gate)
}
