//! The check of a call's arguments. In: the leading extents of the arguments of a function and its named dimensions. Out: for
//! each name of a function one `bind`, which gives the values of the dimensions. Always: names are bound before the extents that are
//! computed from them are compared; no extent and no position in the function's graph is negative then.

use super::needs::{needs, position};
use super::signature::checked;
use super::tensor::Tensor;
use super::{first_of, names};
use crate::ir::model::Binder;
use crate::ir::{Dim, Function, Model};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

/// One `bind` for each name of a function.
pub(super) fn items(model: &Model) -> TokenStream {
    let first = |function: &&Function| std::ptr::eq(first_of(model, function), *function);
    model.functions.iter().filter(first).map(|function| item(model, function)).collect()
}

fn item(model: &Model, function: &Function) -> TokenStream {
    let marker = names::marker(function);
    let count = Literal::usize_unsuffixed(function.dims.len());
    let dims = function.dims.iter().map(|dim| {
        let name = &dim.name;
        let bound = match dim.bound.map(Literal::i64_unsuffixed) {
            Some(bound) => quote!(::core::option::Option::Some(#bound)),
            None => quote!(::core::option::Option::None),
        };
        quote!(rt::Dim { name: #name, bound: #bound })
    });
    let (mut params, mut bound, mut compared) = (vec![], quote!(), quote!());
    given(model, function, &mut params, &mut bound);
    for argument in &function.args {
        let tensor = Tensor::new(&argument.ty);
        if tensor.leading.is_empty() {
            continue;
        }
        let (name, rank) = (&argument.name, Literal::usize_unsuffixed(tensor.leading.len()));
        params.push(quote!(#name: [usize; #rank]));
        axes(function, &tensor, name, &mut bound, &mut compared);
    }
    limits(model, function, &mut compared);
    quote_spanned! {Span::mixed_site()=>
        impl #marker {
            #[inline]
            pub(super) fn bind(#(#params),*) -> rt::Result<[usize; #count]> {
                static DIMS: [rt::Dim; #count] = [#(#dims),*];
                let mut bindings = rt::Bindings::new(&DIMS);
                #bound
                let dims = bindings.finish();
                #compared
                ::core::result::Result::Ok(dims)
            }
        }
    }
}

/// Appends what binds dimensions without being an extent: the session, and arguments that are positions.
fn given(model: &Model, function: &Function, params: &mut Vec<TokenStream>, bound: &mut TokenStream) {
    if function.in_session {
        let at = model.dims.iter().filter_map(|dim| function.dims.iter().position(|d| d.name == dim.name));
        let at = at.map(Literal::usize_unsuffixed);
        params.push(quote_spanned!(Span::mixed_site()=> session: &[usize]));
        bound.extend(quote_spanned!(Span::mixed_site()=> bindings.session(&[#(#at),*], session)?;));
    }
    for (at, dim) in function.dims.iter().enumerate() {
        if let Binder::Argument(k) = dim.binder {
            let (name, at) = (&function.args[k].name, Literal::usize_unsuffixed(at));
            params.push(quote!(#name: u32));
            bound.extend(quote_spanned!(Span::mixed_site()=> bindings.position(#at, #name);));
        }
    }
}

/// Appends the checks that nothing is negative and every position inside.
fn limits(model: &Model, function: &Function, compared: &mut TokenStream) {
    let called = function.name.to_string();
    let alike = |f: &&Function| f.name == function.name && f.in_session == function.in_session;
    for dim in needs(model.functions.iter().filter(alike)) {
        let Some((at, limit)) = position(function, &dim) else {
            let (written, value) = (dim.to_string(), checked(function, &dim));
            compared.extend(quote!(rt::needed(#called, #written, #value)?;));
            continue;
        };
        let (argument, written, limit) = (&function.dims[at].name, limit.to_string(), checked(function, &limit));
        let at = Literal::usize_unsuffixed(at);
        compared.extend(quote_spanned! {Span::mixed_site()=>
            rt::position((#called, #argument), dims[#at], #written, #limit)?;
        });
    }
}

/// Appends the checks of one argument.
fn axes(
    function: &Function,
    tensor: &Tensor,
    name: &proc_macro2::Ident,
    bound: &mut TokenStream,
    compared: &mut TokenStream,
) {
    let text = name.to_string();
    for (axis, dim) in tensor.leading.iter().enumerate() {
        let axis = Literal::usize_unsuffixed(axis);
        let found = quote!(#name[#axis]);
        let named = function.dims.iter().position(|named| Some(named.name.as_str()) == dim.as_name());
        if let Some(at) = named.map(Literal::usize_unsuffixed) {
            bound.extend(quote_spanned!(Span::mixed_site()=> bindings.name(#at, #text, #found)?;));
            continue;
        }
        let written = dim.to_string();
        if let Some((at, scale, offset)) = affine(function, dim) {
            let (at, offset) = (Literal::usize_unsuffixed(at), Literal::i64_unsuffixed(offset));
            let scale = Literal::i64_unsuffixed(scale);
            bound.extend(quote_spanned! {Span::mixed_site()=>
                bindings.affine(#at, (#scale, #offset), #text, #axis, #written, #found)?;
            });
            continue;
        }
        let expected = checked(function, dim);
        compared.extend(quote!(rt::extent(#text, #axis, #written, #expected, #found)?;));
    }
}

/// The dimension whose name an extent has, its factor and what is added, where the name is an extent by itself in no argument.
fn affine(function: &Function, dim: &Dim) -> Option<(usize, i64, i64)> {
    let mut found = function.dims.iter().enumerate().filter_map(|(at, named)| Some((at, dim.affine(&named.name)?)));
    let (at, (factor, summand)) = found.next()?;
    let name = Some(function.dims[at].name.as_str());
    let is_alone = function.args.iter().flat_map(|argument| &argument.ty.shape).any(|extent| extent.as_name() == name);
    (!is_alone).then_some((at, factor, summand))
}
