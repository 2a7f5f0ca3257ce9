//! Comparisons, which give truth values and broadcast: `eq(a, b)`, which `a == b` means, and so on.

use super::arithmetic::must_broadcast;
use super::{Domain, Example, Item, Op};
use crate::ir::prim::MapOp;

/// One op from each line: its name, element class, ONNX name, whether the arguments are swapped, and its operator.
macro_rules! table {
    ($($item:ident = $name:literal $class:literal $onnx:expr, $map:ident, $swap:literal, $doc:literal;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: concat!("(a: ", $class, "[...], b: ", $class, "[...]) -> bool[...]"),
            attrs: &[],
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: $onnx,
            body: |b, args, _| {
                must_broadcast(b, args[0], args[1])?;
                let order = if $swap { [args[1], args[0]] } else { [args[0], args[1]] };
                Ok(vec![b.map(MapOp::$map, &order)?])
            },
            examples: &[
                Example {
                    inputs: &[("a", "i32[5, 7]", Domain::Below(3)), ("b", "i32[5, 7]", Domain::Below(3))],
                    call: concat!($name, "(a, b)"),
                    result: "bool[5, 7]",
                },
                Example {
                    inputs: &[("a", "f32[B, 1, 17]", Domain::Normal), ("b", "f32[3, 1]", Domain::Normal)],
                    call: concat!($name, "(a, b)"),
                    result: "bool[B, 3, 17]",
                },
            ],
        };)*
    };
}

table! {
    EQ = "eq" "any" Some("Equal"), Eq, false, "Whether `a = b`.";
    NE = "ne" "any" None, Ne, false, "Whether `a ≠ b`.";
    LT = "lt" "number" Some("Less"), Lt, false, "Whether `a < b`.";
    LE = "le" "number" Some("LessOrEqual"), Le, false, "Whether `a ≤ b`.";
    GT = "gt" "number" Some("Greater"), Lt, true, "Whether `a > b`.";
    GE = "ge" "number" Some("GreaterOrEqual"), Le, true, "Whether `a ≥ b`.";
}
