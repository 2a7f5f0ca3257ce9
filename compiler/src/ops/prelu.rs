//! `PReLU(num_parameters = 1)` and `prelu(x, weight)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Layer, LayerExample, LayerParam, Op, OpError};
use crate::ir::Dim;
use crate::ir::model::Init;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&PRELU), Item::Layer(&LAYER)];

static PRELU: Op = Op {
    name: "prelu",
    signature: "(x: float[...], weight: float[Slopes]) -> float[...]",
    attrs: &[],
    doc: "`x` above zero and `weight · x` elsewhere, with one weight for all elements or one for each position of axis \
          1, the channels (He et al. 2015).",
    torch: Some("torch.nn.functional.prelu"),
    onnx: Some("PRelu"),
    body: |b, args, _| {
        let (x, mut slope) = (b.ty(args[0]).clone(), args[1]);
        let slopes = b.shape(slope)[0].clone();
        if slopes.is(1) {
            slope = b.reshape(slope, &[])?;
        } else if x.shape.get(1) == Some(&slopes) {
            let mut shape = vec![Dim::from(1); x.rank() - 1];
            shape[0] = slopes;
            slope = b.reshape(slope, &shape)?;
        } else {
            let channels = x.shape.get(1).map_or("has no axis 1".into(), |d| format!("has {d} along axis 1"));
            let message = format!("`{{callee}}` has {slopes} slopes, but {{0}} is {x}, which {channels}");
            return Err(OpError::new(Code::WrongFeatures, message).arg(0));
        }
        let zero = b.constant(args[0], 0.0)?;
        let positive = b.map(MapOp::Lt, &[zero, args[0]])?;
        let small = b.mul(args[0], slope)?;
        Ok(vec![b.select(positive, args[0], small)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("w", "f32[7]", Domain::Normal)],
            call: "prelu(x, w)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal), ("w", "f32[3]", Domain::Normal)],
            call: "prelu(x, w)",
            result: "f32[B, 3, 17]",
        },
        Example {
            inputs: &[("x", "f32[B]", Domain::Normal), ("w", "f32[1]", Domain::Unit)],
            call: "prelu(x, w)",
            result: "f32[B]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "PReLU",
    torch: "torch.nn.PReLU",
    attrs: &[
        AttrDecl::optional(
            "num_parameters",
            AttrKind::Int,
            "1",
            "slopes: one for all, or one for each channel (axis 1)",
        ),
        AttrDecl::optional("init", AttrKind::Float, "0.25", "the slope at first"),
    ],
    params: |attrs| {
        let shape = vec![attrs.positive("num_parameters")?.into()];
        Ok(vec![LayerParam { name: "weight", shape, init: Init::Constant(attrs.number("init")), trained: true }])
    },
    op: &PRELU,
    op_attrs: |_| Attrs::default(),
    doc: "A rectifier whose slope below zero is learnt.",
    example: LayerExample {
        declared: "PReLU(8)",
        inputs: &[("x", "f32[B, 8]")],
        call: "self.layer(x)",
        result: "f32[B, 8]",
    },
};
