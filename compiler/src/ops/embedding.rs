//! `Embedding(count, dim)` and `embedding(index, weight)`.

use super::initial::{INIT, initial};
use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Layer, LayerExample, LayerParam, Op};
use crate::ir::model::Init;
use crate::ir::prim::Prim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&EMBEDDING), Item::Layer(&LAYER)];

static EMBEDDING: Op = Op {
    name: "embedding",
    signature: "(index: int[..], weight: float[Count, Features]) -> float[.., Features]",
    attrs: &[],
    doc: "The row of `weight` for each index. An index outside of the table gives NaN.",
    torch: Some("torch.nn.functional.embedding"),
    onnx: None,
    body: |b, args, _| {
        let index = b.index(args[0])?;
        Ok(vec![b.prim(Prim::Gather { axis: 0 }, &[args[1], index])?])
    },
    examples: &[
        Example {
            inputs: &[("i", "u32[3, 2]", Domain::Below(17)), ("w", "f32[17, 7]", Domain::Normal)],
            call: "embedding(i, w)",
            result: "f32[3, 2, 7]",
        },
        Example {
            inputs: &[("i", "i32[B]", Domain::Below(5)), ("w", "f32[5, 7]", Domain::Normal)],
            call: "embedding(i, w)",
            result: "f32[B, 7]",
        },
        Example {
            inputs: &[("i", "u8[B, 3]", Domain::Below(17)), ("w", "f32[17, 7]", Domain::Normal)],
            call: "embedding(i, w)",
            result: "f32[B, 3, 7]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "Embedding",
    torch: "torch.nn.Embedding",
    attrs: &[
        AttrDecl::required("count", AttrKind::Int, "rows of the table: indices are below it"),
        AttrDecl::required("dim", AttrKind::Int, "features of a row"),
        INIT,
    ],
    params: |attrs| {
        let shape = vec![attrs.positive("count")?.into(), attrs.positive("dim")?.into()];
        let init = initial(attrs, "init", &shape, Init::Normal { std: 1.0 })?;
        Ok(vec![LayerParam { name: "weight", shape, init, trained: true }])
    },
    op: &EMBEDDING,
    op_attrs: |_| Attrs::default(),
    doc: "A table of learnt vectors, looked up by index; it starts standard normal, as PyTorch's.",
    example: LayerExample {
        declared: "Embedding(1000, 64)",
        inputs: &[("ids", "u32[B, T]")],
        call: "self.layer(ids)",
        result: "f32[B, T, 64]",
    },
};
