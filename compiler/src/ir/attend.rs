//! Attention as a primitive: what of it is asked for, and its shape rule.
//!
//! In: queries `q[A.., H, T, D]`, keys `k[A.., G, S, D]`, values `v[A.., G, S, E]`, where `G` divides `H` and query head
//! `h` sees head `h · G / H` of keys and values. A mask has the rank of the scores `[A.., H, T, S]` and their extents or 1.
//! Always: no part needs memory for the scores.
//!
//! With `s = scale · q·kᵀ` (plus a float mask; −∞ where a bool mask is false or, if causal, where a key's position is
//! above its query's), `m` the largest score of a query and `r = 1 / Σ eˢ⁻ᵐ` over the keys, the output is `r Σ eˢ⁻ᵐ v`. A query
//! that sees no key has `m = 0` and `r = 0`, so that its output and its derivatives are zero.
//!
//! `m` and `r` stay apart: `m - log r`, one number for both, forgets the sum where scores are large, and a gradient with it.

use super::dim::Dim;
use super::kernel::{ExprId, Store};
use super::prim::Scalar;
use super::ty::{DType, Type};
use std::fmt;

/// A part of attention: a primitive with one result.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attend {
    /// Which part.
    pub part: Part,
    /// Whether a query sees only keys at its own position and before, both counted from the beginning.
    pub causal: bool,
    /// The factor of the products of queries and keys.
    pub scale: Scalar,
}

/// What is asked for. All take `(q, k, v, …)` and the mask, if there is one, as the last argument; the derivatives take
/// `(q, k, v, g, m, delta)` with `r` times the cotangent of the output as `g`, and the sums `delta` of `g · output` over `E`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The output, `[A.., H, T, E]`.
    Output,
    /// The largest score of a query, `[A.., H, T]`.
    Max,
    /// The reciprocal of a query's sum of exponentials, `[A.., H, T]`.
    Reciprocal,
    /// The cotangent of `q`: `scale · Σ ds · k` for `ds = e · (g·vᵀ − delta)` and `e = eˢ⁻ᵐ`.
    Query,
    /// The cotangent of `k`: `scale · Σ ds · q` over queries and the heads that share it.
    Key,
    /// The cotangent of `v`: `Σ e · g` over queries and the heads that share it.
    Value,
}

impl Part {
    /// Every one, in order.
    pub const ALL: [Part; 6] = [Part::Output, Part::Max, Part::Reciprocal, Part::Query, Part::Key, Part::Value];

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Part::Output => "output",
            Part::Max => "max",
            Part::Reciprocal => "reciprocal",
            Part::Query => "query",
            Part::Key => "key",
            Part::Value => "value",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Part> {
        Part::ALL.into_iter().find(|part| part.name() == name)
    }

    /// The arguments besides the mask.
    pub fn inputs(self) -> usize {
        match self {
            Part::Output | Part::Max | Part::Reciprocal => 3,
            Part::Query | Part::Key | Part::Value => 6,
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Attend {
    /// The result's type.
    pub(super) fn infer(&self, args: &[&Type]) -> Result<Type, String> {
        let inputs = self.part.inputs();
        if args.len() != inputs && args.len() != inputs + 1 {
            return Err(format!("{} arguments", args.len()));
        }
        let (q, k, v) = (args[0], args[1], args[2]);
        if args[..inputs].iter().any(|t| t.dtype != q.dtype || !t.dtype.is_float()) {
            return Err("attention of several types, or of no floats".into());
        }
        let rank = q.rank();
        let same = |a: &Type, b: &Type, axis: usize| a.shape[axis] == b.shape[axis];
        let fits = rank >= 3
            && k.rank() == rank
            && v.rank() == rank
            && (0..rank - 3).all(|a| same(q, k, a) && same(q, v, a))
            && same(k, v, rank - 3)
            && q.shape[rank - 3].exact_div(&k.shape[rank - 3]).is_some()
            && same(q, k, rank - 1)
            && same(k, v, rank - 2);
        if !fits {
            return Err(format!("{q} does not attend to {k} and {v}"));
        }
        let mut output = q.clone();
        output.shape[rank - 1] = v.shape[rank - 1].clone();
        let number = Type::new(q.dtype, &q.shape[..rank - 1]);
        if let [_, _, _, g, max, delta, ..] = args
            && (**g != output || **max != number || **delta != number)
        {
            return Err(format!("{g}, {max} and {delta} for an output {output}"));
        }
        if let Some(mask) = args.get(inputs) {
            let scores = [&q.shape[..rank - 1], &k.shape[rank - 2..rank - 1]].concat();
            let broadcasts = |(m, s): (&Dim, &Dim)| m == s || m.is(1);
            let typed = mask.dtype == q.dtype || mask.dtype == DType::Bool;
            if !typed || mask.rank() != rank || !mask.shape.iter().zip(&scores).all(broadcasts) {
                return Err(format!("a mask {mask} of {q} and {k}"));
            }
        }
        Ok(match self.part {
            Part::Output => output,
            Part::Max | Part::Reciprocal => number,
            Part::Query => q.clone(),
            Part::Key => k.clone(),
            Part::Value => v.clone(),
        })
    }
}

/// The accumulator of the queries' cotangent in a kernel of [`Part::Key`].
pub const OF_QUERIES: usize = 2;

/// The loops of an attention kernel: for every position of `batch` a head of keys and values, with the query heads of
/// `shared`, which see it.
///
/// A kernel of [`Part::Output`] gives the output (accumulator 0, over batch, shared, queries and values), the largest score (1)
/// and the reciprocal of the sum (2, both over batch, shared and queries), one of [`Part::Query`] its cotangent (0, over batch,
/// shared, queries and features), and one of [`Part::Key`] the cotangents of keys (0, over batch, keys and features) and of
/// values (1, over batch, keys and values), and on a CPU of queries too ([`OF_QUERIES`]).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Attention {
    /// What is computed; what is known of each query belongs to the output, and the values to the keys.
    pub attend: Attend,
    /// Batches and heads of keys and values.
    pub batch: Vec<usize>,
    /// Query heads that share keys and values.
    pub shared: Vec<usize>,
    /// Queries: at most one axis, as all that follow.
    pub queries: Vec<usize>,
    /// Keys.
    pub keys: Vec<usize>,
    /// Features of queries and keys.
    pub features: Vec<usize>,
    /// Features of values.
    pub values: Vec<usize>,
    /// Affine loads without guards: `q`, `k`, `v`, and in the derivatives `g`, `m` and `delta`.
    pub reads: Vec<ExprId>,
    /// An affine load of what is added to a score, or of whether it counts.
    pub mask: Option<ExprId>,
    /// Where accumulators go, and nothing else.
    pub stores: Vec<Store>,
}

impl Attention {
    /// The lists of axes with their names.
    pub fn lists(&self) -> [(&'static str, &Vec<usize>); 6] {
        [
            ("batch", &self.batch),
            ("shared", &self.shared),
            ("queries", &self.queries),
            ("keys", &self.keys),
            ("features", &self.features),
            ("values", &self.values),
        ]
    }

    /// The lists of axes, to change them.
    pub fn lists_mut(&mut self) -> [&mut Vec<usize>; 6] {
        let Attention { batch, shared, queries, keys, features, values, .. } = self;
        [batch, shared, queries, keys, features, values]
    }
}
