//! `drop_path(x, p = 0.1, key = key)`: stochastic depth.

use super::dropout::{drop, probability};
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op};
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&DROP_PATH)];

static DROP_PATH: Op = Op {
    name: "drop_path",
    signature: "(x: float[Batch, ..], key: u32[2]!) -> float[Batch, ..]",
    attrs: &[AttrDecl::optional("p", AttrKind::Float, "0.5", "the probability with which a sample is dropped, from 0 to 1")],
    doc: "Stochastic depth (Huang et al. 2016): in training, each sample of the first axis is 0 as a whole with probability \
          `p` and `x / (1 − p)` otherwise; elsewhere `x` itself, unless a key says which to drop. It stands before a residual \
          is added: `x + drop_path(self.block(x), 0.1)`.",
    torch: Some("torchvision.ops.stochastic_depth"),
    onnx: None,
    body: |b, args, attrs| {
        let p = probability(attrs, "p")?;
        let mut column = vec![Dim::from(1); b.rank(args[0])];
        column[0] = b.shape(args[0])[0].clone();
        let one = b.constant(args[0], 1.0)?;
        let ones = b.broadcast_to(one, &column)?;
        let kept = drop(b, ones, p, args.get(1).copied())?;
        Ok(vec![if kept == ones { args[0] } else { b.mul(args[0], kept)? }])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "drop_path(x, 0.25)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 3, 17]", Domain::Normal), ("k", "u32[2]", Domain::Below(1 << 30))],
            call: "drop_path(x, key = k)",
            result: "f32[B, 3, 17]",
        },
    ],
};
