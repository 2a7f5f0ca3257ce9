//! Sessions. In: a model. Out: the struct `NameSession` with the model's functions, whose results it lends. Always: a
//! call at a shape that was seen before allocates nothing.

use super::signature::Signature;
use super::tensor::Tensor;
use super::{aliases, evaluated, path, records};
use crate::ir::Model;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The session of a model.
pub(super) fn items(model: &Model, rt: &TokenStream) -> TokenStream {
    let (name, vis) = (&model.name, &model.vis);
    let session = format_ident!("{name}Session");
    let doc = format!("Repeated calls of one `{name}` without allocation.");
    let methods = evaluated(model).map(|function| method(model, &Signature::new(model, function, rt), rt));
    let (dims, kept) = (dims(model), (!model.states.is_empty()).then(|| kept(model, rt)));
    let encoded: TokenStream =
        evaluated(model).filter_map(|function| encode(model, &Signature::new(model, function, rt), rt)).collect();
    let on_gpu = (model.runs_on_gpus() && !encoded.is_empty()).then(|| {
        quote_spanned! {Span::mixed_site()=>
            #rt::if_gpu! {
                #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
                impl #session<'_, #rt::Gpu> {
                    #encoded
                }
            }
        }
    });
    quote_spanned! {Span::mixed_site()=>
        #dims

        #[doc = #doc]
        #[derive(::core::fmt::Debug)]
        #[allow(dead_code, unreachable_pub)]
        #vis struct #session<'m, D: #rt::Device = #rt::Cpu> {
            session: #rt::Session<'m, #name<D>>,
        }

        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl<D: #rt::Device> #session<'_, D> {
            #(#methods)*
            #kept
        }

        #on_gpu

        impl<'m, D: #rt::Device> ::core::ops::Deref for #session<'m, D> {
            type Target = #rt::Session<'m, #name<D>>;

            fn deref(&self) -> &Self::Target {
                &self.session
            }
        }
    }
}

/// The name of the struct of dimensions that sessions are made with, where there are some.
pub(super) fn dims_name(model: &Model) -> Option<Ident> {
    (!model.dims.is_empty()).then(|| format_ident!("{}Dims", model.name))
}

fn dims(model: &Model) -> Option<TokenStream> {
    let (name, vis) = (dims_name(model)?, &model.vis);
    let doc = format!("What a session of `{}` is made with.", model.name);
    let docs = model.dims.iter().map(|dim| match dim.bound {
        Some(bound) => format!("`{} <= {bound}`", dim.name),
        None => format!("`{}`, at least 1", dim.name),
    });
    let names = model.dims.iter().map(|dim| Ident::new(&dim.name, Span::call_site()));
    Some(quote_spanned! {Span::mixed_site()=>
        #[doc = #doc]
        #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug, ::core::cmp::PartialEq, ::core::cmp::Eq)]
        #[allow(dead_code, unreachable_pub, non_snake_case)]
        #vis struct #name {
            #(#[doc = #docs] pub #names: usize,)*
        }
    })
}

/// What sessions with state have.
fn kept(model: &Model, rt: &TokenStream) -> TokenStream {
    let files = files(model, rt);
    quote_spanned! {Span::mixed_site()=>
        /// Makes the state zero again, as it was when the session was made.
        ///
        /// # Errors
        /// If the device is lost.
        pub fn reset(&mut self) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(&self.session.device(), self.reset_async())
        }

        /// As `reset`, without blocking.
        ///
        /// # Errors
        /// As for `reset`.
        pub async fn reset_async(&mut self) -> #rt::Result<()> {
            self.session.__emitted_code_only_reset().await
        }

        #files
    }
}

