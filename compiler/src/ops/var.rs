//! `var(x, axis = …)` and `std(x, axis = …)`: variance and standard deviation over any axes.

use super::axes::REDUCED;
use super::norm::above_zero;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::dim::product;
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::Value;

pub(super) const ITEMS: &[Item] = &[Item::Op(&VAR), Item::Op(&STD)];

static ATTRS: [AttrDecl; 4] = [
    REDUCED[0],
    REDUCED[1],
    REDUCED[2],
    AttrDecl::optional("correction", AttrKind::Float, "1", "subtracted from the count: 1 for a sample (Bessel), 0 for a population"),
];

/// One op from each line: its name, documentation and what it makes of the variance.
macro_rules! table {
    ($($item:ident = $name:literal, $doc:literal, $body:expr;)*) => {
        $(static $item: Op = Op {
            name: $name,
            signature: "(x: float[..]) -> float[...]",
            attrs: &ATTRS,
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: None,
            body: |b, args, attrs| {
                let axes = b.reduced(args[0], attrs)?;
                let variance = variance(b, args[0], &axes, attrs)?;
                let finish: fn(&mut Builder<'_>, Value) -> Result<Value, OpError> = $body;
                let kept = finish(b, variance)?;
                b.finish(kept, &axes, attrs)
            },
            examples: &[
                Example {
                    inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)],
                    call: concat!($name, "(x, axis = 1)"),
                    result: "f32[5, 17]",
                },
                Example {
                    inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)],
                    call: concat!($name, "(x, axes = [0, 2], keepdims = true, correction = 0)"),
                    result: "f32[1, 5, 1]",
                },
            ],
        };)*
    };
}

table! {
    VAR = "var", "The variance `Σ (x − mean)² / (n − correction)` over the axes, in two passes.", |_, variance| Ok(variance);
    STD = "std", "The standard deviation `√var(x)` over the axes; the derivative of equal elements is 0.", |b, variance| above_zero(b, variance, |b, x| b.unary(MapOp::Sqrt, x));
}

/// The variance with the axes kept. Two passes: the difference of large sums would lose the digits that matter.
fn variance(b: &mut Builder<'_>, x: Value, axes: &[usize], attrs: &Attrs) -> Result<Value, OpError> {
    let shape = b.shape(x);
    let n = b.extent(x, &product(axes.iter().map(|&a| &shape[a])))?;
    let sum = b.reduce_keep(ReduceOp::Sum, x, axes)?;
    let mean = b.div(sum, n)?;
    let centred = b.sub(x, mean)?;
    let squared = b.mul(centred, centred)?;
    let sum = b.reduce_keep(ReduceOp::Sum, squared, axes)?;
    let freedom = b.with(MapOp::Sub, n, attrs.number("correction"))?;
    let freedom = b.with(MapOp::Max, freedom, 0.0)?;
    b.div(sum, freedom)
}
