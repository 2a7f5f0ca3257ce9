//! Imports of files as they are written: `pub struct Name = onnx("model.onnx", batch = B, "past + 1" = T <= 512);`
//!
//! Always: what the file has a name for is said once, and a dimension has one bound.

#![cfg_attr(not(feature = "onnx"), allow(dead_code, reason = "without the feature nothing is imported"))]

use crate::ir::limits::INTEGER;
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
    /// As the file calls it.
    pub(super) name: String,
    pub(super) value: ImportValue,
    pub(super) bound: Option<i64>,
}

/// A number, or the name of a dimension.
#[derive(Debug)]
pub(super) enum ImportValue {
    Number(i64),
    Name(Ident),
}

/// What follows `onnx`: `("model.onnx", batch = B, "past + 1" = T <= 512)`.
pub(super) fn file_and_args(input: ParseStream) -> syn::Result<(syn::LitStr, Vec<ImportArg>)> {
    let content;
    parenthesized!(content in input);
    let file = content.parse()?;
    let mut args: Vec<ImportArg> = vec![];
    while content.parse::<Option<Token![,]>>()?.is_some() && !content.is_empty() {
        let span = content.span();
        let arg = arg(&content)?;
        if args.iter().any(|other| other.name == arg.name) {
            return Err(syn::Error::new(span, format!("`{}` is given twice", arg.name)));
        }
        if let Some(other) = args.iter().find(|other| other.has_other_bound(&arg)) {
            return Err(syn::Error::new(span, format!("the dimension of `{}` has another bound here", other.name)));
        }
        args.push(arg);
    }
    if !content.is_empty() {
        return Err(content.error("expected `,` or `)`"));
    }
    Ok((file, args))
}

/// `batch = B`; a name that is no identifier is a literal.
fn arg(content: ParseStream) -> syn::Result<ImportArg> {
    let name = match content.peek(syn::LitStr) {
        true => content.parse::<syn::LitStr>()?.value(),
        false => content.call(Ident::parse_any)?.unraw().to_string(),
    };
    content.parse::<Token![=]>()?;
    if content.peek(syn::LitInt) {
        let value = ImportValue::Number(content.parse::<syn::LitInt>()?.base10_parse()?);
        return Ok(ImportArg { name, value, bound: None });
    }
    let value = ImportValue::Name(content.parse()?);
    let bound = match content.parse::<Option<Token![<=]>>()? {
        Some(_) => Some(bound(&content.parse()?)?),
        None => None,
    };
    Ok(ImportArg { name, value, bound })
}

/// The largest value of a dimension.
fn bound(literal: &syn::LitInt) -> syn::Result<i64> {
    let bound = literal.base10_parse().ok().filter(|bound| (1..=INTEGER).contains(bound));
    bound.ok_or_else(|| syn::Error::new(literal.span(), format!("a dimension is from 1 to {INTEGER}")))
}

impl ImportArg {
    /// Whether both are one dimension, with two bounds.
    fn has_other_bound(&self, other: &ImportArg) -> bool {
        match (&self.value, &other.value) {
            (ImportValue::Name(own), ImportValue::Name(name)) => {
                own == name && self.bound.zip(other.bound).is_some_and(|(own, bound)| own != bound)
            }
            _ => false,
        }
    }
}
