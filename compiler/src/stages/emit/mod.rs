//! emit: Rust tokens and WGSL text.
//!
//! In: models and their memory plans. Out: for each model its public face (struct, session, trainer) and a hidden
//! module with the kernels and plans. Always: the same input gives the same bytes, and emitted code names `core` and
//! the hidden module of the runtime only.

mod block;
mod cost;
mod face;
mod mentions;
mod names;
#[cfg(test)]
mod positions;
mod rust;
#[cfg(feature = "gpu")]
pub mod wgsl;

pub use block::{block, request};

use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::mention::Mentions;
use crate::ir::plan::Plans;
use crate::ir::{DType, Model};
use face::export::Exports;
use proc_macro2::TokenStream;
use quote::quote;

/// The items that stand for a model in the user's module. `runtime` is the path of the runtime crate.
pub fn emit(model: &Model, plans: &Plans, runtime: &TokenStream) -> TokenStream {
    let name = names::module(model);
    let exports = Exports::of(model);
    let (face, module) = (face::items(model, &exports, runtime), module(model, plans, runtime));
    let files = exports.items;
    quote! {
        #face

        #[doc(hidden)]
        #[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        mod #name {
            #module
            #files
        }
    }
}

/// What is in the hidden module of a model: its plans and kernels, which run without its public face too.
pub fn module(model: &Model, plans: &Plans, runtime: &TokenStream) -> TokenStream {
    let (requirement, markers) = (requirement(model), face::markers(model));
    let (kernels, shaders) = (rust::kernels(model, plans), shaders(model, plans));
    quote! {
        use #runtime::__rt as rt;
        // Makes cargo build again when another dump is asked for.
        const _: core::option::Option<&str> = core::option_env!("PRECAST_DUMP");
        #requirement
        #markers
        #kernels
        #shaders
    }
}

/// The mistakes of a model that the runtime was built without the kernels for, where it was.
fn requirement(model: &Model) -> TokenStream {
    let report = |place, message: &str, feature: &str| {
        let report = Diagnostic::new(Code::WrongAttribute, place, message);
        report.help(format!("run `cargo add precast --features {feature}`")).to_compile_error()
    };
    let deterministic = model.deterministic.map(|place| {
        let message = "`#[model(deterministic)]` needs the feature `deterministic` of precast";
        let report = report(place, message, "deterministic");
        quote!(rt::unless_deterministic! { #report })
    });
    let wide = model.uses(|dtype| dtype == DType::F64).then(|| {
        let message = format!("`{}` computes in f64, which needs the feature `f64` of precast", model.name);
        let report = report(model.name.span(), &message, "f64");
        quote!(rt::unless_f64! { #report })
    });
    let half = (face::names_half(model) || model.storage.is_some()).then(|| {
        let needs = match model.storage {
            Some(_) => "stores its parameters in fewer bits, which needs",
            None => "has elements of f16 or bf16, which need",
        };
        let message = format!("`{}` {needs} the feature `half` of precast", model.name);
        let report = report(model.name.span(), &message, "half");
        quote!(rt::unless_half! { #report })
    });
    quote!(#deterministic #wide #half)
}

/// The structs that functions of the models return, each once.
pub fn results(models: &[Model], runtime: &TokenStream) -> TokenStream {
    face::results(models, runtime)
}

/// What editors show where the text of a macro names layers, functions and fields. `number` is another one for each call in
/// a crate.
pub fn mentions(mentions: &Mentions, models: &[Model], number: usize, runtime: &TokenStream) -> TokenStream {
    mentions::module(mentions, models, number, runtime)
}

/// The WGSL and the tables of its dispatches, behind the runtime's own switch.
#[cfg(feature = "gpu")]
fn shaders(model: &Model, plans: &Plans) -> TokenStream {
    if !model.runs_on_gpus() {
        return TokenStream::new();
    }
    let items = wgsl::wgsl(model, plans).items;
    quote!(rt::if_gpu! { #items })
}

#[cfg(not(feature = "gpu"))]
fn shaders(_: &Model, _: &Plans) -> TokenStream {
    TokenStream::new()
}

/// The mistakes of a program, and the items that stand for its models: their public faces alone, so that nothing
/// cascades. `number` is another one for each call in a crate.
pub fn outlines(models: &[Model], diags: &Diags, number: usize, runtime: &TokenStream) -> TokenStream {
    face::outlines(models, diags, number, runtime)
}
