//! `take(x, index, axis = 0)`, which `x[index]` means for a tensor of integers.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::Prim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&TAKE)];

static TAKE: Op = Op {
    name: "take",
    signature: "(x: any[...], index: int[...]) -> any[...]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Int, "0", "the indexed axis; negative counts from the end")],
    doc: "The slices of `x` at positions of an axis: the axes of `index` stand in its place. An index outside of the \
          axis gives NaN, or 0 for integers, and gets no gradient.",
    torch: Some("torch.index_select"),
    onnx: Some("Gather"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        // A negative index becomes a large one, which is outside.
        let index = b.index(args[1])?;
        Ok(vec![b.prim(Prim::Gather { axis }, &[args[0], index])?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("i", "u32[3, 2]", Domain::Below(5))],
            call: "take(x, i)",
            result: "f32[3, 2, 7]",
        },
        Example {
            inputs: &[("x", "f32[3, 7, 5]", Domain::Normal), ("i", "i32[B]", Domain::Below(7))],
            call: "take(x, i, axis = 1)",
            result: "f32[3, B, 5]",
        },
        Example {
            inputs: &[("x", "u16[9, B]", Domain::Below(3000)), ("i", "i64[5]", Domain::Below(12))],
            call: "take(x, i)",
            result: "u16[5, B]",
        },
    ],
};
