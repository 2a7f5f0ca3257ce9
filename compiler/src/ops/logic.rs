//! Functions of truth values, elementwise and broadcasting: `logical_and(a, b)`, which `a & b` means, and so on.

use super::arithmetic::must_broadcast;
use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

/// One op from each line: its name, ONNX name and operator.
macro_rules! table {
    ($($item:ident = $name:literal $onnx:literal, $map:ident, $doc:literal;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item),)* Item::Op(&NOT)];

        $(static $item: Op = Op {
            name: $name,
            signature: "(a: bool[...], b: bool[...]) -> bool[...]",
            attrs: &[],
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: Some($onnx),
            body: |b, args, _| {
                must_broadcast(b, args[0], args[1])?;
                Ok(vec![b.map(MapOp::$map, &[args[0], args[1]])?])
            },
            examples: &[
                Example {
                    inputs: &[("a", "bool[5, 7]", Domain::Below(2)), ("b", "bool[5, 7]", Domain::Below(2))],
                    call: concat!($name, "(a, b)"),
                    result: "bool[5, 7]",
                },
                Example {
                    inputs: &[("a", "bool[B, 1, 17]", Domain::Below(2)), ("b", "bool[3, 1]", Domain::Below(2))],
                    call: concat!($name, "(a, b)"),
                    result: "bool[B, 3, 17]",
                },
            ],
        };)*
    };
}

table! {
    AND = "logical_and" "And", And, "Whether both hold.";
    OR = "logical_or" "Or", Or, "Whether one of both holds.";
    XOR = "logical_xor" "Xor", Xor, "Whether exactly one of both holds.";
}

static NOT: Op = Op {
    name: "logical_not",
    signature: "(x: bool[..]) -> bool[..]",
    attrs: &[],
    doc: "Whether `x` does not hold; `!x` means it.",
    torch: Some("torch.logical_not"),
    onnx: Some("Not"),
    body: |b, args, _| Ok(vec![b.unary(MapOp::Not, args[0])?]),
    examples: &[
        Example { inputs: &[("x", "bool[5, 7]", Domain::Below(2))], call: "logical_not(x)", result: "bool[5, 7]" },
        Example { inputs: &[("x", "bool[B, 17]", Domain::Below(2))], call: "logical_not(x)", result: "bool[B, 17]" },
    ],
};
