//! Imports of files as they are written: `pub struct Name = onnx("model.onnx", batch = B, height = 32 * H, "past + 1" = T <= 512);`
//!
//! Always: what the file has a name for is said once, and a dimension has one bound.

#![cfg_attr(not(feature = "onnx"), allow(dead_code, reason = "without the feature nothing is imported"))]

use super::ast::Const;
use crate::diag::{Code, Diagnostic, Diags};
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

/// A number, or `scale · name + offset` for a dimension.
#[derive(Debug)]
pub(super) enum ImportValue {
    Number(i64),
    Dim { scale: i64, name: Ident, offset: i64 },
}

/// What follows `onnx`: `("model.onnx", batch = B, height = 32 * H, "past + 1" = T <= 512)`.
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
    let mut scale = 1;
    if content.peek(syn::LitInt) {
        let number: syn::LitInt = content.parse()?;
        if content.parse::<Option<Token![*]>>()?.is_none() {
            return Ok(ImportArg { name, value: ImportValue::Number(number.base10_parse()?), bound: None });
        }
        scale = bound(&number)?;
    }
    let dim = content.parse()?;
    let offset = match content.parse::<Option<Token![+]>>()? {
        Some(_) => bound(&number(content)?)?,
        None if content.parse::<Option<Token![-]>>()?.is_some() => -bound(&number(content)?)?,
        None => 0,
    };
    // A bound is for what a call chooses.
    let is_bare = scale == 1 && offset == 0;
    let bound = match is_bare && content.parse::<Option<Token![<=]>>()?.is_some() {
        true => Some(bound(&number(content)?)?),
        false => None,
    };
    Ok(ImportArg { name, value: ImportValue::Dim { scale, name: dim, offset }, bound })
}

/// The number behind a name.
fn number(content: ParseStream) -> syn::Result<syn::LitInt> {
    match content.peek(syn::LitInt) {
        true => content.parse(),
        false => {
            Err(content
                .error("expected a number: what a dimension is has one name, as `B`, `2 * B + 1` and `B <= 512`"))
        }
    }
}

/// The largest value of a dimension.
fn bound(literal: &syn::LitInt) -> syn::Result<i64> {
    let bound = literal.base10_parse().ok().filter(|bound| (1..=INTEGER).contains(bound));
    bound.ok_or_else(|| syn::Error::new(literal.span(), format!("a dimension is from 1 to {INTEGER}")))
}

impl Import {
    /// Reports arguments that are constants of the program, which would be dimensions of the same name.
    pub(super) fn report_constants(&self, consts: &[Const], diags: &mut Diags) {
        for arg in &self.args {
            let ImportValue::Dim { name, .. } = &arg.value else { continue };
            if consts.iter().any(|known| known.name == *name) {
                let message =
                    format!("`{name}` is a constant, and `{}` takes a number or the name of a dimension", arg.name);
                let report = Diagnostic::new(Code::Onnx, name.span(), message);
                diags.push(report.help(format!("write the number of `{name}`, or a name that nothing has")));
            }
        }
    }
}

impl ImportArg {
    /// Whether both are one dimension, with two bounds.
    fn has_other_bound(&self, other: &ImportArg) -> bool {
        match (&self.value, &other.value) {
            (ImportValue::Dim { name: own, .. }, ImportValue::Dim { name, .. }) => {
                own == name && self.bound.zip(other.bound).is_some_and(|(own, bound)| own != bound)
            }
            _ => false,
        }
    }
}
