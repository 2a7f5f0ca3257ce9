//! Parameters and gradients as typed fields: `net.views().hidden.weight`. In: a model's parameters. Out: a struct of
//! references with the fields of the model, nested as its blocks are. Always: it lists every type once, for reading and for writing;
//! those of a repeated block have the counts as leading extents, so nothing grows with depth.

use super::names;
use crate::ir::Model;
use crate::ir::model::Param;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// A field: a parameter, one turn of a run of layers of a file, or more fields.
enum Field<'m> {
    Param(&'m Param),
    Turn(&'m Param, usize),
    Fields(Vec<(&'m str, Field<'m>)>),
}

/// The struct `NameViews` and the methods of the model that make it.
pub(super) fn items(model: &Model, rt: &TokenStream) -> TokenStream {
    let (name, vis) = (&model.name, &model.vis);
    let views = format_ident!("{name}Views");
    let fields = fields(model);
    let shapes = shapes(&fields);
    let idents: Vec<Ident> = fields.iter().map(|(field, _)| ident(field)).collect();
    let types = fields.iter().map(|(_, field)| ty(field, &shapes, model, rt));
    let values = fields.iter().map(|(_, field)| value(field, &shapes, model));
    let doc =
        format!("The parameters of a `{name}` as arrays, or their gradients; those of a repeated block are stacked.");
    let take = if fields.is_empty() { quote!(_) } else { quote_spanned!(Span::mixed_site()=> mut pool) };
    // Without a parameter nothing else would name `R`.
    let none = fields.is_empty().then(|| quote!(lent: ::core::marker::PhantomData));
    let none_type = none.iter().map(|field| quote_spanned!(Span::mixed_site()=> #field<R>));
    quote_spanned! {Span::mixed_site()=>
        #[doc = #doc]
        #[allow(dead_code, unreachable_pub, missing_debug_implementations, missing_docs)]
        #vis struct #views<R: #rt::Reach> {
            #(pub #idents: #types,)*
            #(#none_type,)*
        }

        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl #name<#rt::Cpu> {
            /// The parameters as arrays.
            pub fn views(&self) -> #views<#rt::Read<'_>> {
                <Self as #rt::Viewed>::of(self.weights.__emitted_code_only_read())
            }

            /// The parameters as arrays to be written.
            pub fn views_mut(&mut self) -> #views<#rt::Write<'_>> {
                <Self as #rt::Viewed>::of(self.weights.__emitted_code_only_write_all())
            }
        }

        #[doc(hidden)]
        impl #rt::Viewed for #name<#rt::Cpu> {
            type Views<R: #rt::Reach> = #views<R>;

            fn of<R: #rt::Reach>(#take: R) -> #views<R> {
                #views { #(#idents: #values,)* #none }
            }
        }
    }
}

/// The generic structs of nested fields, in the hidden module: one for every list of names.
pub(super) fn structs(model: &Model) -> TokenStream {
    let all = shapes(&fields(model));
    let structs = all.iter().enumerate().map(|(k, names)| {
        let (shape, types) = (shape(k), (0..names.len()).map(|k| format_ident!("T{k}")).collect::<Vec<_>>());
        let names = names.iter().map(|name| ident(name));
        quote! { pub struct #shape<#(#types),*> { #(pub #names: #types),* } }
    });
    quote!(#(#structs)*)
}

fn fields(model: &Model) -> Vec<(&str, Field<'_>)> {
    let mut all = vec![];
    for param in &model.params {
        let mut path: Vec<&str> = param.fields.iter().map(String::as_str).collect();
        // In a repeated block those of a turn are apart from each other: there they are a stack, by the name of the first.
        if param.turns.is_empty() || param.stack.len() > 1 {
            add(&mut all, &path, &|| Field::Param(param));
            continue;
        }
        for (number, turn) in param.turns.iter().enumerate() {
            path.pop();
            path.push(&turn.field);
            add(&mut all, &path, &|| Field::Turn(param, number));
        }
    }
    all
}

fn add<'m>(all: &mut Vec<(&'m str, Field<'m>)>, path: &[&'m str], field: &dyn Fn() -> Field<'m>) {
    match path {
        [] => {}
        // Two fields of one name were reported; one stands for both.
        [last] if all.iter().any(|(name, _)| name == last) => {}
        [last] => all.push((last, field())),
        [first, rest @ ..] => match all.iter_mut().find(|(name, _)| name == first) {
            Some((_, Field::Fields(inner))) => add(inner, rest, field),
            Some((_, Field::Param(_) | Field::Turn(..))) => {}
            None => {
                let mut inner = vec![];
                add(&mut inner, rest, field);
                all.push((first, Field::Fields(inner)));
            }
        },
    }
}

