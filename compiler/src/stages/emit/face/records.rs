//! Named results: the structs that functions return. In: functions whose result is a struct. Out: that struct, and one
//! that borrows, for sessions. Always: each is emitted once, however many functions return it.

use super::tensor::{Form, Tensor};
use crate::ir::Model;
use crate::ir::model::Results;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The struct that a session returns: one that borrows, unless all results are numbers.
pub(super) fn lent(name: &Ident, tensors: &[Tensor]) -> Ident {
    if borrows(tensors) { format_ident!("{name}Ref") } else { name.clone() }
}

/// Whether results in the memory of a session are borrowed.
pub(super) fn borrows(tensors: &[Tensor]) -> bool {
    tensors.iter().any(|tensor| tensor.form() != Form::Scalar)
}

/// All structs of results.
pub(super) fn items(model: &Model, rt: &TokenStream) -> TokenStream {
    let mut known: Vec<&Ident> = vec![];
    let mut all = quote!();
    for function in &model.functions {
        let Results::Struct(name, fields) = &function.results else { continue };
        if known.contains(&name) {
            continue;
        }
        known.push(name);
        let tensors: Vec<Tensor> = function.graph.outputs.iter().map(|&v| Tensor::new(function.graph.ty(v))).collect();
        all.extend(item(model, (name, fields), &tensors, rt));
    }
    all
}

fn item(model: &Model, (name, fields): (&Ident, &[Ident]), tensors: &[Tensor], rt: &TokenStream) -> TokenStream {
    let vis = &model.vis;
    let doc = format!("Results of `{}`.", model.name);
    let docs: Vec<String> = fields.iter().map(|field| format!("The result `{field}`.")).collect();
    let owned = tensors.iter().map(|tensor| tensor.owned(rt));
    let record = quote_spanned! {Span::mixed_site()=>
        #[doc = #doc]
        #[derive(::core::clone::Clone, ::core::fmt::Debug, ::core::cmp::PartialEq)]
        #[allow(dead_code, unreachable_pub)]
        #vis struct #name {
            #(#[doc = #docs] pub #fields: #owned,)*
        }
    };
    if !borrows(tensors) {
        return record;
    }
    let (borrowed, lifetime) = (lent(name, tensors), quote_spanned!(Span::mixed_site()=> 's));
    let lent = tensors.iter().map(|tensor| tensor.lent(rt, &lifetime));
    let doc = format!("`{name}` in the memory of a session.");
    quote_spanned! {Span::mixed_site()=>
        #record

        #[doc = #doc]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::cmp::PartialEq)]
        #[allow(dead_code, unreachable_pub)]
        #vis struct #borrowed<'s> {
            #(#[doc = #docs] pub #fields: #lent,)*
        }
    }
}
