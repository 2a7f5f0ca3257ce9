//! Tensors from nothing: `zeros([B, 5])`, `ones([B, 5])`, `full([B, 5], 0.5)` and `iota(T)`.

use crate::diag::Code;
use super::axes::show;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::{DType, Dim};

pub(super) const ITEMS: &[Item] = &[Item::Op(&ZEROS), Item::Op(&ONES), Item::Op(&FULL), Item::Op(&IOTA)];

const SHAPE: AttrDecl = AttrDecl::required("shape", AttrKind::Shape, "the extents of the result");
const DTYPE: AttrDecl = AttrDecl::optional(
    "dtype",
    AttrKind::Word(DType::NAMES),
    "",
    "the element type of the result; that of the parameters where it is not given",
);

/// The asked shape and element type.
fn asked(b: &Builder<'_>, attrs: &Attrs) -> (Vec<Dim>, DType) {
    let dtype = attrs.text("dtype").and_then(DType::from_name).unwrap_or(b.float);
    (attrs.extents("shape"), dtype)
}

static ZEROS: Op = Op {
    name: "zeros",
    signature: "() -> *",
    attrs: &[SHAPE, DTYPE],
    doc: "A tensor of zeros.",
    torch: Some("torch.zeros"),
    onnx: None,
    body: |b, _, attrs| {
        let (shape, dtype) = asked(b, attrs);
        Ok(vec![b.full(dtype, &shape, 0.0)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "add(x, zeros([5, 7]))", result: "f32[5, 7]" },
        Example { inputs: &[("x", "i32[B, 17]", Domain::Below(5))], call: "add(x, zeros([B, 17], \"i32\"))", result: "i32[B, 17]" },
    ],
};

static ONES: Op = Op {
    name: "ones",
    signature: "() -> *",
    attrs: &[SHAPE, DTYPE],
    doc: "A tensor of ones.",
    torch: Some("torch.ones"),
    onnx: None,
    body: |b, _, attrs| {
        let (shape, dtype) = asked(b, attrs);
        Ok(vec![b.full(dtype, &shape, 1.0)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "mul(x, ones(5, 7))", result: "f32[5, 7]" },
        Example { inputs: &[("x", "u32[B, 17]", Domain::Below(5))], call: "add(x, ones([B, 17], dtype = \"u32\"))", result: "u32[B, 17]" },
    ],
};

static FULL: Op = Op {
    name: "full",
    signature: "() -> *",
    attrs: &[SHAPE, AttrDecl::required("value", AttrKind::Float, "every element"), DTYPE],
    doc: "A tensor of one value.",
    torch: Some("torch.full"),
    onnx: Some("ConstantOfShape"),
    body: |b, _, attrs| {
        let ((shape, dtype), value) = (asked(b, attrs), attrs.number("value"));
        if !dtype.holds(value) && value.is_finite() {
            let message = format!("`{value}` is no {dtype}, which holds {}", dtype.range());
            return Err(OpError::new(Code::WrongAttribute, message).attr("value"));
        }
        Ok(vec![b.full(dtype, &shape, value)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "mul(x, full([5, 7], 2.5))", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "sub(x, full([B, 1], value = 3))", result: "f32[B, 17]" },
    ],
};

static IOTA: Op = Op {
    name: "iota",
    signature: "() -> u32[...]",
    attrs: &[SHAPE, AttrDecl::optional("axis", AttrKind::Int, "0", "the counted axis; negative counts from the end")],
    doc: "Each element's index along an axis: `iota(T)` is 0, 1 … T − 1.",
    torch: Some("torch.arange"),
    onnx: Some("Range"),
    body: |b, _, attrs| {
        let (shape, _) = asked(b, attrs);
        let (axis, rank) = (attrs.known("axis"), shape.len() as i64);
        let from_start = if axis < 0 { axis + rank } else { axis };
        if !(0..rank).contains(&from_start) {
            let message = format!("axis {axis} is out of range for {}", show(&shape));
            return Err(OpError::new(Code::AxisOutOfRange, message).attr("axis"));
        }
        Ok(vec![b.iota(&shape, from_start as usize)?])
    },
    examples: &[
        Example { inputs: &[("x", "u32[7]", Domain::Below(9))], call: "add(x, iota(7))", result: "u32[7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal)],
            call: "mul(x, f32(iota([B, 17], axis = 1)))",
            result: "f32[B, 17]",
        },
    ],
};
