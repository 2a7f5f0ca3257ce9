//! Attention and its kin: over all keys, as a recurrence, with rotated features, and the short convolution before it.
//!
//! Always: scores are never stored where nobody asks for them and nothing is done to them but masking (`attend`). What is computed is
//! computed in the type of the arguments, or the one of 32 bits where that is in memory only, whatever `softmax_precision` asks for
//! (few devices have f64); it only decides the type of what graphs inside of a node take.

mod causal_conv;
mod flex;
mod linear;
mod masks;
mod rotary;

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, all, computes, moves, one};
use crate::ir::attr::Attr;
use crate::ir::prim::{MapOp, Prim, ReduceOp};
use crate::ir::{Dim, Value};
pub(in crate::onnx) use flex::PARTS as FLEX_PARTS;
use masks::{Mask, Places};

pub(super) const OPERATORS: &[Operator] = &[
    moves("Attention", attention),
    moves("FlexAttention", |n| one(flex::attention(n))).of("ai.onnx.preview"),
    moves("LinearAttention", linear::attention),
    computes("RotaryEmbedding", |n| one(rotary::embedding(n))),
    computes("CausalConvWithState", causal_conv::convolution),
];

/// The arguments of `Attention`: queries, keys, values, a mask, keys and values before, and how many keys count.
const Q: usize = 0;
const K: usize = 1;
const V: usize = 2;
const MASK: usize = 3;
const PAST_KEY: usize = 4;
const PAST_VALUE: usize = 5;
const LENGTHS: usize = 6;

fn attention(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    if n.has(PAST_KEY) != n.has(PAST_VALUE) {
        return Err(Failure::new("`past_key` and `past_value` stand together"));
    }
    if n.has(PAST_KEY) && n.has(LENGTHS) {
        return Err(Failure::new("`nonpad_kv_seqlen` does not stand beside `past_key`"));
    }
    let is_packed = n.ty(Q)?.rank() == 3;
    let q = heads(n, Q, "q_num_heads")?;
    let (new_k, new_v) = (heads(n, K, "kv_num_heads")?, heads(n, V, "kv_num_heads")?);
    let (k, v) = (cached(n, PAST_KEY, new_k)?, cached(n, PAST_VALUE, new_v)?);
    let [queries, new_keys, keys] = [q, new_k, k].map(|x| n.b.shape(x)[2].clone());
    let places = Places { queries, past: keys.clone() - new_keys, keys };
    let weighed = n.b.convert(v, n.b.dtype(q))?;
    let (y, scores) = match is_plain(n) {
        true => (fused(n, [q, k, weighed], places)?, None),
        false => stored(n, [q, k, weighed], places)?,
    };
    let y = if is_packed { n.call("merge_heads", &[y], &[])? } else { y };
    let mut made = vec![restored(n, y, Q)?, restored(n, k, K)?, restored(n, v, V)?];
    if let Some(scores) = scores {
        made.push(restored(n, scores, Q)?);
    }
    Ok(all(made))
}

/// An argument in the type that it is computed in.
fn computed(n: &mut Node<'_>, k: usize) -> Made {
    let x = n.moved(k)?;
    Ok(n.b.convert(x, n.b.dtype(x).computed())?)
}

/// A result in the type of an argument.
fn restored(n: &mut Node<'_>, x: Value, k: usize) -> Made {
    let dtype = n.ty(k)?.dtype;
    Ok(n.b.convert(x, dtype)?)
}

/// An argument as `[B, H, T, d]`: with three axes it is `[B, T, H·d]`.
fn heads(n: &mut Node<'_>, k: usize, name: &str) -> Made {
    let x = computed(n, k)?;
    match n.b.rank(x) {
        4 => Ok(x),
        3 => {
            let count = n.maybe_int(name).ok_or_else(|| Failure::new(format!("three axes need `{name}`")))?;
            n.call("heads", &[x], &[("count", Attr::Int(count.into()))])
        }
        rank => Err(Failure::new(format!("argument {} has {rank} axes, and is to have 3 or 4", k + 1))),
    }
}

/// What came before, and behind it what is new.
fn cached(n: &mut Node<'_>, k: usize, new: Value) -> Made {
    if !n.has(k) {
        return Ok(new);
    }
    let past = computed(n, k)?;
    let past = n.b.convert(past, n.b.dtype(new))?;
    Ok(n.b.prim(Prim::Concat { axis: 2 }, &[past, new])?)
}

/// Whether nobody asks for the scores and nothing is done to them but masking.
fn is_plain(n: &Node<'_>) -> bool {
    !n.wants(3) && n.float("softcap", 0.0) <= 0.0
}

/// Attention of which the scores are never stored.
fn fused(n: &mut Node<'_>, [q, k, v]: [Value; 3], places: Places) -> Made {
    let is_causal = n.flag("is_causal");
    // Where as many keys are new as there are queries, both end at one position.
    let causal = match is_causal && !n.has(LENGTHS) {
        true if !n.has(PAST_KEY) => Some(Attr::Bool(true)),
        true if places.keys == places.past.clone() + places.queries.clone() => Some(Attr::Text("lower_right".into())),
        true | false => None,
    };
    let mask = Mask::new(n, q, &places, is_causal && causal.is_none())?;
    let mut args = vec![q, k, v];
    args.extend(mask.joined(n)?);
    let mut attrs = vec![];
    attrs.extend(causal.map(|causal| ("causal", causal)));
    attrs.extend(n.maybe_float("scale").map(|scale| ("scale", Attr::Float(scale))));
    n.call("attend", &args, &attrs)
}

