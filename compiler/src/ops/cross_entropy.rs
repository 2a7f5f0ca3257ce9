//! `cross_entropy(logits, target, weight)`, with class ids or probabilities.

use crate::diag::Code;
use super::labels::{CLASS_AXIS, IGNORE_INDEX, Labels, must_suit, must_weigh};
use super::log_softmax::shifted_logits;
use super::loss::{REDUCTION, reduce};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;
use crate::ir::{Category, DType, Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CROSS_ENTROPY)];

static CROSS_ENTROPY: Op = Op {
    name: "cross_entropy",
    signature: "(logits: float[...], target: any[...], weight: float[_]?) -> float[...]",
    attrs: &[
        REDUCTION,
        CLASS_AXIS,
        AttrDecl::optional(
            "label_smoothing",
            AttrKind::Float,
            "0",
            "how much of each target is spread over all classes, from 0 to 1",
        ),
        IGNORE_INDEX,
    ],
    doc: "`−Σ weight · target · log_softmax(logits)` over the classes; the target is a class id for each row (u32 or \
          i32) or a probability for each class, and the weight, which may be left out, a number for each class. An id \
          that is no class makes the loss NaN. The mean is over the rows, or for ids with weights over the sum of \
          the weights of the rows.",
    torch: Some("torch.nn.functional.cross_entropy"),
    onnx: Some("SoftmaxCrossEntropyLoss"),
    body: |b, args, attrs| {
        let smoothing = attrs.number("label_smoothing");
        if !(0.0..=1.0).contains(&smoothing) {
            let message = format!("`label_smoothing` is from 0 to 1, not {smoothing}");
            return Err(OpError::new(Code::WrongAttribute, message).attr("label_smoothing"));
        }
        match b.dtype(args[1]).category() {
            Category::Float => probabilities(b, args, attrs, smoothing),
            Category::Unsigned | Category::Signed => class_ids(b, args, attrs, smoothing),
            Category::Bool => {
                let message = "the target {1} is bool: it must be class ids (u32) or probabilities (floats)";
                Err(OpError::new(Code::WrongDtype, message).arg(1).help("convert it: `{1}.u32()`"))
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
            inputs: &[
                ("x", "f32[B, 5, 3]", Domain::Normal),
                ("y", "i32[B, 3]", Domain::Below(5)),
                ("w", "f32[5]", Domain::Positive),
            ],
            call: "cross_entropy(x, y, w, axis = 1, label_smoothing = 0.1, ignore_index = 2)",
            result: "f32",
        },
    ],
};

/// What to write where there is one score of that type for each row.
fn two_classes(score: DType) -> String {
    format!("one score for each row tells two classes apart: write `binary_cross_entropy_with_logits({{0}}, {{1}}.{score}())`")
}

/// The weight of each class, along the axis of the classes of a tensor of that rank.
fn along(b: &mut Builder<'_>, weight: Value, axis: usize, rank: usize) -> Result<Value, OpError> {
    let mut shape = vec![Dim::from(1); rank - axis];
    shape[0] = b.shape(weight)[0].clone();
    b.reshape(weight, &shape)
}

fn probabilities(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs, smoothing: f64) -> Result<Vec<Value>, OpError> {
    let axis = b.axis(args[0], attrs, "axis")?;
    must_suit(b, args, &b.shape(args[0]))?;
    let classes = b.shape(args[0])[axis].clone();
    must_weigh(b, args, &classes)?;
    if attrs.int("ignore_index").is_some() {
        let message = "`ignore_index` is for class ids, but {1} holds probabilities";
        return Err(OpError::new(Code::WrongAttribute, message).attr("ignore_index"));
    }
    let mut target = b.convert(args[1], b.dtype(args[1]).computed())?;
    if b.dtype(target) != b.dtype(args[0]) {
        let (scores, given) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
        let message = format!("`{{callee}}` needs one float type, but {{0}} is {scores} and {{1}} is {given}");
        let help = format!("convert it: `{{1}}.{}()`", scores.dtype);
        return Err(OpError::new(Code::MixedDtype, message).arg(1).help(help));
    }
    if smoothing > 0.0 {
        let classes = b.extent(target, &classes)?;
        let spread = b.constant(target, smoothing)?;
        let spread = b.div(spread, classes)?;
        let own = b.with(MapOp::Mul, target, 1.0 - smoothing)?;
        target = b.add(own, spread)?;
    }
    let (shifted, log_sum) = shifted_logits(b, args[0], axis)?;
    let surprise = b.sub(log_sum, shifted)?;
    let mut each = b.mul(target, surprise)?;
    if let Some(&weight) = args.get(2) {
        let weight = along(b, weight, axis, b.rank(each))?;
        each = b.mul(each, weight)?;
    }
    let each = b.sum(each, &[axis])?;
    reduce(b, each, attrs)
}

fn class_ids(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs, smoothing: f64) -> Result<Vec<Value>, OpError> {
    let labels = Labels::of(b, args, attrs).map_err(|error| match error.code {
        Code::WrongRank => error.help(two_classes(b.ty(args[0]).dtype)),
        _ => error,
    })?;
    let (shifted, log_sum) = shifted_logits(b, args[0], labels.axis)?;
    let row_sum = b.reshape(log_sum, &labels.rows)?;
    let own = labels.own(b, shifted)?;
    let each = b.sub(row_sum, own)?;
    let mut each = labels.weigh(b, each)?;
    if smoothing > 0.0 {
        let spread = match args.get(2) {
            None => {
                let mean = b.mean(shifted, &[labels.axis])?;
                b.sub(row_sum, mean)?
            }
            Some(&weight) => {
                let surprise = b.sub(log_sum, shifted)?;
                let weight = along(b, weight, labels.axis, b.rank(surprise))?;
                let weighed = b.mul(surprise, weight)?;
                b.mean(weighed, &[labels.axis])?
            }
        };
        let spread = b.with(MapOp::Mul, spread, smoothing)?;
        each = b.with(MapOp::Mul, each, 1.0 - smoothing)?;
        each = b.add(each, spread)?;
    }
    labels.reduce(b, each, attrs)
}
