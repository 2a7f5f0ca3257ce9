//! The verifier of one kernel: its scalars, its loops, and a schedule that they can have.

use super::ensure;
use crate::ir::DType;
use crate::ir::algorithm::{self, Algorithm};
use crate::ir::dim::product;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, ExprId, Guard, Kernel, Operand, Skeleton, Store};
use crate::ir::recurrence::{Recurrence, Recurrent};
use crate::ir::rows::{Row, roots};
use crate::ir::schedule::{Buffered, Rows};
use crate::ir::varying::Varying;
use crate::ir::workgroup::{self, AttendGroup, RowGroup, Workgroup};

type Checked = Result<(), String>;

/// What is wrong with a kernel inside of so many loops.
pub(super) fn kernel_errors(kernel: &Kernel, loops: usize) -> Vec<String> {
    // A recurrence has its own turns around it.
    let loops = loops + usize::from(matches!(kernel.skeleton, Skeleton::Recur(_)));
    let mut checker = Checker { kernel, loops, dtypes: vec![] };
    for (id, expr) in kernel.scalars.iter().enumerate() {
        match checker.scalar(id, expr).and_then(|()| kernel.dtype(expr, &checker.dtypes)) {
            Ok(dtype) => checker.dtypes.push(dtype),
            // What follows asks for the types and axes of sound scalars.
            Err(why) => return vec![format!("v{id} {why}")],
        }
    }
    checker.skeleton().and_then(|()| checker.schedule()).err().into_iter().collect()
}

struct Checker<'k> {
    kernel: &'k Kernel,
    loops: usize,
    /// The types of the scalars that are checked.
    dtypes: Vec<DType>,
}

