//! `heads(x, n)` and `merge_heads(x)`: features as heads, and back.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError, nearest_divisor};
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&HEADS), Item::Op(&MERGE_HEADS)];

static HEADS: Op = Op {
    name: "heads",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::required("count", AttrKind::Int, "how many heads; it divides the features")],
    doc: "The features as `n` heads, which stand before the positions: `[.., T, n·d]` gives `[.., n, T, d]`. What has at most \
          two axes has no axis of positions: `[B, n·d]` gives `[B, n, d]`.",
    torch: None,
    onnx: None,
    body: |b, args, attrs| {
        let (shape, count) = (b.shape(args[0]), attrs.positive("count")?);
        let Some(features) = shape.last() else {
            return Err(OpError::new(Code::WrongRank, "`heads` takes [.., features], but {0} is a scalar").arg(0));
        };
        let Some(own) = features.exact_div(&Dim::from(count)) else {
            let message = format!("{count} heads do not divide the features of {{0}}, which are {features}");
            let near = features.as_const().and_then(|features| nearest_divisor(features, count));
            let help = near.map(|near| format!("write `{near}`"));
            return Err(OpError { help, ..OpError::new(Code::NonDivisible, message).attr("count") });
        };
        let lead = shape.len() - 1;
        let split = b.reshape(args[0], &[&shape[..lead], &[Dim::from(count), own]].concat())?;
        if lead < 2 {
            return Ok(vec![split]);
        }
        Ok(vec![b.transpose(split, &exchanged(lead + 2))?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[B, 5, 21]", Domain::Normal)], call: "heads(x, 3)", result: "f32[B, 3, 5, 7]" },
        Example { inputs: &[("x", "f32[5, 16]", Domain::Normal)], call: "heads(x, 4)", result: "f32[5, 4, 4]" },
    ],
};

static MERGE_HEADS: Op = Op {
    name: "merge_heads",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[],
    doc: "The heads' features one after the other, as before `heads`: `[.., n, T, d]` gives `[.., T, n·d]`, and what has at \
          most three axes, `[B, n, d]`, gives `[B, n·d]`.",
    torch: None,
    onnx: None,
    body: |b, args, _| {
        let rank = b.rank(args[0]);
        if rank < 2 {
            let message = format!("`merge_heads` takes [.., heads, T, d], but {{0}} is {}", b.ty(args[0]));
            return Err(OpError::new(Code::WrongRank, message).arg(0));
        }
        let side_by_side = if rank < 4 { args[0] } else { b.transpose(args[0], &exchanged(rank))? };
        let mut shape = b.shape(side_by_side);
        let (own, count) = (shape.remove(rank - 1), shape.remove(rank - 2));
        shape.push(count * own);
        Ok(vec![b.reshape(side_by_side, &shape)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[B, 3, 5, 7]", Domain::Normal)],
            call: "merge_heads(x)",
            result: "f32[B, 5, 21]",
        },
        Example { inputs: &[("x", "f32[5, 4, 4]", Domain::Normal)], call: "merge_heads(x)", result: "f32[5, 16]" },
    ],
};

/// The permutation that exchanges the second and the third axis from the end.
fn exchanged(rank: usize) -> Vec<usize> {
    (0..rank - 3).chain([rank - 2, rank - 3, rank - 1]).collect()
}
