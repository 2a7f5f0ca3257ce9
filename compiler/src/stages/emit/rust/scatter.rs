//! Scatters: zeros, then one source after the other is added where its index says.
//!
//! In: a scatter kernel. Out: its loops. Always: sources are added in their order, and of its slot a scatter writes only the
//! elements that are its own, because a slot may be a stack of which each turn of a loop writes a slice. One element may get
//! any number of sources: where there are many, what each addition loses is kept beside it, and the next one makes up for it.

use super::arith;
use super::scalar::Printer;
use super::variables::{slot_name, suffix_of_lanes, variable};
use crate::ir::dim::{Dim, product};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{ExprId, Kernel, Skeleton, Store};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// The body of a scatter kernel, over the slices of its slots.
pub(super) fn body(kernel: &Kernel) -> TokenStream {
    let Skeleton::Scatter { outer, target, source, inner, index, store } = &kernel.skeleton else {
        unreachable!("printed for scatter kernels only")
    };
    let printer = Printer::new(kernel, kernel.schedule.vector);
    let (before, after) = definitions(&printer, *index);
    let position = variable(*index);
    let at_target = arith::axis(*target);
    let extent = arith::dim(&kernel.axes[*target]);
    let adding = Adding::new(&printer, store);
    let loops = |axes: &[usize], body: TokenStream| {
        axes.iter().rev().fold(body, |body, &axis| {
            let (name, extent) = (arith::axis(axis), arith::dim(&kernel.axes[axis]));
            match kernel.schedule.vector == Some(axis) {
                true => quote!(rt::sweep!(S, #name, at, #extent, { #body });),
                false => quote!(for #name in 0..#extent { #body }),
            }
        })
    };
    let one = |added: TokenStream| {
        let added = loops(inner, added);
        let one = quote! {
            let at = rt::Part::new(1);
            #before
            let #at_target = s.reduce_max_u(#position) as usize;
            if #at_target < #extent { #added }
        };
        loops(outer, loops(source, one))
    };
    let zero = if adding.is_float { quote!(0.0) } else { quote!(0) };
    let zeros = zeros(kernel, &[&outer[..], &[*target], inner].concat(), store, &zero);
    let add = adding.plain();
    let plain = one(quote!(#after #add));
    let sources = product(source.iter().map(|&axis| &kernel.axes[axis]));
    let Some(many) = kernel.schedule.plain_sources else { return quote!(#zeros #plain) };
    let (add, forget) = adding.exact();
    let data = &adding.data;
    let (exact, forgotten) = (one(quote!(#after #add)), one(forget));
    let (sources, many) = (arith::dim(&sources), Literal::usize_unsuffixed(many));
    quote! {
        #zeros
        match if #sources > #many { rt::Lost::take(#data.len()) } else { core::option::Option::None } {
            core::option::Option::Some(mut lost) => {
                #exact
                #forgotten
                lost.give_back();
            }
            core::option::Option::None => { #plain }
        }
    }
}

/// Definitions of what the index needs, which varies with the sources only and so stands outside of the inner loops, and of
/// the rest.
fn definitions(printer: &Printer<'_>, index: ExprId) -> (TokenStream, TokenStream) {
    let early = printer.kernel.needed(&[index]);
    let (mut before, mut after) = (TokenStream::new(), TokenStream::new());
    for (id, is_early) in early.into_iter().enumerate() {
        if is_early { &mut before } else { &mut after }.extend(printer.define(id));
    }
    (before, after)
}

/// How a value is added to what is there.
struct Adding {
    data: Ident,
    place: TokenStream,
    value: Ident,
    suffix: &'static str,
    is_float: bool,
    in_lanes: bool,
}

impl Adding {
    fn new(printer: &Printer<'_>, store: &Store) -> Adding {
        let dtype = printer.dtype(store.value);
        Adding {
            data: slot_name(store.slot),
            place: arith::index(&store.index, &|_| unreachable!("scatters store at affine places")),
            value: variable(store.value),
            suffix: suffix_of_lanes(dtype),
            is_float: dtype.is_float(),
            in_lanes: printer.vector.is_some(),
        }
    }

    fn plain(&self) -> TokenStream {
        let Adding { data, place, value, suffix, .. } = self;
        let named = |method: &str| format_ident!("{method}_{suffix}");
        let (load, put, sum, only) = (named("load"), named("store"), named("add"), named("reduce_max"));
        match self.in_lanes {
            true => quote!({
                let old = s.#load(#data, #place, at);
                s.#put(#data, #place, at, s.#sum(old, #value));
            }),
            false if self.is_float => quote!(#data[#place] += s.#only(#value);),
            false => quote!(#data[#place] = #data[#place].wrapping_add(s.#only(#value));),
        }
    }

    /// With what the additions before have lost, which is kept in `lost`; and what makes that zero again.
    fn exact(&self) -> (TokenStream, TokenStream) {
        let Adding { data, place, value, .. } = self;
        match self.in_lanes {
            true => (
                quote!({
                    let mut sum = rt::LongSum::resumed(s.load_f(#data, #place, at), s.load_f(lost.words(), #place, at));
                    sum.add(s, #value);
                    s.store_f(#data, #place, at, sum.rounded());
                    s.store_f(lost.words(), #place, at, sum.lost());
                }),
                quote!(s.store_f(lost.words(), #place, at, s.splat_f(0.0));),
            ),
            false => (
                quote!({
                    let mut sum = rt::LongSum::resumed(s.splat_f(#data[#place]), s.splat_f(lost.words()[#place]));
                    sum.add(s, #value);
                    #data[#place] = s.reduce_max_f(sum.rounded());
                    lost.words()[#place] = s.reduce_max_f(sum.lost());
                }),
                quote!(lost.words()[#place] = 0.0;),
            ),
        }
    }
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