/// What reads and writes the state.
fn files(model: &Model, rt: &TokenStream) -> TokenStream {
    let plan = path(model, &Ident::new("Plan_", Span::call_site()));
    quote_spanned! {Span::mixed_site()=>
        /// Writes the state to a safetensors file, which is replaced as a whole or not at all.
        ///
        /// # Errors
        /// If the file cannot be written, its name ends in `.safetensors.index.json`, or the device is lost.
        pub fn save(&self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(&self.session.device(), self.save_async(path))
        }

        /// As `save`, without blocking.
        ///
        /// # Errors
        /// As for `save`.
        pub async fn save_async(&self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()> {
            self.session.__emitted_code_only_save(path.as_ref()).await
        }

        /// Overwrites the state with that of a file.
        ///
        /// # Errors
        /// If the file cannot be read or holds another state, or one of other dimensions; then nothing has changed.
        pub fn load(&mut self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(&self.session.device(), self.load_async(path))
        }

        /// As `load`, without blocking.
        ///
        /// # Errors
        /// As for `load`.
        pub async fn load_async(&mut self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()> {
            self.session.__emitted_code_only_load::<#plan>(path.as_ref()).await
        }
    }
}

/// `scores` and `scores_async`, which lend their results.
fn method(model: &Model, signature: &Signature<'_>, rt: &TokenStream) -> TokenStream {
    let name = &signature.function.name;
    let name_async = format_ident!("{name}_async");
    let attrs = signature.attrs_or(&format!("As the model's `{name}`."));
    let alias = aliases::call(model, signature.function);
    let attrs_async = signature.attrs_with(&format!("As `{name}`, without blocking."));
    let (params, names, inputs) = (signature.params(), signature.names(), signature.inputs());
    let bind = signature.bind(&quote_spanned!(Span::mixed_site()=> self.session.__emitted_code_only_take));
    let keep = signature.keep(&quote_spanned!(Span::mixed_site()=> self.session.__emitted_code_only_keep));
    let (statements, extents) = signature.extents(Tensor::is_lent_by_extents);
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
    let owner = quote_spanned!(Span::mixed_site()=> self.session);
    let values: Vec<_> =
        (0..results.len()).map(|k| results[k].lent_value(rt, (&owner, plan), k, &extents[k])).collect();
    let value = signature.together_value(&values, record);
    let flags = (0..results.len()).filter(|&k| results[k].is_bool()).map(Literal::usize_unsuffixed);
    let call = match signature.function.in_session {
        true => {
            let all = path(model, &Ident::new("Plan_", Span::call_site()));
            quote!(__emitted_code_only_call_in::<#all, #plan>)
        }
        false => quote!(__emitted_code_only_call::<#plan>),
    };
    quote_spanned! {Span::mixed_site()=>
        #attrs
        #alias
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
            self.session.#call(&dims, #inputs).await?;
            #keep
            #(self.session.__emitted_code_only_convert::<#plan>(&dims, #flags);)*
            ::core::result::Result::Ok(#value)
        }
    }
}

/// `scores_encode`, which records the function into an encoder; none where a call is bound to more than extents.
fn encode(model: &Model, signature: &Signature<'_>, rt: &TokenStream) -> Option<TokenStream> {
    if !signature.is_bound_by_extents() {
        return None;
    }
    let name = &signature.function.name;
    let name_encode = format_ident!("{name}_encode");
    let attrs = signature.attrs_with(&format!(
        "Records `{name}` into an encoder. It runs when the encoder's commands are submitted, with the parameters of that time, reads \
         its arguments where they are on the device, and overwrites the arrays for its results; nothing waits. Results from the fifth on, and \
         what kernels see that have more buffers than a device binds, the device copies."
    ));
    let (params, bind, plan) = (signature.array_params(), signature.bind_arrays(), &signature.plan);
    let outs = signature.outs();
    let results: Vec<TokenStream> = outs
        .iter()
        .zip(&signature.results)
        .map(|(out, tensor)| {
            let ty = tensor.array(rt);
            quote!(#out: &#ty)
        })
        .collect();
    let comma = (!signature.function.args.is_empty()).then(|| quote!(,));
    let arguments = signature.function.args.iter().map(|argument| &argument.name);
    let all = path(model, &Ident::new("Plan_", Span::call_site()));
    let (statements, extents) = signature.extents(|_| true);
    let same = outs.iter().zip(&extents).map(|(out, extents)| {
        let text = out.to_string();
        quote_spanned!(Span::mixed_site()=> #rt::gpu::same_dims(#text, #out.dims(), [#(#extents),*])?;)
    });
    Some(quote_spanned! {Span::mixed_site()=>
        #attrs
        ///
        /// # Errors
        /// If extents do not agree, an array for a result lies in the buffer of another array, arrays are on another device, the
        /// function calls a closure of the program, what is copied has not the usage `COPY_SRC` or `COPY_DST`, or the device is lost.
        pub fn #name_encode(
            &mut self,
            encoder: &mut #rt::gpu::Encoder,
            #params #comma
            #(#results),*
        ) -> #rt::Result<()> {
            #bind
            #statements
            #(#same)*
            self.session.__emitted_code_only_encode::<#all, #plan>(
                encoder,
                &dims,
                &[#(#arguments.__emitted_code_only_lent()),*],
                &[#(#outs.__emitted_code_only_lent()),*],
            )
        }
    })
}
