//! `InstanceNorm1d(channels)`, `InstanceNorm2d(channels)` and `instance_norm(x, weight, bias)`.

use crate::diag::Code;
use super::group_norm::{EPS, affine, normalise};
use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Layer, LayerExample, LayerParam, Op, OpError};

pub(super) const ITEMS: &[Item] = &[Item::Op(&INSTANCE_NORM), Item::Layer(&LAYER1D), Item::Layer(&LAYER2D)];

static INSTANCE_NORM: Op = Op {
    name: "instance_norm",
    signature: "(x: float[Batch, Channels, ..], weight: float[Channels]?, bias: float[Channels]?) -> float[Batch, Channels, ..]",
    attrs: &[EPS],
    doc: "`(x − mean) / √(variance + eps) · weight + bias` with mean and population variance over all axes after the channels \
          (Ulyanov, Vedaldi and Lempitsky 2016).",
    torch: Some("torch.nn.functional.instance_norm"),
    onnx: Some("InstanceNormalization"),
    body: |b, args, attrs| {
        let channels = b.shape(args[0])[1].clone();
        let Some(groups) = channels.as_const() else {
            let message = format!("`{{callee}}` needs channels known at build time, but {{0}} has {channels}");
            return Err(OpError::new(Code::NotSupported, message).arg(0));
        };
        normalise(b, args, groups, attrs.number("eps"))
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[2, 3, 7]", Domain::Normal),
                ("w", "f32[3]", Domain::Normal),
                ("c", "f32[3]", Domain::Normal),
            ],
            call: "instance_norm(x, w, c)",
            result: "f32[2, 3, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 5, 7]", Domain::Normal)],
            call: "instance_norm(x, eps = 0.1)",
            result: "f32[B, 3, 5, 7]",
        },
    ],
};

static LAYER1D: Layer = Layer {
    name: "InstanceNorm1d",
    torch: "torch.nn.InstanceNorm1d",
    attrs: ATTRS,
    params,
    op: &INSTANCE_NORM,
    op_attrs,
    doc: "Normalises each channel of `[batch, channels, length]` by itself; `affine = true` scales and shifts it by learnt numbers.",
    example: LayerExample {
        declared: "InstanceNorm1d(8, affine = true)",
        inputs: &[("x", "f32[B, 8, 16]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 16]",
    },
};

static LAYER2D: Layer = Layer {
    name: "InstanceNorm2d",
    torch: "torch.nn.InstanceNorm2d",
    attrs: ATTRS,
    params,
    op: &INSTANCE_NORM,
    op_attrs,
    doc: "Normalises each channel of `[batch, channels, height, width]` by itself; `affine = true` scales and shifts it by \
          learnt numbers.",
    example: LayerExample {
        declared: "InstanceNorm2d(8, affine = true)",
        inputs: &[("x", "f32[B, 8, 6, 5]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 6, 5]",
    },
};

const ATTRS: &[AttrDecl] = &[
    AttrDecl::required("channels", AttrKind::Int, "channels of the argument"),
    EPS,
    AttrDecl::optional("affine", AttrKind::Bool, "false", "whether a learnt scale and offset of each channel follow"),
];

fn params(attrs: &Attrs) -> Result<Vec<LayerParam>, OpError> {
    let channels = attrs.positive("channels")?;
    Ok(if attrs.flag("affine") { affine(channels) } else { vec![] })
}

fn op_attrs(attrs: &Attrs) -> Attrs {
    attrs.only(&["eps"])
}
