//! The loops of row kernels, in the order that their schedule says.
//!
//! Threads run their parts one after the other, the last one first, and no position touches words of another one. Scalars of
//! buffers are what the pass has stored that computed them. Where passes are pipelined, the first one over the next row comes
//! before the last one over this row. Sums are made in blocks.

use super::launch::{Launch, Tried};
use super::number::Put;
use super::race::Moment;
use crate::ir::kernel::{Accumulator, AccumulatorOp, ExprId, Kernel};
use crate::ir::lanes::LANES;
use crate::ir::prim::{MapOp, ReduceOp, Scalar};
use crate::ir::rows::Row;
use crate::ir::schedule::Block;
use crate::ir::turns;
use crate::oracle::prim::better;
use crate::oracle::scalar::map_one;
use std::collections::BTreeMap;
use std::ops::Range;

/// What passes over one row have stored, by scalar and position.
#[derive(Default)]
pub(super) struct Buffers(BTreeMap<(ExprId, usize), Scalar>);

impl Buffers {
    /// What a scalar is at the moment `now`: what an earlier pass has stored, if one should have.
    pub(super) fn read(&self, kernel: &Kernel, id: ExprId, now: Moment) -> Tried<Option<Scalar>> {
        let Some(buffered) = kernel.schedule.rows.buffers.iter().find(|b| b.scalar == id) else { return Ok(None) };
        match self.0.get(&(id, now.point)) {
            Some(stored) if buffered.pass < now.pass => Ok(Some(*stored)),
            None if buffered.pass < now.pass => Err(format!("scalar {id} is not stored by pass {}", buffered.pass)),
            Some(_) | None => Ok(None),
        }
    }
}

/// The words that positions of the axis which threads share have of each slot.
pub(super) struct Owned {
    axis: usize,
    /// The first word and how many each position has.
    slots: BTreeMap<usize, (i64, i64)>,
}

impl Owned {
    pub(super) fn of(kernel: &Kernel, numbers: &super::number::Numbers<'_>) -> Option<Owned> {
        let threads = kernel.schedule.rows.threads.as_ref()?;
        let starts = turns::relative(kernel).1;
        let words = |(slot, words): &(usize, _)| (*slot, (numbers.path(&starts[*slot]).base, (numbers.size)(words)));
        Some(Owned { axis: threads.axis, slots: threads.slots.iter().map(words).collect() })
    }

    /// Whether an element of a slot belongs to the position that touches it.
    pub(super) fn check(&self, slot: usize, element: i64, at: &[Option<i64>]) -> Tried<()> {
        let (Some((first, words)), Some(position)) = (self.slots.get(&slot), at[self.axis]) else { return Ok(()) };
        match (element - first).div_euclid((*words).max(1)) == position {
            true => Ok(()),
            false => Err(format!("element {element} of slot {slot} is of another thread than position {position}")),
        }
    }
}

