//! `Conv2d(input, output, kernel = 3)` and `conv2d(x, weight, bias)`.

use super::initial::{BIAS_INIT, INIT, weight_and_bias};
use super::sliding::{DILATION, Taps, positive, windows};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Layer, Op, OpError};
use crate::ir::dim::product;
use crate::ir::prim::Prim;
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CONV2D), Item::Layer(&LAYER)];

const STRIDE: AttrDecl = AttrDecl::optional("stride", AttrKind::Ints, "1", "from one window to the next");
const PADDING: AttrDecl = AttrDecl::optional(
    "padding",
    AttrKind::IntsOr(&["same"]),
    "0",
    "zeros around each spatial axis; \"same\" keeps the extents (stride 1)",
);
const GROUPS: AttrDecl =
    AttrDecl::optional("groups", AttrKind::Int, "1", "parts of the channels that do not see each other");

static CONV2D: Op = Op {
    name: "conv2d",
    signature: "(x: float[Batch, Channels, Height, Width], weight: float[Outputs, _, _, _], bias: float[Outputs]?) \
                -> float[Batch, Outputs, _, _]",
    attrs: &[STRIDE, PADDING, DILATION, GROUPS],
    doc: "The cross-correlation `y[b, o, s] = Σ x[b, i, s · stride + k · dilation − padding] · weight[o, i, k] + bias[o]` \
          over channels `i` of the output's group and kernel positions `k`, in PyTorch's layouts.",
    onnx: Some("Conv"),
    body: |b, args, attrs| Ok(vec![convolve(b, args, attrs)?]),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 7, 5]", Domain::Normal), ("w", "f32[5, 3, 3, 3]", Domain::Normal), ("c", "f32[5]", Domain::Normal)],
            call: "conv2d(x, w, c, padding = 1)",
            result: "f32[2, 5, 7, 5]",
        },
        Example {
            inputs: &[("x", "f32[B, 4, 9, 7]", Domain::Normal), ("w", "f32[6, 2, 3, 2]", Domain::Normal)],
            call: "conv2d(x, w, stride = [2, 1], padding = [2, 1], dilation = [1, 2], groups = 2)",
            result: "f32[B, 6, 6, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 5, 17]", Domain::Normal), ("w", "f32[3, 1, 3, 4]", Domain::Normal)],
            call: "conv2d(x, w, padding = \"same\", groups = 3)",
            result: "f32[B, 3, 5, 17]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "Conv2d",
    attrs: &[
        AttrDecl::required("input", AttrKind::Int, "channels of the argument"),
        AttrDecl::required("output", AttrKind::Int, "channels of the result"),
        AttrDecl::required("kernel", AttrKind::Ints, "height and width of the window"),
        STRIDE,
        PADDING,
        DILATION,
        GROUPS,
        AttrDecl::optional("bias", AttrKind::Bool, "true", "whether a learnt offset is added to each channel"),
        INIT,
        BIAS_INIT,
    ],
    params: |attrs| {
        let (input, output, groups) = (attrs.positive("input")?, attrs.positive("output")?, attrs.positive("groups")?);
        let kernel = positive(attrs, "kernel", 2)?;
        for (name, channels) in [("input", input), ("output", output)] {
            if channels % groups != 0 {
                return Err(uneven(groups, channels, &format!("the {channels} channels of `{name}`")));
            }
        }
        let shape: Vec<Dim> = [output, input / groups].iter().chain(&kernel).map(|&n| Dim::from(n)).collect();
        weight_and_bias(attrs, shape, input / groups * kernel.iter().product::<i64>())
    },
    op: &CONV2D,
    op_attrs: |attrs| {
        let passed = ["stride", "padding", "dilation", "groups"];
        Attrs(attrs.0.iter().filter(|(name, _)| passed.contains(name)).cloned().collect())
    },
    doc: "A learnt convolution over height and width of `[batch, channels, height, width]`.",
};

fn uneven(groups: i64, channels: i64, what: &str) -> OpError {
    let fitting = (1..=groups).rev().find(|g| channels % g == 0).unwrap_or(1);
    OpError::new("non-divisible", format!("{groups} groups do not divide {what}"))
        .attr("groups")
        .help(format!("write `groups = {fitting}`"))
}

fn convolve(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Value, OpError> {
    let (x, weight) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
    let groups = attrs.positive("groups")?;
    let each = weight.shape[1].clone();
    let wanted = each.clone() * Dim::from(groups);
    if x.shape[1] != wanted {
        let word = if wanted.is(1) { "channel" } else { "channels" };
        let message = format!("`{{callee}}` takes {wanted} {word}, but {{0}} has {}", x.shape[1]);
        return Err(OpError::new("wrong-features", message).arg(0));
    }
    let groups_dim = Dim::from(groups);
    let Some(outputs) = weight.shape[0].exact_div(&groups_dim) else {
        let channels = weight.shape[0].as_const().unwrap_or(1);
        return Err(uneven(groups, channels, &format!("the {} outputs of {{1}}", weight.shape[0])));
    };
    let (stride, dilation) = (positive(attrs, "stride", 2)?, positive(attrs, "dilation", 2)?);
    let tap = |k: usize| Taps { size: weight.shape[2 + k].clone(), stride: stride[k], dilation: dilation[k] };
    let windows = windows(attrs, &x, vec![tap(0), tap(1)])?;
    let grouped = [&[x.shape[0].clone(), groups_dim.clone(), each.clone()], &x.shape[2..]].concat();
    let kernels = [&[groups_dim, outputs, each], &weight.shape[2..]].concat();
    let (grouped, kernels) = (b.reshape(args[0], &grouped)?, b.reshape(args[1], &kernels)?);
    let y = b.prim(Prim::Conv { windows }, &[grouped, kernels])?;
    let full = b.shape(y);
    let y = b.reshape(y, &[&[full[0].clone(), product(&full[1..3])], &full[3..]].concat())?;
    match args.get(2) {
        None => Ok(y),
        Some(&bias) => {
            let column = b.reshape(bias, &[weight.shape[0].clone(), Dim::from(1), Dim::from(1)])?;
            b.add(y, column)
        }
    }
}
