//! Questions about numbers: `isnan(x)`, `isinf(x)`, `isfinite(x)`, and `count_nonzero(x)`.

use super::axes::REDUCED;
use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::{DType, Value};

/// One op from each line: its name, ONNX name, documentation and formula.
macro_rules! table {
    ($($item:ident = $name:literal $onnx:expr, $doc:literal, $body:expr;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item),)* Item::Op(&COUNT_NONZERO)];

        $(static $item: Op = Op {
            name: $name,
            signature: "(x: float[..]) -> bool[..]",
            attrs: &[],
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: $onnx,
            body: |b, args, _| {
                let formula: fn(&mut Builder<'_>, Value) -> Result<Value, OpError> = $body;
                Ok(vec![formula(b, args[0])?])
            },
            examples: &[
                Example {
                    inputs: &[("x", "f32[5, 7]", Domain::Normal)],
                    call: concat!($name, "(log(x))"),
                    result: "bool[5, 7]",
                },
                Example {
                    inputs: &[("x", "f32[B, 17]", Domain::Normal)],
                    call: concat!($name, "(reciprocal(relu(x)))"),
                    result: "bool[B, 17]",
                },
            ],
        };)*
    };
}

table! {
    ISNAN = "isnan" Some("IsNaN"), "Whether `x` is not a number.", is_nan;
    ISINF = "isinf" Some("IsInf"), "Whether `x` is ∞ or −∞.", |b, x| {
        let size = b.unary(MapOp::Abs, x)?;
        let (infinite, nan) = (b.with(MapOp::Eq, size, f64::INFINITY)?, is_nan(b, x)?);
        let number = b.unary(MapOp::Not, nan)?;
        b.map(MapOp::And, &[infinite, number])
    };
    ISFINITE = "isfinite" None, "Whether `x` is neither NaN nor infinite.", |b, x| {
        let size = b.unary(MapOp::Abs, x)?;
        let (finite, nan) = (b.with(MapOp::Le, size, b.dtype(x).largest())?, is_nan(b, x)?);
        let number = b.unary(MapOp::Not, nan)?;
        b.map(MapOp::And, &[finite, number])
    };
}

/// NaN is what differs from itself.
pub(super) fn is_nan(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    b.map(MapOp::Ne, &[x, x])
}

static COUNT_NONZERO: Op = Op {
    name: "count_nonzero",
    signature: "(x: any[..]) -> u32[...]",
    attrs: &REDUCED,
    doc: "The number of elements over the axes that are not 0, or that hold.",
    torch: Some("torch.count_nonzero"),
    onnx: None,
    body: |b, args, attrs| {
        let axes = b.reduced(args[0], attrs)?;
        let truth = b.convert(args[0], DType::Bool)?;
        let ones = b.convert(truth, DType::U32)?;
        let kept = b.reduce_keep(ReduceOp::Sum, ones, &axes)?;
        b.finish(kept, &axes, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "u32[5, 7, 17]", Domain::Below(2))],
            call: "count_nonzero(x, axis = 1)",
            result: "u32[5, 17]",
        },
        Example { inputs: &[("x", "f32[B, 7]", Domain::Normal)], call: "count_nonzero(relu(x))", result: "u32" },
    ],
};
