//! Gated linear units: `glu(x)`, `swiglu(x)` and `geglu(x)`, of which one half of an axis gates the other.

use crate::diag::Code;
use super::gelu::exact;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;
use crate::ir::{Dim, Value};

const AXIS: AttrDecl = AttrDecl::optional("axis", AttrKind::Int, "-1", "the halved axis; negative counts from the end");

/// One op from each line: its name, PyTorch's name, documentation, and its formula for the halves `u` and `v`.
macro_rules! table {
    ($($item:ident = $name:literal $torch:expr, $doc:literal, $body:expr;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: "(x: float[...]) -> float[...]",
            attrs: &[AXIS],
            doc: $doc,
            torch: $torch,
            onnx: None,
            body: |b, args, attrs| {
                let formula: fn(&mut Builder<'_>, Value, Value) -> Result<Value, OpError> = $body;
                let (u, v) = halves(b, args[0], attrs)?;
                Ok(vec![formula(b, u, v)?])
            },
            examples: &[
                Example {
                    inputs: &[("x", "f32[5, 14]", Domain::Normal)],
                    call: concat!($name, "(x)"),
                    result: "f32[5, 7]",
                },
                Example {
                    inputs: &[("x", "f32[B, 6, 17]", Domain::Normal)],
                    call: concat!($name, "(x, axis = 1)"),
                    result: "f32[B, 3, 17]",
                },
            ],
        };)*
    };
}

table! {
    GLU = "glu" Some("torch.nn.functional.glu"), "`u · σ(v)` of the halves `u`, `v` of an axis, as in PyTorch (Dauphin et al. 2016).", |b, u, v| {
        let gate = b.unary(MapOp::Sigmoid, v)?;
        b.mul(u, gate)
    };
    SWIGLU = "swiglu" None, "`silu(u) · v` of the halves `u`, `v` of an axis: the gate is the first (Shazeer 2020).", |b, u, v| {
        let gate = b.unary(MapOp::Sigmoid, u)?;
        let gate = b.mul(u, gate)?;
        b.mul(gate, v)
    };
    GEGLU = "geglu" None, "`gelu(u) · v` of the halves `u`, `v` of an axis: the gate is the first (Shazeer 2020).", |b, u, v| {
        let gate = exact(b, u)?;
        b.mul(gate, v)
    };
}

/// The first and the second half of the axis.
fn halves(b: &mut Builder<'_>, x: Value, attrs: &Attrs) -> Result<(Value, Value), OpError> {
    let axis = b.axis(x, attrs, "axis")?;
    let extent = b.shape(x)[axis].clone();
    let Some(half) = extent.exact_div(&Dim::from(2)) else {
        let message = format!("`{{callee}}` halves axis {axis} of {{0}}, but its extent {extent} is odd");
        return Err(OpError::new(Code::NonDivisible, message).arg(0));
    };
    Ok((b.slice(x, axis, Dim::from(0), half.clone())?, b.slice(x, axis, half.clone(), half)?))
}
