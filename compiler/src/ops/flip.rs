//! `flip(x, axis = 1)`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::prim::Prim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&FLIP)];

static FLIP: Op = Op {
    name: "flip",
    signature: "(x: any[..]) -> any[..]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Ints, "", "the reversed axes; all where absent")],
    doc: "Reverses the order of the elements along axes.",
    torch: Some("torch.flip"),
    onnx: None,
    body: |b, args, attrs| {
        let rank = b.rank(args[0]);
        let mut axes = b.axes(args[0], attrs, "axis")?.unwrap_or_else(|| (0..rank).collect());
        axes.sort_unstable();
        Ok(vec![b.prim(Prim::Flip(axes), args)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "flip(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 5, 17]", Domain::Normal)], call: "flip(x, axis = -1)", result: "f32[B, 5, 17]" },
    ],
};
