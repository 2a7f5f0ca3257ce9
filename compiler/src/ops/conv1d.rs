//! `Conv1d(input, output, kernel = 3)` and `conv1d(x, weight, bias)`.

use super::conv::{BIAS, GROUPS, INPUT, OUTPUT, STRIDE, channels, convolve, params};
use super::initial::{BIAS_INIT, INIT};
use super::sliding::DILATION;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Layer, LayerExample, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CONV1D), Item::Layer(&LAYER)];

const PADDING: AttrDecl = AttrDecl::optional(
    "padding",
    AttrKind::IntsOr(&["same", "causal"]),
    "0",
    "zeros on both sides; \"same\" keeps the length (stride 1), and with \"causal\" all stand before, so that nothing is seen \
     that comes later",
);

static CONV1D: Op = Op {
    name: "conv1d",
    signature: "(x: float[Batch, Channels, Length], weight: float[Outputs, _, _], bias: float[Outputs]?) \
                -> float[Batch, Outputs, _]",
    attrs: &[STRIDE, PADDING, DILATION, GROUPS],
    doc: "The cross-correlation `y[b, o, s] = Σ x[b, i, s · stride + k · dilation − padding] · weight[o, i, k] + bias[o]` \
          over channels `i` of the output's group and kernel positions `k`, in PyTorch's layouts.",
    torch: Some("torch.nn.functional.conv1d"),
    onnx: Some("Conv"),
    body: |b, args, attrs| convolve(b, args, attrs),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[2, 3, 17]", Domain::Normal),
                ("w", "f32[5, 3, 3]", Domain::Normal),
                ("c", "f32[5]", Domain::Normal),
            ],
            call: "conv1d(x, w, c, stride = 2, padding = 2)",
            result: "f32[2, 5, 10]",
        },
        Example {
            inputs: &[("x", "f32[B, 4, 13]", Domain::Normal), ("w", "f32[6, 2, 3]", Domain::Normal)],
            call: "conv1d(x, w, stride = 3, padding = 1, dilation = 2, groups = 2)",
            result: "f32[B, 6, 4]",
        },
        Example {
            inputs: &[("x", "f32[3, 5, B]", Domain::Normal), ("w", "f32[5, 1, 4]", Domain::Normal)],
            call: "conv1d(x, w, padding = \"same\", groups = 5)",
            result: "f32[3, 5, B]",
        },
        Example {
            inputs: &[("x", "f32[3, 4, B]", Domain::Normal), ("w", "f32[5, 4, 3]", Domain::Normal)],
            call: "conv1d(x, w, padding = \"causal\", dilation = 2)",
            result: "f32[3, 5, B]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "Conv1d",
    torch: "torch.nn.Conv1d",
    attrs: &[
        INPUT,
        OUTPUT,
        AttrDecl::required("kernel", AttrKind::Ints, "length of the window"),
        STRIDE,
        PADDING,
        DILATION,
        GROUPS,
        BIAS,
        INIT,
        BIAS_INIT,
    ],
    params: |attrs| {
        let (input, output, groups) = channels(attrs)?;
        params(attrs, [output, input / groups], 1)
    },
    op: &CONV1D,
    op_attrs: |attrs| attrs.only(&["stride", "padding", "dilation", "groups"]),
    doc: "A learnt convolution over the length of `[batch, channels, length]`.",
    example: LayerExample {
        declared: "Conv1d(4, 8, kernel = 3, padding = 1)",
        inputs: &[("x", "f32[B, 4, 16]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 16]",
    },
};
