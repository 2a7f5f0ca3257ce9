//! `attend(q, k, v)`: scaled dot-product attention, and what attention means in ordinary primitives.

use crate::diag::Code;
use super::dropout::{drop, is_dropped, probability};
use super::mask::is_below;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::attend::{Attend, Part};
use crate::ir::prim::{MapOp, Prim, ReduceOp, Scalar};
use crate::ir::{DType, Dim, Type, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&ATTEND)];

static ATTEND: Op = Op {
    name: "attend",
    signature: "(q: float[...], k: float[...], v: float[...], mask: each[...]?, key: u32[2]!) -> float[...]",
    attrs: &[
        AttrDecl::optional(
            "causal",
            AttrKind::BoolOr(&[LOWER_RIGHT]),
            "false",
            "whether query `t` sees only keys `0..=t`; with \"lower_right\", `0..=t + S - T`, as where the first keys are of \
             positions before those of the queries",
        ),
        AttrDecl::optional("scale", AttrKind::Float, "", "the factor of the scores; `1/√d` where it is not given"),
        AttrDecl::optional(
            "dropout",
            AttrKind::Float,
            "0.0",
            "the probability with which a weight of the softmax is dropped, from 0 to 1",
        ),
    ],
    doc: "Scaled dot-product attention, `softmax(scale · q·kᵀ + mask) · v` (Vaswani et al. 2017), as PyTorch's \
          `scaled_dot_product_attention`: `q[.., H, T, d]`, `k[.., G, S, d]` and `v[.., G, S, e]` give `[.., H, T, e]`, and \
          a `q` with an axis less is one query. Fewer heads of keys and values than of queries are shared by groups of \
          neighbours. A bool mask is true where a query may attend, a float mask is added; it broadcasts over batch, heads, \
          queries or keys, so that one of `[B, 1, 1, S]` hides padding. A query that sees no key gives zeros. The scores \
          are never stored (Dao et al. 2022): memory grows with `T + S`, but for what is dropped in training or with a key, \
          `attend(q, k, v, dropout = 0.1, key = key)`.",
    torch: Some("torch.nn.functional.scaled_dot_product_attention"),
    onnx: Some("Attention"),
    body: |b, args, attrs| {
        let dropout = probability(attrs, "dropout")?;
        // A mask is no u32, and a key nothing else.
        let key = args[3..].iter().position(|&arg| b.dtype(arg) == DType::U32 && b.rank(arg) == 1);
        let (args, key) = match key {
            Some(at) => (&args[..3 + at], Some(args[3 + at])),
            None => (args, None),
        };
        let call = Call::new(b, args, attrs)?;
        Ok(vec![call.value(b, dropout, key)?])
    },
    examples: &[
        Example {
            inputs: &[
                ("q", "f32[2, 3, 5, 7]", Domain::Normal),
                ("k", "f32[2, 3, 9, 7]", Domain::Normal),
                ("v", "f32[2, 3, 9, 4]", Domain::Normal),
            ],
            call: "attend(q, k, v)",
            result: "f32[2, 3, 5, 4]",
        },
        Example {
            inputs: &[
                ("q", "f32[B, 2, 17, 8]", Domain::Normal),
                ("k", "f32[B, 2, 17, 8]", Domain::Normal),
                ("v", "f32[B, 2, 17, 8]", Domain::Normal),
            ],
            call: "attend(q, k, v, causal = true)",
            result: "f32[B, 2, 17, 8]",
        },
        Example {
            inputs: &[
                ("q", "f32[4, 6, 5]", Domain::Normal),
                ("k", "f32[2, 11, 5]", Domain::Normal),
                ("v", "f32[2, 11, 5]", Domain::Normal),
                ("m", "bool[1, 6, 11]", Domain::Below(2)),
            ],
            call: "attend(q, k, v, m, scale = 0.5)",
            result: "f32[4, 6, 5]",
        },
        Example {
            inputs: &[
                ("q", "f32[4, B, 5]", Domain::Normal),
                ("k", "f32[2, B + 3, 5]", Domain::Normal),
                ("v", "f32[2, B + 3, 5]", Domain::Normal),
            ],
            call: "attend(q, k, v, causal = \"lower_right\")",
            result: "f32[4, B, 5]",
        },
        Example {
            inputs: &[
                ("q", "f32[2, B, 4]", Domain::Normal),
                ("k", "f32[2, 7, 4]", Domain::Normal),
                ("v", "f32[2, 7, 3]", Domain::Normal),
                ("key", "u32[2]", Domain::Below(1 << 30)),
            ],
            call: "attend(q, k, v, dropout = 0.25, key = key)",
            result: "f32[2, B, 3]",
        },
        Example {
            inputs: &[
                ("q", "f32[B, 3, 16]", Domain::Normal),
                ("k", "f32[B, 3, 13, 16]", Domain::Normal),
                ("v", "f32[B, 3, 13, 16]", Domain::Normal),
                ("m", "f32[B, 1, 13]", Domain::Normal),
            ],
            call: "attend(q, k, v, m)",
            result: "f32[B, 3, 16]",
        },
    ],
};

