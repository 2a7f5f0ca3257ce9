//! Sessions. In: a model. Out: the struct `NameSession` with the model's functions, whose results it lends. Always: a
//! call at a shape that was seen before allocates nothing.

use super::signature::Signature;
use super::tensor::Form;
use super::{evaluated, records};
use crate::ir::Model;
use proc_macro2::{Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The session of a model.
pub(super) fn items(model: &Model, rt: &TokenStream) -> TokenStream {
    let (name, vis) = (&model.name, &model.vis);
    let session = format_ident!("{name}Session");
    let doc = format!("Repeated calls of one `{name}` without allocation.");
    let methods = evaluated(model).map(|function| method(&Signature::new(model, function, rt), rt));
    quote_spanned! {Span::mixed_site()=>
        #[doc = #doc]
        #[derive(::core::fmt::Debug)]
        #[allow(dead_code, unreachable_pub)]
        #vis struct #session<'m, D: #rt::Device = #rt::Cpu> {
            session: #rt::Session<'m, #name<D>>,
        }

        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl<D: #rt::Device> #session<'_, D> {
            #(#methods)*
        }

        impl<'m, D: #rt::Device> ::core::ops::Deref for #session<'m, D> {
            type Target = #rt::Session<'m, #name<D>>;

            fn deref(&self) -> &Self::Target {
                &self.session
            }
        }
    }
}

/// `scores` and `scores_async`, which lend their results.
fn method(signature: &Signature<'_>, rt: &TokenStream) -> TokenStream {
    let name = &signature.function.name;
    let name_async = format_ident!("{name}_async");
    let attrs = signature.attrs_or(&format!("As the model's `{name}`."));
    let attrs_async = signature.attrs_with(&format!("As `{name}`, without blocking."));
    let (params, names, inputs) = (signature.params(), signature.names(), signature.inputs());
    let bind = signature.bind(&quote_spanned!(Span::mixed_site()=> self.session.take));
    let keep = signature.keep(&quote_spanned!(Span::mixed_site()=> self.session.keep));
    let (statements, extents) = signature.extents(|form| matches!(form, Form::View(_)));
    let results = &signature.results;
    let plan = &signature.plan;
    let record = |name: &proc_macro2::Ident| records::lent(name, results);
    let lifetime = records::borrows(results).then(|| quote!(<'_>));
    let result = signature.together(
        |tensor| tensor.lent(rt, &quote!()),
        |name| {
            let name = record(name);
            quote!(#name #lifetime)
        },
    );
    let values: Vec<_> = (0..results.len()).map(|k| results[k].lent_value(rt, plan, k, &extents[k])).collect();
    let value = signature.together_value(&values, record);
    let flags = (0..results.len()).filter(|&k| results[k].is_bool()).map(Literal::usize_unsuffixed);
    quote_spanned! {Span::mixed_site()=>
        #attrs
        pub fn #name(&mut self, #params) -> #rt::Result<#result>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(&self.session.device(), self.#name_async(#names))
        }

        #attrs_async
        pub async fn #name_async(&mut self, #params) -> #rt::Result<#result> {
            #bind
            #statements
            self.session.call::<#plan>(&dims, #inputs).await?;
            #keep
            #(self.session.convert::<#plan>(&dims, #flags);)*
            ::core::result::Result::Ok(#value)
        }
    }
}
