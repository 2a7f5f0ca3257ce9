//! Row kernels: in which loop each scalar is known, and what their loops may do.
//!
//! In: a row kernel. Out: facts that hold of it, by which schedule chooses, the verifier judges and printers place what they
//! print. Always: nothing here weighs what a choice costs.

use super::dim::Dim;
use super::index::{Atom, Index, Ranges, is_nonnegative};
use super::kernel::{AccumulatorOp, Expr, ExprId, Guard, Kernel, Load, Pass, Skeleton, Store};
use super::prim::{MapOp, ReduceOp};
use super::schedule::{Block, CHAIN, PIPELINED_CHAIN};
use super::turns;
use super::ty::DType;
use super::varying::Varying;
use crate::ir::lanes::LANES;

/// The parts of a row kernel.
#[derive(Clone, Copy)]
pub struct Row<'k> {
    /// The whole.
    pub kernel: &'k Kernel,
    /// Outermost first.
    pub parallel: &'k [usize],
    /// Outermost first.
    pub reduced: &'k [usize],
    /// One after the other.
    pub passes: &'k [Pass],
    /// After the passes.
    pub stores: &'k [Store],
}

/// A position of an axis from which on a pass has nothing to do.
pub struct End {
    /// The axis.
    pub axis: usize,
    /// What the guard looks at, at the first position of the axis.
    pub start: Index,
    /// How far that goes.
    pub extent: Dim,
    /// The guard, which holds at all positions before the end.
    pub guard: Guard,
}

