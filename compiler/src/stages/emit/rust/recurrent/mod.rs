//! Loops whose turn is a product with a state and a map of its sums to the next state, or the other way round.
//!
//! In: the body of a loop. Out: whether it is such a recurrence, and then its parts; the call of the runtime's loop over them,
//! with the map as code. Always: no other step of the turn uses the sums; the map reads the state, and what it writes, only at the
//! position that it writes; the product rounds no operand.

mod print;
mod product;

use super::dims as dims_of;
use super::plan::Launched;
use crate::ir::index::{Atom, Index, is_nonnegative};
use crate::ir::kernel::{BufferId, Expr, Kernel, KernelId, Load, Operand, Skeleton, Slot, Step, Store};
use crate::ir::limits::SERIES_OF_A_RECURRENCE;
use crate::ir::plan::{Plan, Pool};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Dim};
pub(super) use print::{definition, function};
use product::Product;
use std::collections::BTreeSet;

/// A recurrence, but for its buffers.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Recurrence {
    count: Dim,
    reverse: bool,
    /// The map, which also stores what copies before the product would.
    map: Kernel,
    /// What a turn adds to the start of each slot of the map.
    starts: Vec<Index>,
    /// The axes of the map: rows, if there is more than one, and columns.
    rows: Option<usize>,
    columns: usize,
    first: Half,
    /// Slots of the map: what the product reads, and what it stores.
    state: usize,
    sums: usize,
    /// How many times its columns the sums and the state have.
    groups: usize,
    parts: usize,
    /// The slot of the map that is added to the sums of the turn before.
    addend: Option<usize>,
    matrix: Operand,
    /// Words from column to column of the product, and from k to k.
    strides: [Dim; 2],
}

/// Where a slot is written: where row and column 0 are, words from row to row, and neighbours of as many columns as the map.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    base: Dim,
    row: Dim,
    parts: usize,
}

/// What a turn begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Half {
    /// The state is carried.
    Product,
    /// The sums are carried, and the states of all turns are kept.
    Map,
}

impl Half {
    /// Whether nothing but the two halves uses the sums: anywhere, where they are not carried.
    fn has(self, sums: BufferId, body: &[Step<KernelId>], plan: &Plan) -> bool {
        match self {
            Half::Product => plan.places[sums.0].pool == Pool::Scratch && uses(&plan.program.steps, sums) == 2,
            Half::Map => uses(body, sums) == 2,
        }
    }
}

/// The loops that are recurrences, each once, and the kernels that are launched outside of them.
pub(super) fn all(plans: &[Plan], launched: &Launched<'_>) -> (Vec<Recurrence>, BTreeSet<KernelId>) {
    fn collect(
        steps: &[Step<KernelId>],
        plan: &Plan,
        launched: &Launched<'_>,
        (found, alone): (&mut Vec<Recurrence>, &mut BTreeSet<KernelId>),
    ) {
        for step in steps {
            match step {
                Step::Launch { kernel, .. } | Step::Fused { kernel, .. } => {
                    alone.insert(*kernel);
                }
                Step::Loop { count, reverse, body } => match find((count, *reverse, body), plan, launched) {
                    Some((own, _)) if found.contains(&own) => {}
                    Some((own, _)) => found.push(own),
                    None => collect(body, plan, launched, (&mut *found, &mut *alone)),
                },
                Step::Branch { cases, .. } => {
                    cases.iter().for_each(|case| collect(case, plan, launched, (&mut *found, &mut *alone)));
                }
                Step::Foreign { .. } => {}
            }
        }
    }
    let (mut found, mut alone) = (vec![], BTreeSet::new());
    plans.iter().for_each(|plan| collect(&plan.program.steps, plan, launched, (&mut found, &mut alone)));
    (found, alone)
}

