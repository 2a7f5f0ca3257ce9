//! The public face of a model.

use crate::ir::Model;
use proc_macro2::TokenStream;
use quote::quote;

/// Struct, session and trainer with their methods.
pub(super) fn items(model: &Model, runtime: &TokenStream) -> TokenStream {
    let _ = (model, runtime);
    quote!()
}

/// The description of the parameters, the types that stand for plans, and the checks of their arguments.
pub(super) fn markers(model: &Model) -> TokenStream {
    let _ = model;
    quote!()
}

/// The face of a model that has no plans.
pub(super) fn outline(model: &Model, runtime: &TokenStream) -> TokenStream {
    let _ = (model, runtime);
    quote!()
}