/// Causal masks that are aligned at the last query and the last key.
const LOWER_RIGHT: &str = "lower_right";

/// The most features of a head that kernels take: more would not fit the registers of an invocation.
const MOST_FEATURES: i64 = 256;

/// A checked call with all axes: `[.., H, T, d]`.
struct Call {
    args: Vec<Value>,
    attend: Attend,
    /// The result's shape.
    shape: Vec<Dim>,
}

impl Call {
    fn new(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Call, OpError> {
        let types: Vec<Type> = args.iter().map(|&a| b.ty(a).clone()).collect();
        let rank = types[1].rank();
        let single = types[0].rank() + 1 == rank;
        if rank < 2 || types[2].rank() != rank || (types[0].rank() != rank && !single) {
            let message = format!(
                "`attend` takes `q` of [.., heads, T, d], `k` of [.., heads, S, d] and `v` of [.., heads, S, e], but {{0}} \
                 is {}, {{1}} is {} and {{2}} is {}",
                types[0], types[1], types[2]
            );
            return Err(OpError::new(Code::WrongRank, message));
        }
        let mut q = types[0].shape.clone();
        if single {
            q.insert(rank - 2, Dim::from(1));
        }
        let (mut k, mut v) = (types[1].shape.clone(), types[2].shape.clone());
        fit(&types, &q, &k, &v)?;
        let mut shape = types[0].shape.clone();
        if let Some(last) = shape.last_mut() {
            *last = v[rank - 1].clone();
        }
        let mask = args.get(3).map(|_| mask([&types[0], &types[3]], &q, &k, single)).transpose()?;
        // Without heads there is one.
        for shape in [&mut q, &mut k, &mut v] {
            if rank == 2 {
                shape.insert(0, Dim::from(1));
            }
        }
        let mut all = vec![b.reshape(args[0], &q)?, b.reshape(args[1], &k)?, b.reshape(args[2], &v)?];
        if let Some(mask) = mask {
            all.push(b.reshape(args[3], &mask)?);
        }
        if q[q.len() - 1].is(0) {
            // Of no features every score is 0, as of one that is 0: kernels have at least one.
            for (value, shape) in all.iter_mut().zip([&mut q, &mut k]) {
                shape.pop();
                shape.push(Dim::from(1));
                *value = b.full(b.dtype(args[0]), shape, 0.0)?;
            }
        }
        let scale = scale(b, attrs, &mut all[0])?;
        let (queries, keys) = (&q[q.len() - 2], &k[k.len() - 2]);
        // Aligned at the end, one query sees all keys.
        let lower_right = attrs.text("causal") == Some(LOWER_RIGHT) && !queries.is(1);
        let causal = attrs.flag("causal") || (lower_right && queries == keys);
        if lower_right && !causal {
            let mask = lower_right_mask(b, [queries, keys], q.len(), all.get(3).copied())?;
            all.truncate(3);
            all.push(mask);
        }
        let attend = Attend { part: Part::Output, causal, scale: Scalar::f32(scale) };
        Ok(Call { args: all, attend, shape })
    }

    fn value(&self, b: &mut Builder<'_>, dropout: f64, key: Option<Value>) -> Result<Value, OpError> {
        if self.shape.last().is_some_and(|features| features.is(0)) {
            return b.full(b.dtype(self.args[0]), &self.shape, 0.0);
        }
        let small = |&value: &Value| b.shape(value).last().and_then(Dim::as_const).is_some_and(|n| n <= MOST_FEATURES);
        let y = if is_dropped(b, dropout, key) {
            let scores = Scores::new(b, &self.attend, &self.args)?;
            let weights = scores.weights(b)?;
            let kept = drop(b, weights, dropout, key)?;
            scores.weighed(b, kept)?
        } else if b.dtype(self.args[0]) == DType::F32 && self.args[..3].iter().all(small) {
            b.prim(Prim::Attend(self.attend.clone()), &self.args)?
        } else {
            specification(b, &self.attend, &self.args)?
        };
        b.reshape(y, &self.shape)
    }
}

/// The factor of the scores: one that only run time knows goes into the queries.
fn scale(b: &mut Builder<'_>, attrs: &Attrs, q: &mut Value) -> Result<f64, OpError> {
    if let Some(scale) = attrs.float("scale") {
        return Ok(scale);
    }
    let features = b.shape(*q)[b.rank(*q) - 1].clone();
    if let Some(d) = features.as_const() {
        return Ok(1.0 / (d as f64).sqrt());
    }
    let d = b.extent(*q, &features)?;
    let factor = b.unary(MapOp::Rsqrt, d)?;
    *q = b.mul(*q, factor)?;
    Ok(1.0)
}

/// Whether queries, keys and values belong together.
fn fit(types: &[Type], q: &[Dim], k: &[Dim], v: &[Dim]) -> Result<(), OpError> {
    let rank = k.len();
    let differ = |message: String, arg: usize| Err(OpError::new(Code::ShapeMismatch, message).arg(arg));
    if q[rank - 1] != k[rank - 1] {
        return differ(
            format!(
                "queries and keys need equal features, but {{0}} has {} and {{1}} has {}",
                q[rank - 1],
                k[rank - 1]
            ),
            1,
        );
    }
    if k[rank - 2] != v[rank - 2] {
        return differ(
            format!("every key has a value, but {{1}} has {} keys and {{2}} has {} values", k[rank - 2], v[rank - 2]),
            2,
        );
    }
    let leading = |shape: &[Dim]| shape[..rank.saturating_sub(3)].to_vec();
    for (arg, other) in [(1, k), (2, v)] {
        if leading(q) != leading(other) {
            return differ(
                format!("`attend` needs equal batches, but {{0}} is {} and {{{arg}}} is {}", types[0], types[arg]),
                arg,
            );
        }
    }
    let Some(heads) = rank.checked_sub(3) else { return Ok(()) };
    if k[heads] != v[heads] {
        return differ(format!("{{1}} has {} heads of keys, but {{2}} has {} of values", k[heads], v[heads]), 2);
    }
    if q[heads].exact_div(&k[heads]).is_none() {
        let message = format!("{} heads of keys do not divide {} heads of queries", k[heads], q[heads]);
        return Err(OpError::new(Code::NonDivisible, message).arg(1));
    }
    Ok(())
}

/// A mask that also hides the keys which a query does not see where both are counted from the end.
fn lower_right_mask(
    b: &mut Builder<'_>,
    [queries, keys]: [&Dim; 2],
    rank: usize,
    mask: Option<Value>,
) -> Result<Value, OpError> {
    let seen = is_below(b, &[queries.clone(), keys.clone()], [keys.clone(), queries.clone()])?;
    let mut shape = vec![Dim::from(1); rank - 2];
    shape.extend([queries.clone(), keys.clone()]);
    let seen = b.reshape(seen, &shape)?;
    match mask {
        Some(mask) if b.dtype(mask) == DType::Bool => b.map(MapOp::And, &[mask, seen]),
        Some(mask) => hide(b, seen, mask),
        None => Ok(seen),
    }
}

/// The shape of a mask with all axes.
fn mask([queries, mask]: [&Type; 2], q: &[Dim], k: &[Dim], single: bool) -> Result<Vec<Dim>, OpError> {
    let rank = k.len();
    let added = queries.dtype;
    if mask.dtype != DType::Bool && mask.dtype != added {
        let message = format!("a mask is bool (true where a query may attend) or {added} (added), but {{3}} is {mask}");
        return Err(OpError::new(Code::WrongDtype, message).arg(3).help("compare it: `{3} != 0`"));
    }
    // The scores as the user sees them.
    let mut scores: Vec<Dim> = q[..rank - 1].to_vec();
    scores.push(k[rank - 2].clone());
    let mut seen = scores.clone();
    if single {
        seen.remove(rank - 2);
    }
    let lead = seen.len().checked_sub(mask.rank());
    let fits = lead.is_some_and(|lead| mask.shape.iter().zip(&seen[lead..]).all(|(m, s)| m == s || m.is(1)));
    let (Some(lead), true) = (lead, fits) else {
        let scores = Type::new(mask.dtype, seen);
        let message = format!("a mask broadcasts to the scores, which are {scores}, but {{3}} is {mask}");
        let error = OpError::new(Code::BroadcastMismatch, message).arg(3);
        // A mask of padding lacks the axes of heads and queries.
        let padding = mask.shape == [q[0].clone(), k[rank - 2].clone()] && rank == 4 && !single;
        return Err(match padding {
            true => error.help(format!("write `reshape({{3}}, [{}, 1, 1, {}])`", q[0], k[rank - 2])),
            false => error,
        });
    };
    let mut shape = vec![Dim::from(1); lead];
    shape.extend(mask.shape.iter().cloned());
    if single {
        shape.insert(rank - 2, Dim::from(1));
    }
    if rank == 2 {
        shape.insert(0, Dim::from(1));
    }
    Ok(shape)
}

/// A part of attention in ordinary primitives, with a tensor of all scores: what the kernels compute, and what is
/// differentiated where derivatives of derivatives are asked for.
///
/// # Errors
/// Where the arguments do not fit the part's shape rule.
pub(crate) fn specification(b: &mut Builder<'_>, attend: &Attend, args: &[Value]) -> Result<Value, OpError> {
    let types: Vec<&Type> = args.iter().map(|&a| b.ty(a)).collect();
    let result = Prim::Attend(attend.clone()).infer(&types).map_err(|why| OpError::new(Code::ShapeMismatch, why))?;
    let scores = Scores::new(b, attend, args)?;
    let value = scores.part(b, attend.part, args)?;
    b.reshape(value, &result.shape)
}

/// The scores as `[A.., G, H/G, T, S]`, and all arguments with the heads split in that way.
struct Scores {
    scale: f64,
    q: Value,
    k: Value,
    v: Value,
    /// −∞ where a query does not see a key.
    values: Value,
    /// The labels of the leading axes with `G`, as of einsum.
    lead: String,
    /// The leading extents with `G` and `H/G`.
    shape: Vec<Dim>,
}

/// The parts of a softmax over the keys; where a query sees nothing it is 0.
struct Softmax {
    /// The largest score of each query, 0 where it sees nothing.
    largest: Value,
    /// Whether a query sees nothing.
    none: Value,
    /// The exponentials of what scores are less than the largest.
    powers: Value,
    /// Their sums, 1 where a query sees nothing.
    sum: Value,
}

impl Scores {
    fn new(b: &mut Builder<'_>, attend: &Attend, args: &[Value]) -> Result<Scores, OpError> {
        let (q, k) = (b.shape(args[0]), b.shape(args[1]));
        let rank = q.len();
        let shared = q[rank - 3].exact_div(&k[rank - 3]).unwrap_or_else(|| 1.into());
        let shape = [&k[..rank - 2], std::slice::from_ref(&shared)].concat();
        let lead: String = ('a'..'l').take(rank - 2).collect();
        let scale = attend.scale.as_f64();
        let grouped = b.reshape(args[0], &[&shape[..], &q[rank - 2..]].concat())?;
        // Queries are scaled, not scores: a product next to the difference from the largest score could be rounded with it.
        let scaled = b.with(MapOp::Mul, grouped, scale)?;
        let mut values = b.contract(&format!("{lead}htd,{lead}sd->{lead}hts"), scaled, args[1])?;
        let all = b.shape(values);
        if let Some(&mask) = args.get(attend.part.inputs()) {
            let mask = spread(b, mask, &shape, &all)?;
            values = match b.dtype(mask) == DType::Bool {
                true => hide(b, mask, values)?,
                false => b.add(values, mask)?,
            };
        }
        if attend.causal {
            let (t, s) = (b.iota(&all, rank - 1)?, b.iota(&all, rank)?);
            let seen = b.map(MapOp::Le, &[s, t])?;
            values = hide(b, seen, values)?;
        }
        Ok(Scores { scale, q: grouped, k: args[1], v: args[2], values, lead, shape })
    }

