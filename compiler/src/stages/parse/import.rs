//! Imports of files as they are written: `pub struct Name = onnx("model.onnx", batch = B, tokens = T <= 512);`

#![cfg_attr(not(feature = "onnx"), allow(dead_code, reason = "without the feature nothing is imported"))]

use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Token, parenthesized};

/// The import of a file.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) attrs: Vec<syn::Attribute>,
    pub(super) vis: syn::Visibility,
    pub(super) name: Ident,
    pub(super) file: syn::LitStr,
    pub(super) args: Vec<ImportArg>,
}

/// What an extent or a scalar argument of a file is here.
#[derive(Debug)]
pub(super) struct ImportArg {
    pub(super) name: Ident,
    pub(super) value: ImportValue,
    pub(super) bound: Option<i64>,
}

/// A number, or the name of a dimension.
#[derive(Debug)]
pub(super) enum ImportValue {
    Number(i64),
    Name(Ident),
}

/// What follows `onnx`: `("model.onnx", batch = B, tokens = T <= 512)`.
pub(super) fn file_and_args(input: ParseStream) -> syn::Result<(syn::LitStr, Vec<ImportArg>)> {
    let content;
    parenthesized!(content in input);
    let file = content.parse()?;
    let mut args = vec![];
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        let name = content.call(Ident::parse_any)?;
        content.parse::<Token![=]>()?;
        let value = match content.peek(syn::LitInt) {
            true => ImportValue::Number(content.parse::<syn::LitInt>()?.base10_parse()?),
            false => ImportValue::Name(content.parse()?),
        };
        let bound = match content.parse::<Option<Token![<=]>>()? {
            Some(_) => Some(content.parse::<syn::LitInt>()?.base10_parse()?),
            None => None,
        };
        args.push(ImportArg { name, value, bound });
    }
    if !content.is_empty() {
        return Err(content.error("expected `,` or `)`"));
    }
    Ok((file, args))
}
