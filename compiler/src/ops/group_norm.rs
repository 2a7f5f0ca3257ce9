//! `GroupNorm(groups, channels)` and `group_norm(x, weight, bias, groups = 4)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Layer, LayerExample, LayerParam, Op, OpError, nearest_divisor};
use crate::ir::dim::product;
use crate::ir::model::Init;
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&GROUP_NORM), Item::Layer(&LAYER)];

pub(super) const EPS: AttrDecl = AttrDecl::optional("eps", AttrKind::Float, "1e-5", "added to the variance");

static GROUP_NORM: Op = Op {
    name: "group_norm",
    signature: "(x: float[Batch, Channels, ..], weight: float[Channels]?, bias: float[Channels]?) -> float[Batch, Channels, ..]",
    attrs: &[AttrDecl::required("groups", AttrKind::Int, "how many groups the channels make"), EPS],
    doc: "`(x − mean) / √(variance + eps) · weight + bias` with mean and population variance over each group of consecutive \
          channels and all axes after them (Wu and He 2018).",
    torch: Some("torch.nn.functional.group_norm"),
    onnx: Some("GroupNormalization"),
    body: |b, args, attrs| {
        let groups = attrs.positive("groups")?;
        normalise(b, args, groups, attrs.number("eps"))
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[2, 6, 3, 5]", Domain::Normal),
                ("w", "f32[6]", Domain::Normal),
                ("c", "f32[6]", Domain::Normal),
            ],
            call: "group_norm(x, w, c, groups = 3)",
            result: "f32[2, 6, 3, 5]",
        },
        Example {
            inputs: &[("x", "f32[B, 10, 7]", Domain::Normal)],
            call: "group_norm(x, groups = 2, eps = 0.1)",
            result: "f32[B, 10, 7]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "GroupNorm",
    torch: "torch.nn.GroupNorm",
    attrs: &[
        AttrDecl::required("groups", AttrKind::Int, "how many groups the channels make"),
        AttrDecl::required("channels", AttrKind::Int, "channels of the argument"),
        EPS,
        AttrDecl::optional(
            "affine",
            AttrKind::Bool,
            "true",
            "whether a learnt scale and offset of each channel follow",
        ),
    ],
    params: |attrs| {
        let (groups, channels) = (attrs.positive("groups")?, attrs.positive("channels")?);
        if channels % groups != 0 {
            return Err(uneven(groups, &Dim::from(channels)).attr("groups"));
        }
        Ok(if attrs.flag("affine") { affine(channels) } else { vec![] })
    },
    op: &GROUP_NORM,
    op_attrs: |attrs| attrs.only(&["groups", "eps"]),
    doc: "Normalises each group of channels to mean 0 and variance 1, then scales and shifts each channel by learnt numbers.",
    example: LayerExample {
        declared: "GroupNorm(2, 8)",
        inputs: &[("x", "f32[B, 8, 6, 5]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 6, 5]",
    },
};

/// A scale and an offset for each channel.
pub(super) fn affine(channels: i64) -> Vec<LayerParam> {
    let shape = vec![Dim::from(channels)];
    let weight = LayerParam { name: "weight", shape: shape.clone(), init: Init::Ones, trained: true };
    vec![weight, LayerParam { name: "bias", shape, init: Init::Zeros, trained: true }]
}

fn uneven(groups: i64, channels: &Dim) -> OpError {
    let error = OpError::new(Code::NonDivisible, format!("{groups} groups do not divide {channels} channels"));
    let near = channels.as_const().and_then(|channels| nearest_divisor(channels, groups));
    OpError { help: near.map(|near| format!("write `{near}`")), ..error }
}

/// The normalised argument, scaled by `args[1]` and shifted by `args[2]` where they are given.
pub(super) fn normalise(b: &mut Builder<'_>, args: &[Value], groups: i64, eps: f64) -> Result<Vec<Value>, OpError> {
    let shape = b.shape(args[0]);
    let count = Dim::from(groups);
    let Some(each) = shape[1].exact_div(&count) else {
        return Err(uneven(groups, &shape[1]).attr("groups"));
    };
    let rows = [shape[0].clone(), count, each * product(&shape[2..])];
    let x = b.reshape(args[0], &rows)?;
    let n = b.extent(x, &rows[2])?;
    let sum = b.reduce_keep(ReduceOp::Sum, x, &[2])?;
    let mean = b.div(sum, n)?;
    let centred = b.sub(x, mean)?;
    let squared = b.mul(centred, centred)?;
    let sum = b.reduce_keep(ReduceOp::Sum, squared, &[2])?;
    let variance = b.div(sum, n)?;
    let shifted = b.with(MapOp::Add, variance, eps)?;
    let scale = b.unary(MapOp::Rsqrt, shifted)?;
    let y = b.mul(centred, scale)?;
    let y = b.reshape(y, &shape)?;
    Ok(vec![scale_channels(b, y, args.get(1).copied(), args.get(2).copied())?])
}

/// `x · weight + bias`, one number for each channel.
pub(super) fn scale_channels(
    b: &mut Builder<'_>,
    x: Value,
    weight: Option<Value>,
    bias: Option<Value>,
) -> Result<Value, OpError> {
    let mut y = x;
    if let Some(weight) = weight {
        let weight = column(b, weight, x)?;
        y = b.mul(y, weight)?;
    }
    if let Some(bias) = bias {
        let bias = column(b, bias, x)?;
        y = b.add(y, bias)?;
    }
    Ok(y)
}

/// Numbers of channels in a shape that broadcasts along those of `like`.
pub(super) fn column(b: &mut Builder<'_>, numbers: Value, like: Value) -> Result<Value, OpError> {
    let channels = b.shape(numbers);
    b.reshape(numbers, &[&*channels, &*vec![Dim::from(1); b.rank(like) - 2]].concat())
}
