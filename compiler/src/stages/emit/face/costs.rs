//! What calls cost, for programs to ask. In: a function. Out: constant functions of its named dimensions that give the
//! bytes of scratch memory and the floating-point operations of a call. Always: the bytes are what a session or trainer
//! allocates for that call alone, besides the packed parameters of a session on the CPU, and partial sums on a GPU.

use super::{names, path};
use crate::ir::{Function, Model};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};

/// `scores_arena_bytes` and `scores_flops`; `what` says what a call is.
pub(super) fn items(model: &Model, function: &Function, rt: &TokenStream, what: &str) -> TokenStream {
    let (name, plan) = (&function.name, path(model, &names::marker(function)));
    let span = Span::mixed_site();
    let (arena, flops) = (format_ident!("{name}_arena_bytes"), format_ident!("{name}_flops"));
    let dims = arguments(function);
    let shown: Vec<String> = function.dims.iter().map(|dim| format!("`{}`", dim.name)).collect();
    let of = if shown.is_empty() { String::new() } else { format!(", for the dimensions {}", shown.join(", ")) };
    let arena_doc = format!(
        "The bytes of scratch memory of {what}{of}: what is allocated before the first. `usize::MAX` where such a call \
         is refused."
    );
    let flops_doc = format!("The floating-point operations of {what}{of}. A multiply-add counts as two.");
    quote_spanned! {span=>
        #[doc = #arena_doc]
        pub const fn #arena(#(#dims: usize),*) -> usize {
            #plan::words(#(#rt::Count::dim(#dims)),*).arena_bytes()
        }

        #[doc = #flops_doc]
        pub const fn #flops(#(#dims: usize),*) -> u64 {
            #plan::flops(#(#rt::Count::dim(#dims)),*).operations()
        }
    }
}

/// The names of dimensions as names of arguments: in small letters, so that no constant of the user's is meant.
fn arguments(function: &Function) -> Vec<Ident> {
    let small: Vec<String> = function.dims.iter().map(|dim| dim.name.to_lowercase()).collect();
    let spelled = |(k, name): (usize, &String)| {
        let plain = syn::parse_str::<Ident>(name).is_ok() && !small[..k].contains(name);
        let text = if plain { name.clone() } else { format!("dim_{k}_{name}") };
        Ident::new(&text, Span::mixed_site())
    };
    small.iter().enumerate().map(spelled).collect()
}
