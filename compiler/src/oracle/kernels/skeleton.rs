//! The loops of every skeleton, in the order of their definition; those of rows as they are scheduled (`rows`).

use super::launch::{Launch, Tried};
use super::race::Moment;
use crate::ir::DType;
use crate::ir::kernel::{Operand, Skeleton, Store};
use crate::ir::prim::Scalar;
use crate::ir::rows::Row;

impl Launch<'_> {
    pub(super) fn skeleton(&mut self) -> Tried<()> {
        match &self.kernel.skeleton {
            Skeleton::Row { parallel, reduced, passes, stores } => {
                self.rows(Row { kernel: self.kernel, parallel, reduced, passes, stores })
            }
            Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } => {
                let results: Vec<usize> = batch.iter().chain(m).chain(n).copied().collect();
                self.contract(&results, k, lhs, rhs, stores)
            }
            Skeleton::Attend(attention) => self.attend(attention),
            Skeleton::Recur(own) => self.recur(own),
            Skeleton::Scatter { outer, target, source, inner, index, store } => {
                let zeros: Vec<usize> = outer.iter().chain([target]).chain(inner).copied().collect();
                let updates: Vec<usize> = outer.iter().chain(source).chain(inner).copied().collect();
                let put = self.numbers.puts(std::slice::from_ref(store)).remove(0);
                self.each(&zeros, &mut |launch, n| {
                    launch.now.row = n;
                    launch.clear(&put)
                })?;
                self.each(&updates, &mut |launch, _| match launch.value(*index)? {
                    Scalar::Int(DType::U32, i) if i < launch.extents[*target].into() => {
                        launch.at[*target] = Some(i as i64);
                        launch.add(&put)?;
                        launch.at[*target] = None;
                        Ok(())
                    }
                    Scalar::Int(DType::U32, _) => Ok(()),
                    other => Err(format!("the index is {other}")),
                })
            }
        }
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
        let (puts, dtype) = (self.numbers.puts(stores), self.kernel.product_dtype(lhs, rhs));
        self.each(results, &mut |launch, row| {
            launch.now = Moment { row, pass: 0, point: 0 };
            let mut sum = 0.0;
            launch.each(k, &mut |launch, _| {
                let (a, b) = (launch.operand(&left)?, launch.operand(&right)?);
                sum += a * b;
                Ok(())
            })?;
            launch.finished = vec![vec![Scalar::Float(dtype, sum)]];
            launch.forget();
            launch.store(&puts)
        })
    }
}
