//! Loops whose turn is a product with the state and a map of its sums to the next state.
//!
//! In: the body of a loop. Out: whether it is such a recurrence, and then its parts; the call of the runtime's loop over them,
//! with the map as code. Always: the sums are used nowhere else, and their buffer is as large as the state; the map
//! reads the state, and what it writes, only at the position that it writes; the product rounds no operand.

use super::plan::Launched;
use super::scalar::Printer;
use super::variables::{slot_name, variable};
use super::{arith, dims as dims_of, word};
use crate::ir::index::{Atom, Index, is_nonnegative};
use crate::ir::kernel::{BufferId, Expr, Kernel, KernelId, Operand, Skeleton, Slot, Step, Store};
use crate::ir::plan::{Plan, Pool};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Dim};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
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
    /// Slots of the map.
    state: usize,
    sums: usize,
    groups: usize,
    matrix: Operand,
    /// Words from column to column of the product, and from k to k.
    strides: [Dim; 2],
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
                Step::Launch { kernel, .. } => {
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
    let launches: Option<Vec<(KernelId, &[BufferId])>> = body.iter().map(launch).collect();
    let launches = launches?;
    let [copies @ .., (product, of_product), (map, of_map)] = launches.as_slice() else { return None };
    let product = Product::of(&launched.kernels[product.0])?;
    let mut buffers = of_map.to_vec();
    let slot_of = |buffer: BufferId| of_map.iter().position(|b| *b == buffer);
    let map = (&launched.kernels[map.0], &launched.starts[map.0]);
    let Skeleton::Row { parallel, reduced, passes, stores } = &map.0.skeleton else { return None };
    let columns = *parallel.last()?;
    let mut found = Recurrence {
        count: count.clone(),
        reverse,
        map: map.0.clone(),
        starts: map.1.clone(),
        rows: (parallel.len() == 2).then(|| parallel[0]),
        columns,
        state: slot_of(of_product[product.lhs])?,
        sums: slot_of(of_product[product.out])?,
        groups: product.groups(&map.0.axes[columns])?,
        matrix: product.rhs.clone(),
        strides: product.strides.clone(),
    };
    let same_rows = found.rows.map(|axis| &map.0.axes[axis]) == product.rows.as_ref();
    let plain = reduced.is_empty() && passes.is_empty() && parallel.len() <= 2 && same_rows;
    let own = uses(&plan.program.steps, of_product[product.out]) == 2;
    let scratch = plan.places[of_product[product.out].0].pool == Pool::Scratch;
    let state = map.0.slots[found.state].write && stores.iter().any(|s| s.slot == found.state);
    if !(plain && own && scratch && state && found.is_square(&product) && map.0.schedule.vector == Some(columns)) {
        return None;
    }
    for (copy, of_copy) in copies {
        let copy = (&launched.kernels[copy.0], launched.starts[copy.0].as_slice());
        found.take(copy, of_copy, &mut buffers)?;
    }
    buffers.push(of_product[product.matrix]);
    let distinct = buffers.iter().enumerate().all(|(at, b)| !buffers[..at].contains(b));
    (distinct && found.holds()).then_some((found, buffers))
}

fn launch(step: &Step<KernelId>) -> Option<(KernelId, &[BufferId])> {
    match step {
        Step::Launch { kernel, buffers } => Some((*kernel, buffers)),
        Step::Loop { .. } | Step::Branch { .. } | Step::Foreign { .. } => None,
    }
}

/// How often steps use a buffer.
fn uses(steps: &[Step<KernelId>], buffer: BufferId) -> usize {
    let used = |step: &Step<KernelId>| match step {
        Step::Launch { buffers, .. } => usize::from(buffers.contains(&buffer)),
        Step::Loop { body, .. } => uses(body, buffer),
        Step::Branch { selector, cases } => {
            usize::from(*selector == buffer) + cases.iter().map(|case| uses(case, buffer)).sum::<usize>()
        }
        Step::Foreign { args, results, .. } => args.iter().chain(results).filter(|(b, _)| *b == buffer).count(),
    };
    steps.iter().map(used).sum()
}

/// A product of two matrices whose sums are stored as they are, row-major. Slots and axes are those of its kernel.
struct Product<'a> {
    lhs: usize,
    out: usize,
    matrix: usize,
    rhs: &'a Operand,
    rows: Option<Dim>,
    columns: &'a Dim,
    depth: &'a Dim,
    strides: [Dim; 2],
}

