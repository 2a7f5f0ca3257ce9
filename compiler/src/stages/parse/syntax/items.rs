//! Items: constants, structs, aliases, impls and functions.

use super::super::ast::*;
use super::Syntax;
use crate::diag::Diagnostic;
use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Attribute, Token, Visibility, braced, bracketed, parenthesized};

/// The attributes of functions that the language itself reads.
struct FnAttributes {
    passed: Vec<Attribute>,
    train: Vec<Ident>,
}

impl Syntax {
    /// All items; an unreadable one is reported and skipped.
    pub(super) fn program(&self, input: ParseStream, program: &mut Program) {
        while !input.is_empty() {
            if let Err(error) = self.item(input, program) {
                self.syntax_error(&error);
                self.skip_item(input);
            }
        }
    }

    fn item(&self, input: ParseStream, program: &mut Program) -> syn::Result<()> {
        let attrs = input.call(Attribute::parse_outer)?;
        if input.peek(Token![use]) {
            let item: syn::ItemUse = input.parse()?;
            self.unsupported(item.use_token.span, "blocks from elsewhere are");
            return Ok(());
        }
        let vis: Visibility = input.parse()?;
        if input.peek(Token![const]) {
            program.consts.push(self.constant(input)?);
        } else if input.peek(Token![struct]) {
            self.structure(input, attrs, vis, program)?;
        } else if input.peek(Token![impl]) {
            program.impls.push(self.implementation(input)?);
        } else if input.peek(Token![fn]) {
            program.fns.push(self.function(input, attrs, vis)?);
        } else if input.peek(Token![extern]) {
            self.unsupported(input.span(), "foreign functions are");
            self.skip_item(input);
        } else {
            return Err(input.error("expected `struct`, `impl`, `fn`, `const` or `use`"));
        }
        Ok(())
    }

    fn constant(&self, input: ParseStream) -> syn::Result<Const> {
        input.parse::<Token![const]>()?;
        let name = input.parse()?;
        if input.parse::<Option<Token![:]>>()?.is_some() {
            let _: syn::Type = input.parse()?;
        }
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        input.parse::<Token![;]>()?;
        Ok(Const { name, value })
    }

