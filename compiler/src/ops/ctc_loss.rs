//! `ctc_loss(log_probs, targets, input_lengths, target_lengths)`.
//!
//! Labels stand between blanks: `2 S + 1` states, of which a path stays, goes to the next, or passes over a blank between
//! labels that differ. The logarithm of what all paths to a state have together is carried through a region over time.

use super::gather::along;
use super::logsumexp::finite_shift;
use super::loss::{REDUCTION, reduce};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::diag::Code;
use crate::ir::graph::{Memory, Repeat};
use crate::ir::prim::{Border, MapOp, Prim, ReduceOp, Scalar};
use crate::ir::{DType, Dim, Graph, Kind, Type, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CTC_LOSS)];

static CTC_LOSS: Op = Op {
    name: "ctc_loss",
    signature: "(log_probs: float[Time, Batch, Classes], targets: int[Batch, Labels], input_lengths: int[Batch], \
                target_lengths: int[Batch]) -> float[...]",
    attrs: &[
        REDUCTION,
        AttrDecl::optional("blank", AttrKind::Int, "0", "the class that is no label"),
        AttrDecl::optional(
            "zero_infinity",
            AttrKind::Bool,
            "false",
            "whether the loss is 0 where no path fits, instead of infinite",
        ),
    ],
    doc: "Connectionist temporal classification (Graves et al. 2006): `−ln` of the probability that a sequence of classes, \
          without repetitions and then without blanks, is the target. `log_probs` are such as `log_softmax` gives; what \
          stands behind the lengths has no effect. The mean is over the batch, of each loss divided by the length of its \
          target, or by 1. Where the input is too short for the target the loss is infinite and has a gradient of 0. A \
          label that is no class, and a length beyond its axis, make it NaN. The gradient is the loss's own; PyTorch's is \
          another one where `log_probs` are not normalised.",
    torch: Some("torch.nn.functional.ctc_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let states = States::of(b, args, attrs)?;
        let last = states.over_time(b)?;
        let likelihood = states.end(b, last)?;
        let mut each = b.unary(MapOp::Neg, likelihood)?;
        if attrs.flag("zero_infinity") {
            let (impossible, zero) = (b.with(MapOp::Eq, each, f64::INFINITY)?, b.constant(each, 0.0)?);
            each = b.select(impossible, zero, each)?;
        }
        each = states.blame(b, args, each)?;
        if attrs.word("reduction") == "mean" {
            let dtype = b.dtype(each);
            let length = b.convert(states.target_lengths, dtype)?;
            let length = b.with(MapOp::Max, length, 1.0)?;
            each = b.div(each, length)?;
        }
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[7, 3, 5]", Domain::Normal),
                ("y", "u32[3, 2]", Domain::Below(5)),
                ("i", "u32[3]", Domain::Below(8)),
                ("t", "u32[3]", Domain::Below(3)),
            ],
            call: "ctc_loss(x, y, i, t, reduction = \"none\", zero_infinity = true)",
            result: "f32[3]",
        },
        Example {
            inputs: &[
                ("x", "f32[9, B, 4]", Domain::Normal),
                ("y", "i32[B, 3]", Domain::Below(4)),
                ("i", "i32[B]", Domain::Below(10)),
                ("t", "i32[B]", Domain::Below(4)),
            ],
            call: "ctc_loss(x, y, i, t, blank = 3, zero_infinity = true)",
            result: "f32",
        },
    ],
};

/// The states of all rows of a batch.
struct States {
    /// `[Time, Batch, 2 · Labels + 1]`: the logarithm of the probability of each state's class.
    emitted: Value,
    /// `[Batch, 2 · Labels + 1]`: the class, which is a blank behind the end of the target.
    class: Value,
    /// `[Batch, 2 · Labels + 1]`: whether a path may come from two states before.
    skips: Value,
    input_lengths: Value,
    target_lengths: Value,
}

