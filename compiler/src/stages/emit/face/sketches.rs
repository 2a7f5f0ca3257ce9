//! Public functions whose signature a mistake leaves unknown. In: their sketches. Out: methods of the model, its session
//! and its trainer that take and give the type of what is unknown. Always: that type holds the mistake, so that rustc
//! says nothing about what the program does with it.

use crate::diag::{Diagnostic, Diags};
use crate::ir::Model;
use crate::ir::model::Sketch;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// A type that holds the first mistake. It stands among the items as well, where rustc says nothing about names that a
/// mistake may have left undeclared; of two equal mistakes rustc shows one.
pub(super) fn mistake(diags: &Diags, rt: &TokenStream) -> TokenStream {
    let first = diags.list().first().map(Diagnostic::to_compile_error);
    quote!(#rt::Unknown<{ #first }>)
}

/// The methods of all sketches; `unknown` is the type.
pub(super) fn items(model: &Model, unknown: &TokenStream, rt: &TokenStream) -> TokenStream {
    let name = &model.name;
    let (session, trainer) = (format_ident!("{name}Session"), format_ident!("{name}Trainer"));
    let (shared, mutable) = (quote!(&self), quote!(&mut self));
    let each = |suffixes: &[(&str, usize)], sketches: &[&Sketch], this: &TokenStream| -> TokenStream {
        let suffixes = suffixes.iter();
        let method = |&(suffix, more): &(&str, usize)| {
            sketches.iter().map(move |one| method(one, suffix, one.args + more, this, unknown)).collect::<TokenStream>()
        };
        suffixes.map(method).collect()
    };
    let all: Vec<&Sketch> = model.sketches.iter().collect();
    let trained: Vec<&Sketch> = all.iter().copied().filter(|one| !one.optimizers.is_empty()).collect();
    let of_model = each(&[("", 0), ("_async", 0), ("_into", 1), ("_into_async", 1)], &all, &shared);
    let of_session = each(&[("", 0), ("_async", 0)], &all, &mutable);
    let of_trainer = each(&[("", 0), ("_async", 0), ("_gradients", 0), ("_gradients_async", 0)], &trained, &mutable);
    let costs = all.iter().flat_map(|one| ["flops", "arena_bytes"].map(|what| format_ident!("{}_{what}", one.name)));
    quote_spanned! {Span::mixed_site()=>
        #[allow(warnings)]
        impl<D: #rt::Device> #name<D> { #of_model }
        #[allow(warnings)]
        impl #name<#rt::Cpu> { #(pub const #costs: #unknown = loop {};)* }
        #[allow(warnings)]
        impl<D: #rt::Device> #session<'_, D> { #of_session }
        #[allow(warnings)]
        impl<O: #rt::Optimizer, D: #rt::Device> #trainer<'_, O, D> { #of_trainer }
    }
}

fn method(of: &Sketch, suffix: &str, args: usize, this: &TokenStream, unknown: &TokenStream) -> TokenStream {
    let name = if suffix.is_empty() { of.name.clone() } else { format_ident!("{}{suffix}", of.name) };
    let args = (0..args).map(|_| quote!(_: #unknown));
    quote!(pub fn #name(#this, #(#args),*) -> #unknown { loop {} })
}
