//! Scatters: zeros, then one source after the other is added where its index says.
//!
//! In: a scatter kernel. Out: its loops. Always: sources are added in their order, and of its slot a scatter writes only the
//! elements that are its own, because a slot may be a stack of which each turn of a loop writes a slice.

use super::arith;
use super::scalar::Printer;
use super::variables::{slot_name, suffix_of_lanes, variable};
use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{ExprId, Kernel, Skeleton, Store};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

/// The body of a scatter kernel, over the slices of its slots.
pub(super) fn body(kernel: &Kernel) -> TokenStream {
    let Skeleton::Scatter { outer, target, source, inner, index, store } = &kernel.skeleton else {
        unreachable!("printed for scatter kernels only")
    };
    let printer = Printer::new(kernel, kernel.schedule.vector);
    let definitions =
        |ids: &mut dyn Iterator<Item = ExprId>| -> TokenStream { ids.map(|id| printer.define(id)).collect() };
    // The index varies with the sources only, so what it needs is computed outside of the inner loops.
    let mut early = vec![false; kernel.scalars.len()];
    early[*index] = true;
    for id in (0..early.len()).rev() {
        if early[id] {
            kernel.scalars[id].operands(&mut |o| early[o] = true);
        }
    }
    let (before, after) = (
        definitions(&mut (0..early.len()).filter(|&id| early[id])),
        definitions(&mut (0..early.len()).filter(|&id| !early[id])),
    );
    let data = slot_name(store.slot);
    let (value, position) = (variable(store.value), variable(*index));
    let at_target = arith::axis(*target);
    let extent = arith::dim(&kernel.axes[*target]);
    let place = arith::index(&store.index, &|_| unreachable!("scatters store at affine places"));
    let float = printer.dtype(store.value).is_float();
    let named = |method: &str| format_ident!("{method}_{}", suffix_of_lanes(printer.dtype(store.value)));
    let (load, put, sum, only) = (named("load"), named("store"), named("add"), named("reduce_max"));
    let add = match kernel.schedule.vector {
        Some(_) => quote!({
            let old = s.#load(#data, #place, at);
            s.#put(#data, #place, at, s.#sum(old, #value));
        }),
        None if float => quote!(#data[#place] += s.#only(#value);),
        None => quote!(#data[#place] = #data[#place].wrapping_add(s.#only(#value));),
    };
    let loops = |axes: &[usize], body: TokenStream| {
        axes.iter().rev().fold(body, |body, &axis| {
            let (name, extent) = (arith::axis(axis), arith::dim(&kernel.axes[axis]));
            match kernel.schedule.vector == Some(axis) {
                true => quote!(rt::sweep!(S, #name, at, #extent, { #body });),
                false => quote!(for #name in 0..#extent { #body }),
            }
        })
    };
    let added = loops(inner, quote!(#after #add));
    let one = quote! {
        let at = rt::Part::new(1);
        #before
        let #at_target = s.reduce_max_u(#position) as usize;
        if #at_target < #extent { #added }
    };
    let all = loops(outer, loops(source, one));
    let zero = if float { quote!(0.0) } else { quote!(0) };
    let zeros = zeros(kernel, &[&outer[..], &[*target], inner].concat(), store, &zero);
    quote!(#zeros #all)
}

/// Zeros in the elements that a scatter adds to, and nowhere else: its slot may be a stack, or hold other parts.
fn zeros(kernel: &Kernel, axes: &[usize], store: &Store, zero: &TokenStream) -> TokenStream {
    let (mut around, mut count) = (axes, Dim::from(1));
    while let Some((&last, rest)) = around.split_last()
        && (kernel.axes[last].is(1) || store.index.stride(last).as_ref() == Some(&count))
    {
        (around, count) = (rest, count * kernel.axes[last].clone());
    }
    let filled = &axes[around.len()..];
    let is_filled = |atom: &Atom| filled.iter().any(|axis| *atom == Atom::Axis(*axis));
    let terms = store.index.terms.iter().filter(|(atom, _)| !is_filled(atom)).cloned().collect();
    let first = Index { base: store.index.base.clone(), terms };
    let first = arith::index(&first, &|_| unreachable!("scatters store at affine places"));
    let (data, count) = (slot_name(store.slot), arith::dim(&count));
    let fill = quote!(#data[#first..][..#count].fill(#zero););
    around.iter().rev().fold(fill, |body, &axis| {
        let (name, extent) = (arith::axis(axis), arith::dim(&kernel.axes[axis]));
        quote!(for #name in 0..#extent { #body })
    })
}
