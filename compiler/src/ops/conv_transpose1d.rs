//! `ConvTranspose1d(input, output, kernel = 3)` and `conv_transpose1d(x, weight, bias)`.

use super::conv::{BIAS, GROUPS, INPUT, OUTPUT};
use super::conv_transpose::{OUTPUT_PADDING, PADDING, STRIDE, convolve_back, params_back};
use super::initial::{BIAS_INIT, INIT};
use super::sliding::DILATION;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Layer, LayerExample, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CONV_TRANSPOSE1D), Item::Layer(&LAYER)];

static CONV_TRANSPOSE1D: Op = Op {
    name: "conv_transpose1d",
    signature: "(x: float[Batch, Channels, Length], weight: float[Channels, _, _], bias: float[Outputs]?) \
                -> float[Batch, _, _]",
    attrs: &[STRIDE, PADDING, OUTPUT_PADDING, GROUPS, DILATION],
    doc: "The transpose of `conv1d` as a map of its argument (Zeiler et al. 2010): `x[b, i, s] · weight[i, o, k]` is added to \
          `y[b, o, s · stride + k · dilation − padding]`, then `bias[o]`. Each spatial extent becomes `(n − 1) · stride − \
          2 · padding + dilation · (kernel − 1) + output_padding + 1`.",
    torch: Some("torch.nn.functional.conv_transpose1d"),
    onnx: Some("ConvTranspose"),
    body: |b, args, attrs| convolve_back(b, args, attrs),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[2, 3, 7]", Domain::Normal),
                ("w", "f32[3, 5, 4]", Domain::Normal),
                ("c", "f32[5]", Domain::Normal),
            ],
            call: "conv_transpose1d(x, w, c, stride = 2, padding = 1)",
            result: "f32[2, 5, 14]",
        },
        Example {
            inputs: &[("x", "f32[B, 4, 5]", Domain::Normal), ("w", "f32[4, 3, 3]", Domain::Normal)],
            call: "conv_transpose1d(x, w, stride = 3, padding = 2, output_padding = 1, groups = 2, dilation = 2)",
            result: "f32[B, 6, 14]",
        },
        Example {
            inputs: &[("x", "f32[3, 2, B]", Domain::Normal), ("w", "f32[2, 1, 2]", Domain::Normal)],
            call: "conv_transpose1d(x, w, groups = 2)",
            result: "f32[3, 2, 1 + B]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "ConvTranspose1d",
    torch: "torch.nn.ConvTranspose1d",
    attrs: &[
        INPUT,
        OUTPUT,
        AttrDecl::required("kernel", AttrKind::Ints, "length of the window"),
        STRIDE,
        PADDING,
        OUTPUT_PADDING,
        GROUPS,
        BIAS,
        INIT,
        BIAS_INIT,
        DILATION,
    ],
    params: |attrs| params_back(attrs, 1),
    op: &CONV_TRANSPOSE1D,
    op_attrs: |attrs| attrs.only(&["stride", "padding", "output_padding", "groups", "dilation"]),
    doc: "A learnt transposed convolution over the length of `[batch, channels, length]`.",
    example: LayerExample {
        declared: "ConvTranspose1d(4, 8, kernel = 2, stride = 2)",
        inputs: &[("x", "f32[B, 4, 16]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 32]",
    },
};