/// The recurrence of a loop, and the buffers of the map's slots and of the matrix.
pub(super) fn find(
    (count, reverse, body): (&Dim, bool, &[Step<KernelId>]),
    plan: &Plan,
    launched: &Launched<'_>,
) -> Option<(Recurrence, Vec<BufferId>)> {
    let launches = body.iter().map(launch).collect::<Option<Vec<(KernelId, &[BufferId])>>>()?;
    let is_product =
        |launch: &(KernelId, &[BufferId])| matches!(launched.kernels[launch.0.0].skeleton, Skeleton::Contract { .. });
    let (first, copies, (product, of_product), (map, of_map)) = match launches.as_slice() {
        [map, product] if is_product(product) => (Half::Map, [].as_slice(), product, map),
        [copies @ .., product, map] if is_product(product) => (Half::Product, copies, product, map),
        _ => return None,
    };
    let product = Product::of(&launched.kernels[product.0])?;
    let slot_of = |buffer: BufferId| of_map.iter().position(|b| *b == buffer);
    let starts = launched.starts[map.0].clone();
    let (map, rows, columns) = axes(&launched.kernels[map.0], &product)?;
    let [groups, parts] = product.times(&map.axes[columns])?;
    let addend = match product.addend {
        Some(slot) => Some(slot_of(of_product[slot])?),
        None => None,
    };
    let (state, sums) = (slot_of(of_product[product.lhs])?, slot_of(of_product[product.out])?);
    let (matrix, strides) = (product.rhs.clone(), product.strides.clone());
    let count = count.clone();
    let mut found = Recurrence {
        count,
        reverse,
        map,
        starts,
        rows,
        columns,
        first,
        state,
        sums,
        groups,
        parts,
        addend,
        matrix,
        strides,
    };
    if !(first.has(of_product[product.out], body, plan)
        && found.starts[state] == product.start
        && found.is_square(&product))
    {
        return None;
    }
    let mut buffers = of_map.to_vec();
    for (copy, of_copy) in copies {
        let copy = (&launched.kernels[copy.0], launched.starts[copy.0].as_slice());
        found.take(copy, of_copy, &mut buffers)?;
    }
    buffers.push(of_product[product.matrix]);
    let distinct = buffers.iter().enumerate().all(|(at, b)| !buffers[..at].contains(b));
    (distinct && found.holds()).then_some((found, buffers))
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
    let mut affine = true;
    cut.for_each_index(&mut |index| {
        affine &= index.is_affine();
        *index = index.map(&mut |atom| match atom {
            Atom::Axis(axis) if *axis == both => Index::axis(both).times(&columns).plus(&Index::axis(inner)),
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
    });
    let Skeleton::Row { parallel, .. } = &mut cut.skeleton else { return None };
    parallel.push(inner);
    cut.schedule.vector = Some(inner);
    affine.then_some(cut)
}

fn launch(step: &Step<KernelId>) -> Option<(KernelId, &[BufferId])> {
    match step {
        Step::Launch { kernel, buffers } => Some((*kernel, buffers)),
        Step::Loop { .. } | Step::Branch { .. } | Step::Foreign { .. } | Step::Fused { .. } => None,
    }
}

/// How often steps use a buffer.
fn uses(steps: &[Step<KernelId>], buffer: BufferId) -> usize {
    let used = |step: &Step<KernelId>| {
        let inside: usize = step.bodies().into_iter().map(|body| uses(body, buffer)).sum();
        usize::from(step.buffers().contains(&buffer)) + inside
    };
    steps.iter().map(used).sum()
}

impl Recurrence {
    /// The position in a row-major tensor of the state's shape.
    fn position(&self, width: &Dim) -> Index {
        let column = Index::axis(self.columns);
        match self.rows {
            Some(rows) => column.plus(&Index::axis(rows).times(width)),
            None => column,
        }
    }

    /// Elements of the state.
    fn elements(&self) -> Dim {
        let columns = self.map.axes[self.columns].clone();
        self.rows.map_or(columns.clone(), |rows| self.map.axes[rows].clone() * columns)
    }

    /// Whether the sums are read group by group at the position of the state.
    fn is_square(&self, product: &Product<'_>) -> bool {
        let at = self.position(product.columns);
        self.map.slots[self.sums].read
            && !self.map.slots[self.sums].write
            && (self.first == Half::Map || self.map.slots[self.state].len == self.elements())
            && self.map.scalars.iter().filter_map(Expr::load).all(|Load { slot, index, guards }| {
                slot != self.sums || (guards.is_empty() && self.group(index, &at).is_some())
            })
    }

    /// The group of sums of which `index` reads the element at `at`.
    fn group(&self, index: &Index, at: &Index) -> Option<usize> {
        let columns = &self.map.axes[self.columns];
        let rest = Index { base: Dim::default(), terms: index.terms.clone() };
        let group = if index.base.is(0) { 0 } else { index.base.exact_div(columns)?.as_const()? };
        usize::try_from(group).ok().filter(|&group| rest == *at && group < self.groups)
    }

    /// Lets the map store what a copy of a carried tensor before the product stores.
    fn take(
        &mut self,
        (copy, starts): (&Kernel, &[Index]),
        of_copy: &[BufferId],
        buffers: &mut Vec<BufferId>,
    ) -> Option<()> {
        let Skeleton::Row { parallel, reduced, passes, stores } = &copy.skeleton else { return None };
        let ([axis], [store], [from, to]) = (parallel.as_slice(), stores.as_slice(), of_copy) else { return None };
        let [Expr::Load { slot: 0, index, guards, .. }] = copy.scalars.as_slice() else { return None };
        let whole = copy.axes[*axis] == self.elements() && reduced.is_empty() && passes.is_empty();
        let plain = guards.is_empty() && *index == Index::axis(*axis) && store.index == *index && store.slot == 1;
        let slot = buffers.iter().position(|b| b == from).filter(|&slot| self.map.slots[slot].write)?;
        let here = self.position(&self.map.axes[self.columns]);
        let Skeleton::Row { stores, .. } = &mut self.map.skeleton else { return None };
        let carried = stores.iter().any(|s| s.slot == slot && s.index == here) && self.starts[slot] == Index::default();
        if !(whole && plain && carried && starts[0] == Index::default()) {
            return None;
        }
        stores.push(Store { slot: self.map.slots.len(), index: here.clone(), value: self.map.scalars.len() });
        let fill = Scalar::of(DType::F32, 0.0);
        self.map.scalars.push(Expr::Load { slot, index: here, guards: vec![], fill });
        self.map.slots[slot].read = true;
        self.map.slots.push(Slot { read: false, write: true, ..copy.slots[1].clone() });
        self.starts.push(starts[1].clone());
        buffers.push(*to);
        Some(())
    }

    /// The slots that the map writes beside the state.
    fn series(&self) -> Vec<usize> {
        (0..self.map.slots.len()).filter(|&slot| self.map.slots[slot].write && slot != self.state).collect()
    }

    fn stores(&self) -> &[Store] {
        match &self.map.skeleton {
            Skeleton::Row { stores, .. } => stores,
            Skeleton::Contract { .. } | Skeleton::Scatter { .. } | Skeleton::Attend(_) => &[],
        }
    }

    /// Where a slot is written, if its stores are the parts of one row.
    fn place(&self, slot: usize) -> Option<Place> {
        let stores: Vec<&Store> = self.stores().iter().filter(|s| s.slot == slot).collect();
        let columns = &self.map.axes[self.columns];
        let row = self
            .rows
            .map_or(Some(columns.clone() * Dim::from(stores.len())), |rows| stores.first()?.index.stride(rows))?;
        let apart = is_nonnegative(&(row.clone() - columns.clone() * Dim::from(stores.len())));
        let places =
            stores.iter().map(|store| Place { base: store.index.base.clone(), row: row.clone(), parts: stores.len() });
        let is_first = |place: &Place| {
            (0..place.parts).all(|part| {
                let at = self.at(place, part);
                stores.iter().any(|store| store.index == at)
            })
        };
        places.into_iter().find(is_first).filter(|_| apart)
    }

    /// The position of a part of a slot that is written.
    fn at(&self, place: &Place, part: usize) -> Index {
        let columns = self.map.axes[self.columns].clone();
        self.position(&place.row).offset(place.base.clone() + columns * Dim::from(part))
    }

    /// The part of a slot that an index is.
    fn part(&self, slot: usize, index: &Index) -> Option<usize> {
        let place = self.place(slot)?;
        (0..place.parts).find(|&part| *index == self.at(&place, part))
    }

    /// Whether everything that is written is written once, row by row, and read nowhere else.
    fn holds(&self) -> bool {
        let written = |slot: usize| {
            let elsewhere = |load: Load<'_>| {
                load.slot == slot && (self.part(slot, load.index).is_none() || !load.guards.is_empty())
            };
            let float = self.map.slots[slot].dtype == DType::F32;
            self.place(slot).filter(|_| float && !self.map.scalars.iter().filter_map(Expr::load).any(elsewhere))
        };
        let whole = |slot: usize, parts: usize| {
            let row = self.map.axes[self.columns].clone() * Dim::from(parts);
            written(slot) == Some(Place { base: Dim::default(), row, parts })
        };
        let still = |slot: usize| self.starts[slot] == Index::default();
        let series = self.series();
        let carried = match self.first {
            Half::Product => still(self.state) && self.parts == 1 && self.addend.is_none(),
            Half::Map => !self.map.slots[self.state].read,
        };
        let added = |slot: usize| series.contains(&slot) && self.groups == 1 && still(slot) && whole(slot, 1);
        carried
            && whole(self.state, self.parts)
            && still(self.sums)
            && self.addend.is_none_or(added)
            && series.len() <= SERIES_OF_A_RECURRENCE
            && series.iter().all(|&slot| written(slot).is_some())
    }

    /// The type of each slot, and whether it is written: the sums' is memory for another state.
    pub(super) fn slots(&self) -> impl Iterator<Item = (DType, bool)> + '_ {
        self.map.slots.iter().enumerate().map(|(number, slot)| (slot.dtype, slot.write || number == self.sums))
    }

    /// The named dimensions that it needs.
    pub(super) fn dims(&self) -> Vec<String> {
        let mut kernel = self.map.clone();
        let starts =
            self.starts.iter().chain([&self.matrix.index]).flat_map(|index| index.terms.iter().map(|(_, c)| c));
        let lens = [self.count.clone(), self.matrix.index.base.clone()];
        kernel.axes.extend(starts.chain(&self.strides).chain(&lens).cloned());
        dims_of(&kernel)
    }

    /// How many counters of loops around it there are in it, its own among them.
    pub(super) fn counters(&self) -> usize {
        let mut kernel = self.map.clone();
        let Skeleton::Row { stores, .. } = &mut kernel.skeleton else { return 1 };
        let indices = self.starts.iter().chain([&self.matrix.index]);
        stores.extend(indices.map(|index| Store { slot: self.state, index: index.clone(), value: 0 }));
        super::counters(&kernel).max(1)
    }
}
