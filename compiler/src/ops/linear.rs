//! `Linear(input, output, bias = true)` and `linear(x, weight, bias)`.

use super::initial::{BIAS_INIT, INIT, weight_and_bias};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Layer, LayerExample, Op, OpError};
use crate::ir::Value;

pub(super) const ITEMS: &[Item] = &[Item::Op(&LINEAR), Item::Layer(&LAYER)];

static LINEAR: Op = Op {
    name: "linear",
    signature: "(x: float[.., Features], weight: float[Outputs, Features], bias: float[Outputs]?) -> float[.., Outputs]",
    attrs: &[],
    doc: "`x · weightᵀ + bias` over the last axis.",
    torch: Some("torch.nn.functional.linear"),
    onnx: None,
    body: |b, args, _| affine(b, args, "nk"),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("w", "f32[17, 7]", Domain::Normal),
                ("c", "f32[17]", Domain::Normal),
            ],
            call: "linear(x, w, c)",
            result: "f32[5, 17]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 64]", Domain::Normal), ("w", "f32[10, 64]", Domain::Normal)],
            call: "linear(x, w)",
            result: "f32[B, 3, 10]",
        },
    ],
};

/// The product over the last axis of `args[0]`, `k`, with `args[1]`, whose axes are `weight`, plus `args[2]` where it is
/// given.
pub(super) fn affine(b: &mut Builder<'_>, args: &[Value], weight: &str) -> Result<Vec<Value>, OpError> {
    let rank = b.rank(args[0]);
    let lead: String = ('a'..'k').take(rank - 1).collect();
    let y = b.contract(&format!("{lead}k,{weight}->{lead}n"), args[0], args[1])?;
    Ok(vec![match args.get(2) {
        Some(&bias) => b.add(y, bias)?,
        None => y,
    }])
}

/// What a fully connected layer is declared with.
pub(super) const ATTRS: &[AttrDecl] = &[
    AttrDecl::required("input", AttrKind::Int, "features of the argument"),
    AttrDecl::required("output", AttrKind::Int, "features of the result"),
    AttrDecl::optional("bias", AttrKind::Bool, "true", "whether a learnt offset is added"),
    INIT,
    BIAS_INIT,
];

static LAYER: Layer = Layer {
    name: "Linear",
    torch: "torch.nn.Linear",
    attrs: ATTRS,
    params: |attrs| {
        let (input, output) = (attrs.positive("input")?, attrs.positive("output")?);
        weight_and_bias(attrs, vec![output.into(), input.into()], output, input)
    },
    op: &LINEAR,
    op_attrs: |_| Attrs::default(),
    doc: "A fully connected layer: `x · weightᵀ + bias` over the last axis.",
    example: LayerExample {
        declared: "Linear(784, 10)",
        inputs: &[("x", "f32[B, 784]")],
        call: "self.layer(x)",
        result: "f32[B, 10]",
    },
};
