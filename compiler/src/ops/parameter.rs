//! `Parameter(64, 3)`: a tensor that training changes, used by its field's name.

use crate::diag::Code;
use super::initial::initial;
use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Layer, LayerExample, LayerParam, Op, OpError};
use crate::ir::model::Init;

pub(super) const ITEMS: &[Item] = &[Item::Op(&IDENTITY), Item::Layer(&LAYER)];

static IDENTITY: Op = Op {
    name: "identity",
    signature: "(x: any[..]) -> any[..]",
    attrs: &[],
    doc: "The argument itself.",
    torch: Some("torch.nn.Identity"),
    onnx: Some("Identity"),
    body: |_, args, _| Ok(vec![args[0]]),
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "identity(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "identity(x)", result: "f32[B, 17]" },
    ],
};

static LAYER: Layer = Layer {
    name: "Parameter",
    torch: "torch.nn.Parameter",
    attrs: &[
        AttrDecl::required("shape", AttrKind::Shape, "its extents"),
        AttrDecl::optional("init", AttrKind::Init, "\"normal\"", "how it starts"),
    ],
    params: |attrs| {
        let shape = attrs.extents("shape");
        if let Some(dim) = shape.iter().find(|dim| dim.as_const().is_none_or(|n| n < 1)) {
            let message = format!("an extent of a parameter is a positive constant, not {dim}");
            return Err(OpError::new(Code::WrongAttribute, message).attr("shape"));
        }
        let init = initial(attrs, "init", &shape, Init::Normal { std: 1.0 })?;
        Ok(vec![LayerParam { name: "", shape, init, trained: true }])
    },
    op: &IDENTITY,
    op_attrs: |_| Attrs::default(),
    doc: "A tensor that training changes; `self.field` is its value. It is saved under the field's own name.",
    example: LayerExample {
        declared: "Parameter([4, 8], init = \"zeros\")",
        inputs: &[("x", "f32[B, 4]")],
        call: "matmul(x, self.layer)",
        result: "f32[B, 8]",
    },
};
