//! The struct that stands for a model. In: a model. Out: the struct, the methods that every model has, and for each
//! function its methods on the model. Always: `scores` waits for `scores_async`, and so on; no body stands twice.

use super::export::Exports;
use super::signature::Signature;
use super::{aliases, costs, evaluated, float, of_float, origin, path, session, spec};
use crate::ir::{Mode, Model};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The struct and all of its implementations. The user's functions come first, as rustdoc shows them in this order.
pub(super) fn items(model: &Model, exports: &Exports, rt: &TokenStream) -> TokenStream {
    let (made, kept) = (made(model, rt), kept(model, exports, rt));
    let (functions, traits) = (functions(model, rt), traits(model, rt));
    let (name, vis, attrs, refused) = (&model.name, &model.vis, &model.attrs, exports.attrs());
    let weights = of_float(model, rt, &quote!(#rt::Weights), &quote!(D));
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #refused
        #vis struct #name<D: #rt::Device = #rt::Cpu> {
            weights: #weights,
        }

        #functions
        #made
        #kept
        #traits
    }
}

/// What makes a model.
fn made(model: &Model, rt: &TokenStream) -> TokenStream {
    let (name, count, float) = (&model.name, spec::count(model), float(model, rt));
    let plan = path(model, &Ident::new("Plan_", Span::call_site()));
    let costs = evaluated(model).map(|f| costs::items(model, f, rt, &format!("a call of `{}`", f.name)));
    let first = match model.origins.is_empty() {
        false => origin::methods(model, rt),
        true => quote_spanned! {Span::mixed_site()=>
            /// A model whose parameters are drawn from `seed`.
            pub fn init(seed: u64) -> Self {
                #name { weights: #rt::Weights::init::<#plan>(seed) }
            }
        },
    };
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl #name<#rt::Cpu> {
            /// The number of parameters.
            pub const PARAMS: usize = #count;

            #first

            /// The model of a safetensors file, or of several with an index.
            ///
            /// # Errors
            /// If the file cannot be read or has other parameters.
            pub fn open(path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<Self> {
                Self::open_from(&#rt::File::new(path))
            }

            /// The model of a file whose names are other ones.
            ///
            /// # Errors
            /// If the file cannot be read, or lacks parameters or has others, even with its names changed.
            pub fn open_from(file: &#rt::File) -> #rt::Result<Self> {
                ::core::result::Result::Ok(#name { weights: #rt::Weights::open::<#plan>(file)? })
            }

            /// The model of the bytes of a safetensors file.
            ///
            /// # Errors
            /// If the bytes are no such file or have other parameters.
            pub fn open_bytes(bytes: &[u8]) -> #rt::Result<Self> {
                ::core::result::Result::Ok(#name { weights: #rt::Weights::open_bytes::<#plan>(bytes)? })
            }

            /// The values of one parameter, row-major, to be written.
            ///
            /// # Errors
            /// If no parameter has this name.
            pub fn parameter_mut(&mut self, name: &str) -> #rt::Result<&mut [#float]> {
                self.weights.parameter_mut(name)
            }

            #(#costs)*
        }
    }
}

/// What every model has on every device.
fn kept(model: &Model, exports: &Exports, rt: &TokenStream) -> TokenStream {
    let (name, moved, loaded, written) = (&model.name, moved(model, rt), loaded(rt), written(model, rt));
    let exported = exports.methods(model, rt);
    let (sessions, trainer) = (sessions(model, rt), format_ident!("{name}Trainer"));
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl<D: #rt::Device> #name<D> {
            #moved
            #loaded
            #written
            #exported

            #sessions

            /// A trainer, at step 0.
            pub fn trainer<O: #rt::Optimizer>(&mut self, optimizer: O) -> #trainer<'_, O, D>
            where
                Self: #rt::Trained<O>,
            {
                #trainer { trainer: #rt::Trainer::new(self, optimizer) }
            }
        }
    }
}

