//! How a program supplies foreign functions. In: their declarations. Out: for each a method `with_…` of the model that
//! takes a closure. Always: a closure gets what a method of the same signature would, and after it the buffers to fill.

use super::tensor::{Form, Tensor};
use crate::ir::Model;
use crate::ir::model::ForeignFn;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The methods that supply the model's foreign functions.
pub(super) fn items(model: &Model, rt: &TokenStream) -> TokenStream {
    if model.foreign.is_empty() {
        return quote!();
    }
    let name = &model.name;
    // rustc compiles the crate again when a file changes that it includes.
    let files = model.foreign.iter().filter_map(|one| one.wgsl.as_ref()?.file.as_ref());
    let files = files.map(|file| {
        quote!(
            const _: &::core::primitive::str = ::core::include_str!(#file);
        )
    });
    let methods = model.foreign.iter().enumerate().map(|(number, one)| method(number, one, rt));
    quote_spanned! {Span::mixed_site()=>
        #(#files)*
        #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
        impl<D: #rt::Device> #name<D> {
            #(#methods)*
        }
    }
}

fn method(number: usize, one: &ForeignFn, rt: &TokenStream) -> TokenStream {
    let ForeignFn { name, args, results, wgsl } = one;
    let method = Ident::new(&format!("with_{name}"), Span::call_site());
    let args: Vec<Tensor> = args.iter().map(|(_, ty)| Tensor::new(ty)).collect();
    let results: Vec<Tensor> = results.iter().map(Tensor::new).collect();
    let given = args.iter().map(|tensor| tensor.argument(rt));
    let buffers = results.iter().map(|tensor| tensor.buffer(rt));
    let values = args.iter().enumerate().map(|(k, tensor)| value(tensor, k, rt));
    let outs: Vec<Ident> = (0..results.len()).map(|k| format_ident!("out{k}", span = Span::mixed_site())).collect();
    let rooms = results.iter().zip(&outs).map(|(tensor, out)| {
        let leading = Literal::usize_unsuffixed(tensor.leading.len());
        let values = tensor.values_mut(rt, &quote!(#out.0), &quote!(&#out.1[..#leading]));
        match tensor.form() {
            Form::Scalar | Form::Fixed => quote!(&mut #values[0]),
            Form::Slice | Form::View(_) => values,
        }
    });
    let names: Vec<String> = one.args.iter().map(|(name, _)| format!("`{name}`")).collect();
    let doc = format!(
        "Supplies the foreign function `{name}`: a closure that takes {} and a buffer for each result, which it fills. \
         It gives nothing, or a `Result` whose error ends the call; a panic ends the call as an error too. On a GPU \
         {}.",
        if names.is_empty() { "no argument".to_owned() } else { names.join(", ") },
        match wgsl {
            Some(_) => "the WGSL of the declaration runs instead",
            None => "every call splits the submission: the arguments are read back, and the results are written",
        }
    );
    let number = Literal::usize_unsuffixed(number);
    quote_spanned! {Span::mixed_site()=>
        #[doc = #doc]
        #[must_use]
        pub fn #method<R: #rt::Finished>(
            mut self,
            function: impl ::core::ops::Fn(#(#given,)* #(#buffers),*) -> R
                + ::core::marker::Send + ::core::marker::Sync + 'static,
        ) -> Self {
            self.weights.__emitted_code_only_supply(#number, #rt::Arc::new(move |args: &[#rt::Given<'_>], results: &mut [#rt::Room<'_>]| {
                let [#(#outs),*] = results else { return #rt::Finished::finish(()) };
                #rt::Finished::finish(function(#(#values,)* #(#rooms),*))
            }));
            self
        }
    }
}

/// The k-th argument as the closure gets it.
fn value(tensor: &Tensor, k: usize, rt: &TokenStream) -> TokenStream {
    let (k, leading) = (Literal::usize_unsuffixed(k), Literal::usize_unsuffixed(tensor.leading.len()));
    let words = quote_spanned!(Span::mixed_site()=> args[#k].0);
    let values = tensor.values(rt, &words, &quote_spanned!(Span::mixed_site()=> &args[#k].1[..#leading]));
    match tensor.form() {
        Form::Scalar => quote!(#rt::scalar(#words)),
        Form::Fixed => quote!(&#values[0]),
        Form::Slice => values,
        Form::View(rank) => {
            let extents = (0..rank).map(Literal::usize_unsuffixed);
            let shape = quote_spanned!(Span::mixed_site()=> args[#k].1);
            quote!(#rt::view(#values, [#(#shape[#extents]),*]))
        }
    }
}