/// Attention, and the scores of the stage that `qk_matmul_output_mode` names.
fn stored(n: &mut Node<'_>, [q, k, v]: [Value; 3], places: Places) -> Made<(Value, Option<Value>)> {
    let raw = scores(n, q, k)?;
    let cap = n.float("softcap", 0.0);
    let capped = match cap > 0.0 {
        true => {
            let share = n.b.with(MapOp::Div, raw, cap)?;
            let bent = n.b.unary(MapOp::Tanh, share)?;
            n.b.with(MapOp::Mul, bent, cap)?
        }
        false => raw,
    };
    let is_causal = n.flag("is_causal");
    let masked = Mask::new(n, q, &places, is_causal)?.applied(n, capped)?;
    let weights = softmax(n, masked)?;
    let asked = match n.int("qk_matmul_output_mode", 0) {
        0 => raw,
        1 => capped,
        2 => masked,
        3 => weights,
        mode => return Err(Failure::new(format!("there is no `qk_matmul_output_mode` {mode}"))),
    };
    Ok((product(n, weights, v)?, Some(asked)))
}

/// The heads of queries that share one of keys.
fn shared(n: &Node<'_>, queries: Value, keys: Value) -> Made<[Dim; 2]> {
    if [queries, keys].iter().any(|&x| n.b.rank(x) != 4) {
        return Err(Failure::new(format!("{} and {} are to have 4 axes", n.b.ty(queries), n.b.ty(keys))));
    }
    let (heads, of) = (n.b.shape(queries)[1].clone(), n.b.shape(keys)[1].clone());
    match heads.exact_div(&of) {
        Some(each) => Ok([of, each]),
        None => Err(Failure::new(format!("{of} heads of keys do not divide {heads} heads of queries"))),
    }
}

/// `[B, H, ..]` as `[B, G, H/G, ..]`.
fn grouped(n: &mut Node<'_>, x: Value, groups: [Dim; 2]) -> Made {
    let shape = n.b.shape(x);
    Ok(n.b.reshape(x, &[&shape[..1], &groups[..], &shape[2..]].concat())?)
}

/// The same the other way round.
fn ungrouped(n: &mut Node<'_>, x: Value) -> Made {
    let shape = n.b.shape(x);
    let heads = shape[1].clone() * shape[2].clone();
    Ok(n.b.reshape(x, &[&shape[..1], &[heads], &shape[3..]].concat())?)
}

/// `scale · q · kᵀ`, as `[B, H, T, S]`.
fn scores(n: &mut Node<'_>, q: Value, k: Value) -> Made {
    let groups = shared(n, q, k)?;
    let features = n.b.shape(q)[3].clone();
    let scaled = match n.maybe_float("scale") {
        Some(scale) => n.b.with(MapOp::Mul, q, scale)?,
        None => scaled(n, q, &features)?,
    };
    let scaled = grouped(n, scaled, groups)?;
    let made = n.b.contract("bghtd,bgsd->bghts", scaled, k)?;
    ungrouped(n, made)
}

/// `x / √d`
fn scaled(n: &mut Node<'_>, x: Value, features: &Dim) -> Made {
    if let Some(d) = features.as_const() {
        return Ok(n.b.with(MapOp::Mul, x, 1.0 / (d as f64).sqrt())?);
    }
    let d = n.b.extent(x, features)?;
    let factor = n.b.unary(MapOp::Rsqrt, d)?;
    Ok(n.b.mul(x, factor)?)
}

/// The softmax over the keys; zeros for a query that sees none.
fn softmax(n: &mut Node<'_>, scores: Value) -> Made {
    let axis = n.b.rank(scores) - 1;
    let largest = n.b.reduce_keep(ReduceOp::Max, scores, &[axis])?;
    let is_none = n.b.with(MapOp::Eq, largest, f64::NEG_INFINITY)?;
    let (zero, one) = (n.b.constant(largest, 0.0)?, n.b.constant(largest, 1.0)?);
    let largest = n.b.select(is_none, zero, largest)?;
    let less = n.b.sub(scores, largest)?;
    let powers = n.b.unary(MapOp::Exp, less)?;
    let sum = n.b.reduce_keep(ReduceOp::Sum, powers, &[axis])?;
    let sum = n.b.select(is_none, one, sum)?;
    Ok(n.b.div(powers, sum)?)
}

/// The values by their weights, as `[B, H, T, e]`.
fn product(n: &mut Node<'_>, weights: Value, v: Value) -> Made {
    let groups = shared(n, weights, v)?;
    let weights = grouped(n, weights, groups)?;
    let made = n.b.contract("bghts,bgse->bghte", weights, v)?;
    ungrouped(n, made)
}