impl<'a> Product<'a> {
    fn of(kernel: &'a Kernel) -> Option<Product<'a>> {
        let Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } = &kernel.skeleton else { return None };
        let ([n], [k], [store]) = (n.as_slice(), k.as_slice(), stores.as_slice()) else { return None };
        let (columns, depth) = (&kernel.axes[*n], &kernel.axes[*k]);
        let at = |inner: usize, width: &Dim| match m.as_slice() {
            [] => Some(Index::axis(inner)),
            [m] => Some(Index::axis(inner).plus(&Index::axis(*m).times(width))),
            _ => None,
        };
        let is_sum = matches!(kernel.scalars[store.value], Expr::Accumulated { .. });
        let still = |atom: &Atom| !matches!(atom, Atom::Loop(0) | Atom::Value(_));
        // Rounded operands have kernels of their own.
        let whole = kernel.schedule.narrow.is_none() && rhs.index.is_affine();
        let plain = batch.is_empty() && lhs.windows.is_empty() && rhs.windows.is_empty() && whole;
        let strides = [rhs.index.stride(*n)?, rhs.index.stride(*k)?];
        let fits = lhs.index == at(*k, depth)?
            && store.index == at(*n, columns)?
            && !rhs.index.any(&|atom| !still(atom))
            && strides.iter().all(is_nonnegative);
        (plain && is_sum && fits).then(|| Product {
            lhs: lhs.slot,
            out: store.slot,
            matrix: rhs.slot,
            rhs,
            rows: m.first().map(|m| kernel.axes[*m].clone()),
            columns,
            depth,
            strides,
        })
    }

