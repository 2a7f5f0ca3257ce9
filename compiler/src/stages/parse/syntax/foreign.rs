//! Declarations of foreign functions: `extern fn f(x: f32[N]) -> f32[N];`, and what stands behind `with`.

use super::super::ast::*;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, TokenStream};
use syn::parse::ParseStream;
use syn::{LitStr, Token, parenthesized, token};

impl Syntax {
    pub(super) fn foreign(&self, input: ParseStream) -> syn::Result<Extern> {
        input.parse::<Token![extern]>()?;
        if let Some(abi) = input.parse::<Option<LitStr>>()? {
            let message =
                format!("foreign functions have no ABI `{:?}`: they are closures of the program", abi.value());
            self.foreign_mistake(abi.span(), &message, "write `extern fn`");
        }
        input.parse::<Token![fn]>()?;
        let name: Ident = input.parse()?;
        let (params, result) = self.foreign_signature(input, &name)?;
        let mut one = Extern { name, params, result, gradient: None, wgsl: None };
        while input.peek(syn::Ident) {
            self.with(input, &mut one)?;
        }
        if input.peek(token::Brace) {
            let open = Place::from(input.span());
            let body = self.block(input)?;
            let name = &one.name;
            let message = format!("`{name}` is foreign, so that its body stands in the program");
            let help =
                format!("end the declaration with `;` and supply a closure by `with_{name}`, or write `fn {name}`");
            self.foreign_mistake(open.to(body.close.into()), &message, help);
        } else {
            input.parse::<Token![;]>()?;
        }
        Ok(one)
    }

    /// `with grad(cotangent: f32[N]) -> f32[N]`, `with grad = f_grad` or `with wgsl = "…"`, or several with commas.
    fn with(&self, input: ParseStream, one: &mut Extern) -> syn::Result<()> {
        let with: Ident = input.parse()?;
        if with != "with" {
            return Err(syn::Error::new(with.span(), "expected `with grad(…)`, `with wgsl = …` or `;`"));
        }
        loop {
            let what: Ident = input.parse()?;
            let before = match () {
                () if what == "grad" => one.gradient.replace(self.gradient(input, &what, &one.name)?).is_some(),
                () if what == "wgsl" => one.wgsl.replace(self.wgsl(input)?).is_some(),
                () => return Err(syn::Error::new(what.span(), "expected `grad` or `wgsl`")),
            };
            if before {
                let message = format!("`{}` has two `{what}`", one.name);
                self.report(Diagnostic::new(Code::DuplicateAttribute, what.span(), message).help("remove one"));
            }
            if input.parse::<Option<Token![,]>>()?.is_none() {
                return Ok(());
            }
        }
    }

    fn gradient(&self, input: ParseStream, grad: &Ident, of: &Ident) -> syn::Result<ExternGradient> {
        if input.parse::<Option<Token![=]>>()?.is_some() {
            return Ok(ExternGradient::Named(input.parse()?));
        }
        let (params, result) = self.foreign_signature(input, of)?;
        Ok(ExternGradient::Declared { params, result, place: grad.span().into() })
    }

    /// `= "…"` or `= include_str!("scaled.wgsl")`
    fn wgsl(&self, input: ParseStream) -> syn::Result<Wgsl> {
        input.parse::<Token![=]>()?;
        if !input.peek(syn::Ident) {
            return Ok(Wgsl { literal: input.parse()?, in_file: false });
        }
        let include: Ident = input.parse()?;
        if include != "include_str" {
            return Err(syn::Error::new(include.span(), "expected a text or `include_str!(\"…\")`"));
        }
        input.parse::<Token![!]>()?;
        let content;
        parenthesized!(content in input);
        let literal = content.parse()?;
        content.parse::<TokenStream>()?;
        Ok(Wgsl { literal, in_file: true })
    }

    fn foreign_signature(&self, input: ParseStream, name: &Ident) -> syn::Result<(Vec<(Pat, TypeExpr)>, TypeExpr)> {
        let content;
        parenthesized!(content in input);
        if content.peek(Token![&]) || content.peek(Token![self]) {
            let place = Place::from(content.span());
            self.receiver(&content)?;
            let message = format!("`{name}` is foreign and has no `self`");
            self.foreign_mistake(place, &message, "remove it, and pass what the function needs as arguments");
        }
        let params = self.list(&content, |input| self.param(input));
        input.parse::<Token![->]>()?;
        Ok((params, self.type_or_error(input)?))
    }

    /// What an `extern fn` cannot have, at the token that says so.
    pub(super) fn foreign_mistake(&self, place: impl Into<Place>, message: &str, help: impl Into<String>) {
        self.report(Diagnostic::new(Code::ForeignDeclaration, place, message).help(help));
    }
}
