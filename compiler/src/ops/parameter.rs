//! `Parameter(64, 3)`: a tensor that training changes, used by its field's name.

use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Layer, LayerParam, Op, OpError};
use crate::ir::model::Init;

pub(super) const ITEMS: &[Item] = &[Item::Op(&IDENTITY), Item::Layer(&LAYER)];

const INITS: &[&str] = &[
    "zeros",
    "ones",
    "constant",
    "normal",
    "uniform",
    "xavier_normal",
    "xavier_uniform",
    "kaiming_normal",
    "kaiming_uniform",
];

static IDENTITY: Op = Op {
    name: "identity",
    signature: "(x: any[..]) -> any[..]",
    attrs: &[],
    doc: "The argument itself.",
    onnx: Some("Identity"),
    body: |_, args, _| Ok(vec![args[0]]),
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "identity(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "identity(x)", result: "f32[B, 17]" },
    ],
};

static LAYER: Layer = Layer {
    name: "Parameter",
    attrs: &[
        AttrDecl::required("shape", AttrKind::Shape, "its extents"),
        AttrDecl::optional("init", AttrKind::Word(INITS), "\"normal\"", "how it starts"),
        AttrDecl::optional(
            "scale",
            AttrKind::Float,
            "1",
            "the standard deviation (normal), the bound (uniform) or the value (constant); for xavier and kaiming the gain",
        ),
    ],
    params: |attrs| {
        let shape = attrs.dims("shape").unwrap_or_default();
        let mut extents = vec![];
        for dim in &shape {
            match dim.as_const() {
                Some(n) if n > 0 => extents.push(n as f64),
                _ => {
                    let message = format!("an extent of a parameter is a positive constant, not {dim}");
                    return Err(OpError::new("wrong-attribute", message).attr("shape"));
                }
            }
        }
        let init = start(attrs.text("init").unwrap_or("normal"), attrs.float("scale").unwrap_or(1.0), &extents);
        Ok(vec![LayerParam { name: "", shape, init, trained: true }])
    },
    op: &IDENTITY,
    op_attrs: |_| Attrs::default(),
    doc: "A tensor that training changes; `self.field` is its value. It is saved under the field's own name.",
};

/// The named start: Glorot and Bengio 2010 (xavier) and He et al. 2015 (kaiming) with PyTorch's fans, which are
/// the second and the first extent, each times the remaining ones.
fn start(name: &str, scale: f64, extents: &[f64]) -> Init {
    let field: f64 = extents.iter().skip(2).product();
    let fan_out = extents.first().copied().unwrap_or(1.0) * field;
    let fan_in = extents.get(1).copied().unwrap_or(fan_out) * field;
    match name {
        "zeros" => Init::Zeros,
        "ones" => Init::Ones,
        "constant" => Init::Constant(scale),
        "uniform" => Init::Uniform { bound: scale },
        "xavier_normal" => Init::Normal { std: scale * (2.0 / (fan_in + fan_out)).sqrt() },
        "xavier_uniform" => Init::Uniform { bound: scale * (6.0 / (fan_in + fan_out)).sqrt() },
        "kaiming_normal" => Init::Normal { std: scale / fan_in.sqrt() },
        "kaiming_uniform" => Init::Uniform { bound: scale * (3.0 / fan_in).sqrt() },
        _ => Init::Normal { std: scale },
    }
}