    /// How many sums there are for each of `columns` columns of the state.
    fn groups(&self, columns: &Dim) -> Option<usize> {
        let groups = self.columns.exact_div(columns)?.as_const()?;
        usize::try_from(groups).ok().filter(|&groups| groups > 0 && self.depth == columns)
    }
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
            && self.map.slots[self.state].len == self.elements()
            && self.map.scalars.iter().all(|scalar| match scalar {
                Expr::Load { slot, index, guards, .. } if *slot == self.sums => {
                    guards.is_empty() && self.group(index, &at).is_some()
                }
                Expr::Load { .. }
                | Expr::Const(_)
                | Expr::Extent(_)
                | Expr::Index(_)
                | Expr::Inside(_)
                | Expr::Map(..)
                | Expr::Convert(..)
                | Expr::Accumulated { .. } => true,
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

    /// The store of a slot: where row and column 0 are, and words from row to row.
    fn place(&self, slot: usize) -> Option<(Dim, Dim)> {
        let mut stores = self.stores().iter().filter(|s| s.slot == slot);
        let (Some(store), None) = (stores.next(), stores.next()) else { return None };
        let columns = &self.map.axes[self.columns];
        let row = self.rows.map_or(Some(columns.clone()), |rows| store.index.stride(rows))?;
        let apart = is_nonnegative(&(row.clone() - columns.clone()));
        let place = self.position(&row).offset(store.index.base.clone());
        (apart && place == store.index).then(|| (store.index.base.clone(), row))
    }

    /// Whether everything that is written is written once, row by row, and read nowhere else.
    fn holds(&self) -> bool {
        let written = |slot: usize| {
            let place = self.place(slot)?;
            let own = self.position(&place.1).offset(place.0.clone());
            let elsewhere = |scalar: &Expr| match scalar {
                Expr::Load { slot: other, index, guards, .. } => {
                    *other == slot && (*index != own || !guards.is_empty())
                }
                Expr::Const(_)
                | Expr::Extent(_)
                | Expr::Index(_)
                | Expr::Inside(_)
                | Expr::Map(..)
                | Expr::Convert(..)
                | Expr::Accumulated { .. } => false,
            };
            let float = self.map.slots[slot].dtype == DType::F32;
            (float && !self.map.scalars.iter().any(elsewhere)).then_some(place)
        };
        let state = (Dim::default(), self.map.axes[self.columns].clone());
        let still = self.starts[self.state] == Index::default() && self.starts[self.sums] == Index::default();
        let series = self.series();
        still
            && written(self.state) == Some(state)
            && series.len() <= 16
            && series.into_iter().all(|s| written(s).is_some())
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

/// The function of the recurrence of that number.
pub(super) fn function(number: usize) -> Ident {
    format_ident!("r{number}")
}

/// The map as code, and the function `r0(isa, threads, slots…, matrix, dimensions…, counters around…)`.
pub(super) fn definition(number: usize, own: &Recurrence) -> TokenStream {
    let (name, function) = (format_ident!("R{number}_"), function(number));
    let dims: Vec<TokenStream> = own.dims().iter().map(|n| arith::name(n)).map(|n| quote!(#n)).collect();
    let around: Vec<Ident> = (1..own.counters()).map(arith::counter).collect();
    let slots = || own.map.slots.iter().enumerate();
    let is_read = |slot: usize| !own.map.slots[slot].write && slot != own.sums;
    let (fields, values): (Vec<_>, Vec<_>) = slots()
        .filter(|(slot, _)| is_read(*slot))
        .map(|(slot, s)| {
            let (name, word) = (slot_name(slot), word(s.dtype));
            (quote!(#name: &'a [#word]), quote!(#name))
        })
        .unzip();
    let parameters = slots().map(|(slot, s)| {
        let (name, word) = (slot_name(slot), word(s.dtype));
        if is_read(slot) { quote!(#name: &[#word]) } else { quote!(#name: &mut [#word]) }
    });
    let body = map(own);
    let work = work(own);
    quote! {
        struct #name<'a> { #(#fields,)* #(#dims: usize,)* #(#around: usize,)* lifetime: core::marker::PhantomData<&'a ()> }
        impl rt::Cell for #name<'_> {
            #[inline(always)]
            fn apply<S: rt::Simd>(&self, s: S, l0: usize, tile: &mut rt::Cells<'_>) {
                let Self { #(#values,)* #(#dims,)* #(#around,)* .. } = *self;
                #body
            }
        }
        fn #function(isa: rt::Isa, threads: usize, #(#parameters,)* matrix: &[f32], #(#dims: usize,)* #(#around: usize,)*) {
            let map = #name { #(#values,)* #(#dims,)* #(#around,)* lifetime: core::marker::PhantomData };
            rt::recur(isa, threads, #work, &map);
        }
    }
}

/// An index that reads no scalars, as `usize`.
fn number(index: &Index) -> TokenStream {
    arith::index(index, &|_| unreachable!("such an index loads nothing"))
}

/// The numbers of the loop.
fn work(own: &Recurrence) -> TokenStream {
    let rows = own.rows.map_or(quote!(1), |rows| arith::dim(&own.map.axes[rows]));
    let (columns, groups) = (arith::dim(&own.map.axes[own.columns]), Literal::usize_unsuffixed(own.groups));
    let (count, reverse) = (arith::dim(&own.count), own.reverse);
    let series = own.series().into_iter().map(|slot| {
        let Some((base, row)) = own.place(slot) else { unreachable!("every series has a place") };
        let is_turn = |(atom, _): &(Atom, Dim)| *atom == Atom::Loop(0);
        let (turns, around): (Vec<_>, Vec<_>) = own.starts[slot].terms.iter().cloned().partition(is_turn);
        let turn = turns.first().map_or(quote!(0), |(_, stride)| arith::dim(stride));
        let (data, base, row) = (slot_name(slot), number(&Index { base, terms: around }), arith::dim(&row));
        quote!(rt::Series { data: #data, base: #base, row: #row, turn: #turn })
    });
    let around = own.matrix.index.terms.iter().filter(|(atom, _)| !matches!(atom, Atom::Axis(_))).cloned().collect();
    let base = number(&Index { base: own.matrix.index.base.clone(), terms: around });
    let [column, step] = own.strides.each_ref().map(arith::dim);
    let (state, spare) = (slot_name(own.state), slot_name(own.sums));
    quote! {
        rt::Recurrence {
            turns: #count, reverse: #reverse, rows: #rows, columns: #columns, groups: #groups, state: #state, spare: #spare,
            matrix: rt::Matrix { data: matrix, base: #base, column: #column, step: #step },
            series: &mut [#(#series),*],
        }
    }
}

/// The loops over a tile of sums.
fn map(own: &Recurrence) -> TokenStream {
    let kernel = &own.map;
    let printer = Printer::new(kernel, Some(own.columns));
    let series = own.series();
    let starts =
        (0..kernel.slots.len()).filter(|&slot| !kernel.slots[slot].write && own.starts[slot] != Index::default());
    let starts = starts.map(|slot| {
        let (name, start) = (slot_name(slot), number(&own.starts[slot]));
        quote!(let #name = &#name[#start..];)
    });
    // The sums of all groups of a row follow each other.
    let at = own.position(&(kernel.axes[own.columns].clone() * Dim::from(own.groups)));
    let scalars = (0..kernel.scalars.len()).map(|id| {
        let name = variable(id);
        let number = Literal::usize_unsuffixed;
        match &kernel.scalars[id] {
            Expr::Load { slot, index, .. } if *slot == own.sums => {
                let Some(group) = own.group(index, &at) else { unreachable!("sums are read group by group") };
                let group = number(group);
                quote!(let #name = tile.sum(s, #group, r, j, at);)
            }
            Expr::Load { slot, .. } if *slot == own.state => quote!(let #name = tile.state(s, r, j, at);),
            Expr::Load { slot, .. } if series.contains(slot) => {
                let series = number(series.iter().position(|s| s == slot).unwrap_or_default());
                quote!(let #name = tile.old(s, #series, r, j, at);)
            }
            Expr::Load { .. }
            | Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Index(_)
            | Expr::Inside(_)
            | Expr::Map(..)
            | Expr::Convert(..)
            | Expr::Accumulated { .. } => printer.define(id),
        }
    });
    let stores = own.stores().iter().map(|store| {
        let value = variable(store.value);
        match series.iter().position(|&slot| slot == store.slot) {
            Some(series) => {
                let series = Literal::usize_unsuffixed(series);
                quote!(tile.store(s, #series, r, j, at, #value);)
            }
            None => quote!(tile.next(s, r, j, at, #value);),
        }
    });
    let row = own.rows.map(arith::axis).map(|row| quote!(let #row = tile.m + r;));
    let column = arith::axis(own.columns);
    quote! {
        #(#starts)*
        for r in 0..tile.rows {
            #row
            rt::sweep!(S, j, at, tile.cols, {
                let #column = tile.n + j;
                #(#scalars)*
                #(#stores)*
            });
        }
    }
}