impl<'k> Row<'k> {
    /// The parts, if the kernel is of this kind.
    pub fn of(kernel: &'k Kernel) -> Option<Row<'k>> {
        let Skeleton::Row { parallel, reduced, passes, stores } = &kernel.skeleton else { return None };
        Some(Row { kernel, parallel, reduced, passes, stores })
    }

    /// How many loops each scalar needs around it, parallel axes first: below the axes that it varies with, and after the
    /// pass whose sums it uses.
    pub fn depths(&self) -> Vec<usize> {
        let varying = Varying::of(self.kernel);
        let order: Vec<usize> = self.parallel.iter().chain(self.reduced).copied().collect();
        let mut depths: Vec<usize> = vec![];
        for (id, expr) in self.kernel.scalars.iter().enumerate() {
            let mut depth = order.iter().rposition(|&axis| varying.with(id, axis)).map_or(0, |p| p + 1);
            // A sum is known where its pass has ended, inside of all rows.
            if let Expr::Accumulated { .. } = expr {
                depth = self.parallel.len();
            }
            expr.operands(&mut |o| depth = depth.max(depths[o]));
            depths.push(depth);
        }
        depths
    }

    /// Whether the lanes of vectors run along the row.
    pub fn lanes_are_reduced(&self) -> bool {
        self.kernel.schedule.vector.is_some_and(|axis| self.reduced.contains(&axis))
    }

    /// Whether scalars of a row can be stored for later passes: its only axis, of constant extent, runs through the lanes.
    pub fn has_buffers(&self) -> bool {
        let &[axis] = self.reduced else { return false };
        self.kernel.axes[axis].as_const().is_some() && self.kernel.schedule.vector == Some(axis)
    }

    /// The words that each position of an axis has of every written slot, where all that is written and read of these slots
    /// stays within them.
    pub fn parts(&self, axis: usize) -> Option<Vec<(usize, Dim)>> {
        // What moves from turn to turn of a loop around the kernel is no part of a position.
        let own = turns::relative(self.kernel).0;
        let Row { kernel, passes, stores, .. } = Row::of(&own)?;
        let ranges = |atom: &Atom| match atom {
            Atom::Axis(a) => Some(kernel.axes[*a].clone()),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
        };
        let mut slots: Vec<(usize, Dim)> = vec![];
        let stored = passes.iter().flat_map(|p| &p.stores).chain(stores).map(|s| (s.slot, &s.index));
        let loaded = kernel.scalars.iter().filter_map(Expr::load).map(|load| (load.slot, load.index));
        let loaded = loaded.filter(|(slot, _)| kernel.slots[*slot].write);
        for (slot, index) in stored.chain(loaded) {
            let stride = index.stride(axis)?;
            let rest = index.plus(&Index::axis(axis).times(&-stride.clone()));
            let known = slots.iter().find(|(s, _)| *s == slot);
            if !Ranges(&ranges).within(&rest, &stride) || known.is_some_and(|(_, s)| *s != stride) {
                return None;
            }
            if known.is_none() {
                slots.push((slot, stride));
            }
        }
        (!slots.is_empty()).then_some(slots)
    }

    /// Where a pass has to be cut into blocks, if it makes sums of floats that are long, or may be.
    pub fn block(&self, pass: usize) -> Option<Block> {
        let dtypes = self.kernel.dtypes();
        let is_sum = |op, value: ExprId| op == AccumulatorOp::Reduce(ReduceOp::Sum) && dtypes[value] == DType::F32;
        self.passes[pass].accumulators.iter().find(|a| is_sum(a.op, a.value))?;
        let mut chain = 1;
        for &axis in self.reduced.iter().rev() {
            let lanes = if self.kernel.schedule.vector == Some(axis) { LANES } else { 1 };
            let turns = self.kernel.axes[axis].as_const().map(|extent| (extent + lanes - 1) / lanes);
            match turns.and_then(|turns| turns.checked_mul(chain)) {
                Some(longer) if longer <= CHAIN => chain = longer,
                Some(_) | None => return Some(Block { pass, axis, turns: (CHAIN / chain) as usize }),
            }
        }
        None
    }

    /// Where a pass ends before one of its axes does, if it only reduces values that change nothing from some position on.
    pub fn end(&self, pass: usize) -> Option<End> {
        let (Pass { accumulators, stores }, scalars) = (&self.passes[pass], &self.kernel.scalars);
        let (mut guard, dtypes): (Option<&Guard>, _) = (None, self.kernel.dtypes());
        for accumulator in accumulators {
            let Expr::Map(MapOp::Select, args) = &scalars[accumulator.value] else { return None };
            let &[inside, value, other] = args.as_slice() else { return None };
            let (Expr::Inside(guards), Expr::Const(other)) = (&scalars[inside], &scalars[other]) else { return None };
            let own = guards.first().filter(|own| guards.len() == 1 && guard.is_none_or(|guard| guard == *own));
            let neutral = accumulator.op.neutral(dtypes[value]);
            guard = Some(own.filter(|_| *other == neutral)?);
        }
        let Guard::Within(index, extent) = guard.filter(|_| stores.is_empty())? else { return None };
        let mut moving = self.reduced.iter().copied().filter(|&axis| index.mentions(axis));
        let axis = moving.next().filter(|_| moving.next().is_none())?;
        let start = index.plus(&Index::axis(axis).times(&Dim::from(-1)));
        let reach = |atom: &Atom| match atom {
            Atom::Axis(axis) => Some(self.kernel.axes[*axis].clone()),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
        };
        let is_first = Ranges(&reach).bounds(&start).is_some_and(|(low, _)| is_nonnegative(&low));
        let fits = is_first && !start.mentions(axis);
        fits.then(|| End { axis, start, extent: extent.clone(), guard: Guard::Within(index.clone(), extent.clone()) })
    }

    /// Whether the first pass over the next row can run beside the last one over this row: it only reduces what no part of the
    /// kernel writes and what no row has for itself, along the lanes, in one chain for each, and the last one only stores.
    pub fn can_be_pipelined(&self) -> bool {
        let ([first, .., last], &[outer], &[inner]) = (self.passes, self.parallel, self.reduced) else { return false };
        let schedule = &self.kernel.schedule;
        let threads = schedule.rows.threads.as_ref().is_some_and(|threads| threads.axis == outer);
        let reduces = first.stores.is_empty()
            && !first.accumulators.is_empty()
            && first.accumulators.iter().all(|a| matches!(a.op, AccumulatorOp::Reduce(_)))
            && !schedule.rows.buffers.iter().any(|buffered| buffered.pass == 0);
        let short = self.block(0).is_none()
            || self.kernel.axes[inner].as_const().is_some_and(|extent| extent <= PIPELINED_CHAIN);
        if !(threads && schedule.vector == Some(inner) && self.stores.is_empty() && last.accumulators.is_empty()) {
            return false;
        }
        let needed = self.kernel.needed(&roots(std::slice::from_ref(first), &[]));
        let depths = self.depths();
        let of_all_rows = |id: ExprId| {
            let written = |load: Load<'_>| self.kernel.slots[load.slot].write;
            depths[id] != self.parallel.len() && !self.kernel.scalars[id].load().is_some_and(written)
        };
        reduces && short && (0..needed.len()).all(|id| !needed[id] || of_all_rows(id))
    }

    /// Whether a load can be asked for before it is needed: it is not written, always read, and neighbouring lanes read
    /// neighbours.
    pub fn can_be_prefetched(&self, id: ExprId, varying: &Varying) -> bool {
        self.kernel.scalars[id].load().is_some_and(|Load { slot, index, guards }| {
            let plain = !self.kernel.slots[slot].write && guards.is_empty() && index.is_affine();
            let vector = self.kernel.schedule.vector;
            plain && vector.is_some_and(|axis| varying.lane_stride(index, axis).is_some_and(|along| along.is(1)))
        })
    }
}

/// What a list of passes and stores computes.
pub fn roots(passes: &[Pass], stores: &[Store]) -> Vec<ExprId> {
    let mut roots: Vec<ExprId> = passes.iter().flat_map(|p| &p.accumulators).map(|a| a.value).collect();
    let all: Vec<Store> = passes.iter().flat_map(|p| p.stores.clone()).chain(stores.iter().cloned()).collect();
    roots.extend(all.iter().map(|s| s.value));
    roots.extend(index_values(&all));
    roots
}

/// The scalars in the indices of stores.
pub fn index_values(stores: &[Store]) -> Vec<ExprId> {
    let mut values = vec![];
    stores.iter().for_each(|s| s.index.values(&mut |v| values.push(v)));
    values
}

impl Kernel {
    /// Where the passes of a row kernel have to be cut into blocks.
    pub fn blocks(&self) -> Vec<Block> {
        let Some(row) = Row::of(self) else { return vec![] };
        let is_ahead = |pass: &usize| *pass == 0 && self.schedule.rows.pipelined;
        (0..row.passes.len()).filter(|pass| !is_ahead(pass)).filter_map(|pass| row.block(pass)).collect()
    }
}
