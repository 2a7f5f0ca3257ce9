//! `LayerNorm(dim)` and `layer_norm(x, weight, bias)`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Layer, LayerExample, LayerParam, Op};
use crate::ir::model::Init;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&LAYER_NORM), Item::Layer(&LAYER)];

const EPS: AttrDecl = AttrDecl::optional("eps", AttrKind::Float, "1e-5", "added to the variance");

static LAYER_NORM: Op = Op {
    name: "layer_norm",
    signature: "(x: float[.., Features], weight: float[Features]?, bias: float[Features]?) -> float[.., Features]",
    attrs: &[EPS],
    doc: "`(x − mean) / √(variance + eps) · weight + bias` over the last axis (Ba, Kiros and Hinton 2016), with the \
          population variance in two passes.",
    torch: Some("torch.nn.functional.layer_norm"),
    onnx: Some("LayerNormalization"),
    body: |b, args, attrs| {
        let x = args[0];
        let last = [b.rank(x) - 1];
        let n = b.extent(x, &b.shape(x)[last[0]].clone())?;
        let sum = b.reduce_keep(ReduceOp::Sum, x, &last)?;
        let mean = b.div(sum, n)?;
        let centred = b.sub(x, mean)?;
        let squared = b.mul(centred, centred)?;
        let sum = b.reduce_keep(ReduceOp::Sum, squared, &last)?;
        let variance = b.div(sum, n)?;
        let shifted = b.with(MapOp::Add, variance, attrs.number("eps"))?;
        let scale = b.unary(MapOp::Rsqrt, shifted)?;
        let mut y = b.mul(centred, scale)?;
        if let Some(&weight) = args.get(1) {
            y = b.mul(y, weight)?;
        }
        if let Some(&bias) = args.get(2) {
            y = b.add(y, bias)?;
        }
        Ok(vec![y])
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 17]", Domain::Normal),
                ("w", "f32[17]", Domain::Normal),
                ("c", "f32[17]", Domain::Normal),
            ],
            call: "layer_norm(x, w, c)",
            result: "f32[5, 17]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 7]", Domain::Normal)],
            call: "layer_norm(x, eps = 0.1)",
            result: "f32[B, 3, 7]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "LayerNorm",
    torch: "torch.nn.LayerNorm",
    attrs: &[
        AttrDecl::required("dim", AttrKind::Int, "features of the argument's last axis"),
        EPS,
        AttrDecl::optional("elementwise_affine", AttrKind::Bool, "true", "whether a learnt scale (and offset) follows"),
        AttrDecl::optional("bias", AttrKind::Bool, "true", "whether the learnt part has an offset"),
    ],
    params: |attrs| {
        let shape = vec![attrs.positive("dim")?.into()];
        let weight = LayerParam { name: "weight", shape: shape.clone(), init: Init::Ones, trained: true };
        let bias = LayerParam { name: "bias", shape, init: Init::Zeros, trained: true };
        Ok(match (attrs.flag("elementwise_affine"), attrs.flag("bias")) {
            (true, true) => vec![weight, bias],
            (true, false) => vec![weight],
            (false, _) => vec![],
        })
    },
    op: &LAYER_NORM,
    op_attrs: |attrs| attrs.only(&["eps"]),
    doc: "Normalises the last axis to mean 0 and variance 1, then scales and shifts it by learnt numbers.",
    example: LayerExample {
        declared: "LayerNorm(64)",
        inputs: &[("x", "f32[B, T, 64]")],
        call: "self.layer(x)",
        result: "f32[B, T, 64]",
    },
};