/// Every list of names of nested fields, in order of first appearance.
fn shapes<'m>(fields: &[(&'m str, Field<'m>)]) -> Vec<Vec<&'m str>> {
    let mut all: Vec<Vec<&str>> = vec![];
    let inner = fields.iter().filter_map(|(_, field)| match field {
        Field::Param(_) | Field::Turn(..) => None,
        Field::Fields(inner) => Some(inner),
    });
    for inner in inner {
        for list in std::iter::once(names_of(inner)).chain(shapes(inner)) {
            if !all.contains(&list) {
                all.push(list);
            }
        }
    }
    all
}

fn names_of<'m>(fields: &[(&'m str, Field<'m>)]) -> Vec<&'m str> {
    fields.iter().map(|(name, _)| *name).collect()
}

fn shape(number: usize) -> Ident {
    format_ident!("Fields{number}_")
}

/// The struct of a list of nested fields.
fn struct_of(fields: &[(&str, Field<'_>)], shapes: &[Vec<&str>], model: &Model) -> TokenStream {
    let Some(number) = shapes.iter().position(|list| *list == names_of(fields)) else {
        unreachable!("every list of names has a struct")
    };
    super::path(model, &shape(number))
}

fn ty(field: &Field<'_>, shapes: &[Vec<&str>], model: &Model, rt: &TokenStream) -> TokenStream {
    match field {
        Field::Param(param) | Field::Turn(param, _) => {
            let ty = if matches!(field, Field::Param(_)) { param.stacked() } else { param.ty.clone() };
            let extents = ty.shape.iter().rev().map(|dim| Literal::i64_unsuffixed(dim.as_const().unwrap_or_default()));
            let ty = extents.fold(super::parameters(model.stored_as(param), rt), |inner, n| quote!([#inner; #n]));
            quote_spanned!(Span::mixed_site()=> R::To<#ty>)
        }
        Field::Fields(fields) => {
            let shape = struct_of(fields, shapes, model);
            let types = fields.iter().map(|(_, field)| ty(field, shapes, model, rt));
            quote!(#shape<#(#types),*>)
        }
    }
}

fn value(field: &Field<'_>, shapes: &[Vec<&str>], model: &Model) -> TokenStream {
    match field {
        Field::Param(param) => {
            let offset = Literal::usize_unsuffixed(model.first(param));
            quote_spanned!(Span::mixed_site()=> pool.take(#offset))
        }
        Field::Turn(param, number) => {
            let each = param.ty.count().as_const().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
            let offset = Literal::usize_unsuffixed(model.first(param) + number * each);
            quote_spanned!(Span::mixed_site()=> pool.take(#offset))
        }
        Field::Fields(fields) => {
            let shape = struct_of(fields, shapes, model);
            let names = fields.iter().map(|(name, _)| ident(name));
            let values = fields.iter().map(|(_, field)| value(field, shapes, model));
            quote!(#shape { #(#names: #values),* })
        }
    }
}

fn ident(name: &str) -> Ident {
    names::field(name, Span::call_site())
}
