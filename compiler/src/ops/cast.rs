//! `cast(x, "f32")`, and a method for each element type: `x.f32()`, `x.u8()`, `x.bool()`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::DType;

pub(super) const ITEMS: &[Item] = &[
    Item::Op(&CAST),
    Item::Op(&F32),
    Item::Op(&F64),
    Item::Op(&F16),
    Item::Op(&BF16),
    Item::Op(&F8E4M3),
    Item::Op(&I8),
    Item::Op(&U8),
    Item::Op(&I16),
    Item::Op(&U16),
    Item::Op(&I32),
    Item::Op(&U32),
    Item::Op(&I64),
    Item::Op(&U64),
    Item::Op(&BOOL),
];

static CAST: Op = Op {
    name: "cast",
    signature: "(x: any[..]) -> *",
    attrs: &[AttrDecl::required("dtype", AttrKind::Word(DType::NAMES), "the element type of the result")],
    doc: "To another element type. Floats truncate and saturate to integers (NaN gives 0), truth is 1 or 0, and a \
          number is true where it is not 0.",
    torch: Some("torch.Tensor.to"),
    onnx: Some("Cast"),
    body: |b, args, attrs| {
        let dtype = attrs.text("dtype").and_then(DType::from_name);
        Ok(vec![b.convert(args[0], dtype.unwrap_or(DType::F32))?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "cast(x, \"i32\")", result: "i32[5, 7]" },
        Example { inputs: &[("x", "u32[B, 17]", Domain::Below(9))], call: "cast(x, \"f32\")", result: "f32[B, 17]" },
        Example { inputs: &[("x", "i32[B, 17]", Domain::Below(3))], call: "cast(x, \"bool\")", result: "bool[B, 17]" },
    ],
};

/// One op from each line: `x.name()`.
macro_rules! methods {
    ($($item:ident = $name:literal, $dtype:ident, [$($from:literal)*] [$($float:literal)*];)*) => {
        $(static $item: Op = Op {
            name: $name,
            signature: concat!("(x: any[..]) -> ", $name, "[..]"),
            attrs: &[],
            doc: concat!("The same as `cast(x, \"", $name, "\")`."),
            torch: None,
            onnx: None,
            body: |b, args, _| Ok(vec![b.convert(args[0], DType::$dtype)?]),
            examples: &[
                $(Example {
                    inputs: &[("x", concat!($from, "[5, 7]"), Domain::Below(3))],
                    call: concat!($name, "(x)"),
                    result: concat!($name, "[5, 7]"),
                },)*
                $(Example {
                    inputs: &[("x", concat!($float, "[5, 7]"), Domain::Normal)],
                    call: concat!($name, "(x)"),
                    result: concat!($name, "[5, 7]"),
                },)*
                Example {
                    inputs: &[("x", "bool[B, 17]", Domain::Below(2))],
                    call: concat!($name, "(x)"),
                    result: concat!($name, "[B, 17]"),
                },
            ],
        };)*
    };
}

// The op, its type, and from which integers and floats it is tested.
methods! {
    F32 = "f32", F32, ["u32" "i32" "i64" "u64" "i8" "u8" "i16" "u16"] ["f64" "f16" "bf16" "f8e4m3"];
    F64 = "f64", F64, ["u32" "i32" "i64" "u64"] ["f32" "f16"];
    F16 = "f16", F16, ["u32" "i32" "u8"] ["f32" "f64" "bf16"];
    BF16 = "bf16", BF16, ["u32" "i32" "i8"] ["f32" "f64" "f16"];
    F8E4M3 = "f8e4m3", F8E4M3, ["u32" "i32" "u8"] ["f32" "f64" "bf16"];
    I8 = "i8", I8, ["u32" "i32" "i64" "u8"] ["f32" "f64" "bf16"];
    U8 = "u8", U8, ["u32" "i32" "u64" "i8"] ["f32" "f64" "f16"];
    I16 = "i16", I16, ["u32" "i32" "i64" "u16" "i8"] ["f32"];
    U16 = "u16", U16, ["u32" "i32" "u64" "i16" "u8"] ["f32"];
    I32 = "i32", I32, ["u32" "i64" "u64" "i8" "u8" "i16" "u16"] ["f32" "f64" "bf16"];
    U32 = "u32", U32, ["i32" "i64" "u64" "i8" "u8" "i16" "u16"] ["f32" "f64" "f16"];
    I64 = "i64", I64, ["u32" "i32" "u64" "i8" "u16"] ["f32" "f64"];
    U64 = "u64", U64, ["i32" "u32" "i64" "u8" "i16"] ["f32" "f64"];
    BOOL = "bool", Bool, ["u32" "i32" "i64" "u64" "u8"] ["f32" "f64" "f16"];
}
