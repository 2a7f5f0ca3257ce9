//! Kernels and plans for the CPU as Rust.

pub(super) mod arith;
mod scalar;

use crate::ir::Model;
use crate::ir::plan::Plans;
use proc_macro2::TokenStream;
use quote::quote;

/// The kernels of a model and the plans that launch them.
pub(super) fn kernels(model: &Model, plans: &Plans) -> TokenStream {
    let _ = (model, plans);
    quote!()
}
