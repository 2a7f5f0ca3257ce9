//! The loops of every skeleton, in the order of their definition.

use super::launch::{Launch, Tried};
use super::number::Put;
use super::race::Moment;
use crate::ir::kernel::{Accumulator, AccumulatorOp, Operand, Pass, Skeleton, Store};
use crate::ir::prim::{MapOp, ReduceOp, Scalar};
use crate::oracle::prim::better;
use crate::oracle::scalar::map_one;

impl Launch<'_> {
    pub(super) fn skeleton(&mut self) -> Tried<()> {
        match &self.kernel.skeleton {
            Skeleton::Row { parallel, reduced, passes, stores } => self.row(parallel, reduced, passes, stores),
            Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } => {
                let results: Vec<usize> = batch.iter().chain(m).chain(n).copied().collect();
                self.contract(&results, k, lhs, rhs, stores)
            }
            Skeleton::Attend(attention) => self.attend(attention),
            Skeleton::Scatter { outer, target, source, inner, index, store } => {
                let zeros: Vec<usize> = outer.iter().chain([target]).chain(inner).copied().collect();
                let updates: Vec<usize> = outer.iter().chain(source).chain(inner).copied().collect();
                let put = self.numbers.puts(std::slice::from_ref(store)).remove(0);
                self.each(&zeros, &mut |launch, n| {
                    launch.now.row = n;
                    launch.clear(&put)
                })?;
                self.each(&updates, &mut |launch, _| match launch.value(*index)? {
                    Scalar::U32(i) if i64::from(i) < launch.extents[*target] => {
                        launch.at[*target] = Some(i64::from(i));
                        launch.add(&put)?;
                        launch.at[*target] = None;
                        Ok(())
                    }
                    Scalar::U32(_) => Ok(()),
                    other => Err(format!("the index is {other}")),
                })
            }
        }
    }

    fn row(&mut self, parallel: &[usize], reduced: &[usize], passes: &[Pass], stores: &[Store]) -> Tried<()> {
        let last = self.numbers.puts(stores);
        let puts: Vec<Vec<Put>> = passes.iter().map(|p| self.numbers.puts(&p.stores)).collect();
        self.each(parallel, &mut |launch, row| {
            launch.finished.clear();
            for (pass, puts) in passes.iter().zip(&puts) {
                let mut sums: Vec<Running> = pass.accumulators.iter().map(Running::of).collect();
                let number = launch.finished.len();
                launch.each(reduced, &mut |launch, point| {
                    launch.now = Moment { row, pass: number, point };
                    for (sum, accumulator) in sums.iter_mut().zip(&pass.accumulators) {
                        let value = launch.value(accumulator.value)?;
                        sum.take(value, point as u32);
                    }
                    launch.store(puts)
                })?;
                let finished = sums.into_iter().map(Running::finish).collect::<Tried<_>>()?;
                launch.finished.push(finished);
                launch.forget();
            }
            launch.now = Moment { row, pass: passes.len(), point: 0 };
            launch.store(&last)
        })
    }

    fn contract(
        &mut self,
        results: &[usize],
        k: &[usize],
        lhs: &Operand,
        rhs: &Operand,
        stores: &[Store],
    ) -> Tried<()> {
        let (left, right) = (self.numbers.factor(lhs), self.numbers.factor(rhs));
        self.reaches(&left)?;
        self.reaches(&right)?;
        let puts = self.numbers.puts(stores);
        self.each(results, &mut |launch, row| {
            launch.now = Moment { row, pass: 0, point: 0 };
            let mut sum = 0.0;
            launch.each(k, &mut |launch, _| {
                let (a, b) = (launch.operand(&left)?, launch.operand(&right)?);
                sum += a * b;
                Ok(())
            })?;
            launch.finished = vec![vec![Scalar::F32(sum)]];
            launch.forget();
            launch.store(&puts)
        })
    }
}

/// An accumulator that is being filled.
struct Running {
    op: AccumulatorOp,
    best: Option<Scalar>,
    at: u32,
}

impl Running {
    fn of(accumulator: &Accumulator) -> Running {
        Running { op: accumulator.op, best: None, at: 0 }
    }

    fn take(&mut self, value: Scalar, point: u32) {
        let Some(best) = self.best else {
            (self.best, self.at) = (Some(value), point);
            return;
        };
        match self.op {
            AccumulatorOp::Reduce(op) => {
                let by = match op {
                    ReduceOp::Sum => MapOp::Add,
                    ReduceOp::Max => MapOp::Max,
                    ReduceOp::Min => MapOp::Min,
                    ReduceOp::Prod => MapOp::Mul,
                };
                self.best = Some(map_one(by, &[best, value]));
            }
            AccumulatorOp::Arg(op) => {
                if better(op, best.as_f64(), value.as_f64()) {
                    (self.best, self.at) = (Some(value), point);
                }
            }
        }
    }

    fn finish(self) -> Tried<Scalar> {
        match (self.op, self.best) {
            (AccumulatorOp::Reduce(_), Some(x)) => Ok(x),
            (AccumulatorOp::Arg(_), Some(_)) => Ok(Scalar::U32(self.at)),
            (_, None) => Err("a reduction of nothing".into()),
        }
    }
}
