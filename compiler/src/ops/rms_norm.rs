//! `RMSNorm(dim)` and `rms_norm(x, weight)`.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Layer, LayerExample, LayerParam, Op};
use crate::ir::model::Init;
use crate::ir::prim::{MapOp, ReduceOp};

pub(super) const ITEMS: &[Item] = &[Item::Op(&RMS_NORM), Item::Layer(&LAYER)];

const EPS: AttrDecl = AttrDecl::optional(
    "eps",
    AttrKind::Float,
    "",
    "added to the mean square; where it is not given, the machine epsilon of the type, as PyTorch's",
);

static RMS_NORM: Op = Op {
    name: "rms_norm",
    signature: "(x: float[.., Features], weight: float[Features]?) -> float[.., Features]",
    attrs: &[EPS],
    doc: "`x / √(mean(x²) + eps) · weight` over the last axis (Zhang and Sennrich 2019).",
    torch: Some("torch.nn.functional.rms_norm"),
    onnx: Some("RMSNormalization"),
    body: |b, args, attrs| {
        let x = args[0];
        let last = b.rank(x) - 1;
        let n = b.extent(x, &b.shape(x)[last].clone())?;
        let squared = b.mul(x, x)?;
        let sum = b.reduce_keep(ReduceOp::Sum, squared, &[last])?;
        let mean = b.div(sum, n)?;
        let shifted = b.with(MapOp::Add, mean, attrs.float("eps").unwrap_or(b.dtype(x).epsilon()))?;
        let scale = b.unary(MapOp::Rsqrt, shifted)?;
        let y = b.mul(x, scale)?;
        Ok(vec![match args.get(1) {
            Some(&weight) => b.mul(y, weight)?,
            None => y,
        }])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 17]", Domain::Normal), ("w", "f32[17]", Domain::Normal)],
            call: "rms_norm(x, w)",
            result: "f32[5, 17]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 7]", Domain::Normal)],
            call: "rms_norm(x, eps = 0.1)",
            result: "f32[B, 3, 7]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "RMSNorm",
    torch: "torch.nn.RMSNorm",
    attrs: &[
        AttrDecl::required("dim", AttrKind::Int, "features of the argument's last axis"),
        EPS,
        AttrDecl::optional("elementwise_affine", AttrKind::Bool, "true", "whether a learnt scale follows"),
    ],
    params: |attrs| {
        let weight =
            LayerParam { name: "weight", shape: vec![attrs.positive("dim")?.into()], init: Init::Ones, trained: true };
        Ok(if attrs.flag("elementwise_affine") { vec![weight] } else { vec![] })
    },
    op: &RMS_NORM,
    op_attrs: |attrs| attrs.only(&["eps"]),
    doc: "Divides the last axis by its root mean square and scales it by learnt numbers.",
    example: LayerExample {
        declared: "RMSNorm(64)",
        inputs: &[("x", "f32[B, T, 64]")],
        call: "self.layer(x)",
        result: "f32[B, T, 64]",
    },
};
