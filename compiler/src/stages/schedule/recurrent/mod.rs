//! Loops whose turn is a product with a state and a map of its sums to the next state, or the other way round.
//!
//! In: a program. Out: the same, in which such a loop is one kernel on a CPU; on a GPU it is one as well (`gpu`), or two
//! dispatches a turn. Always: no other step of the turn uses the sums; the map reads the state, and what it writes, only at the position that it writes; the
//! product rounds no operand.

mod copies;
mod gpu;
mod product;

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Skeleton, Slot, Store};
use crate::ir::prim::Scalar;
use crate::ir::program::{Buffer, BufferId, Program, Role, Step};
use crate::ir::recurrence::{Half, Recurrence, Recurrent};
use crate::ir::schedule::Schedule;
use crate::ir::turns;
use crate::ir::{DType, Dim};
use product::Product;

/// Makes such loops one kernel.
pub(super) fn fuse(program: &mut Program) {
    let mut uses = vec![0; program.buffers.len()];
    super::carry::count(&program.steps, &mut uses);
    let mut new = vec![];
    steps(&mut program.steps, &program.buffers, &uses, &mut new);
    program.buffers.extend(new);
}

/// `new` are the buffers that steps have for themselves, behind all others.
fn steps(list: &mut [Step], buffers: &[Buffer], uses: &[usize], new: &mut Vec<Buffer>) {
    for step in list {
        let found = match step {
            Step::Loop { count, reverse, body } => find((count, *reverse, body), buffers, uses),
            Step::Launch { .. }
            | Step::Branch { .. }
            | Step::Foreign { .. }
            | Step::Fused { .. }
            | Step::Joined { .. } => None,
        };
        match found {
            Some((kernel, of_slots)) => {
                let at_once = gpu::steps(&kernel, &of_slots, BufferId(buffers.len() + new.len()));
                let whole = Step::Fused { kernel, buffers: of_slots, steps: vec![] };
                let mut turns = std::mem::replace(step, whole);
                copies::merge(&mut turns);
                let (of_gpu, own) = at_once.unwrap_or_else(|| (vec![turns], None));
                new.extend(own);
                if let Step::Fused { steps, .. } = step {
                    *steps = of_gpu;
                }
            }
            None => step.bodies_mut().into_iter().for_each(|body| steps(body, buffers, uses, new)),
        }
    }
}

/// The recurrence of a loop, and the buffers of its slots.
fn find(
    (count, reverse, body): (&Dim, bool, &[Step]),
    all: &[Buffer],
    uses: &[usize],
) -> Option<(Kernel, Vec<BufferId>)> {
    let launches = body.iter().map(launch).collect::<Option<Vec<(&Kernel, &[BufferId])>>>()?;
    let is_product = |launch: &(&Kernel, &[BufferId])| matches!(launch.0.skeleton, Skeleton::Contract { .. });
    let (first, copies, (product, of_product), (map, of_map)) = match launches.as_slice() {
        [map, product] if is_product(product) => (Half::Map, [].as_slice(), product, map),
        [copies @ .., product, map] if is_product(product) => (Half::Product, copies, product, map),
        _ => return None,
    };
    let product = Product::of(product)?;
    let slot_of = |buffer: BufferId| of_map.iter().position(|b| *b == buffer);
    let (map, starts) = turns::relative(map);
    let (map, rows, columns) = axes(&map, &product)?;
    let [groups, parts] = product.times(&map.axes[columns])?;
    let addend = match product.addend {
        Some(slot) => Some(slot_of(of_product[slot])?),
        None => None,
    };
    let (state, sums) = (slot_of(of_product[product.lhs])?, slot_of(of_product[product.out])?);
    if starts[state] != product.start || !has_alone(first, of_product[product.out], body, (all, uses)) {
        return None;
    }
    let still = |(atom, _): &&(Atom, Dim)| !matches!(atom, Atom::Axis(_));
    let start = Index {
        base: product.rhs.index.base.clone(),
        terms: product.rhs.index.terms.iter().filter(still).cloned().collect(),
    };
    let Skeleton::Row { stores, .. } = map.skeleton.clone() else { return None };
    let own = Recurrence {
        count: count.clone(),
        reverse,
        starts,
        rows,
        columns,
        first,
        state,
        sums,
        groups,
        parts,
        addend,
        matrix: 0,
        start,
        strides: product.strides.clone(),
        stores,
    };
    let mut growing = Growing { kernel: map, own, buffers: of_map.to_vec() };
    growing.read_sums()?;
    copies.iter().try_for_each(|(copy, of_copy)| growing.take(copy, of_copy))?;
    growing.finish((&product.slots[product.matrix], of_product[product.matrix]))
}

/// Whether nothing but the two halves uses the sums: anywhere, where they are not carried.
fn has_alone(first: Half, sums: BufferId, body: &[Step], (all, uses): (&[Buffer], &[usize])) -> bool {
    let mut inside = vec![0; all.len()];
    super::carry::count(body, &mut inside);
    match first {
        Half::Product => all[sums.0].role == Role::Scratch && uses[sums.0] == 2,
        Half::Map => inside[sums.0] == 2,
    }
}

/// A map with the rows of a product, if it has several, and columns of its own; and these axes.
fn axes(map: &Kernel, product: &Product<'_>) -> Option<(Kernel, Option<usize>, usize)> {
    let Skeleton::Row { parallel, reduced, passes, .. } = &map.skeleton else { return None };
    let vector = map.schedule.vector;
    let plain = reduced.is_empty() && passes.is_empty();
    match (parallel.as_slice(), &product.rows) {
        ([columns], None) if plain && vector == Some(*columns) => Some((map.clone(), None, *columns)),
        ([rows, columns], Some(extent)) if plain && vector == Some(*columns) && map.axes[*rows] == *extent => {
            Some((map.clone(), Some(*rows), *columns))
        }
        ([both], Some(rows)) if plain && vector == Some(*both) => {
            let columns = map.axes[*both].exact_div(rows)?;
            let cut = cut(map, *both, rows, columns)?;
            Some((cut, Some(*both), map.axes.len()))
        }
        _ => None,
    }
}

