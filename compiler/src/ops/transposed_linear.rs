//! `TransposedLinear(input, output, bias = true)` and `transposed_linear(x, weight, bias)`: a weight that lies as the other
//! libraries than PyTorch, and GPT-2's files, have it.

use super::initial::weight_and_bias;
use super::linear::{ATTRS, affine};
use super::{Attrs, Domain, Example, Item, Layer, LayerExample, Op};

pub(super) const ITEMS: &[Item] = &[Item::Op(&TRANSPOSED_LINEAR), Item::Layer(&LAYER)];

static TRANSPOSED_LINEAR: Op = Op {
    name: "transposed_linear",
    signature: "(x: float[.., Features], weight: float[Features, Outputs], bias: float[Outputs]?) -> float[.., Outputs]",
    attrs: &[],
    doc: "`x · weight + bias` over the last axis.",
    torch: Some("torch.addmm"),
    onnx: None,
    body: |b, args, _| affine(b, args, "kn"),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("w", "f32[7, 17]", Domain::Normal),
                ("c", "f32[17]", Domain::Normal),
            ],
            call: "transposed_linear(x, w, c)",
            result: "f32[5, 17]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 64]", Domain::Normal), ("w", "f32[64, 10]", Domain::Normal)],
            call: "transposed_linear(x, w)",
            result: "f32[B, 3, 10]",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "TransposedLinear",
    torch: "transformers.pytorch_utils.Conv1D",
    attrs: ATTRS,
    params: |attrs| {
        let (input, output) = (attrs.positive("input")?, attrs.positive("output")?);
        weight_and_bias(attrs, vec![input.into(), output.into()], output, input)
    },
    op: &TRANSPOSED_LINEAR,
    op_attrs: |_| Attrs::default(),
    doc: "A fully connected layer whose weight is `[input, output]`, as in GPT-2's files: `x · weight + bias` over the last axis.",
    example: LayerExample {
        declared: "TransposedLinear(64, 192)",
        inputs: &[("x", "f32[B, T, 64]")],
        call: "self.layer(x)",
        result: "f32[B, T, 192]",
    },
};
