//! The loops of rows and maps on a CPU: what makes long rows fast.
//!
//! In: a program whose row kernels have their vector axis. Out: the same with threads, vectors at a time, blocks of sums,
//! buffers, pipelined passes and prefetches chosen. Always: what is chosen is what `ir/rows.rs` says can be.

use super::machine::CPU;
use crate::ir::DType;
use crate::ir::dim::{Dim, product};
use crate::ir::kernel::{Expr, ExprId, Kernel};
use crate::ir::lanes::{self, LANES};
use crate::ir::program::{Program, for_each_launch};
use crate::ir::rows::{Row, roots};
use crate::ir::schedule::{Buffered, Prefetch, Rows, Threads, Unroll};
use crate::ir::varying::Varying;

/// The longest row of which scalars are stored for later passes: it stays in a first-level cache beside what is read.
const BUFFERED: i64 = CPU.l1 / 2;
/// The shortest axis that fills two vectors often enough.
const TWICE: i64 = 64;
/// The fewest columns that are summed four vectors at a time, and the most scalars that then find registers.
const COLUMNS: i64 = 128;
const FEW: usize = 6;

/// Chooses for all rows of the program.
pub(super) fn choose(program: &mut Program) {
    for_each_launch(&mut program.steps, &mut |kernel, _| loops(kernel));
}

/// The loops of one kernel. A choice sees those before it.
fn loops(kernel: &mut Kernel) {
    let Some(chooser) = Chooser::new(kernel) else { return };
    let (threads, buffers, unroll) = (chooser.threads(), chooser.buffers(), chooser.unroll());
    kernel.schedule.rows = Rows { threads, unroll, buffers, ..Rows::default() };
    let pipelined = !kernel.schedule.streamed.is_empty() && Row::of(kernel).is_some_and(|row| row.can_be_pipelined());
    kernel.schedule.rows.pipelined = pipelined;
    kernel.schedule.rows.blocks = kernel.blocks();
    kernel.schedule.rows.prefetches = Chooser::new(kernel).map(|chooser| chooser.prefetches()).unwrap_or_default();
}

struct Chooser<'k> {
    row: Row<'k>,
    kernel: &'k Kernel,
    vector: Option<usize>,
    dtypes: Vec<DType>,
}

impl<'k> Chooser<'k> {
    fn new(kernel: &'k Kernel) -> Option<Chooser<'k>> {
        let row = Row::of(kernel)?;
        Some(Chooser { row, kernel, vector: kernel.schedule.vector, dtypes: kernel.dtypes() })
    }

    /// The outermost axis, where a second thread is worth its start.
    fn threads(&self) -> Option<Threads> {
        let (&axis, vector) = (self.row.parallel.first()?, self.vector?);
        let others = self.kernel.axes.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, extent)| extent);
        let work = product(others) * Dim::from(lanes::price(self.kernel, vector) * LANES / 1000);
        let all = work.clone() * self.kernel.axes[axis].clone();
        let is_worth = all.as_const().is_none_or(|n| n >= CPU.thread);
        Some(Threads { axis, slots: self.row.parts(axis).filter(|_| is_worth)?, work })
    }

    /// The scalars that cost much and that several passes over a short row use, each with the first of them.
    fn buffers(&self) -> Vec<Buffered> {
        let is_short = |&axis: &usize| self.kernel.axes[axis].as_const().is_some_and(|extent| extent <= BUFFERED);
        if !self.row.has_buffers() || !self.row.reduced.iter().all(is_short) {
            return vec![];
        }
        let (scalars, depths) = (&self.kernel.scalars, self.row.depths());
        let (mut first, mut buffered) = (vec![None; scalars.len()], vec![None; scalars.len()]);
        for (number, pass) in self.row.passes.iter().enumerate() {
            let mut needed = vec![false; scalars.len()];
            roots(std::slice::from_ref(pass), &[]).into_iter().for_each(|root| needed[root] = true);
            for id in (0..scalars.len()).rev().filter(|&id| depths[id] > self.row.parallel.len()) {
                if needed[id] {
                    match first[id] {
                        Some(_) => buffered[id] = first[id],
                        None if self.costs_much(id) => first[id] = Some(number),
                        None => {}
                    }
                    if buffered[id].is_none() {
                        scalars[id].operands(&mut |operand| needed[operand] = true);
                    }
                }
            }
        }
        let all = buffered.into_iter().enumerate();
        all.filter_map(|(scalar, pass)| Some(Buffered { scalar, pass: pass? })).collect()
    }

    fn costs_much(&self, id: ExprId) -> bool {
        match &self.kernel.scalars[id] {
            Expr::Map(op, _) => self.dtypes[id] == DType::F32 && op.cost() >= CPU.stored,
            Expr::Load { .. }
            | Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Index(_)
            | Expr::Inside(_)
            | Expr::Convert(..)
            | Expr::Accumulated { .. } => false,
        }
    }

    fn unroll(&self) -> Unroll {
        match self.waits() {
            true => Unroll::Two,
            false if self.sums_columns() => Unroll::Four,
            false => Unroll::One,
        }
    }

    /// Whether instructions of one vector would wait for each other.
    fn waits(&self) -> bool {
        let Some(axis) = self.vector else { return false };
        let long = match self.kernel.axes[axis].as_const() {
            Some(extent) => extent >= TWICE,
            None => self.row.reduced.is_empty(),
        };
        let sums = self.row.lanes_are_reduced() && self.row.passes.iter().any(|pass| !pass.accumulators.is_empty());
        long && (sums || (0..self.kernel.scalars.len()).any(|id| self.costs_much(id)))
    }

    /// Whether rows that may lie far apart are summed up to one: the more of a row is read at once, the better.
    fn sums_columns(&self) -> bool {
        let Some(extent) = self.vector.and_then(|axis| self.kernel.axes[axis].as_const()) else { return false };
        let summed = !self.row.reduced.is_empty() && !self.row.lanes_are_reduced();
        summed && extent >= COLUMNS && self.kernel.scalars.len() <= FEW
    }

    /// What a kernel that writes past the caches reads: of a map a little later, of a row one or two rows later, because the
    /// first pass waits for memory and the second one need not.
    fn prefetches(&self) -> Vec<Prefetch> {
        let (Some(&outer), passes) = (self.row.parallel.last(), self.row.passes.len()) else { return vec![] };
        if self.kernel.schedule.streamed.is_empty() || passes == 1 {
            return vec![];
        }
        let rows = if self.kernel.schedule.rows.pipelined && passes == 2 { 2 } else { 1 };
        let varying = Varying::of(self.kernel);
        let distance = |load: ExprId| match self.row.reduced.is_empty() {
            true => Some(Dim::from(CPU.ahead)),
            false => Some(self.kernel.scalars[load].load()?.index.stride(outer)? * Dim::from(rows)),
        };
        let loads = (0..self.kernel.scalars.len()).filter(|&load| self.row.can_be_prefetched(load, &varying));
        let all = loads.filter_map(|load| Some(Prefetch { load, distance: distance(load)? }));
        all.filter(|prefetch| prefetch.distance != Dim::default()).collect()
    }
}