/// Cuts the axis of a map into rows and columns, where it counts the elements of row-major tensors.
fn cut(map: &Kernel, both: usize, rows: &Dim, columns: Dim) -> Option<Kernel> {
    let mut cut = map.clone();
    let inner = cut.axes.len();
    cut.axes[both] = rows.clone();
    cut.axes.push(columns.clone());
    let (mut affine, position) = (true, Index::axis(both).times(&columns).plus(&Index::axis(inner)));
    cut.for_each_index(&mut |index| {
        affine &= index.is_affine();
        *index = index.with_axis(both, &position);
    });
    affine.then_some(cut)
}

fn launch(step: &Step) -> Option<(&Kernel, &[BufferId])> {
    match step {
        Step::Launch { kernel, buffers } => Some((kernel, buffers)),
        Step::Loop { .. } | Step::Branch { .. } | Step::Foreign { .. } | Step::Fused { .. } | Step::Joined { .. } => {
            None
        }
    }
}

/// A recurrence whose map is still a row kernel.
struct Growing {
    kernel: Kernel,
    own: Recurrence,
    buffers: Vec<BufferId>,
}

impl Growing {
    fn view(&self) -> Recurrent<'_> {
        Recurrent { kernel: &self.kernel, own: &self.own }
    }

    /// Lets the map take sums from the product instead of from memory: group by group, at its own position.
    fn read_sums(&mut self) -> Option<()> {
        let columns = self.view().columns().clone();
        let at = self.view().position(&(columns.clone() * Dim::from(self.own.groups)));
        let slot = &self.kernel.slots[self.own.sums];
        if !slot.read || slot.write {
            return None;
        }
        let group = |index: &Index| {
            let rest = Index { base: Dim::default(), terms: index.terms.clone() };
            let group = if index.base.is(0) { 0 } else { index.base.exact_div(&columns)?.as_const()? };
            usize::try_from(group).ok().filter(|&group| rest == at && group < self.own.groups)
        };
        for scalar in &mut self.kernel.scalars {
            if let Some(load) = scalar.load().filter(|load| load.slot == self.own.sums) {
                let slot = group(load.index).filter(|_| load.guards.is_empty())?;
                *scalar = Expr::Accumulated { pass: 0, slot, dtype: DType::F32 };
            }
        }
        Some(())
    }

    /// Lets the map store what a copy of a carried tensor before the product stores.
    fn take(&mut self, copy: &Kernel, of_copy: &[BufferId]) -> Option<()> {
        let (copy, starts) = turns::relative(copy);
        let Skeleton::Row { parallel, reduced, passes, stores } = &copy.skeleton else { return None };
        let ([axis], [store], [from, to]) = (parallel.as_slice(), stores.as_slice(), of_copy) else { return None };
        let [Expr::Load { slot: 0, index, guards, .. }] = copy.scalars.as_slice() else { return None };
        let whole = copy.axes[*axis] == self.view().elements() && reduced.is_empty() && passes.is_empty();
        let plain = guards.is_empty() && *index == Index::axis(*axis) && store.index == *index && store.slot == 1;
        let slot = self.buffers.iter().position(|b| b == from).filter(|&slot| self.kernel.slots[slot].write)?;
        let here = self.view().position(self.view().columns());
        let carried = self.own.stores.iter().any(|s| s.slot == slot && s.index == here);
        let still = self.own.starts[slot] == Index::default() && starts[0] == Index::default();
        if !(whole && plain && carried && still) {
            return None;
        }
        let (new, value) = (self.kernel.slots.len(), self.kernel.scalars.len());
        self.own.stores.push(Store { slot: new, index: here.clone(), value });
        let fill = Scalar::of(DType::F32, 0.0);
        self.kernel.scalars.push(Expr::Load { slot, index: here, guards: vec![], fill });
        self.kernel.slots[slot].read = true;
        self.kernel.slots.push(Slot { read: false, write: true, ..copy.slots[1].clone() });
        self.own.starts.push(starts[1].clone());
        self.buffers.push(*to);
        Some(())
    }

    /// The kernel, if all of it holds; `matrix` is the other operand, with its memory.
    fn finish(self, (matrix, memory): (&Slot, BufferId)) -> Option<(Kernel, Vec<BufferId>)> {
        let Growing { mut kernel, mut own, mut buffers } = self;
        own.matrix = kernel.slots.len();
        own.starts.push(Index::default());
        kernel.slots.push(Slot { read: true, write: false, ..matrix.clone() });
        buffers.push(memory);
        // Sums that are not carried are memory for another state.
        kernel.slots[own.sums].read = own.first == Half::Map;
        kernel.slots[own.sums].write = true;
        kernel.slots[own.state].read |= own.first == Half::Product;
        kernel.name = "recurrence".to_owned();
        kernel.schedule = Schedule { vector: Some(own.columns), ..Schedule::default() };
        kernel.skeleton = Skeleton::Recur(Box::new(own));
        let distinct = buffers.iter().enumerate().all(|(at, b)| !buffers[..at].contains(b));
        let holds = Recurrent::of(&kernel).is_some_and(|recurrent| recurrent.holds());
        (distinct && holds).then_some((kernel, buffers))
    }
}
