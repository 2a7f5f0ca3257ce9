//! The meaning of attention and of its derivatives: every score of one query is written down, head by head.

use super::tensor::{Data, Tensor, steps};
use crate::ir::attend::{Attend, Part};

/// The value of a part of attention.
pub(super) fn apply(attend: &Attend, args: &[&Tensor]) -> Tensor {
    let heads = Heads::of(attend, args);
    let shape = match attend.part {
        Part::Output => [&args[0].shape[..heads.rank - 1], &[heads.features[1]]].concat(),
        Part::Max | Part::Reciprocal => args[0].shape[..heads.rank - 1].to_vec(),
        Part::Query => args[0].shape.clone(),
        Part::Key => args[1].shape.clone(),
        Part::Value => args[2].shape.clone(),
    };
    let mut data = vec![0.0; shape.iter().product()];
    for head in 0..heads.count {
        for t in 0..heads.queries {
            heads.query(head, t, &mut data);
        }
    }
    Tensor::new(shape, Data::Float(args[0].data.dtype(), data))
}

/// The extents, with all leading axes as one.
struct Heads<'a> {
    attend: &'a Attend,
    args: &'a [&'a Tensor],
    rank: usize,
    /// Query heads in all batches.
    count: usize,
    /// Query heads that share keys and values.
    shared: usize,
    queries: usize,
    keys: usize,
    /// Of queries and keys, and of values.
    features: [usize; 2],
}

impl<'a> Heads<'a> {
    fn of(attend: &'a Attend, args: &'a [&'a Tensor]) -> Heads<'a> {
        let (q, k, v) = (&args[0].shape, &args[1].shape, &args[2].shape);
        let rank = q.len();
        Heads {
            attend,
            args,
            rank,
            count: q[..rank - 2].iter().product(),
            shared: q[rank - 3] / k[rank - 3],
            queries: q[rank - 2],
            keys: k[rank - 2],
            features: [q[rank - 1], v[rank - 1]],
        }
    }

    /// A row of an argument.
    fn row(&self, arg: usize, row: usize, width: usize) -> &'a [f64] {
        &self.args[arg].f64s()[row * width..][..width]
    }

    /// The scores of a query, −∞ where it does not see the key.
    fn scores(&self, head: usize, t: usize) -> Vec<f64> {
        let d = self.features[0];
        let q = self.row(0, head * self.queries + t, d);
        let score = |s: usize| {
            let k = self.row(1, head / self.shared * self.keys + s, d);
            let product: f64 = q.iter().zip(k).map(|(q, k)| q * k).sum();
            let score = product * self.attend.scale.as_f64() + self.mask(head, t, s);
            if self.attend.causal && s > t { f64::NEG_INFINITY } else { score }
        };
        (0..self.keys).map(score).collect()
    }

    /// What a mask adds.
    fn mask(&self, head: usize, t: usize, s: usize) -> f64 {
        let Some(mask) = self.args.get(self.attend.part.inputs()) else { return 0.0 };
        let leading = &self.args[0].shape[..self.rank - 2];
        let mut index = vec![0; self.rank];
        let mut rest = head;
        for (axis, extent) in leading.iter().enumerate().rev() {
            index[axis] = rest % extent;
            rest /= extent;
        }
        (index[self.rank - 2], index[self.rank - 1]) = (t, s);
        let along = steps(&mask.shape);
        let at: usize = index.iter().zip(&mask.shape).zip(along).map(|((i, n), step)| (i % n) * step as usize).sum();
        match &mask.data {
            Data::Float(_, x) => x[at],
            Data::Bool(x) if x[at] => 0.0,
            Data::Bool(_) => f64::NEG_INFINITY,
            Data::Int(..) => unreachable!("the shape rule refused a mask of integers"),
        }
    }

    /// Adds what one query of one head contributes.
    fn query(&self, head: usize, t: usize, data: &mut [f64]) {
        let ([d, e], row) = (self.features, head * self.queries + t);
        let scores = self.scores(head, t);
        let (largest, factor) = match self.attend.part {
            Part::Max => return data[row] = largest_and_reciprocal(&scores).0,
            Part::Reciprocal => return data[row] = largest_and_reciprocal(&scores).1,
            Part::Output => largest_and_reciprocal(&scores),
            Part::Query | Part::Key | Part::Value => (self.args[4].f64s()[row], 1.0),
        };
        let scale = self.attend.scale.as_f64();
        for (s, score) in scores.into_iter().enumerate() {
            let p = factor * (score - largest).exp();
            let other = head / self.shared * self.keys + s;
            let (q, k, v) = (self.row(0, row, d), self.row(1, other, d), self.row(2, other, e));
            let slope = || {
                let g = self.row(3, row, e);
                let product: f64 = g.iter().zip(v).map(|(g, v)| g * v).sum();
                scale * p * (product - self.args[5].f64s()[row])
            };
            match self.attend.part {
                Part::Output => add(&mut data[row * e..][..e], p, v),
                Part::Query => add(&mut data[row * d..][..d], slope(), k),
                Part::Key => add(&mut data[other * d..][..d], slope(), q),
                Part::Value => add(&mut data[other * e..][..e], p, self.row(3, row, e)),
                Part::Max | Part::Reciprocal => unreachable!("they are numbers of the query alone"),
            }
        }
    }
}

/// The largest of a query's scores, and the reciprocal of the sum of their exponentials less it; 0 where it sees no key.
pub(super) fn largest_and_reciprocal(scores: &[f64]) -> (f64, f64) {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, super::scalar::largest);
    if largest == f64::NEG_INFINITY {
        return (0.0, 0.0);
    }
    (largest, 1.0 / scores.iter().map(|s| (s - largest).exp()).sum::<f64>())
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
}
