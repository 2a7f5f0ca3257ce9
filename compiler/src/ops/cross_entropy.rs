//! `cross_entropy(logits, target)`, with class ids or probabilities.

use super::log_softmax::shifted_logits;
use super::loss::{REDUCTION, reduce};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, ReduceOp, Scalar};
use crate::ir::{DType, Dim, Type, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CROSS_ENTROPY)];

static CROSS_ENTROPY: Op = Op {
    name: "cross_entropy",
    signature: "(logits: float[...], target: any[...]) -> float[...]",
    attrs: &[
        REDUCTION,
        AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis of the classes; negative counts from the end"),
        AttrDecl::optional("label_smoothing", AttrKind::Float, "0", "how much of each target is spread over all classes, from 0 to 1"),
        AttrDecl::optional("ignore_index", AttrKind::Int, "", "a class id that does not take part, in the loss or in the mean"),
    ],
    doc: "`−Σ target · log_softmax(logits)` over the classes; the target is a class id for each row (u32 or i32) or a \
          probability for each class. An id that is no class makes the loss NaN. The mean is over the rows.",
    onnx: Some("SoftmaxCrossEntropyLoss"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let smoothing = attrs.float("label_smoothing").unwrap_or(0.0);
        if !(0.0..=1.0).contains(&smoothing) {
            let message = format!("`label_smoothing` is from 0 to 1, not {smoothing}");
            return Err(OpError::new("wrong-attribute", message).attr("label_smoothing"));
        }
        match b.dtype(args[1]) {
            DType::F32 => probabilities(b, args, attrs, axis, smoothing),
            DType::U32 | DType::I32 => class_ids(b, args, attrs, axis, smoothing),
            DType::Bool => {
                let message = "the target {1} is bool: it must be class ids (u32) or probabilities (f32)";
                Err(OpError::new("wrong-dtype", message).arg(1).help("convert it: `{1}.u32()`"))
            }
        }
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "u32[5]", Domain::Below(7))],
            call: "cross_entropy(x, y)",
            result: "f32",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Unit)],
            call: "cross_entropy(x, y, label_smoothing = 0.1)",
            result: "f32",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 3]", Domain::Normal), ("y", "i32[B, 3]", Domain::Below(5))],
            call: "cross_entropy(x, y, axis = 1, label_smoothing = 0.1, ignore_index = 2)",
            result: "f32",
        },
    ],
};

/// That the target has the shape that the logits ask for.
fn expect(b: &Builder<'_>, args: &[Value], shape: Vec<Dim>) -> Result<(), OpError> {
    let target = b.ty(args[1]);
    if target.shape == shape {
        return Ok(());
    }
    let wanted = Type::new(target.dtype, shape);
    let message = format!("{{0}} is {}, so the target must be {wanted}, but {{1}} is {target}", b.ty(args[0]));
    Err(OpError::new("shape-mismatch", message).arg(1))
}

fn probabilities(
    b: &mut Builder<'_>,
    args: &[Value],
    attrs: &Attrs,
    axis: usize,
    smoothing: f64,
) -> Result<Vec<Value>, OpError> {
    expect(b, args, b.shape(args[0]))?;
    if attrs.int("ignore_index").is_some() {
        let message = "`ignore_index` is for class ids, but {1} holds probabilities";
        return Err(OpError::new("wrong-attribute", message).attr("ignore_index"));
    }
    let mut target = args[1];
    if smoothing > 0.0 {
        let classes = b.extent(&b.shape(args[0])[axis].clone())?;
        let spread = b.f32(smoothing)?;
        let spread = b.div(spread, classes)?;
        let own = b.with(MapOp::Mul, target, 1.0 - smoothing)?;
        target = b.add(own, spread)?;
    }
    let (shifted, log_sum) = shifted_logits(b, args[0], axis)?;
    let surprise = b.sub(log_sum, shifted)?;
    let each = b.mul(target, surprise)?;
    let each = b.sum(each, &[axis])?;
    reduce(b, each, attrs)
}

fn class_ids(
    b: &mut Builder<'_>,
    args: &[Value],
    attrs: &Attrs,
    axis: usize,
    smoothing: f64,
) -> Result<Vec<Value>, OpError> {
    let shape = b.shape(args[0]);
    let mut rows = shape.clone();
    let classes = rows.remove(axis);
    expect(b, args, rows.clone())?;
    let (shifted, log_sum) = shifted_logits(b, args[0], axis)?;
    let log_sum = b.reshape(log_sum, &rows)?;
    let id = b.convert(args[1], DType::U32)?;
    let own = own_logit(b, shifted, id, axis)?;
    let mut each = b.sub(log_sum, own)?;
    if smoothing > 0.0 {
        let mean = b.mean(shifted, &[axis])?;
        let spread = b.sub(log_sum, mean)?;
        let spread = b.with(MapOp::Mul, spread, smoothing)?;
        each = b.with(MapOp::Mul, each, 1.0 - smoothing)?;
        each = b.add(each, spread)?;
    }
    // The root of −1 is NaN: a loss that is silently too large would hide a label that is no class.
    let classes = b.extent_u32(&classes)?;
    let known = b.map(MapOp::Lt, &[id, classes])?;
    let (zero, minus_one) = (b.f32(0.0)?, b.f32(-1.0)?);
    let blame = b.select(known, zero, minus_one)?;
    let blame = b.unary(MapOp::Sqrt, blame)?;
    each = b.add(each, blame)?;
    match attrs.int("ignore_index") {
        None => reduce(b, each, attrs),
        Some(ignored) => without(b, each, args[1], ignored, attrs),
    }
}

/// The shifted logit of each row's class. A masked sum, since it fuses with the other passes over the row.
fn own_logit(b: &mut Builder<'_>, shifted: Value, id: Value, axis: usize) -> Result<Value, OpError> {
    let shape = b.shape(shifted);
    let positions = b.iota(&shape, axis)?;
    let mut column = shape;
    column[axis] = Dim::from(1);
    let column = b.reshape(id, &column)?;
    let hot = b.map(MapOp::Eq, &[positions, column])?;
    let zero = b.f32(0.0)?;
    let masked = b.select(hot, shifted, zero)?;
    b.reduce(ReduceOp::Sum, masked, &[axis])
}

/// The loss without the rows whose target is `ignored`.
fn without(b: &mut Builder<'_>, each: Value, target: Value, ignored: i64, attrs: &Attrs) -> Result<Vec<Value>, OpError> {
    let literal = match b.dtype(target) {
        DType::I32 => Scalar::I32(ignored as i32),
        DType::U32 | DType::F32 | DType::Bool => Scalar::U32(ignored as u32),
    };
    let ignored = b.prim(crate::ir::prim::Prim::Const(literal), &[])?;
    let counts = b.map(MapOp::Ne, &[target, ignored])?;
    let zero = b.f32(0.0)?;
    let each = b.select(counts, each, zero)?;
    if matches!(attrs.text("reduction"), Some("none" | "sum")) {
        return reduce(b, each, attrs);
    }
    let all: Vec<usize> = (0..b.rank(each)).collect();
    let counts = b.convert(counts, DType::F32)?;
    let (sum, count) = (b.sum(each, &all)?, b.sum(counts, &all)?);
    Ok(vec![b.div(sum, count)?])
}
