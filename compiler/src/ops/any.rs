//! `any(x, axis = …)` and `all(x, axis = …)`: truth values over any axes.

use super::axes::REDUCED;
use super::{Domain, Example, Item, Op};
use crate::ir::DType;
use crate::ir::prim::ReduceOp;

/// One op from each line: its name, the reduction of 0 and 1 that decides it, and its documentation.
macro_rules! table {
    ($($item:ident = $name:literal, $op:ident, $doc:literal;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: "(x: bool[..]) -> bool[...]",
            attrs: &REDUCED,
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: None,
            body: |b, args, attrs| {
                let axes = b.reduced(args[0], attrs)?;
                let bits = b.convert(args[0], DType::U32)?;
                let kept = b.reduce_keep(ReduceOp::$op, bits, &axes)?;
                let kept = b.convert(kept, DType::Bool)?;
                b.finish(kept, &axes, attrs)
            },
            examples: &[
                Example {
                    inputs: &[("x", "bool[5, 3, 17]", Domain::Below(2))],
                    call: concat!($name, "(x, axis = 1)"),
                    result: "bool[5, 17]",
                },
                Example { inputs: &[("x", "bool[B, 7]", Domain::Below(2))], call: concat!($name, "(x)"), result: "bool" },
            ],
        };)*
    };
}

table! {
    ANY = "any", Max, "Whether any element over the axes holds.";
    ALL = "all", Min, "Whether every element over the axes holds.";
}