impl States {
    fn of(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<States, OpError> {
        let blank = blank(b, args[0], attrs)?;
        let targets = b.index(args[1])?;
        let (input_lengths, target_lengths) = (b.index(args[2])?, b.index(args[3])?);
        let (time, shape) = (b.shape(args[0])[0].clone(), b.shape(targets));
        let (batch, labels) = (shape[0].clone(), shape[1].clone());
        // What pads a target may be anything.
        let blanks = b.u32(blank)?;
        let inside = before(b, &shape, target_lengths)?;
        let targets = b.select(inside, targets, blanks)?;
        let column = [batch.clone(), labels.clone(), 1.into()];
        let (targets, between) = (b.reshape(targets, &column)?, b.broadcast_to(blanks, &column)?);
        let pairs = b.prim(Prim::Concat { axis: 2 }, &[between, targets])?;
        let pairs = b.reshape(pairs, &[batch.clone(), labels * Dim::from(2)])?;
        let end = b.broadcast_to(blanks, &[batch, 1.into()])?;
        let class = b.prim(Prim::Concat { axis: 1 }, &[pairs, end])?;
        let two_before = shifted(b, class, 2, Scalar::u32(blank))?;
        let (is_label, differs) = (b.map(MapOp::Ne, &[class, blanks])?, b.map(MapOp::Ne, &[class, two_before])?);
        let skips = b.map(MapOp::And, &[is_label, differs])?;
        let all: Vec<Dim> = [time].into_iter().chain(b.shape(class)).collect();
        let wide = b.broadcast_to(class, &all)?;
        let emitted = along(b, args[0], wide, 2)?;
        Ok(States { emitted, class, skips, input_lengths, target_lengths })
    }

    /// The logarithms of all states where the inputs end.
    fn over_time(&self, b: &mut Builder<'_>) -> Result<Value, OpError> {
        let shape = b.shape(self.class);
        let position = b.iota(&shape, 1)?;
        // Before the first step all paths are in the first state, from which the first two can be reached.
        let first = b.with(MapOp::Eq, position, 0.0)?;
        let (certain, never) = (b.constant(self.emitted, 0.0)?, b.constant(self.emitted, f64::NEG_INFINITY)?);
        let start = b.select(first, certain, never)?;
        let args = vec![start, self.emitted, self.skips, self.input_lengths];
        let mut body = Graph::default();
        let mut inputs = vec![];
        for (k, &arg) in args.iter().enumerate() {
            let ty = b.ty(arg);
            let ty = if k == 1 { Type::new(ty.dtype, &ty.shape[1..]) } else { ty.clone() };
            inputs.push(body.push(Kind::Input(k), vec![], Some(ty), b.span));
        }
        let mut inner = b.inside(&mut body);
        let next = step(&mut inner, &inputs)?;
        body.outputs = vec![next];
        let count = b.shape(self.emitted)[0].clone();
        let repeat = Repeat { count, reverse: false, carried: 1, stacked: 1, memory: Memory::default(), body };
        Ok(b.graph.repeat(repeat, args, b.span)[0])
    }

    /// The logarithm of what ends at the last label or at the blank behind it.
    fn end(&self, b: &mut Builder<'_>, last: Value) -> Result<Value, OpError> {
        let shape = b.shape(last);
        let column = b.reshape(self.target_lengths, &[shape[0].clone(), 1.into()])?;
        let blank = b.with(MapOp::Mul, column, 2.0)?;
        let position = b.iota(&shape, 1)?;
        let next = b.with(MapOp::Add, position, 1.0)?;
        let (at_blank, at_label) = (b.map(MapOp::Eq, &[position, blank])?, b.map(MapOp::Eq, &[next, blank])?);
        let ends = b.map(MapOp::Or, &[at_blank, at_label])?;
        let never = b.constant(last, f64::NEG_INFINITY)?;
        let ends = b.select(ends, last, never)?;
        let largest = b.reduce_keep(ReduceOp::Max, ends, &[1])?;
        let shift = finite_shift(b, largest)?;
        let apart = b.sub(ends, shift)?;
        let exp = b.unary(MapOp::Exp, apart)?;
        let sum = b.reduce_keep(ReduceOp::Sum, exp, &[1])?;
        let log = log_of_sum(b, sum, shift)?;
        b.reshape(log, &shape[..1])
    }

    /// NaN where a label is no class or a length is beyond its axis: a loss that is silently wrong would hide it.
    fn blame(&self, b: &mut Builder<'_>, args: &[Value], each: Value) -> Result<Value, OpError> {
        let (of, targets) = (b.shape(args[0]), b.shape(args[1]));
        let classes = b.extent_u32(&of[2])?;
        let (one, zero) = (b.constant(each, 1.0)?, b.constant(each, 0.0)?);
        let known = b.map(MapOp::Lt, &[self.class, classes])?;
        let unknown = b.select(known, zero, one)?;
        let mut wrong = b.reduce(ReduceOp::Max, unknown, &[1])?;
        for (length, extent) in [(self.input_lengths, &of[0]), (self.target_lengths, &targets[1])] {
            let extent = b.extent_u32(extent)?;
            let inside = b.map(MapOp::Le, &[length, extent])?;
            wrong = b.select(inside, wrong, one)?;
        }
        let blame = b.unary(MapOp::Neg, wrong)?;
        let blame = b.unary(MapOp::Sqrt, blame)?;
        b.add(each, blame)
    }
}

/// The class that is no label.
///
/// # Errors
/// `wrong-attribute` where there is no such class.
fn blank(b: &Builder<'_>, log_probs: Value, attrs: &Attrs) -> Result<u32, OpError> {
    let (blank, classes) = (attrs.known("blank"), &b.shape(log_probs)[2]);
    let outside = |n: i64| n >= classes.as_const().unwrap_or(i64::MAX);
    match u32::try_from(blank) {
        Ok(class) if !outside(blank) => Ok(class),
        _ => {
            let message = format!("{{0}} has {classes} classes, so none of them is {blank}");
            let error = OpError::new(Code::WrongAttribute, message).attr("blank");
            // Negative numbers count from the end elsewhere.
            let meant = classes.as_const().map(|n| if blank < 0 && n + blank >= 0 { n + blank } else { n - 1 });
            Err(match meant {
                Some(meant) => error.help(format!("the last one is `{meant}`")),
                None => error,
            })
        }
    }
}

/// Which positions of the last axis are before the length of their row.
fn before(b: &mut Builder<'_>, shape: &[Dim], lengths: Value) -> Result<Value, OpError> {
    let position = b.iota(shape, 1)?;
    let column = b.reshape(lengths, &[shape[0].clone(), 1.into()])?;
    b.map(MapOp::Lt, &[position, column])
}

/// The elements of the last axis so many places later, behind `value`.
fn shifted(b: &mut Builder<'_>, x: Value, by: i64, value: Scalar) -> Result<Value, OpError> {
    let border = |low: i64| Border { low: low.into(), high: (-low).into(), interior: 0 };
    b.prim(Prim::Pad { borders: vec![border(0), border(by)], value }, &[x])
}

/// The logarithms of the states after a step of time; where an input has ended, as they were.
fn step(b: &mut Builder<'_>, inputs: &[Value]) -> Result<Value, OpError> {
    let &[old, emitted, skips, lengths] = inputs else { unreachable!("a step has four inputs") };
    let never = b.constant(old, f64::NEG_INFINITY)?;
    let absent = Scalar::of(b.dtype(old), f64::NEG_INFINITY);
    let (next, skipped) = (shifted(b, old, 1, absent)?, shifted(b, old, 2, absent)?);
    let skipped = b.select(skips, skipped, never)?;
    let largest = b.map(MapOp::Max, &[old, next])?;
    let largest = b.map(MapOp::Max, &[largest, skipped])?;
    let shift = finite_shift(b, largest)?;
    let mut sum = b.constant(old, 0.0)?;
    for from in [old, next, skipped] {
        let apart = b.sub(from, shift)?;
        let exp = b.unary(MapOp::Exp, apart)?;
        sum = b.add(sum, exp)?;
    }
    let log = log_of_sum(b, sum, shift)?;
    let new = b.add(log, emitted)?;
    let now = b.graph.push(Kind::Counter(0), vec![], Some(Type::scalar(DType::U32)), b.span);
    let column = b.reshape(lengths, &[b.shape(lengths)[0].clone(), 1.into()])?;
    let inside = b.map(MapOp::Lt, &[now, column])?;
    b.select(inside, new, old)
}

/// `ln sum + shift`; −∞ without a gradient where the sum is 0.
fn log_of_sum(b: &mut Builder<'_>, sum: Value, shift: Value) -> Result<Value, OpError> {
    let none = b.with(MapOp::Eq, sum, 0.0)?;
    let (one, never) = (b.constant(sum, 1.0)?, b.constant(sum, f64::NEG_INFINITY)?);
    let some = b.select(none, one, sum)?;
    let log = b.unary(MapOp::Log, some)?;
    let log = b.add(log, shift)?;
    b.select(none, never, log)
}
