//! How a model that was imported, or has blocks that were, gets its parameters. In: where they are in their files. Out: what opens
//! these, and the places of the parameters. Always: the program holds no weight as a token, and is built again when a file changes.

use crate::ir::Model;
use crate::ir::model::{Held, Origin, ParamId};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use std::collections::BTreeSet;
use std::path::Path;

/// The methods of the model.
pub(super) fn methods(model: &Model, rt: &TokenStream) -> TokenStream {
    let name = &model.name;
    let [plan, places] = ["Plan_", "ORIGINS"].map(|item| super::path(model, &Ident::new(item, Span::call_site())));
    let files = model.origins.iter().map(embedded);
    // Parameters of other layers are drawn; scales of integers follow from what these are made of.
    let scales: BTreeSet<ParamId> = model.params.iter().filter_map(|param| param.scales).collect();
    let drawn =
        model.origins.iter().map(|origin| origin.tensors.len()).sum::<usize>() + scales.len() < model.params.len();
    let [seed, path] = ["seed", "path"].map(|name| Ident::new(name, Span::mixed_site()));
    let (parameter, seed) = match drawn {
        true => (quote!(#seed: u64), quote!(#seed)),
        false => (quote!(), quote!(0)),
    };
    let [embedded, opened] = docs(model.origins.len(), drawn);
    let (paths, given) = match model.origins.len() {
        1 => (quote!(impl ::core::convert::AsRef<#rt::Path>), quote!([#path])),
        n => {
            let n = Literal::usize_unsuffixed(n);
            (quote!([impl ::core::convert::AsRef<#rt::Path>; #n]), quote!(#path))
        }
    };
    let comma = drawn.then(|| quote!(,));
    quote_spanned! {Span::mixed_site()=>
        #[doc = #embedded]
        ///
        /// # Errors
        /// If a parameter is no number of the type that the model stores.
        pub fn embedded(#parameter) -> #rt::Result<Self> {
            let files: &[&[&[::core::primitive::u8]]] = &[#(#files),*];
            ::core::result::Result::Ok(#name { weights: #rt::Weights::of_origins::<#plan>(#seed, files, &#places)? })
        }

        #[doc = #opened]
        ///
        /// # Errors
        /// If a file cannot be read, or is another one.
        pub fn open_onnx(#path: #paths #comma #parameter) -> #rt::Result<Self> {
            let paths = #given;
            let paths = paths.each_ref().map(::core::convert::AsRef::as_ref);
            ::core::result::Result::Ok(#name { weights: #rt::Weights::open_origins::<#plan>(#seed, &paths, &#places)? })
        }
    }
}

/// The bytes of a file, and of those beside it.
fn embedded(origin: &Origin) -> TokenStream {
    let Origin { file, external, .. } = origin;
    let file_name = match syn::Lit::new(file.clone()) {
        syn::Lit::Str(name) => name.value(),
        _ => unreachable!("files are named by texts"),
    };
    let external = external.iter().map(|(name, _)| {
        let mut literal = Literal::string(&Path::new(&file_name).with_file_name(name).to_string_lossy());
        literal.set_span(file.span());
        literal
    });
    let files = std::iter::once(file.clone()).chain(external);
    quote!(&[#(::core::include_bytes!(#files)),*])
}

/// What the methods do.
fn docs(files: usize, drawn: bool) -> [String; 2] {
    let (its, that) = match files {
        1 => ("its ONNX file", "an ONNX file: that which it was built from, or one that differs"),
        _ => (
            "its ONNX files",
            "ONNX files in the order of the fields: those which it was built from, or ones that differ",
        ),
    };
    let seed = if drawn { " All other parameters are drawn from `seed`." } else { "" };
    [
        format!(
            " The model with the parameters of {its}, which become part of the program where this is called.{seed}"
        ),
        format!(" The model with the parameters of {that} in nothing else.{seed}"),
    ]
}

/// The static `ORIGINS`.
pub(super) fn items(origins: &[Origin]) -> Option<TokenStream> {
    let count = Literal::usize_unsuffixed(origins.len());
    let all = origins.iter().map(item);
    (!origins.is_empty()).then(|| quote!(pub static ORIGINS: [rt::Origin; #count] = [#(#all),*];))
}

/// The first of several places of one length that are evenly spaced, as exporters write the layers of a run, and the bytes from each
/// to the next one.
fn evenly(all: &[Held]) -> Option<(&Held, usize)> {
    let [first, second, ..] = all else { return None };
    let step = second.start.checked_sub(first.start)?;
    let at = |number: usize| Held { start: first.start + number * step, end: first.end + number * step, ..*first };
    all.iter().enumerate().all(|(number, held)| *held == at(number)).then_some((first, step))
}

fn item(origin: &Origin) -> TokenStream {
    let Origin { name, file: _, len, external, hash, tensors, constants } = origin;
    let (len, hash) = (Literal::u64_unsuffixed(*len), Literal::u64_unsuffixed(*hash));
    let constants = Literal::byte_string(constants);
    let external = external.iter().map(|(name, len)| {
        let len = Literal::u64_unsuffixed(*len);
        quote!((#name, #len))
    });
    let one = |Held { dtype, in_program, start, end }: &Held| {
        let [start, end] = [start, end].map(|at| Literal::usize_unsuffixed(*at));
        let (dtype, place) = (dtype.name_in_files(), if *in_program { quote!(in_program) } else { quote!(in_file) });
        quote!(rt::Held::#place(#dtype, #start, #end))
    };
    let tensors = tensors.iter().map(|(ParamId(parameter), all)| {
        let parameter = Literal::u32_unsuffixed(*parameter);
        let held = match evenly(all) {
            Some((first, step)) => {
                let (first, count, step) =
                    (one(first), Literal::usize_unsuffixed(all.len()), Literal::usize_unsuffixed(step));
                quote!(#first.repeated(#count, #step))
            }
            None => {
                let all = all.iter().map(one);
                quote!(#(#all),*)
            }
        };
        quote!((#parameter, &[#held]))
    });
    quote! {
        rt::Origin {
            name: #name,
            len: #len,
            external: &[#(#external),*],
            hash: #hash,
            tensors: &[#(#tensors),*],
            constants: #constants,
        }
    }
}