    fn structure(
        &self,
        input: ParseStream,
        attrs: Vec<Attribute>,
        vis: Visibility,
        to: &mut Program,
    ) -> syn::Result<()> {
        input.parse::<Token![struct]>()?;
        let name: Ident = input.parse()?;
        if input.parse::<Option<Token![=]>>()?.is_some() {
            let target: Ident = input.parse()?;
            let args = if input.peek(syn::token::Paren) { self.args(input)?.0 } else { vec![] };
            input.parse::<Token![;]>()?;
            if target == "onnx" {
                self.unsupported(target.span(), "`onnx(…)` is");
            } else {
                to.aliases.push(Alias { attrs, vis, name, target, args });
            }
            return Ok(());
        }
        let mut params = vec![];
        if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            params = self.list(&content, |input| {
                let name: Ident = input.parse()?;
                let default = input.parse::<Option<Token![=]>>()?.map(|_| self.expr(input)).transpose()?;
                Ok((name, default))
            });
        }
        let content;
        braced!(content in input);
        let fields = self.list(&content, |input| self.field(input)).into_iter().flatten().collect();
        to.structs.push(Struct { attrs, vis, name, params, fields });
        Ok(())
    }

    fn field(&self, input: ParseStream) -> syn::Result<Option<Field>> {
        input.call(Attribute::parse_outer)?;
        let _: Visibility = input.parse()?;
        let name = input.call(Ident::parse_any)?;
        if name == "state" && !input.peek(Token![:]) {
            self.unsupported(name.span(), "`state` fields are");
            let name: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            self.type_expr(input)?;
            return Ok(Some(Field { name, ty: FieldType::Error }));
        }
        input.parse::<Token![:]>()?;
        let ty = match self.field_type(input) {
            Ok(ty) => ty,
            Err(error) => {
                self.syntax_error(&error);
                while !input.is_empty() && !input.peek(Token![,]) {
                    input.parse::<proc_macro2::TokenTree>()?;
                }
                FieldType::Error
            }
        };
        Ok(Some(Field { name, ty }))
    }

    fn field_type(&self, input: ParseStream) -> syn::Result<FieldType> {
        if input.peek(syn::token::Bracket) {
            let content;
            bracketed!(content in input);
            let item = Box::new(self.field_type(&content)?);
            content.parse::<Token![;]>()?;
            let count = self.expr(&content)?;
            return Ok(FieldType::Repeat { item, count });
        }
        let name: Ident = input.parse()?;
        let mut place = name.span().into();
        let mut args = vec![];
        if input.peek(syn::token::Paren) {
            let close;
            (args, close) = self.args(input)?;
            place = crate::diag::Place { first: name.span(), last: close };
        }
        Ok(FieldType::One { name, args, place })
    }

    fn implementation(&self, input: ParseStream) -> syn::Result<Impl> {
        input.parse::<Token![impl]>()?;
        let name = input.parse()?;
        let content;
        braced!(content in input);
        let mut fns = vec![];
        while !content.is_empty() {
            let one = (|| {
                let attrs = content.call(Attribute::parse_outer)?;
                let vis = content.parse()?;
                self.function(&content, attrs, vis)
            })();
            match one {
                Ok(function) => fns.push(function),
                Err(error) => {
                    self.syntax_error(&error);
                    self.skip_item(&content);
                }
            }
        }
        Ok(Impl { name, fns })
    }

    fn function(&self, input: ParseStream, attrs: Vec<Attribute>, vis: Visibility) -> syn::Result<Fn> {
        let FnAttributes { passed, train } = self.fn_attributes(attrs);
        input.parse::<Token![fn]>()?;
        let name = input.parse()?;
        let content;
        parenthesized!(content in input);
        let mut takes_self = false;
        let params = self.list(&content, |input| {
            if input.peek(Token![&]) || input.peek(Token![self]) {
                let reference: Option<Token![&]> = input.parse()?;
                if let Some(mutable) = input.parse::<Option<Token![mut]>>()? {
                    self.unsupported(mutable.span, "functions with `&mut self` are");
                }
                input.parse::<Token![self]>()?;
                let _ = reference;
                return Ok(None);
            }
            let pat = self.pattern(input)?;
            input.parse::<Token![:]>()?;
            Ok(Some((pat, self.type_or_error(input)?)))
        });
        takes_self |= params.iter().any(Option::is_none);
        let params = params.into_iter().flatten().collect();
        let result = match input.parse::<Option<Token![->]>>()? {
            Some(_) => self.type_or_error(input)?,
            None => {
                self.report(
                    Diagnostic::new("syntax", content_span(&name), format!("`{name}` returns nothing"))
                        .help("add a result type such as `-> f32[B, 10]`"),
                );
                TypeExpr::Error
            }
        };
        let body = self.block(input)?;
        Ok(Fn { attrs: passed, train, vis, name, takes_self, params, result, body })
    }

    /// Takes `#[train(…)]` and `#[remat]` out of a function's attributes.
    fn fn_attributes(&self, attrs: Vec<Attribute>) -> FnAttributes {
        let mut all = FnAttributes { passed: vec![], train: vec![] };
        for attr in attrs {
            if attr.path().is_ident("train") {
                match attr.parse_args_with(|input: ParseStream| self.train_args(input)) {
                    Ok(optimizer) if all.train.contains(&optimizer) => {
                        let message = format!("`{optimizer}` already trains the function");
                        self.report(Diagnostic::new("duplicate-name", optimizer.span(), message));
                    }
                    Ok(optimizer) => all.train.push(optimizer),
                    Err(error) => self.report(
                        Diagnostic::new("syntax", attr.bracket_token.span.join(), error.to_string())
                            .help("name one optimiser: `#[train(AdamW)]`"),
                    ),
                }
            } else if !attr.path().is_ident("remat") {
                all.passed.push(attr);
            }
        }
        all
    }

    fn train_args(&self, input: ParseStream) -> syn::Result<Ident> {
        let optimizer: Ident = input.parse()?;
        if !input.is_empty() {
            self.unsupported(input.span(), "further arguments of `#[train(…)]` are");
            input.parse::<TokenStream>()?;
        }
        Ok(optimizer)
    }
}

fn content_span(name: &Ident) -> crate::diag::Place {
    name.span().into()
}
