//! `categorical(logits, key = key)`: draws of class ids.

use super::{Domain, Example, Item, Op, OpError};
use crate::diag::Code;
use crate::ir::prim::{ArgOp, MapOp, Prim};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CATEGORICAL)];

/// Half a unit of the draws: what stands for a draw of 0, whose logarithm is none.
const LEAST: f64 = 1.0 / (1 << 25) as f64;

static CATEGORICAL: Op = Op {
    name: "categorical",
    signature: "(logits: float[.., Classes], key: u32[2]!) -> u32[..]",
    attrs: &[],
    doc: "A class id for each row, drawn with the probabilities `softmax(logits)`, by the largest of `logits − log(−log u)` with \
          uniform `u` (Gumbel 1954). Logits of −∞ are never drawn where another is finite. The same key gives the same ids on every \
          device; in training it may be left out, and each step draws others.",
    torch: Some("torch.distributions.Categorical"),
    onnx: Some("Multinomial"),
    body: |b, args, _| {
        let shape = b.shape(args[0]);
        let Some(last) = shape.len().checked_sub(1) else {
            let message = "{0} is one number, and each row needs a logit for every class";
            return Err(OpError::new(Code::WrongRank, message).arg(0));
        };
        let key = b.key(args.get(1).copied())?;
        let unit = b.unit(key, &shape)?;
        let unit = b.convert(unit, b.dtype(args[0]))?;
        // 1 − u is in (0, 1], so that its logarithm is finite; where it is 0, the draw would be infinite.
        let one = b.constant(unit, 1.0)?;
        let rest = b.sub(one, unit)?;
        let log = b.unary(MapOp::Log, rest)?;
        let waiting = b.unary(MapOp::Neg, log)?;
        let waiting = b.with(MapOp::Max, waiting, LEAST)?;
        let noise = b.unary(MapOp::Log, waiting)?;
        let score = b.sub(args[0], noise)?;
        Ok(vec![b.prim(Prim::ArgReduce { op: ArgOp::Max, axis: last }, &[score])?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("k", "u32[2]", Domain::Below(1 << 30))],
            call: "categorical(x, key = k)",
            result: "u32[5]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal), ("k", "u32[2]", Domain::Below(1 << 30))],
            call: "categorical(x, key = k)",
            result: "u32[B, 3]",
        },
    ],
};
