//! Random tensors, `normal(key, [B, 16])`, `uniform(key, [B, 16])` and `bernoulli(key, [B, 16], p = 0.3)`, and keys,
//! `split_key(key, 2)` and `fold_in(key, n)`.

use crate::diag::Code;
use super::draw::{Key, Use};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] =
    &[Item::Op(&NORMAL), Item::Op(&UNIFORM), Item::Op(&BERNOULLI), Item::Op(&SPLIT_KEY), Item::Op(&FOLD_IN)];

const SHAPE: AttrDecl = AttrDecl::required("shape", AttrKind::Shape, "the extents of the result");

/// Keys of the tests: any words do.
const WORDS: Domain = Domain::Below(1 << 30);

fn shape(attrs: &Attrs) -> Vec<Dim> {
    attrs.extents("shape")
}

static NORMAL: Op = Op {
    name: "normal",
    signature: "(key: u32[2]?) -> float[...]",
    attrs: &[SHAPE],
    doc: "Standard normal random numbers. The same key gives the same numbers on every device; in training it may be \
          left out, and each step draws others.",
    torch: Some("torch.randn"),
    onnx: Some("RandomNormal"),
    body: |b, args, attrs| {
        let key = b.key(args.first().copied())?;
        Ok(vec![b.normal(key, &shape(attrs))?])
    },
    examples: &[
        Example { inputs: &[("k", "u32[2]", WORDS)], call: "normal(k, [5, 7])", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("k", "u32[2]", WORDS)],
            call: "mul(x, normal(k, [B, 17]))",
            result: "f32[B, 17]",
        },
    ],
};

static UNIFORM: Op = Op {
    name: "uniform",
    signature: "(key: u32[2]?) -> float[...]",
    attrs: &[
        SHAPE,
        AttrDecl::optional("low", AttrKind::Float, "0", "the least number"),
        AttrDecl::optional("high", AttrKind::Float, "1", "the numbers stay below it, up to rounding"),
    ],
    doc: "Uniform random numbers from `low` up to `high`, in 2²⁴ steps. The same key gives the same numbers on every \
          device; in training it may be left out, and each step draws others.",
    torch: Some("torch.rand"),
    onnx: Some("RandomUniform"),
    body: |b, args, attrs| {
        let (low, high) = (attrs.number("low"), attrs.number("high"));
        if low >= high {
            let message = format!("`high` is {high}, which is not above `low`, {low}");
            return Err(OpError::new(Code::WrongAttribute, message).attr("high"));
        }
        let key = b.key(args.first().copied())?;
        let unit = b.unit(key, &shape(attrs))?;
        let scaled = if high - low == 1.0 { unit } else { b.with(MapOp::Mul, unit, high - low)? };
        Ok(vec![if low == 0.0 { scaled } else { b.with(MapOp::Add, scaled, low)? }])
    },
    examples: &[
        Example { inputs: &[("k", "u32[2]", WORDS)], call: "uniform(k, [5, 7], low = -1)", result: "f32[5, 7]" },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("k", "u32[2]", WORDS)],
            call: "mul(x, uniform(k, [B, 17]))",
            result: "f32[B, 17]",
        },
    ],
};

static BERNOULLI: Op = Op {
    name: "bernoulli",
    signature: "(key: u32[2]?) -> bool[...]",
    attrs: &[SHAPE, AttrDecl::optional("p", AttrKind::Float, "0.5", "the probability of true, from 0 to 1")],
    doc: "Truth values that hold with probability `p`. For probabilities that are computed compare: \
          `uniform(key, [B]) < p`.",
    torch: Some("torch.bernoulli"),
    onnx: Some("Bernoulli"),
    body: |b, args, attrs| {
        let p = attrs.number("p");
        if !(0.0..=1.0).contains(&p) {
            return Err(super::dropout::no_probability("p", p));
        }
        let key = b.key(args.first().copied())?;
        let unit = b.unit(key, &shape(attrs))?;
        Ok(vec![b.with(MapOp::Lt, unit, p)?])
    },
    examples: &[
        Example { inputs: &[("k", "u32[2]", WORDS)], call: "bernoulli(k, [5, 7])", result: "bool[5, 7]" },
        Example {
            inputs: &[("c", "bool[B, 17]", Domain::Below(2)), ("k", "u32[2]", WORDS)],
            call: "logical_and(c, bernoulli(k, [B, 17], p = 0.8))",
            result: "bool[B, 17]",
        },
    ],
};

static SPLIT_KEY: Op = Op {
    name: "split_key",
    signature: "(key: u32[2]) -> *",
    attrs: &[AttrDecl::required("count", AttrKind::Int, "how many keys")],
    doc: "Keys whose draws are independent of each other and of those of `key`: `let (a, b) = split_key(key, 2);`.",
    torch: None,
    onnx: None,
    body: |b, args, attrs| {
        let count = u32::try_from(attrs.positive("count")?).unwrap_or(u32::MAX);
        let parent = b.key_for(args[0], Use::Split)?;
        (0..count)
            .map(|n| {
                let n = b.u32(n)?;
                let key = b.fold(parent, n)?;
                joined(b, key)
            })
            .collect()
    },
    examples: &[
        Example { inputs: &[("k", "u32[2]", WORDS)], call: "split_key(k, 2)", result: "(u32[2], u32[2])" },
        Example {
            inputs: &[("x", "u32[B, 2]", WORDS), ("k", "u32[2]", WORDS)],
            call: "add(x, split_key(k, 1))",
            result: "u32[B, 2]",
        },
    ],
};

static FOLD_IN: Op = Op {
    name: "fold_in",
    signature: "(key: u32[2], data: u32[]) -> u32[2]",
    attrs: &[],
    doc: "The key number `data` of those that belong to `key`; draws from different ones are independent. It makes the \
          key of a step from the number of the step.",
    torch: None,
    onnx: None,
    body: |b, args, _| {
        let parent = b.key_for(args[0], Use::Fold)?;
        let key = b.fold(parent, args[1])?;
        Ok(vec![joined(b, key)?])
    },
    examples: &[
        Example { inputs: &[("k", "u32[2]", WORDS), ("n", "u32", WORDS)], call: "fold_in(k, n)", result: "u32[2]" },
        Example {
            inputs: &[("x", "u32[B, 2]", WORDS), ("k", "u32[2]", WORDS), ("n", "u32", WORDS)],
            call: "add(x, fold_in(k, n))",
            result: "u32[B, 2]",
        },
    ],
};

/// The words of a key as a tensor.
fn joined(b: &mut Builder<'_>, key: Key) -> Result<Value, OpError> {
    let one = [Dim::from(1)];
    let words = [b.reshape(key[0], &one)?, b.reshape(key[1], &one)?];
    b.prim(Prim::Concat { axis: 0 }, &words)
}
