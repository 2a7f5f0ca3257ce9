//! The procedural macro behind `precast::model!`.

use proc_macro::TokenStream;

/// The models of a text in the model language. The tokens start with a group that holds the path of the runtime
/// crate, which `precast::model!` knows as `$crate`; programs call that macro and not this one.
#[doc(hidden)]
#[proc_macro]
pub fn model(tokens: TokenStream) -> TokenStream {
    precast_compiler::pipeline::compile(tokens.into()).into()
}
