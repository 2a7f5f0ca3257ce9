//! Recurrences as code.
//!
//! In: a recurrence. Out: its map as a type, and the call of the runtime's loop over it. Always: a user's crate compiles the map
//! only; the loop is the runtime's.

use super::scalar::Printer;
use super::variables::{slot_name, variable};
use super::{arith, element};
use crate::ir::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Load, Store};
use crate::ir::recurrence::{Half, Place, Recurrent};
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

/// The map of a recurrence as a type, and the call; `around` are the counters of the loops around it.
pub(super) fn parts(
    kernel: &Kernel,
    number: usize,
    dims: &[TokenStream],
    around: &[TokenStream],
) -> (TokenStream, TokenStream) {
    let Some(recurrent) = Recurrent::of(kernel) else { unreachable!("printed for recurrences only") };
    let name = format_ident!("R{number}_");
    let read = kernel.slots.iter().enumerate().filter(|(slot, s)| !s.write && *slot != recurrent.own.matrix);
    let (fields, values): (Vec<_>, Vec<_>) = read
        .map(|(slot, s)| {
            let (name, element) = (slot_name(slot), element(s.dtype));
            (quote!(#name: &'a [#element]), quote!(#name))
        })
        .unzip();
    let (body, work) = (map(recurrent), work(recurrent));
    let definition = quote! {
        struct #name<'a> { #(#fields,)* #(#dims: usize,)* #(#around: usize,)* lifetime: core::marker::PhantomData<&'a ()> }
        impl rt::Cell for #name<'_> {
            #[inline(always)]
            fn apply<S: rt::Simd>(&self, s: S, l0: usize, tile: &mut rt::Cells<'_>) {
                let Self { #(#values,)* #(#dims,)* #(#around,)* .. } = *self;
                #body
            }
        }
    };
    let call = quote! {
        let map = #name { #(#values,)* #(#dims,)* #(#around,)* lifetime: core::marker::PhantomData };
        rt::recur(isa, threads, #work, &map);
    };
    (definition, call)
}

/// An index that reads no scalars, as `usize`.
fn number(index: &Index) -> TokenStream {
    arith::index(index, &|_| unreachable!("such an index loads nothing"))
}

/// The numbers of the loop.
fn work(recurrent: Recurrent<'_>) -> TokenStream {
    let own = recurrent.own;
    let rows = own.rows.map_or(quote!(1), |rows| arith::dim(&recurrent.kernel.axes[rows]));
    let (columns, groups) = (arith::dim(recurrent.columns()), Literal::usize_unsuffixed(own.groups));
    let (count, reverse) = (arith::dim(&own.count), own.reverse);
    let listed = |slot: usize| {
        let Some(Place { base, row, parts }) = recurrent.place(slot) else {
            unreachable!("what is written has a place")
        };
        let is_turn = |(atom, _): &(Atom, Dim)| *atom == Atom::Loop(0);
        let (turns, around): (Vec<_>, Vec<_>) = own.starts[slot].terms.iter().cloned().partition(is_turn);
        let turn = turns.first().map_or(quote!(0), |(_, stride)| arith::dim(stride));
        let (data, base, row) = (slot_name(slot), number(&Index { base, terms: around }), arith::dim(&row));
        let parts = Literal::usize_unsuffixed(parts);
        quote!(rt::Series { data: #data, base: #base, row: #row, turn: #turn, parts: #parts })
    };
    let all = recurrent.series();
    let series = all.iter().copied().map(listed);
    let (matrix, base) = (slot_name(own.matrix), number(&own.start));
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
            matrix: rt::Matrix { data: #matrix, base: #base, column: #column, step: #step },
            series: &mut [#(#series),*],
        }
    }
}

/// The loops over a tile of sums.
fn map(recurrent: Recurrent<'_>) -> TokenStream {
    let Recurrent { kernel, own } = recurrent;
    let printer = Printer::new(kernel, Some(own.columns));
    let series = recurrent.series();
    let starts =
        (0..kernel.slots.len()).filter(|&slot| !kernel.slots[slot].write && own.starts[slot] != Index::default());
    let starts = starts.map(|slot| {
        let (name, start) = (slot_name(slot), number(&own.starts[slot]));
        quote!(let #name = &#name[#start..];)
    });
    let scalars = (0..kernel.scalars.len()).map(|id| {
        let name = variable(id);
        let number = Literal::usize_unsuffixed;
        if let Expr::Accumulated { slot: group, .. } = kernel.scalars[id] {
            let group = number(group);
            return quote!(let #name = tile.sum(s, #group, r, j, at););
        }
        match kernel.scalars[id].load() {
            Some(Load { slot, .. }) if slot == own.state => quote!(let #name = tile.state(s, r, j, at);),
            Some(Load { slot, index, .. }) if series.contains(&slot) => {
                let series = number(series.iter().position(|&s| s == slot).unwrap_or_default());
                let part = number(recurrent.part(slot, index).unwrap_or_default());
                quote!(let #name = tile.old(s, #series, #part, r, j, at);)
            }
            Some(_) | None => printer.define(id),
        }
    });
    let stores = own.stores.iter().map(|store| put(recurrent, store));
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
fn put(recurrent: Recurrent<'_>, store: &Store) -> TokenStream {
    let value = variable(store.value);
    let part = Literal::usize_unsuffixed(recurrent.part(store.slot, &store.index).unwrap_or_default());
    match recurrent.series().iter().position(|&slot| slot == store.slot) {
        Some(series) => {
            let series = Literal::usize_unsuffixed(series);
            quote!(tile.store(s, #series, #part, r, j, at, #value);)
        }
        None => quote!(tile.next(s, #part, r, j, at, #value);),
    }
}
