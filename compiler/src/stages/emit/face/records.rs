//! Named results: the structs that functions return. In: the models of a macro. Out: those structs, and one of each that
//! borrows, for sessions. Always: each is emitted once, however many functions of however many models return it.

use super::tensor::{Form, Tensor};
use crate::ir::Model;
use crate::ir::model::Results;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote_spanned};

/// The struct that a session returns: one that borrows, unless all results are numbers.
pub(super) fn lent(name: &Ident, tensors: &[Tensor]) -> Ident {
    if borrows(tensors) { format_ident!("{name}Ref") } else { name.clone() }
}

/// Whether results in the memory of a session are borrowed.
pub(super) fn borrows(tensors: &[Tensor]) -> bool {
    tensors.iter().any(|tensor| tensor.form() != Form::Scalar)
}

/// All structs of results.
pub(super) fn items(models: &[Model], rt: &TokenStream) -> TokenStream {
    let mut records: Vec<Record<'_>> = vec![];
    for model in models {
        for function in &model.functions {
            let Results::Struct(name, fields) = &function.results else { continue };
            if let Some(known) = records.iter_mut().find(|known| known.name == name) {
                known.models.push(model);
                continue;
            }
            let tensors = function.graph.outputs.iter().map(|&v| Tensor::new(function.graph.ty(v))).collect();
            records.push(Record { models: vec![model], name, fields, tensors });
        }
    }
    records.iter().map(|record| record.item(rt)).collect()
}

struct Record<'m> {
    /// Those whose functions return it.
    models: Vec<&'m Model>,
    name: &'m Ident,
    fields: &'m [Ident],
    tensors: Vec<Tensor>,
}

impl Record<'_> {
    /// As visible as the most visible of the models.
    fn vis(&self) -> &TokenStream {
        let public = self.models.iter().find(|model| model.vis.to_string() == "pub");
        &public.unwrap_or(&self.models[0]).vis
    }

    fn item(&self, rt: &TokenStream) -> TokenStream {
        let Record { models, name, fields, tensors } = self;
        let vis = self.vis();
        let mut of: Vec<String> = models.iter().map(|model| format!("[`{}`]", model.name)).collect();
        of.dedup();
        let doc = format!("Results of {}.", of.join(", "));
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
}
