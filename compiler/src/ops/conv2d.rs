//! `Conv2d(input, output, kernel = 3)` and `conv2d(x, weight, bias)`.

use super::conv::{BIAS, GROUPS, INPUT, OUTPUT, PADDING, STRIDE, channels, convolve, params};
use super::initial::{BIAS_INIT, INIT};
use super::sliding::DILATION;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Layer, LayerExample, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CONV2D), Item::Layer(&LAYER)];

static CONV2D: Op = Op {
    name: "conv2d",
    signature: "(x: float[Batch, Channels, Height, Width], weight: float[Outputs, _, _, _], bias: float[Outputs]?) \
                -> float[Batch, Outputs, _, _]",
    attrs: &[STRIDE, PADDING, DILATION, GROUPS],
    doc: "The cross-correlation `y[b, o, s] = Σ x[b, i, s · stride + k · dilation − padding] · weight[o, i, k] + bias[o]` \
          over channels `i` of the output's group and kernel positions `k`, in PyTorch's layouts. On a CPU, kernels of 3 × 3 \
          over many channels run by minimal filtering (Winograd 1980; Lavin and Gray 2016): sums differ by some 1e-6 of the \
          largest one, and an element that is infinite or NaN makes NaN of the sums of whole squares of 4 × 4 around it.",
    torch: Some("torch.nn.functional.conv2d"),
    onnx: Some("Conv"),
    body: |b, args, attrs| convolve(b, args, attrs),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[2, 3, 7, 5]", Domain::Normal),
                ("w", "f32[5, 3, 3, 3]", Domain::Normal),
                ("c", "f32[5]", Domain::Normal),
            ],
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
        Example {
            inputs: &[("x", "f32[B, 2, 12, 11]", Domain::Normal), ("w", "f32[4, 1, 3, 2]", Domain::Normal)],
            call: "conv2d(x, w, stride = [2, 3], padding = [0, 1], dilation = [3, 2], groups = 2)",
            result: "f32[B, 4, 3, 4]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "Conv2d",
    torch: "torch.nn.Conv2d",
    attrs: &[
        INPUT,
        OUTPUT,
        AttrDecl::required("kernel", AttrKind::Ints, "height and width of the window"),
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
        params(attrs, [output, input / groups], 2)
    },
    op: &CONV2D,
    op_attrs: |attrs| attrs.only(&["stride", "padding", "dilation", "groups"]),
    doc: "A learnt convolution over height and width of `[batch, channels, height, width]`.",
    example: LayerExample {
        declared: "Conv2d(3, 8, kernel = 3, stride = 2, padding = 1)",
        inputs: &[("x", "f32[B, 3, 16, 16]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 8, 8]",
    },
};