impl Checker<'_> {
    /// A scalar uses earlier ones, slots that are read, and axes and counters that there are.
    fn scalar(&self, id: ExprId, expr: &Expr) -> Checked {
        let mut later = None;
        expr.operands(&mut |operand| later = later.or((operand >= id).then_some(operand)));
        if let Some(later) = later {
            return Err(format!("uses v{later} before it exists"));
        }
        match expr {
            Expr::Load { slot, index, guards, fill } => {
                let Some(of) = self.kernel.slots.get(*slot) else { return Err(format!("loads from s{slot}")) };
                ensure(of.read, || format!("loads from s{slot}, which is not read"))?;
                ensure(of.dtype == fill.dtype(), || format!("is {fill} where it loads no {}", of.dtype))?;
                self.index(index)?;
                self.guards(guards)
            }
            Expr::Inside(guards) => self.guards(guards),
            Expr::Index(index) => self.index(index),
            Expr::Accumulated { pass, slot, dtype } => self.accumulated(*pass, *slot, *dtype),
            Expr::Map(op, args) => ensure(args.len() == op.arity(), || format!("is `{}` of {}", op.name(), args.len())),
            Expr::Const(_) | Expr::Extent(_) | Expr::Convert(..) => Ok(()),
        }
    }

    /// An accumulator of a row is one of an earlier value, and of its type.
    fn accumulated(&self, pass: usize, slot: usize, dtype: DType) -> Checked {
        let exists = match &self.kernel.skeleton {
            Skeleton::Row { passes, .. } => {
                let found = passes.get(pass).and_then(|pass| pass.accumulators.get(slot));
                found.is_some_and(|accumulator| match accumulator.op {
                    AccumulatorOp::Reduce(_) => self.dtypes.get(accumulator.value) == Some(&dtype),
                    AccumulatorOp::Arg(_) => accumulator.value < self.dtypes.len() && dtype == DType::U32,
                })
            }
            Skeleton::Contract { lhs, rhs, .. } => {
                let exist = [lhs, rhs].into_iter().all(|operand| operand.slot < self.kernel.slots.len());
                (pass, slot) == (0, 0) && exist && self.kernel.product_dtype(lhs, rhs) == dtype
            }
            // Output, largest score and reciprocal; or the cotangents of keys, values and queries.
            Skeleton::Attend(_) => pass == 0 && slot < 3 && dtype == DType::F32,
            Skeleton::Recur(own) => pass == 0 && slot < own.groups && dtype == DType::F32,
            Skeleton::Scatter { .. } => false,
        };
        ensure(exists, || format!("is accumulator {slot} of pass {pass}, which there is not"))
    }

    fn guards(&self, guards: &[Guard]) -> Checked {
        guards.iter().try_for_each(|guard| self.index(guard.index()))
    }

    fn index(&self, index: &Index) -> Checked {
        let (axes, scalars) = (self.kernel.axes.len(), self.kernel.scalars.len());
        let strays = |atom: &Atom| match atom {
            Atom::Axis(axis) => *axis >= axes,
            Atom::Loop(depth) => *depth >= self.loops,
            Atom::Value(id) => *id >= scalars,
            Atom::Div(..) | Atom::Mod(..) => false,
        };
        ensure(!index.any(&strays), || format!("is at {index}, where something does not exist"))
    }

    fn skeleton(&self) -> Checked {
        let kernel = self.kernel;
        let mut axes: Vec<usize> = match &kernel.skeleton {
            Skeleton::Row { parallel, reduced, .. } => [&parallel[..], reduced].concat(),
            Skeleton::Contract { batch, m, n, k, .. } => [&batch[..], m, n, k].concat(),
            Skeleton::Scatter { outer, target, source, inner, .. } => [&outer[..], &[*target], source, inner].concat(),
            Skeleton::Attend(attention) => {
                attention.lists().iter().flat_map(|(_, list)| list.iter().copied()).collect()
            }
            Skeleton::Recur(own) => own.rows.into_iter().chain([own.columns]).collect(),
        };
        axes.sort_unstable();
        ensure(axes.iter().copied().eq(0..kernel.axes.len()), || format!("loops over {axes:?}"))?;
        match &kernel.skeleton {
            Skeleton::Row { passes, stores, .. } => {
                for (number, pass) in passes.iter().enumerate() {
                    let values = roots(std::slice::from_ref(pass), &[]);
                    values.into_iter().try_for_each(|value| self.finished(value, number))?;
                    pass.accumulators.iter().try_for_each(|accumulator| self.accumulator(accumulator))?;
                    self.stores(&pass.stores)?;
                }
                self.stores(stores)
            }
            Skeleton::Contract { lhs, rhs, stores, .. } => {
                [lhs, rhs].into_iter().try_for_each(|operand| self.operand(operand))?;
                let [left, right] = [lhs, rhs].map(|operand| self.kernel.slots[operand.slot].dtype);
                let computed = !left.is_stored() || !right.is_stored();
                ensure(computed, || format!("multiplies {left} and {right}, of which one is computed"))?;
                self.stores(stores)
            }
            Skeleton::Scatter { index, store, .. } => {
                let of_index = self.dtypes.get(*index).copied();
                ensure(of_index == Some(DType::U32), || format!("scatters by v{index}"))?;
                self.stores(std::slice::from_ref(store))
            }
            Skeleton::Attend(attention) => {
                let mut reads = attention.reads.iter().chain(&attention.mask);
                let is_load = |id: &ExprId| kernel.scalars.get(*id).is_some_and(|expr| expr.load().is_some());
                ensure(reads.all(is_load), || "attends to what is no load".into())?;
                self.stores(&attention.stores)
            }
            Skeleton::Recur(own) => self.recurrence(own),
        }
    }

    /// What turns read and write lies in slots of its own, moves with the turns alone, and waits for no other position.
    fn recurrence(&self, own: &Recurrence) -> Checked {
        let slots: Vec<usize> = [own.state, own.sums, own.matrix].into_iter().chain(own.addend).collect();
        let distinct = slots.iter().enumerate().all(|(at, slot)| !slots[..at].contains(slot));
        let exist = slots.iter().all(|&slot| self.kernel.slots.get(slot).is_some_and(|s| s.dtype == DType::F32));
        ensure(distinct && exist && own.starts.len() == self.kernel.slots.len(), || "takes turns on no slot".into())?;
        let (sums, matrix) = (&self.kernel.slots[own.sums], &self.kernel.slots[own.matrix]);
        ensure(sums.write && matrix.read && !matrix.write, || "has sums or a matrix that cannot be used so".into())?;
        let turns = |atom: &Atom| matches!(atom, Atom::Loop(_));
        let moves = |start: &Index| start.base.is(0) && start.terms.iter().all(|(atom, _)| turns(atom));
        ensure(own.starts.iter().all(moves), || "starts where no turn does".into())?;
        own.starts.iter().chain([&own.start]).try_for_each(|index| self.index(index))?;
        self.stores(&own.stores)?;
        let apart = own.groups > 0 && own.parts > 0 && own.stores.iter().all(|store| store.slot != own.sums);
        let holds = Recurrent { kernel: self.kernel, own }.holds();
        ensure(apart && holds, || "takes turns that wait for other positions".into())
    }

    /// A value of a pass uses accumulators of passes before it only.
    fn finished(&self, value: ExprId, number: usize) -> Checked {
        ensure(value < self.kernel.scalars.len(), || format!("uses v{value}"))?;
        let needed = self.kernel.needed(&[value]);
        let early = |id: usize| matches!(self.kernel.scalars[id], Expr::Accumulated { pass, .. } if pass >= number);
        let found = (0..needed.len()).find(|&id| needed[id] && early(id));
        found.map_or(Ok(()), |id| Err(format!("pass {number} uses v{id} before it is finished")))
    }

    fn accumulator(&self, accumulator: &Accumulator) -> Checked {
        let dtype = self.dtypes[accumulator.value];
        let fits = dtype != DType::Bool || matches!(accumulator.op, AccumulatorOp::Reduce(_));
        ensure(fits, || format!("reduces v{} of {dtype}", accumulator.value))
    }

    fn operand(&self, operand: &Operand) -> Checked {
        let Some(slot) = self.kernel.slots.get(operand.slot) else { return Err(format!("reads s{}", operand.slot)) };
        ensure(slot.read && (slot.dtype.is_float() || slot.dtype.is_stored()), || {
            format!("reads s{} of {}", operand.slot, slot.dtype)
        })?;
        for index in operand.windows.iter().map(|window| &window.index).chain([&operand.index]) {
            self.index(index)?;
            ensure(index.is_affine(), || format!("an operand is at {index}"))?;
        }
        ensure(operand.windows.iter().all(|window| window.divisor > 0), || "a window divides by nothing".into())
    }

    fn stores(&self, stores: &[Store]) -> Checked {
        stores.iter().try_for_each(|store| {
            let Some(slot) = self.kernel.slots.get(store.slot) else {
                return Err(format!("stores to s{}", store.slot));
            };
            let value = self.dtypes.get(store.value).copied();
            let fits = slot.write && value == Some(slot.dtype);
            ensure(fits, || format!("stores v{} to s{} of {}", store.value, store.slot, slot.dtype))?;
            self.index(&store.index)
        })
    }

    /// The schedule is one that these loops can have.
    fn schedule(&self) -> Checked {
        let (kernel, schedule) = (self.kernel, &self.kernel.schedule);
        let is_product = matches!(kernel.skeleton, Skeleton::Contract { .. });
        let row = Row::of(kernel);
        ensure(schedule.vector.is_none_or(|axis| axis < kernel.axes.len()), || "vectors along no axis".into())?;
        schedule.workgroup.map_or(Ok(()), |workgroup| self.workgroup(workgroup))?;
        let narrow = schedule.narrow.is_none_or(|(_, precision)| is_product && precision.is_narrow());
        ensure(narrow, || "fewer bits of no product".into())?;
        let can = algorithm::possible(kernel);
        let ordered =
            schedule.algorithms.is_sorted_by(|a, b| a < b) && schedule.algorithms.iter().all(|a| can.contains(a));
        let ends =
            schedule.algorithms.last().is_none_or(|last| *last == Algorithm::Blocked && schedule.narrow.is_none());
        ensure(ordered && ends, || "algorithms that cannot compute it".into())?;
        let sources = kernel.plain_sources();
        let is_scheduled =
            !matches!(&kernel.skeleton, Skeleton::Scatter { inner, .. } if schedule.vector != inner.last().copied());
        ensure(sources == schedule.plain_sources || !is_scheduled, || "a scatter loses too much".into())?;
        let still = schedule.packed_once && self.loops > 0 && kernel.packed().is_some_and(Operand::is_still);
        ensure(still || !schedule.packed_once, || "packs once what moves".into())?;
        let passed = |slot: &usize| kernel.slots.get(*slot).is_some_and(|slot| slot.write && !slot.read);
        ensure(schedule.streamed.iter().all(passed), || "streams what is read".into())?;
        match row {
            Some(row) => self.rows(row),
            None => ensure(schedule.rows == Rows::default(), || "rows of no row".into()),
        }
    }

    /// A workgroup is one of this kernel, within the limits of every GPU, and adds up no long sum of floats without blocks.
    fn workgroup(&self, workgroup: Workgroup) -> Checked {
        let kernel = self.kernel;
        workgroup.error(kernel).map_or(Ok(()), Err)?;
        let blocks = |list: &[usize], sharing: u32, plain: u32, block: Option<u32>, most: u32| {
            let all = product(list.iter().map(|&axis| &kernel.axes[axis])).as_const();
            let short = all.is_some_and(|all| all <= i64::from(sharing) * i64::from(plain));
            let cut = block.map_or(short, |block| (1..=most).contains(&block));
            ensure(cut, || "a workgroup makes a long sum without blocks".into())
        };
        let other = || Err(format!("workgroups of another kernel: {workgroup:?}"));
        match &kernel.skeleton {
            Skeleton::Row { reduced, .. } => {
                let Workgroup::Rows(RowGroup { invocations, cooperative, block, .. }) = workgroup else {
                    return other();
                };
                let sharing = if cooperative { invocations } else { 1 };
                blocks(reduced, sharing, workgroup::ROW_BLOCK, block, workgroup::ROW_BLOCK)
            }
            Skeleton::Scatter { .. } => {
                let Workgroup::Rows(RowGroup { cooperative, .. }) = workgroup else { return other() };
                ensure(!cooperative, || "a workgroup shares the sources of a scatter".into())
            }
            Skeleton::Contract { k, .. } => {
                let Workgroup::Tiles(tiles) = workgroup else { return other() };
                let (plain, most) = (workgroup::PLAIN_TERMS, workgroup::TILE_BLOCK);
                tiles.all_plain().try_for_each(|tile| blocks(k, tile.slices, plain, tile.block, most))
            }
            Skeleton::Attend(attention) => {
                let Workgroup::Attend(group) = workgroup else { return other() };
                if let AttendGroup::Rows { invocations, columns } = group {
                    ensure((1..=invocations).contains(&columns), || {
                        "a workgroup of attention has more columns than invocations".into()
                    })?;
                }
                let alone = matches!(group, AttendGroup::Single { .. });
                ensure(attention.is_single(&kernel.axes) == alone, || {
                    "one query for each head has a workgroup of its own kind".into()
                })
            }
            Skeleton::Recur(_) => match workgroup {
                Workgroup::Recur(_) => Ok(()),
                Workgroup::Rows(_) | Workgroup::Tiles(_) | Workgroup::Attend(_) => other(),
            },
        }
    }

    fn rows(&self, row: Row<'_>) -> Checked {
        let Rows { threads, unroll: _, blocks, buffers, pipelined, prefetches } = &self.kernel.schedule.rows;
        if let Some(threads) = threads {
            let outermost = row.parallel.first() == Some(&threads.axis);
            let parts = row.parts(threads.axis);
            ensure(outermost && parts.as_ref() == Some(&threads.slots), || "threads share words of others".into())?;
        }
        // Before schedule no row has a vector axis, and afterwards every one that makes sums along its axes.
        let is_scheduled = self.kernel.schedule.vector.is_some();
        for (pass, _) in row.passes.iter().enumerate().filter(|_| is_scheduled) {
            let ahead = *pipelined && pass == 0;
            let long = row.block(pass).filter(|_| !ahead);
            let own = blocks.iter().find(|block| block.pass == pass);
            let short = long.is_none_or(|long| own.is_some_and(|own| own.axis == long.axis && own.turns <= long.turns));
            ensure(short, || format!("pass {pass} makes a long sum in one chain"))?;
        }
        let block = |turns: usize, axis: usize| turns > 0 && row.reduced.contains(&axis);
        ensure(blocks.iter().all(|b| b.pass < row.passes.len() && block(b.turns, b.axis)), || {
            "blocks of nothing".into()
        })?;
        let depths = row.depths();
        let buffered = |b: &Buffered| {
            let in_row = depths.get(b.scalar).is_some_and(|&depth| depth > row.parallel.len());
            let pass = row.passes.get(b.pass).filter(|_| in_row && self.dtypes[b.scalar] == DType::F32);
            pass.is_some_and(|pass| self.kernel.needed(&roots(std::slice::from_ref(pass), &[]))[b.scalar])
        };
        let once = buffers.iter().enumerate().all(|(at, b)| buffers[..at].iter().all(|other| other.scalar != b.scalar));
        let stored = once && buffers.iter().all(buffered);
        ensure(stored && (buffers.is_empty() || row.has_buffers()), || "a buffer of no row".into())?;
        ensure(!pipelined || row.can_be_pipelined(), || "passes are pipelined that wait for each other".into())?;
        let varying = Varying::of(self.kernel);
        let loads = prefetches.iter().all(|p| p.load < depths.len() && row.can_be_prefetched(p.load, &varying));
        ensure(loads, || "what cannot be prefetched is".into())
    }
}
