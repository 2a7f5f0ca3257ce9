//! Types of values: `f32[B, T <= 512, 64]`, tuples and named structs of them; and patterns.

use super::super::ast::*;
use super::Syntax;
use super::elsewhere::is_other_type;
use crate::diag::Place;
use proc_macro2::{Ident, TokenTree};
use syn::parse::ParseStream;
use syn::{Token, braced, bracketed, parenthesized};

impl Syntax {
    /// A type; an unreadable one is reported, and reading goes on at the next `,`, `=` or brace.
    pub(super) fn type_or_error(&self, input: ParseStream) -> syn::Result<TypeExpr> {
        self.type_expr(input).or_else(|error| {
            let start = input.cursor();
            self.syntax_error(&error);
            let ends = |input: ParseStream| {
                input.is_empty() || input.peek(Token![,]) || input.peek(Token![=]) || input.peek(syn::token::Brace)
            };
            while !ends(input) {
                input.parse::<TokenTree>()?;
            }
            self.lose(start, input);
            Ok(TypeExpr::Error)
        })
    }

    pub(super) fn type_expr(&self, input: ParseStream) -> syn::Result<TypeExpr> {
        let ahead = input.fork();
        borrows(&ahead)?;
        if is_other_type(&ahead) {
            // The type is what is reported, not that it is borrowed.
            borrows(input)?;
        }
        self.reference(input)?;
        if let Some(error) = self.other_type(input)? {
            return Ok(error);
        }
        if input.peek(syn::token::Paren) {
            let content;
            let paren = parenthesized!(content in input);
            let place = Place { first: paren.span.open(), last: paren.span.close() };
            return Ok(TypeExpr::Tuple(self.list(&content, |input| self.type_expr(input)), place));
        }
        let name: Ident = input.parse()?;
        if input.peek(syn::token::Brace) && name.to_string().starts_with(char::is_uppercase) {
            let content;
            braced!(content in input);
            let fields = self.list(&content, |input| {
                let name: Ident = input.parse()?;
                input.parse::<Token![:]>()?;
                Ok((name, self.type_expr(input)?))
            });
            return Ok(TypeExpr::Struct(name, fields));
        }
        let mut place = Place::from(name.span());
        let mut axes = vec![];
        if input.peek(syn::token::Bracket) {
            let content;
            let bracket = bracketed!(content in input);
            place.last = bracket.span.close();
            let before = self.reports();
            axes = self.list(&content, |input| self.axis(input));
            if self.reports() > before {
                return Ok(TypeExpr::Error);
            }
        }
        Ok(TypeExpr::Tensor { dtype: name, axes, place })
    }

    fn axis(&self, input: ParseStream) -> syn::Result<AxisExpr> {
        if input.parse::<Option<Token![..]>>()?.is_some() {
            return Ok(AxisExpr::Rest);
        }
        if let Some(unnamed) = self.open_extent(input)? {
            return Ok(unnamed);
        }
        let expr = self.expr(input)?;
        Ok(match expr.kind {
            ExprKind::Binary(Binary::Le, value, bound) => AxisExpr::Dim { value: *value, bound: Some(*bound) },
            _ => AxisExpr::Dim { value: expr, bound: None },
        })
    }

    pub(super) fn pattern(&self, input: ParseStream) -> syn::Result<Pat> {
        if input.peek(syn::token::Paren) {
            let content;
            let paren = parenthesized!(content in input);
            let place = Place { first: paren.span.open(), last: paren.span.close() };
            return Ok(Pat::Tuple(self.list(&content, |input| self.pattern(input)), place));
        }
        if let Some(ignore) = input.parse::<Option<Token![_]>>()? {
            return Ok(Pat::Ignore(ignore.span));
        }
        let mutable = input.parse::<Option<Token![mut]>>()?.is_some();
        Ok(Pat::Name { name: input.parse()?, mutable })
    }
}

/// Takes `&` and `&mut`, as often as they come.
fn borrows(input: ParseStream) -> syn::Result<()> {
    while input.parse::<Option<Token![&]>>()?.is_some() {
        input.parse::<Option<Token![mut]>>()?;
    }
    Ok(())
}
