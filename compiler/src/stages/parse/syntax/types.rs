//! Types of values: `f32[B, T <= 512, 64]`, tuples and named structs of them; and patterns.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use super::foreign_type::is_other_type;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Delimiter, Ident, Spacing, Span, TokenTree};
use std::cell::Cell;
use syn::parse::ParseStream;
use syn::{Token, braced, parenthesized, token};

impl Syntax {
    /// A type; an unreadable one is reported, and reading goes on at the next `,`, `=` or brace.
    pub(super) fn type_or_error(&self, input: ParseStream) -> syn::Result<TypeExpr> {
        self.type_expr(input).or_else(|error| {
            let start = input.cursor();
            self.syntax_error(&error);
            let ends = |input: ParseStream| {
                input.is_empty() || input.peek(Token![,]) || input.peek(Token![=]) || input.peek(token::Brace)
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
        if input.peek(token::Paren) {
            let content;
            let paren = parenthesized!(content in input);
            let place = Place { first: paren.span.open(), last: paren.span.close() };
            return Ok(self.tuple(&content, place));
        }
        let name: Ident = input.parse()?;
        if name.to_string().starts_with(char::is_uppercase) && is_record(input) {
            return Ok(TypeExpr::Struct(name, self.record(input)?.0));
        }
        self.tensor(input, name)
    }

    /// `{ y: f32[B], best: u32[B] }`, and where it ends.
    fn record(&self, input: ParseStream) -> syn::Result<(Vec<(Ident, TypeExpr)>, Span)> {
        let content;
        let close = braced!(content in input).span.close();
        let fields = self.list(&content, |input| {
            let name: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            Ok((name, self.type_expr(input)?))
        });
        Ok((fields, close))
    }

    /// The named results of a function without a name for all of them.
    pub(super) fn unnamed_record(&self, input: ParseStream, function: &Ident) -> syn::Result<Option<TypeExpr>> {
        let first = input.span();
        let more = input.peek2(token::Brace);
        if !input.peek(token::Brace) || !more || !is_record(input) {
            return Ok(None);
        }
        let (fields, last) = self.record(input)?;
        let types = fields.iter().map(|(name, ty)| format!("{name}: {}", words::type_text(ty)));
        let types = types.collect::<Vec<_>>().join(", ");
        let values = fields.iter().map(|(name, _)| format!("{name}: …")).collect::<Vec<_>>().join(", ");
        let all = words::capital(&function.to_string());
        let message = format!("the results of `{function}` have no name for all of them");
        let report = Diagnostic::new(Code::TypeSyntax, Place { first, last }, message);
        self.report(
            report.help(format!("write `-> {all} {{ {types} }}`, and as the last expression `{all} {{ {values} }}`")),
        );
        Ok(Some(TypeExpr::Error))
    }

    /// `f32[B], u32[B]` between parentheses, whose names are reported where it has them.
    fn tuple(&self, content: ParseStream, place: Place) -> TypeExpr {
        let (before, first) = (self.reports(), Cell::new(None));
        let items = self.list(content, |input| {
            if input.peek(syn::Ident) && input.peek2(Token![:]) && !input.peek2(Token![::]) {
                let name: Ident = input.parse()?;
                input.parse::<Token![:]>()?;
                first.set(first.take().or(Some(name)));
            }
            self.type_expr(input)
        });
        let ty = TypeExpr::Tuple(items, place);
        if let Some(name) = first.take()
            && self.reports() == before
        {
            let message = format!("the parts of a tuple have no names such as `{name}`");
            let report = Diagnostic::new(Code::TypeSyntax, place, message);
            let report = report.note(format!("results have names as a struct: `-> Named {{ {name}: …, … }}`"));
            self.report(report.help(format!("write `{}`", words::type_text(&ty))));
        }
        ty
    }

    pub(super) fn pattern(&self, input: ParseStream) -> syn::Result<Pat> {
        if input.peek(token::Paren) {
            let content;
            let paren = parenthesized!(content in input);
            let place = Place { first: paren.span.open(), last: paren.span.close() };
            return Ok(Pat::Tuple(self.list(&content, |input| self.pattern(input)), place));
        }
        if let Some(pat) = self.bracketed_pattern(input)? {
            return Ok(pat);
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

/// Whether the braces that come next hold named types: they begin with one, or a function's body follows.
fn is_record(input: ParseStream) -> bool {
    let ahead = input.fork();
    let Ok(TokenTree::Group(group)) = ahead.parse() else { return false };
    let mut tokens = group.stream().into_iter();
    let named = match (tokens.next(), tokens.next()) {
        (None, _) => true,
        (Some(TokenTree::Ident(_)), Some(TokenTree::Punct(sign))) => {
            sign.as_char() == ':' && sign.spacing() == Spacing::Alone
        }
        _ => false,
    };
    group.delimiter() == Delimiter::Brace && (named || ahead.peek(token::Brace))
}
