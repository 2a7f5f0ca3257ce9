//! `argmax(x, axis = …)` and `argmin(x, axis = …)`: where the extremes are.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::Dim;
use crate::ir::prim::{ArgOp, Prim};

static ATTRS: [AttrDecl; 2] = [
    AttrDecl::optional("axis", AttrKind::Int, "", "the searched axis; where absent, all elements in row-major order"),
    AttrDecl::optional("keepdims", AttrKind::Bool, "false", "whether the searched axis stays with extent 1"),
];

/// One op from each line: its name, ONNX name, operation and documentation.
macro_rules! table {
    ($($item:ident = $name:literal $onnx:literal, $op:ident, $doc:literal;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: "(x: number[..]) -> u32[...]",
            attrs: &ATTRS,
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: Some($onnx),
            body: |b, args, attrs| {
                let shape = b.shape(args[0]);
                let (x, axis) = match attrs.int("axis") {
                    Some(_) => (args[0], b.axis(args[0], attrs, "axis")?),
                    None => (b.reshape(args[0], &[crate::ir::dim::product(&shape)])?, 0),
                };
                let found = b.prim(Prim::ArgReduce { op: ArgOp::$op, axis }, &[x])?;
                if !attrs.flag("keepdims") {
                    return Ok(vec![found]);
                }
                let one = |a: usize| attrs.int("axis").is_none() || a == axis;
                let kept: Vec<Dim> = (0..shape.len()).map(|a| if one(a) { 1.into() } else { shape[a].clone() }).collect();
                Ok(vec![b.reshape(found, &kept)?])
            },
            examples: &[
                Example {
                    inputs: &[("x", "f32[5, 7, 17]", Domain::Normal)],
                    call: concat!($name, "(x, axis = 1)"),
                    result: "u32[5, 17]",
                },
                Example {
                    inputs: &[("x", "f32[B, 17]", Domain::Normal)],
                    call: concat!($name, "(x, axis = -1, keepdims = true)"),
                    result: "u32[B, 1]",
                },
                Example { inputs: &[("x", "i32[B, 7]", Domain::Below(5))], call: concat!($name, "(x)"), result: "u32" },
            ],
        };)*
    };
}

table! {
    ARGMAX = "argmax" "ArgMax", Max, "The position of the first largest element along the axis.";
    ARGMIN = "argmin" "ArgMin", Min, "The position of the first smallest element along the axis.";
}
