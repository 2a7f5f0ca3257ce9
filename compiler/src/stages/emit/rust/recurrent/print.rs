//! Recurrences as code.
//!
//! In: a recurrence. Out: its map as a type, and a function that calls the runtime's loop over it. Always: a user's crate
//! compiles the map only; the loop is the runtime's.

use super::super::scalar::Printer;
use super::super::variables::{slot_name, variable};
use super::super::{arith, word};
use super::{Half, Place, Recurrence};
use crate::ir::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Load, Store};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// The function of the recurrence of that number.
pub(in super::super) fn function(number: usize) -> Ident {
    format_ident!("r{number}")
}

/// The map as code, and the function `r0(isa, threads, slots…, matrix, dimensions…, counters around…)`.
pub(in super::super) fn definition(number: usize, own: &Recurrence) -> TokenStream {
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
    let listed = |slot: usize| {
        let Some(Place { base, row, parts }) = own.place(slot) else { unreachable!("what is written has a place") };
        let is_turn = |(atom, _): &(Atom, Dim)| *atom == Atom::Loop(0);
        let (turns, around): (Vec<_>, Vec<_>) = own.starts[slot].terms.iter().cloned().partition(is_turn);
        let turn = turns.first().map_or(quote!(0), |(_, stride)| arith::dim(stride));
        let (data, base, row) = (slot_name(slot), number(&Index { base, terms: around }), arith::dim(&row));
        let parts = Literal::usize_unsuffixed(parts);
        quote!(rt::Series { data: #data, base: #base, row: #row, turn: #turn, parts: #parts })
    };
    let all = own.series();
    let series = all.iter().copied().map(listed);
    let around = own.matrix.index.terms.iter().filter(|(atom, _)| !matches!(atom, Atom::Axis(_))).cloned().collect();
    let base = number(&Index { base: own.matrix.index.base.clone(), terms: around });
    let [column, step] = own.strides.each_ref().map(arith::dim);
    let (state, sums) = (slot_name(own.state), slot_name(own.sums));
    let state = match own.first {
        Half::Product => quote!(rt::State::Carried { state: #state, spare: #sums }),
        Half::Map => {
            let states = listed(own.state);
            let addend = match all.iter().position(|slot| Some(*slot) == own.addend) {
                Some(series) => {
                    let series = Literal::usize_unsuffixed(series);
                    quote!(core::option::Option::Some(#series))
                }
                None => quote!(core::option::Option::None),
            };
            quote!(rt::State::Listed { states: #states, sums: #sums, addend: #addend })
        }
    };
    quote! {
        rt::Recurrence {
            turns: #count, reverse: #reverse, rows: #rows, columns: #columns, groups: #groups, state: #state,
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
        match kernel.scalars[id].load() {
            Some(Load { slot, index, .. }) if slot == own.sums => {
                let Some(group) = own.group(index, &at) else { unreachable!("sums are read group by group") };
                let group = number(group);
                quote!(let #name = tile.sum(s, #group, r, j, at);)
            }
            Some(Load { slot, .. }) if slot == own.state => quote!(let #name = tile.state(s, r, j, at);),
            Some(Load { slot, index, .. }) if series.contains(&slot) => {
                let series = number(series.iter().position(|&s| s == slot).unwrap_or_default());
                let part = number(own.part(slot, index).unwrap_or_default());
                quote!(let #name = tile.old(s, #series, #part, r, j, at);)
            }
            Some(_) | None => printer.define(id),
        }
    });
    let stores = own.stores().iter().map(|store| put(own, store));
    let row = own.rows.map(arith::axis).map(|row| quote!(let #row = area.m + r;));
    let column = arith::axis(own.columns);
    quote! {
        #(#starts)*
        let area = tile.area();
        for r in 0..area.rows {
            #row
            rt::sweep!(S, j, at, area.cols, {
                let #column = area.n + j;
                #(#scalars)*
                #(#stores)*
            });
        }
    }
}

/// A store as code.
fn put(own: &Recurrence, store: &Store) -> TokenStream {
    let value = variable(store.value);
    let part = Literal::usize_unsuffixed(own.part(store.slot, &store.index).unwrap_or_default());
    match own.series().iter().position(|&slot| slot == store.slot) {
        Some(series) => {
            let series = Literal::usize_unsuffixed(series);
            quote!(tile.store(s, #series, #part, r, j, at, #value);)
        }
        None => quote!(tile.next(s, #part, r, j, at, #value);),
    }
}
