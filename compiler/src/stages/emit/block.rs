//! Blocks that travel, as macros. In: a public block's text. Out: a macro of the block's name and visibility that hands
//! the text on. Always: what `use path::Block;` names in Rust is the macro, too, so it is found as everything in Rust is.

use crate::ir::Block;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};

/// The macro of a block. `number` tells the expansions of a crate apart, in whose root exported macros are.
pub fn block(Block { name, vis, text }: &Block, number: usize) -> TokenStream {
    let hidden = format_ident!("__precast_block_{name}_{number}", span = Span::call_site());
    let export = (vis.to_string() == "pub").then(|| quote!(#[macro_export]));
    quote! {
        #export
        #[doc(hidden)]
        #[allow(non_local_definitions)]
        macro_rules! #hidden {
            ({ $($next:tt)* } { $($before:tt)* } $($after:tt)*) => {
                $($next)* ! { $($before)* { #text } $($after)* }
            };
        }
        #[doc(hidden)]
        #[allow(unused_imports, unreachable_pub)]
        #vis use #hidden as #name;
    }
}

/// A call of the macro of the block at `path`, which adds its text behind `blocks` and calls `model!` again.
pub fn request(path: &TokenStream, runtime: &TokenStream, blocks: &[TokenStream], own: &TokenStream) -> TokenStream {
    quote! {
        #path ! { { #runtime::__rt::__model } { { #runtime } #({ #blocks })* } #own }
    }
}