/// What makes sessions: with the dimensions of their state, where it has some.
fn sessions(model: &Model, rt: &TokenStream) -> TokenStream {
    let session = format_ident!("{}Session", model.name);
    let alias = aliases::session(model);
    let Some(dims) = session::dims_name(model) else {
        return quote_spanned! {Span::mixed_site()=>
            /// A session: repeated calls without allocation.
            #alias
            pub fn session(&self) -> #session<'_, D> {
                #session { session: #rt::Session::new(#rt::Shared::Borrowed(self)) }
            }

            /// A session that keeps the model alive.
            pub fn shared_session(model: &#rt::Arc<Self>) -> #session<'static, D> {
                #session { session: #rt::Session::new(#rt::Shared::Counted(::core::clone::Clone::clone(model))) }
            }
        };
    };
    let names: Vec<_> = model.dims.iter().map(|dim| Ident::new(&dim.name, Span::call_site())).collect();
    quote_spanned! {Span::mixed_site()=>
        /// A session with state of these dimensions, zero at first: repeated calls without allocation.
        ///
        /// # Errors
        /// If a dimension is 0 or above its bound, or the state is too large.
        #alias
        pub fn session(&self, dims: #dims) -> #rt::Result<#session<'_, D>> {
            let model = #rt::Shared::Borrowed(self);
            ::core::result::Result::Ok(#session { session: #rt::Session::with(model, &[#(dims.#names),*])? })
        }

        /// A session that keeps the model alive.
        ///
        /// # Errors
        /// As for `session`.
        pub fn shared_session(model: &#rt::Arc<Self>, dims: #dims) -> #rt::Result<#session<'static, D>> {
            let model = #rt::Shared::Counted(::core::clone::Clone::clone(model));
            ::core::result::Result::Ok(#session { session: #rt::Session::with(model, &[#(dims.#names),*])? })
        }
    }
}

fn moved(model: &Model, rt: &TokenStream) -> TokenStream {
    let name = &model.name;
    let plan = path(model, &Ident::new("Plan_", Span::call_site()));
    quote_spanned! {Span::mixed_site()=>
        /// A copy on another device.
        ///
        /// # Errors
        /// If one of the devices is lost or has no memory left.
        pub fn on<E: #rt::Blocking>(&self, device: &E) -> #rt::Result<#name<E>>
        where
            D: #rt::Blocking,
        {
            ::core::result::Result::Ok(#name { weights: self.weights.__emitted_code_only_on_blocking::<#plan, E>(device)? })
        }

        /// As `on`, without blocking.
        ///
        /// # Errors
        /// As for `on`.
        pub async fn on_async<E: #rt::Device>(&self, device: &E) -> #rt::Result<#name<E>> {
            ::core::result::Result::Ok(#name { weights: self.weights.on::<#plan, E>(device).await? })
        }
    }
}

fn loaded(rt: &TokenStream) -> TokenStream {
    quote_spanned! {Span::mixed_site()=>
        /// Overwrites all parameters with those of a safetensors file, or of several with an index.
        ///
        /// # Errors
        /// If the file cannot be read or has other parameters; then nothing has changed.
        pub fn load(&mut self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            let device = ::core::clone::Clone::clone(self.weights.device());
            #rt::Blocking::wait(&device, self.load_async(path))
        }

        /// As `load`, without blocking.
        ///
        /// # Errors
        /// As for `load`.
        pub async fn load_async(&mut self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()> {
            self.load_from_async(&#rt::File::new(path)).await.map(::core::mem::drop)
        }

        /// Overwrites parameters with those of a file whose names are other ones, or which is not strict, and tells what
        /// only one of the two has.
        ///
        /// # Errors
        /// If the file cannot be read or differs in what it must not; then nothing has changed.
        pub fn load_from(&mut self, file: &#rt::File) -> #rt::Result<#rt::Unmatched>
        where
            D: #rt::Blocking,
        {
            let device = ::core::clone::Clone::clone(self.weights.device());
            #rt::Blocking::wait(&device, self.load_from_async(file))
        }

        /// As `load_from`, without blocking.
        ///
        /// # Errors
        /// As for `load_from`.
        pub async fn load_from_async(&mut self, file: &#rt::File) -> #rt::Result<#rt::Unmatched> {
            self.weights.load(file).await
        }
    }
}

fn written(model: &Model, rt: &TokenStream) -> TokenStream {
    let float = float(model, rt);
    quote_spanned! {Span::mixed_site()=>
        /// Overwrites one parameter with `values`, row-major.
        ///
        /// # Errors
        /// If no parameter has this name, or it has another number of values.
        pub fn write(&mut self, name: &str, values: &[#float]) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            let device = ::core::clone::Clone::clone(self.weights.device());
            #rt::Blocking::wait(&device, self.write_async(name, values))
        }

        /// As `write`, without blocking.
        ///
        /// # Errors
        /// As for `write`.
        pub async fn write_async(&mut self, name: &str, values: &[#float]) -> #rt::Result<()> {
            self.weights.write(name, values).await
        }
    }
}

/// The methods of the model's functions.
fn functions(model: &Model, rt: &TokenStream) -> TokenStream {
    let name = &model.name;
    let methods = evaluated(model).filter(|function| !function.in_session).map(|function| {
        let signature = Signature::new(model, function, rt);
        let (owned, into) = (owned(model, &signature, rt), signature.has_into().then(|| into(&signature, rt)));
        quote!(#owned #into)
    });
    quote_spanned! {Span::mixed_site()=>
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl<D: #rt::Device> #name<D> {
            #(#methods)*
        }
    }
}

/// `scores` and `scores_async`, whose results the caller owns.
fn owned(model: &Model, signature: &Signature<'_>, rt: &TokenStream) -> TokenStream {
    let name = &signature.function.name;
    let (text, name_async) = (name.to_string(), format_ident!("{name}_async"));
    let alias = aliases::call(model, signature.function);
    let (attrs, attrs_async) = (signature.attrs(), signature.attrs_with(&format!("As `{name}`, without blocking.")));
    let (params, names, bind, inputs) =
        (signature.params(), signature.names(), signature.bind(&quote!(#rt::Encoded::of)), signature.inputs());
    let (plan, outs) = (&signature.plan, signature.outs());
    let (statements, extents) = signature.extents(|_| true);
    let results = || signature.results.iter().zip(&outs);
    let rooms = results().zip(&extents).map(|((tensor, _), extents)| tensor.room(rt, &text, extents));
    let filled: Vec<_> = results().map(|(tensor, out)| tensor.filled(rt, out, &tensor.room_slice(out))).collect();
    let (before, after) = (filled.iter().map(|one| &one.before), filled.iter().map(|one| &one.after));
    let words = filled.iter().map(|one| &one.words);
    let values: Vec<_> = results().map(|(tensor, out)| tensor.owned_value(out)).collect();
    let result = signature.together(|tensor| tensor.owned(rt), |record| quote!(#record));
    let value = signature.together_value(&values, Ident::clone);
    quote_spanned! {Span::mixed_site()=>
        #attrs
        #alias
        pub fn #name(&self, #params) -> #rt::Result<#result>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(self.weights.device(), self.#name_async(#names))
        }

        #attrs_async
        pub async fn #name_async(&self, #params) -> #rt::Result<#result> {
            #bind
            #statements
            #(let mut #outs = #rooms;)*
            #(#before)*
            self.weights.__emitted_code_only_call::<#plan>(&dims, #inputs, &mut [#(#words),*]).await?;
            #(#after)*
            ::core::result::Result::Ok(#value)
        }
    }
}

/// `scores_into` and `scores_into_async`, which fill memory of the caller's.
fn into(signature: &Signature<'_>, rt: &TokenStream) -> TokenStream {
    let name = &signature.function.name;
    let (text, name_into, name_async) =
        (name.to_string(), format_ident!("{name}_into"), format_ident!("{name}_into_async"));
    let outs = signature.outs();
    let shown = outs.iter().map(|out| format!("`{out}`")).collect::<Vec<_>>().join(", ");
    let attrs = signature.attrs_with(&format!("As `{name}`, into {shown}."));
    let attrs_async = signature.attrs_with(&format!("As `{name}`, into {shown} and without blocking."));
    let (params, names, bind, inputs) =
        (signature.params(), signature.names(), signature.bind(&quote!(#rt::Encoded::of)), signature.inputs());
    let comma = (!signature.function.args.is_empty()).then(|| quote!(,));
    let (plan, buffers) = (&signature.plan, signature.results.iter().map(|tensor| tensor.buffer(rt)));
    let buffers: Vec<_> = outs.iter().zip(buffers).map(|(out, buffer)| quote!(#out: #buffer)).collect();
    let (statements, extents) = signature.extents(|_| true);
    let (mut checks, mut words, mut copies) = (quote!(), vec![], quote!());
    for ((tensor, out), extents) in signature.results.iter().zip(&outs).zip(&extents) {
        if !extents.is_empty() {
            let shown = out.to_string();
            checks.extend(quote!(#rt::room(#shown, #out.len(), #rt::product(#text, &[#(#extents),*])?)?;));
        }
        let filled = tensor.filled(rt, out, &tensor.buffer_slice(out));
        checks.extend(filled.before);
        words.push(filled.words);
        copies.extend(filled.after);
    }
    quote_spanned! {Span::mixed_site()=>
        #attrs
        pub fn #name_into(&self, #params #comma #(#buffers),*) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(self.weights.device(), self.#name_async(#names #comma #(#outs),*))
        }

        #attrs_async
        pub async fn #name_async(&self, #params #comma #(#buffers),*) -> #rt::Result<()> {
            #bind
            #statements
            #checks
            self.weights.__emitted_code_only_call::<#plan>(&dims, #inputs, &mut [#(#words),*]).await?;
            #copies
            ::core::result::Result::Ok(())
        }
    }
}

fn traits(model: &Model, rt: &TokenStream) -> TokenStream {
    let name = &model.name;
    let mut optimizers: Vec<&str> = vec![];
    for function in &model.functions {
        match &function.mode {
            Mode::Train(optimizer) if !optimizers.contains(&&**optimizer) => optimizers.push(optimizer),
            Mode::Train(_) | Mode::Evaluate => {}
        }
    }
    let sketched = model.sketches.iter().flat_map(|sketch| &sketch.optimizers);
    for name in sketched {
        if !optimizers.contains(&&**name) {
            optimizers.push(name);
        }
    }
    let optimizers = optimizers.into_iter().map(|name| Ident::new(name, Span::call_site()));
    let (weights, float) = (of_float(model, rt, &quote!(#rt::Weights), &quote!(D)), float(model, rt));
    quote_spanned! {Span::mixed_site()=>
        impl ::core::clone::Clone for #name<#rt::Cpu> {
            fn clone(&self) -> Self {
                #name { weights: ::core::clone::Clone::clone(&self.weights) }
            }
        }

        impl<D: #rt::Device> ::core::fmt::Debug for #name<D> {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.weights, f)
            }
        }

        impl<D: #rt::Device> ::core::ops::Deref for #name<D> {
            type Target = #weights;

            fn deref(&self) -> &#weights {
                &self.weights
            }
        }

        #[doc(hidden)]
        impl<D: #rt::Device> #rt::Model for #name<D> {
            type Device = D;
            type Float = #float;

            fn weights(&self) -> &#weights {
                &self.weights
            }

            fn weights_mut(&mut self) -> &mut #weights {
                &mut self.weights
            }
        }

        #(impl<D: #rt::Device> #rt::Trained<#rt::#optimizers> for #name<D> {})*
    }
}
