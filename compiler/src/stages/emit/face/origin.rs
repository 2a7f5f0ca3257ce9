//! How a model that was imported gets its parameters. In: where they are in its file. Out: what opens that file, and the places of
//! the parameters. Always: the program holds no weight as a token, and is built again when the file changes.

use super::path;
use crate::ir::Model;
use crate::ir::model::{Held, Origin};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

/// The methods of the model.
pub(super) fn methods(model: &Model, origin: &Origin, rt: &TokenStream) -> TokenStream {
    let name = &model.name;
    let [plan, places] = ["Plan_", "ORIGIN"].map(|item| path(model, &Ident::new(item, Span::call_site())));
    let file = &origin.file;
    quote_spanned! {Span::mixed_site()=>
        /// The model with the parameters of its ONNX file, which become part of the program where this is called.
        ///
        /// # Errors
        /// If there is no memory left.
        pub fn embedded() -> #rt::Result<Self> {
            static FILE: &[::core::primitive::u8] = ::core::include_bytes!(#file);
            ::core::result::Result::Ok(#name { weights: #rt::Weights::of_origin::<#plan>(FILE, &#places)? })
        }

        /// The model with the parameters of an ONNX file: that which it was built from, or one that differs in nothing else.
        ///
        /// # Errors
        /// If the file cannot be read, or is another one.
        pub fn open_onnx(path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<Self> {
            let weights = #rt::Weights::open_origin::<#plan>(::core::convert::AsRef::as_ref(&path), &#places)?;
            ::core::result::Result::Ok(#name { weights })
        }
    }
}

/// The static `ORIGIN`.
pub(super) fn items(origin: &Origin) -> TokenStream {
    let Origin { file: _, len, hash, tensors, constants } = origin;
    let (len, hash) = (Literal::u64_unsuffixed(*len), Literal::u64_unsuffixed(*hash));
    let constants = Literal::byte_string(constants);
    let tensors = tensors.iter().map(|Held { dtype, in_program, start, end }| {
        let [start, end] = [start, end].map(|at| Literal::usize_unsuffixed(*at));
        let dtype = dtype.name_in_files();
        quote!(rt::Held { dtype: #dtype, in_program: #in_program, start: #start, end: #end })
    });
    quote! {
        pub static ORIGIN: rt::Origin =
            rt::Origin { len: #len, hash: #hash, tensors: &[#(#tensors),*], constants: #constants };
    }
}
