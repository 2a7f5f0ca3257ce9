//! `one_hot(index, classes = 10)`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::MapOp;
use crate::ir::{DType, Dim};

pub(super) const ITEMS: &[Item] = &[Item::Op(&ONE_HOT)];

static ONE_HOT: Op = Op {
    name: "one_hot",
    signature: "(index: int[..]) -> *",
    attrs: &[
        AttrDecl::required("classes", AttrKind::Dim, "the extent of the new last axis"),
        AttrDecl::optional(
            "dtype",
            AttrKind::Word(DType::NAMES),
            "",
            "the element type of the result; that of the parameters where it is not given",
        ),
    ],
    doc: "1 at the index and 0 elsewhere along a new last axis; all 0 where the index is outside.",
    torch: Some("torch.nn.functional.one_hot"),
    onnx: Some("OneHot"),
    body: |b, args, attrs| {
        let mut shape = b.shape(args[0]);
        shape.push(attrs.extent("classes"));
        let positions = b.iota(&shape, shape.len() - 1)?;
        let index = b.index(args[0])?;
        let mut column = b.shape(index);
        column.push(Dim::from(1));
        let column = b.reshape(index, &column)?;
        let hot = b.map(MapOp::Eq, &[positions, column])?;
        let dtype = attrs.text("dtype").and_then(DType::from_name).unwrap_or(b.float);
        Ok(vec![b.convert(hot, dtype)?])
    },
    examples: &[
        Example { inputs: &[("i", "u32[5]", Domain::Below(7))], call: "one_hot(i, 7)", result: "f32[5, 7]" },
        Example {
            inputs: &[("i", "i32[B, 3]", Domain::Below(17))],
            call: "one_hot(i, classes = 17, dtype = \"i32\")",
            result: "i32[B, 3, 17]",
        },
    ],
};
