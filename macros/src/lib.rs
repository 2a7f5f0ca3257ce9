//! The `model!` procedural macro: a shim over `precast-compiler`.
//!
//! `precast::model!` hands it the path of the runtime crate in a first group, so that renaming and re-exporting work.

use proc_macro::TokenStream;

/// Compiles the text of a `model!`.
#[proc_macro]
pub fn model(tokens: TokenStream) -> TokenStream {
    precast_compiler::pipeline::compile(tokens.into()).into()
}
