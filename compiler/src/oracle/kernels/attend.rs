//! The loops of attention kernels, in the order of their definition: the scores of one query after the other.

use super::launch::{Launch, Tried};
use super::race::Moment;
use crate::ir::attend::{Attention, OF_QUERIES, Part};
use crate::ir::kernel::{Expr, ExprId};
use crate::ir::prim::Scalar;
use crate::oracle::attend::largest_and_reciprocal;

impl Launch<'_> {
    pub(super) fn attend(&mut self, attention: &Attention) -> Tried<()> {
        let Attention { batch, shared, queries, keys, features, values, stores, .. } = attention;
        let puts = self.numbers.puts(stores);
        // Which axes each result is over.
        let axes: Vec<Vec<usize>> = match attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => {
                let of_query = [&batch[..], shared, queries].concat();
                vec![[&of_query[..], values].concat(), of_query.clone(), of_query]
            }
            Part::Query => vec![[&batch[..], shared, queries, features].concat()],
            Part::Key | Part::Value => vec![
                [&batch[..], keys, features].concat(),
                [&batch[..], keys, values].concat(),
                [&batch[..], shared, queries, features].concat(),
            ],
        };
        for (slot, axes) in axes.iter().enumerate() {
            let of_slot =
                |value: ExprId| matches!(self.kernel.scalars[value], Expr::Accumulated { slot: of, .. } if of == slot);
            let own: Vec<_> = puts.iter().filter(|put| of_slot(put.value)).collect();
            if own.is_empty() {
                continue;
            }
            self.each(axes, &mut |launch, row| {
                launch.now = Moment { row: row * axes.len() + slot, pass: 0, point: 0 };
                let result = launch.result(attention, slot)?;
                launch.finished = vec![vec![Scalar::f32(result); slot + 1]];
                launch.forget();
                own.iter().try_for_each(|put| launch.store(std::slice::from_ref(put)))
            })?;
        }
        Ok(())
    }

    /// One element of a result.
    fn result(&mut self, attention: &Attention, slot: usize) -> Tried<f64> {
        let Attention { shared, queries, keys, reads, .. } = attention;
        let mut sum = 0.0;
        match (attention.attend.part, slot) {
            (Part::Output | Part::Max | Part::Reciprocal, _) => {
                let scores = self.scores(attention)?;
                let (largest, reciprocal) = largest_and_reciprocal(&scores);
                if slot > 0 {
                    return Ok(if slot == 1 { largest } else { reciprocal });
                }
                self.each(keys, &mut |launch, s| {
                    sum += reciprocal * (scores[s] - largest).exp() * launch.float(reads[2])?;
                    Ok(())
                })?;
            }
            (Part::Query, _) | (Part::Key | Part::Value, OF_QUERIES) => {
                self.each(keys, &mut |launch, _| {
                    sum += launch.slope(attention)? * launch.float(reads[1])?;
                    Ok(())
                })?;
            }
            (Part::Key | Part::Value, _) => {
                let over = [&shared[..], queries].concat();
                self.each(&over, &mut |launch, _| {
                    sum += match slot {
                        0 => launch.slope(attention)? * launch.float(reads[0])?,
                        _ => {
                            let score = launch.score(attention)?;
                            (score - launch.float(reads[4])?).exp() * launch.float(reads[3])?
                        }
                    };
                    Ok(())
                })?;
            }
        }
        Ok(sum)
    }

    fn float(&mut self, id: ExprId) -> Tried<f64> {
        match self.value(id)? {
            Scalar::Float(_, x) => Ok(x),
            other => Err(format!("attention with {other}")),
        }
    }

    /// The score of one query and one key.
    fn score(&mut self, attention: &Attention) -> Tried<f64> {
        let (queries, keys) = (self.position(&attention.queries), self.position(&attention.keys));
        if attention.attend.causal && keys > queries {
            return Ok(f64::NEG_INFINITY);
        }
        let product = self.product(attention, &attention.features, [0, 1])?;
        let added = match attention.mask {
            None => 0.0,
            Some(mask) => match self.value(mask)? {
                Scalar::Float(_, x) => x,
                Scalar::Bool(true) => 0.0,
                Scalar::Bool(false) => f64::NEG_INFINITY,
                other => return Err(format!("a mask of {other}")),
            },
        };
        Ok(product * attention.attend.scale.as_f64() + added)
    }

    /// The product of two reads along an axis on which the result may stand.
    fn product(&mut self, attention: &Attention, axes: &[usize], factors: [usize; 2]) -> Tried<f64> {
        let before: Vec<_> = axes.iter().map(|&a| self.at[a]).collect();
        let mut sum = 0.0;
        let [a, b] = factors.map(|k| attention.reads[k]);
        self.each(axes, &mut |launch, _| {
            sum += launch.float(a)? * launch.float(b)?;
            Ok(())
        })?;
        axes.iter().zip(before).for_each(|(&a, at)| self.at[a] = at);
        self.forget();
        Ok(sum)
    }

    /// The derivative by a score, times the scale.
    fn slope(&mut self, attention: &Attention) -> Tried<f64> {
        let score = self.score(attention)?;
        let product = self.product(attention, &attention.values, [3, 2])?;
        let (largest, delta) = (self.float(attention.reads[4])?, self.float(attention.reads[5])?);
        Ok(attention.attend.scale.as_f64() * (score - largest).exp() * (product - delta))
    }

    fn position(&self, axes: &[usize]) -> i64 {
        axes.first().and_then(|&a| self.at[a]).unwrap_or(0)
    }

    /// All scores of a query.
    fn scores(&mut self, attention: &Attention) -> Tried<Vec<f64>> {
        let mut scores = vec![];
        self.each(&attention.keys, &mut |launch, _| {
            scores.push(launch.score(attention)?);
            Ok(())
        })?;
        Ok(scores)
    }
}
