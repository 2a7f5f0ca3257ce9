//! Piecewise linear activations: `hard_tanh(x)`, `relu6(x)`, `hard_sigmoid(x)` and `hard_swish(x)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] =
    &[Item::Op(&HARD_TANH), Item::Op(&RELU6), Item::Op(&HARD_SIGMOID), Item::Op(&HARD_SWISH)];

static HARD_TANH: Op = Op {
    name: "hard_tanh",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[
        AttrDecl::optional("min", AttrKind::Float, "-1", "the least value"),
        AttrDecl::optional("max", AttrKind::Float, "1", "the largest value, above `min`"),
    ],
    doc: "`min(max(x, lower), upper)`; the derivative at and outside of the bounds is 0 (Collobert 2004).",
    torch: Some("torch.nn.functional.hardtanh"),
    onnx: None,
    body: |b, args, attrs| {
        let (low, high) = (attrs.number("min"), attrs.number("max"));
        if low >= high {
            let message = format!("`max` is {high}, which is not above `min`, {low}");
            return Err(OpError::new(Code::WrongAttribute, message).attr("max"));
        }
        Ok(vec![between(b, args[0], low, high)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "hard_tanh(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal)],
            call: "hard_tanh(x, -0.5, 0.75)",
            result: "f32[B, 17]",
        },
    ],
};

static RELU6: Op = Op {
    name: "relu6",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "The rectified linear unit up to 6, `min(max(x, 0), 6)` (Krizhevsky 2010).",
    torch: Some("torch.nn.functional.relu6"),
    onnx: None,
    body: |b, args, _| Ok(vec![between(b, args[0], 0.0, 6.0)?]),
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal)],
            call: "relu6(mul(x, full([1], 4)))",
            result: "f32[5, 7]",
        },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "relu6(x)", result: "f32[B, 17]" },
    ],
};

static HARD_SIGMOID: Op = Op {
    name: "hard_sigmoid",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`min(max(x + 3, 0), 6) / 6`, as in PyTorch.",
    torch: Some("torch.nn.functional.hardsigmoid"),
    onnx: Some("HardSigmoid"),
    body: |b, args, _| Ok(vec![gate(b, args[0])?]),
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "hard_sigmoid(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal)],
            call: "hard_sigmoid(mul(x, full([1], 3)))",
            result: "f32[B, 17]",
        },
    ],
};

static HARD_SWISH: Op = Op {
    name: "hard_swish",
    signature: "(x: float[..]) -> float[..]",
    attrs: &[],
    doc: "`x · min(max(x + 3, 0), 6) / 6` (Howard et al. 2019).",
    torch: Some("torch.nn.functional.hardswish"),
    onnx: Some("HardSwish"),
    body: |b, args, _| {
        let gate = gate(b, args[0])?;
        Ok(vec![b.mul(args[0], gate)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "hard_swish(x)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal)],
            call: "hard_swish(mul(x, full([1], 3)))",
            result: "f32[B, 17]",
        },
    ],
};

/// `x` inside of the bounds and the bounds outside. The tests are false for NaN, which passes through.
fn between(b: &mut Builder<'_>, x: Value, low: f64, high: f64) -> Result<Value, OpError> {
    let (low, high) = (b.constant(x, low)?, b.constant(x, high)?);
    let (under, over) = (b.map(MapOp::Le, &[x, low])?, b.map(MapOp::Le, &[high, x])?);
    let x = b.select(over, high, x)?;
    b.select(under, low, x)
}

/// `min(max(x + 3, 0), 6) / 6`
fn gate(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let shifted = b.with(MapOp::Add, x, 3.0)?;
    let cut = between(b, shifted, 0.0, 6.0)?;
    b.with(MapOp::Mul, cut, 1.0 / 6.0)
}