    fn part(&self, b: &mut Builder<'_>, part: Part, args: &[Value]) -> Result<Value, OpError> {
        let Scores { lead, values, .. } = self;
        // In the derivatives: the exponentials, `g` by groups, and the slopes of the scores.
        let exponentials = |b: &mut Builder<'_>| {
            let largest = self.column(b, args[4])?;
            let less = b.sub(*values, largest)?;
            b.unary(MapOp::Exp, less)
        };
        let cotangent = |b: &mut Builder<'_>| {
            let tail = b.shape(args[3])[b.rank(args[3]) - 2..].to_vec();
            b.reshape(args[3], &[&self.shape[..], &tail].concat())
        };
        let slopes = |b: &mut Builder<'_>| {
            let (e, g, delta) = (exponentials(b)?, cotangent(b)?, self.column(b, args[5])?);
            let products = b.contract(&format!("{lead}hte,{lead}se->{lead}hts"), g, self.v)?;
            let less = b.sub(products, delta)?;
            let weighed = b.mul(e, less)?;
            b.with(MapOp::Mul, weighed, self.scale)
        };
        match part {
            Part::Output => {
                let weights = self.weights(b)?;
                self.weighed(b, weights)
            }
            Part::Max => Ok(self.softmax(b)?.largest),
            Part::Reciprocal => {
                let Softmax { sum, none, .. } = self.softmax(b)?;
                let (zero, one) = (b.constant(sum, 0.0)?, b.constant(sum, 1.0)?);
                let reciprocal = b.div(one, sum)?;
                b.select(none, zero, reciprocal)
            }
            Part::Query => {
                let slopes = slopes(b)?;
                b.contract(&format!("{lead}hts,{lead}sd->{lead}htd"), slopes, self.k)
            }
            Part::Key => {
                let slopes = slopes(b)?;
                b.contract(&format!("{lead}hts,{lead}htd->{lead}sd"), slopes, self.q)
            }
            Part::Value => {
                let (e, g) = (exponentials(b)?, cotangent(b)?);
                b.contract(&format!("{lead}hts,{lead}hte->{lead}se"), e, g)
            }
        }
    }

    fn softmax(&self, b: &mut Builder<'_>) -> Result<Softmax, OpError> {
        let axis = b.rank(self.values) - 1;
        let largest = b.reduce_keep(ReduceOp::Max, self.values, &[axis])?;
        let none = b.with(MapOp::Eq, largest, f64::NEG_INFINITY)?;
        let (zero, one) = (b.constant(largest, 0.0)?, b.constant(largest, 1.0)?);
        let largest = b.select(none, zero, largest)?;
        let largest = b.stop_gradient(largest);
        let less = b.sub(self.values, largest)?;
        let powers = b.unary(MapOp::Exp, less)?;
        let sum = b.reduce_keep(ReduceOp::Sum, powers, &[axis])?;
        let sum = b.select(none, one, sum)?;
        Ok(Softmax { largest, none, powers, sum })
    }

    /// The softmax of the scores over the keys.
    fn weights(&self, b: &mut Builder<'_>) -> Result<Value, OpError> {
        let Softmax { powers, sum, .. } = self.softmax(b)?;
        b.div(powers, sum)
    }

    /// The values by their weights.
    fn weighed(&self, b: &mut Builder<'_>, weights: Value) -> Result<Value, OpError> {
        b.contract(&format!("{0}hts,{0}se->{0}hte", self.lead), weights, self.v)
    }

    /// A number for each query, beside the scores.
    fn column(&self, b: &mut Builder<'_>, value: Value) -> Result<Value, OpError> {
        let queries = b.shape(value)[b.rank(value) - 1].clone();
        b.reshape(value, &[&self.shape[..], &[queries, 1.into()]].concat())
    }
}

/// A mask with the heads split as those of the scores.
fn spread(b: &mut Builder<'_>, mask: Value, lead: &[Dim], scores: &[Dim]) -> Result<Value, OpError> {
    let own = b.shape(mask);
    let head = own.len() - 3;
    let mut shape = own[..head].to_vec();
    match own[head].is(1) {
        true => shape.extend([Dim::from(1), Dim::from(1)]),
        false => shape.extend(lead[lead.len() - 2..].iter().cloned()),
    }
    shape.extend(own[head + 1..].iter().cloned());
    let mask = b.reshape(mask, &shape)?;
    b.broadcast_to(mask, scores)
}

/// −∞ where a key is not seen.
fn hide(b: &mut Builder<'_>, seen: Value, values: Value) -> Result<Value, OpError> {
    let never = b.constant(values, f64::NEG_INFINITY)?;
    b.select(seen, values, never)
}
