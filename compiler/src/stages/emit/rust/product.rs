//! Contractions: a call of the runtime's driver with numbers, and the fused epilogue as code.

use super::arith;
use super::scalar::Printer;
use super::variables::{slot_name, variable};
use crate::ir::DType;
use crate::ir::algorithm::{Algorithm, Product};
use crate::ir::dim::{Dim, product};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Operand};
use crate::ir::precision::{Factor, Precision};
use crate::ir::schedule::Schedule;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// All axes in the order in which the driver gets them.
fn order(product: &Product<'_>) -> Vec<usize> {
    [product.batch, product.m, product.n, product.k].concat()
}

/// Whether results are the sums alone.
fn stores_sums(product: &Product<'_>) -> bool {
    matches!(product.stores, [store] if matches!(product.kernel.scalars[store.value], Expr::Accumulated { .. }))
}

/// The type of a kernel's epilogue, if it has one, and the driver's call.
pub(super) fn parts(
    kernel: &Kernel,
    number: usize,
    dims: &[TokenStream],
    counters: &[TokenStream],
) -> (TokenStream, TokenStream) {
    let Some(contract) = Product::of(kernel) else { unreachable!("printed for contractions only") };
    let order = order(&contract);
    let axes = [("Batch", contract.batch), ("M", contract.m), ("N", contract.n), ("K", contract.k)];
    let axes = axes.iter().flat_map(|(role, list)| list.iter().map(move |&a| (format_ident!("{role}"), a))).map(
        |(role, a)| {
            let extent = arith::dim(&kernel.axes[a]);
            quote!(rt::Axis { extent: #extent, role: rt::Role::#role })
        },
    );
    let (lhs, rhs) = (operand(contract.lhs, &order), operand(contract.rhs, &order));
    let outputs = contract.stores.iter().map(|store| {
        let (data, base, strides) = (slot_name(store.slot), base(&store.index), strides(&store.index, &order));
        let words = match kernel.slots[store.slot].dtype {
            DType::F32 => quote!(#data),
            DType::I32 | DType::U32 | DType::Bool => unreachable!("products and their epilogues store floats"),
        };
        quote!(rt::Output { data: #words, base: #base, strides: &[#(#strides),*] })
    });
    let (definition, epilogue) = match stores_sums(&contract) {
        true => (quote!(), quote!(rt::Plain)),
        false => {
            let name = format_ident!("E{number}_");
            let reads = reads(kernel);
            let (fields, values): (Vec<_>, Vec<_>) = reads
                .iter()
                .map(|&slot| {
                    let (name, ty) = (slot_name(slot), super::word(kernel.slots[slot].dtype));
                    (quote!(#name: &'a [#ty]), quote!(#name))
                })
                .unzip();
            let body = epilogue(&contract);
            let definition = quote! {
                struct #name<'a> { #(#fields,)* #(#dims: usize,)* #(#counters: usize,)* lifetime: core::marker::PhantomData<&'a ()> }
                impl rt::Epilogue for #name<'_> {
                    #[inline(always)]
                    fn apply<S: rt::Simd>(&self, s: S, tile: &mut rt::Tile<'_>) {
                        let Self { #(#values,)* #(#dims,)* #(#counters,)* .. } = *self;
                        #body
                    }
                }
            };
            (definition, quote!(#name { #(#values,)* #(#dims,)* #(#counters,)* lifetime: core::marker::PhantomData }))
        }
    };
    let (function, how, kept) = entry(&kernel.schedule);
    let call = quote! {
        rt::#function(isa, threads, #how, &rt::Contract { axes: &[#(#axes),*], lhs: #lhs, rhs: #rhs }, &mut [#(#outputs),*], &#epilogue #kept);
    };
    (definition, call)
}

/// The function that computes a contraction, how it is to do so, and where it keeps what it packs.
fn entry(schedule: &Schedule) -> (Ident, TokenStream, Option<TokenStream>) {
    let kept = schedule.packed_once.then(|| quote!(, kept));
    match schedule.narrow {
        Some(chosen) => {
            let kept = kept.unwrap_or_else(|| quote!(, core::option::Option::None));
            (format_ident!("contract_narrow"), narrow(chosen), Some(kept))
        }
        None => {
            let function = if kept.is_some() { "contract_kept" } else { "contract" };
            (format_ident!("{function}"), algorithms(&schedule.algorithms), kept)
        }
    }
}

/// The argument that says which algorithms are asked before the one that does everything.
fn algorithms(list: &[Algorithm]) -> TokenStream {
    debug_assert!(list.last() == Some(&Algorithm::Blocked), "schedule has chosen");
    let name = |algorithm: &Algorithm| match algorithm {
        Algorithm::Dot => Some(quote!(rt::Algorithm::DOT)),
        Algorithm::Small => Some(quote!(rt::Algorithm::SMALL)),
        Algorithm::Depthwise => Some(quote!(rt::Algorithm::DEPTHWISE)),
        Algorithm::Winograd => Some(quote!(rt::Algorithm::WINOGRAD)),
        Algorithm::Implicit => Some(quote!(rt::Algorithm::IMPLICIT)),
        Algorithm::ImplicitByFilters => Some(quote!(rt::Algorithm::IMPLICIT_BY_FILTERS)),
        Algorithm::Gemv => Some(quote!(rt::Algorithm::GEMV)),
        Algorithm::Blocked => None,
    };
    let names = list.iter().filter_map(name);
    quote!(&[#(#names),*])
}

/// The argument that says which operand is a parameter, and what it is rounded to.
fn narrow((factor, precision): (Factor, Precision)) -> TokenStream {
    let parameter = match factor {
        Factor::Left => quote!(Left),
        Factor::Right => quote!(Right),
    };
    let precision = match precision {
        Precision::Bf16 => quote!(Bf16),
        Precision::Int8 => quote!(Int8),
        Precision::F32 => unreachable!("schedule chooses fewer bits only"),
    };
    quote!(rt::Narrow { parameter: rt::Factor::#parameter, precision: rt::Precision::#precision })
}

/// The slots that the epilogue reads.
fn reads(kernel: &Kernel) -> Vec<usize> {
    let mut reads: Vec<usize> = vec![];
    for expr in &kernel.scalars {
        if let Expr::Load { slot, .. } = expr
            && !reads.contains(slot)
        {
            reads.push(*slot);
        }
    }
    reads
}

pub(super) fn base(index: &Index) -> TokenStream {
    let constant = index.terms.iter().filter(|(atom, _)| !matches!(atom, Atom::Axis(_))).cloned().collect();
    arith::signed(&Index { base: index.base.clone(), terms: constant }, &|_| unreachable!("operands are affine"))
}

pub(super) fn strides(index: &Index, order: &[usize]) -> Vec<TokenStream> {
    let stride = |&axis: &usize| {
        let stride = index.stride(axis).unwrap_or_default();
        arith::signed(&Index::constant(stride), &|_| unreachable!("a stride loads nothing"))
    };
    order.iter().map(stride).collect()
}

fn operand(operand: &Operand, order: &[usize]) -> TokenStream {
    let (data, base_, strides_) = (slot_name(operand.slot), base(&operand.index), strides(&operand.index, order));
    let windows = operand.windows.iter().map(|w| {
        let (base, strides, divisor) = (base(&w.index), strides(&w.index, order), Literal::usize_suffixed(w.divisor as usize));
        let (extent, stride) = (arith::dim(&w.extent), arith::dim(&w.stride));
        quote! {
            rt::Window { base: #base, strides: &[#(#strides),*], divisor: #divisor, extent: #extent, stride: (#stride) as isize }
        }
    });
    quote!(rt::Operand { data: #data, base: #base_, strides: &[#(#strides_),*], windows: &[#(#windows),*] })
}

/// The loops over a hot tile. Rows and columns count merged axes.
fn epilogue(contract: &Product<'_>) -> TokenStream {
    // Two axes more: the merged rows and the merged columns.
    let (rows, columns) = (contract.kernel.axes.len(), contract.kernel.axes.len() + 1);
    let mut kernel = contract.kernel.clone();
    let merged = |list: &[usize]| product(list.iter().map(|&a| &contract.kernel.axes[a]));
    kernel.axes.extend([merged(contract.m), merged(contract.n)]);
    let rewrite =
        |index: &Index| merge(&merge(index, contract.m, rows, &kernel.axes), contract.n, columns, &kernel.axes);
    let mut scalars = kernel.scalars.clone();
    scalars.iter_mut().for_each(|scalar| scalar.for_each_index(&mut |index| *index = rewrite(index)));
    kernel.scalars = scalars;
    let printer = Printer::new(&kernel, Some(columns));
    // What varies with neither the sum nor the columns is computed once for each row.
    let varying = &printer.varying;
    let row = (0..kernel.scalars.len()).filter(|&id| !varying.with(id, columns)).map(|id| printer.define(id));
    let element =
        (0..kernel.scalars.len()).filter(|&id| varying.with(id, columns)).map(|id| match kernel.scalars[id] {
            Expr::Accumulated { .. } => {
                let name = variable(id);
                quote!(let #name = tile.load(s, r, j, at);)
            }
            _ => printer.define(id),
        });
    let stores = contract.stores.iter().enumerate().map(|(output, store)| {
        let (output, value) = (Literal::usize_unsuffixed(output), variable(store.value));
        quote!(tile.store(s, #output, r, j, at, #value);)
    });
    let batch = contract.batch.iter().enumerate().map(|(k, &axis)| {
        let (k, name) = (Literal::usize_unsuffixed(k), arith::axis(axis));
        quote!(let #name = tile.batch()[#k];)
    });
    let (row_name, column_name) = (arith::axis(rows), arith::axis(columns));
    quote! {
        #(#batch)*
        let area = tile.area();
        for r in 0..area.rows {
            let #row_name = area.m + r;
            #(#row)*
            rt::sweep!(S, j, at, area.cols, {
                let #column_name = area.n + j;
                #(#element)*
                #(#stores)*
            });
        }
    }
}

/// The index in terms of one axis `merged` that counts the axes of `list` row-major.
fn merge(index: &Index, list: &[usize], merged: usize, axes: &[Dim]) -> Index {
    if list.is_empty() {
        return index.clone();
    }
    let stride = |axis: usize| index.stride(axis);
    let fits = list.windows(2).all(|w| match (stride(w[0]), stride(w[1])) {
        (Some(outer), Some(inner)) => outer == inner * axes[w[1]].clone(),
        _ => false,
    });
    let last = list[list.len() - 1];
    if fits && stride(last).is_some() {
        let own = index.map(&mut |atom| match atom {
            Atom::Axis(a) if list.contains(a) => Index::default(),
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
        return own.plus(&Index::axis(merged).times(&stride(last).unwrap_or_default()));
    }
    index.map(&mut |atom| match atom {
        Atom::Axis(a) => match list.iter().position(|x| x == a) {
            Some(at) => {
                let inner = product(list[at + 1..].iter().map(|&x| &axes[x]));
                let mut part = Index::axis(merged);
                if !inner.is(1) {
                    part = Index::atom(Atom::Div(Box::new(part), inner));
                }
                if at > 0 {
                    part = Index::atom(Atom::Mod(Box::new(part), axes[*a].clone()));
                }
                part
            }
            None => Index::axis(*a),
        },
        Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
    })
}
