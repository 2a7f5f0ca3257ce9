//! Contractions: a call of the runtime's driver with numbers.

use super::arith;
use super::epilogue::Epilogues;
use super::variables::slot_name;
use crate::ir::DType;
use crate::ir::algorithm::{Algorithm, Product};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Kernel, Operand};
use crate::ir::precision::{Factor, Precision};
use crate::ir::schedule::Schedule;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};

/// All axes in the order in which the driver gets them.
fn order(product: &Product<'_>) -> Vec<usize> {
    [product.batch, product.m, product.n, product.k].concat()
}

/// The driver's call.
pub(super) fn call(
    kernel: &Kernel,
    dims: &[TokenStream],
    counters: &[TokenStream],
    epilogues: &mut Epilogues,
) -> TokenStream {
    let Some(contracted) = Product::of(kernel) else { unreachable!("printed for contractions only") };
    let order = order(&contracted);
    let axes = [("Batch", contracted.batch), ("M", contracted.m), ("N", contracted.n), ("K", contracted.k)];
    let axes = axes.iter().flat_map(|(role, list)| list.iter().map(move |&a| (format_ident!("{role}"), a))).map(
        |(role, a)| {
            let extent = arith::dim(&kernel.axes[a]);
            quote!(rt::Axis::new(#extent, rt::Role::#role))
        },
    );
    let (lhs, rhs) = (operand(contracted.lhs, &order), operand(contracted.rhs, &order));
    let outputs = contracted.stores.iter().map(|store| {
        let (data, base, strides) = (slot_name(store.slot), base(&store.index), strides(&store.index, &order));
        quote!(rt::Output { data: #data, base: #base, strides: &[#(#strides),*] })
    });
    let epilogue = epilogues.of(&contracted, &[dims, counters].concat());
    let (axes, outputs) = (quote!(&[#(#axes),*]), quote!(&mut [#(#outputs),*]));
    if let Some((parameter, dtype)) = contracted.stored() {
        let (encoding, algorithms) = (encoding(dtype), algorithms(&kernel.schedule.algorithms));
        let (data, stored) = match parameter {
            Factor::Left => (rhs, lhs),
            Factor::Right => (lhs, rhs),
        };
        let parameter = factor(parameter);
        let contract = quote!(&rt::Stored { axes: #axes, parameter: #parameter, data: #data, stored: #stored });
        return quote!(rt::contract_stored::<_, #encoding, _>(isa, threads, #algorithms, #contract, #outputs, &#epilogue););
    }
    let contract = quote!(&rt::Contract { axes: #axes, lhs: #lhs, rhs: #rhs });
    if contracted.dtype() != DType::F32 {
        return quote!(rt::contract_wide(isa, threads, #contract, #outputs, &#epilogue););
    }
    let (function, how, kept) = entry(&kernel.schedule);
    quote!(rt::#function(isa, threads, #how, #contract, #outputs, &#epilogue #kept);)
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

/// How the elements of an operand are stored that is widened.
fn encoding(dtype: DType) -> TokenStream {
    match dtype {
        DType::F16 => quote!(rt::F16),
        DType::BF16 => quote!(rt::Bf16),
        DType::I8 => quote!(rt::I8),
        other => unreachable!("no parameters are stored as {other}"),
    }
}

fn factor(factor: Factor) -> TokenStream {
    match factor {
        Factor::Left => quote!(rt::Factor::Left),
        Factor::Right => quote!(rt::Factor::Right),
    }
}

/// The argument that says which operand is a parameter, and what it is rounded to.
fn narrow((parameter, precision): (Factor, Precision)) -> TokenStream {
    let parameter = factor(parameter);
    let precision = match precision {
        Precision::Bf16 => quote!(Bf16),
        Precision::Int8 => quote!(Int8),
        Precision::F32 | Precision::Split | Precision::Mixed | Precision::F64 => {
            unreachable!("schedule chooses fewer bits only")
        }
    };
    quote!(rt::Narrow { parameter: #parameter, precision: rt::Precision::#precision })
}

pub(super) fn base(index: &Index) -> TokenStream {
    let constant = index.terms.iter().filter(|(atom, _)| !matches!(atom, Atom::Axis(_))).cloned().collect();
    words(&Index { base: index.base.clone(), terms: constant })
}

pub(super) fn strides(index: &Index, order: &[usize]) -> Vec<TokenStream> {
    let stride = |&axis: &usize| {
        let stride = index.stride(axis).unwrap_or_default();
        words(&Index::constant(stride))
    };
    order.iter().map(stride).collect()
}

/// A position or a distance, where the type of the field that takes it is known.
fn words(index: &Index) -> TokenStream {
    match index.base.as_const().filter(|_| index.terms.is_empty()) {
        Some(number) => Literal::i64_unsuffixed(number).to_token_stream(),
        None => arith::signed(index, &|_| unreachable!("operands are affine")),
    }
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
