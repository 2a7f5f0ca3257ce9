//! What editors show where the text of the macro names something: in hidden functions that nothing calls, each name stands at
//! its own place and resolves to a documented item.

use super::names;
use crate::ir::mention::{Fields, Mentions};
use crate::ir::{Model, model::Param};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use std::collections::BTreeMap;

/// The hidden module of a text; `number` is another one for each call in a crate.
pub(super) fn module(mentions: &Mentions, models: &[Model], number: usize, runtime: &TokenStream) -> TokenStream {
    let Mentions { structs, layers, functions, blocks } = mentions;
    if structs.is_empty() {
        return TokenStream::new();
    }
    let module = format_ident!("__precast_names_{number}");
    let structs = structs.iter().map(|one| fields(one, models));
    let functions = functions.iter().map(written);
    quote! {
        #[doc(hidden)]
        #[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        mod #module {
            use #runtime::__rt::reference as __reference;
            #(#structs)*
            fn __names() {
                #(let _ = __reference::layers::#layers;)*
                #(let _ = __reference::functions::#functions;)*
                #(let _: #blocks;)*
            }
        }
    }
}

/// A struct with the user's fields, each with what it is and, in a model, its parameters; and where they are used.
fn fields(of: &Fields, models: &[Model]) -> TokenStream {
    let name = &of.name;
    let mut params: BTreeMap<&str, Vec<&Param>> = BTreeMap::new();
    for param in models.iter().filter(|model| model.name == of.name).flat_map(|model| &model.params) {
        params.entry(param.fields.first().map_or("", String::as_str)).or_default().push(param);
    }
    let fields = of.fields.iter().map(|(name, text, layer)| {
        let params = params.get(name.to_string().as_str()).into_iter().flatten();
        let stacked = |param: &Param, (name, stack): (String, &[i64])| {
            format!("\n- `{name}: {}`", Param { stack: stack.to_vec(), ..param.clone() }.stacked())
        };
        let list: String =
            params.flat_map(|param| param.named().into_iter().map(|named| stacked(param, named))).collect();
        let doc = format!("`{name}: {text}`\n{list}");
        let ty = layer.as_ref().map_or(quote!(()), |layer| quote!(__reference::layers::#layer));
        let name = written(name);
        quote!(#[doc = #doc] #name: #ty,)
    });
    let uses = of.uses.iter().map(written);
    quote! {
        struct #name { #(#fields)* }
        const _: () = {
            fn __uses(__it: #name) { #(let _ = __it.#uses;)* }
        };
    }
}

/// The name as Rust writes it.
fn written(name: &Ident) -> Ident {
    names::field(&name.to_string(), name.span())
}