impl Launch<'_> {
    pub(super) fn rows(&mut self, row: Row<'_>) -> Tried<()> {
        let last = self.numbers.puts(row.stores);
        let puts: Vec<Vec<Put>> = row.passes.iter().map(|p| self.numbers.puts(&p.stores)).collect();
        let all: i64 = row.parallel.iter().map(|&axis| self.extents[axis]).product();
        for part in self.parts(all as usize) {
            let mut ahead = None;
            for at in part.clone() {
                self.place(row.parallel, at);
                (self.finished, self.buffers) = Default::default();
                for (pass, puts) in puts.iter().enumerate() {
                    if let Some(finished) = ahead.take() {
                        self.finished.push(finished);
                        self.forget();
                        continue;
                    }
                    let is_last = pass > 0 && pass + 1 == row.passes.len();
                    if self.kernel.schedule.rows.pipelined && is_last && at + 1 < part.end {
                        let before = std::mem::take(&mut self.finished);
                        self.place(row.parallel, at + 1);
                        ahead = Some(self.pass(row, 0, at + 1, &[])?);
                        self.place(row.parallel, at);
                        self.finished = before;
                    }
                    let finished = self.pass(row, pass, at, puts)?;
                    self.finished.push(finished);
                    self.forget();
                }
                self.now = Moment { row: at, pass: row.passes.len(), point: 0 };
                self.store(&last)?;
            }
        }
        row.parallel.iter().for_each(|&axis| self.at[axis] = None);
        Ok(())
    }

    /// The rows of each thread.
    fn parts(&self, all: usize) -> Vec<Range<usize>> {
        let threads = self.kernel.schedule.rows.threads.as_ref();
        let extent = threads.map_or(1, |threads| self.extents[threads.axis] as usize);
        let middle = all.checked_div(extent).unwrap_or(0) * (extent / 2);
        vec![middle..all, 0..middle]
    }

    /// A pass over a row: its finished accumulators.
    fn pass(&mut self, row: Row<'_>, number: usize, at: usize, puts: &[Put]) -> Tried<Vec<Scalar>> {
        let accumulators = &row.passes[number].accumulators;
        let mut sums: Vec<Running> = accumulators.iter().map(Running::of).collect();
        let stored = self.kernel.schedule.rows.buffers.iter().filter(|b| b.pass == number);
        let stored: Vec<ExprId> = stored.map(|b| b.scalar).collect();
        let block = self.kernel.schedule.rows.blocks.iter().find(|block| block.pass == number).copied();
        let mut turn = None;
        self.each(row.reduced, &mut |launch, point| {
            launch.now = Moment { row: at, pass: number, point };
            let now = block.map(|block| launch.block_of(row, block));
            if turn != now {
                sums.iter_mut().for_each(Running::end_block);
                turn = now;
            }
            for (sum, accumulator) in sums.iter_mut().zip(accumulators) {
                let value = launch.value(accumulator.value)?;
                sum.take(value, point as u32);
            }
            for &id in &stored {
                let value = launch.value(id)?;
                launch.buffers.0.insert((id, point), value);
            }
            launch.store(puts)
        })?;
        sums.into_iter().map(Running::finish).collect()
    }

    /// Which block a position is in: the positions of the axes around it, and the number of the block.
    fn block_of(&self, row: Row<'_>, block: Block) -> Vec<i64> {
        let lanes = if self.kernel.schedule.vector == Some(block.axis) { LANES } else { 1 };
        let around = row.reduced.iter().take_while(|&&axis| axis != block.axis);
        let number = self.at[block.axis].unwrap_or(0) / (block.turns as i64 * lanes);
        around.map(|&axis| self.at[axis].unwrap_or(0)).chain([number]).collect()
    }
}

/// An accumulator that is being filled.
struct Running {
    op: AccumulatorOp,
    best: Option<Scalar>,
    at: u32,
    /// The sum of the blocks before.
    total: Option<Scalar>,
}

impl Running {
    fn of(accumulator: &Accumulator) -> Running {
        Running { op: accumulator.op, best: None, at: 0, total: None }
    }

    fn take(&mut self, value: Scalar, point: u32) {
        let Some(best) = self.best else {
            (self.best, self.at) = (Some(value), point);
            return;
        };
        match self.op {
            AccumulatorOp::Reduce(op) => self.best = Some(combined(op, best, value)),
            AccumulatorOp::Arg(op) => {
                if better(op, best.as_f64(), value.as_f64()) {
                    (self.best, self.at) = (Some(value), point);
                }
            }
        }
    }

    /// Adds a sum of floats to that of the blocks before.
    fn end_block(&mut self) {
        if let (AccumulatorOp::Reduce(ReduceOp::Sum), Some(Scalar::Float(..))) = (self.op, self.best) {
            let block = self.best.take();
            self.total = self.total.zip(block).map(|(a, b)| combined(ReduceOp::Sum, a, b)).or(block);
        }
    }

    fn finish(mut self) -> Tried<Scalar> {
        if self.total.is_some() {
            self.end_block();
            self.best = self.total;
        }
        match (self.op, self.best) {
            (AccumulatorOp::Reduce(_), Some(x)) => Ok(x),
            (AccumulatorOp::Arg(_), Some(_)) => Ok(Scalar::u32(self.at)),
            (_, None) => Err("a reduction of nothing".into()),
        }
    }
}

fn combined(op: ReduceOp, a: Scalar, b: Scalar) -> Scalar {
    let by = match op {
        ReduceOp::Sum => MapOp::Add,
        ReduceOp::Max => MapOp::Max,
        ReduceOp::Min => MapOp::Min,
        ReduceOp::Prod => MapOp::Mul,
    };
    map_one(by, &[a, b])
}
