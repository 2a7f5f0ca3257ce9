//! Ranges with steps between the brackets of an index, and slices of NumPy: those are read as a whole and reported with
//! what says the same here.
//!
//! A step of NumPy is reported by shape, which knows the extents that the help needs; any other slice is read as the one that is meant.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Delimiter, Ident, TokenTree};
use syn::parse::ParseStream;
use syn::{Token, parenthesized};

impl Syntax {
    /// `(1..8).step_by(2)`, where that stands.
    pub(super) fn stepped(&self, input: ParseStream) -> syn::Result<Option<Index>> {
        if !is_stepped(&input.fork()) {
            return Ok(None);
        }
        let content;
        let first = parenthesized!(content in input).span.open();
        let start = if content.peek(Token![..]) { None } else { Some(self.expr(&content)?) };
        let inclusive = content.parse::<Option<Token![..=]>>()?.is_some();
        if !inclusive {
            content.parse::<Token![..]>()?;
        }
        let end = if content.is_empty() { None } else { Some(self.expr(&content)?) };
        input.parse::<Token![.]>()?;
        let method: Ident = input.parse()?;
        let (mut args, close) = self.args(input)?;
        let place = Place { first, last: close };
        if let (1, Some(Arg { name: None, value: step })) = (args.len(), args.pop()) {
            return Ok(Some(Index::Stepped { start, end, inclusive, step, place }));
        }
        let report = Diagnostic::new(Code::SliceSyntax, method.span(), "`step_by` takes one number");
        self.report(report.help("write `step_by(2)`"));
        Ok(Some(Index::At(Expr { kind: ExprKind::Error, place })))
    }

    /// `...` and `:` between the brackets of an index, behind `start` where there is one; gives what is there.
    pub(super) fn slice(&self, input: ParseStream, start: Option<&Expr>) -> syn::Result<Option<Index>> {
        let span = input.span();
        let spelt = match () {
            () if input.parse::<Option<Token![...]>>()?.is_some() => "...",
            () if input.parse::<Option<Token![:]>>()?.is_some() => ":",
            () => return Ok(None),
        };
        let first = start.map_or(span.into(), |start| start.place);
        let end = if ends(input) { None } else { Some(self.expr(input)?) };
        if let Some(step) = self.slice_step(input, (start, end.as_ref()), first)? {
            return Ok(Some(step));
        }
        let text = |side: Option<&Expr>| side.map_or(String::new(), words::full);
        let said = match (spelt, start, &end) {
            (":", None, None) => "_".to_owned(),
            _ => format!("{}..{}", text(start), text(end.as_ref())),
        };
        let report = Diagnostic::new(Code::SliceSyntax, span, format!("`{spelt}` is no slice in the model language"));
        self.report(report.help(format!("write `{said}`")));
        Ok(Some(match (spelt, start, end) {
            ("...", None, None) => Index::Rest(span.into()),
            (_, None, None) => Index::Whole,
            (_, start, end) => Index::Range { start: start.cloned(), end, inclusive: false },
        }))
    }

    /// A step behind a range from one side to the other, which begins at `first`.
    pub(super) fn slice_step(
        &self,
        input: ParseStream,
        (start, end): (Option<&Expr>, Option<&Expr>),
        first: Place,
    ) -> syn::Result<Option<Index>> {
        let mut place = first.to(input.span().into());
        let signed = input.parse::<Option<Token![..]>>()?.is_some()
            || input.parse::<Option<Token![:]>>()?.is_some()
            || input.parse::<Option<Token![;]>>()?.is_some();
        if !signed {
            return Ok(None);
        }
        let step = if input.is_empty() || input.peek(Token![,]) { None } else { Some(self.expr(input)?) };
        place = step.as_ref().map_or(place, |step| place.to(step.place));
        Ok(Some(Index::Step { start: start.cloned(), end: end.cloned(), step, place }))
    }
}

/// Whether a range in parentheses comes next, with a step behind it.
fn is_stepped(input: ParseStream) -> bool {
    let Ok(TokenTree::Group(group)) = input.parse() else { return false };
    let mut before = None;
    let is_range = group.delimiter() == Delimiter::Parenthesis
        && group.stream().into_iter().any(|token| {
            let dot = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.').then_some(());
            before.replace(dot).flatten().and(dot).is_some()
        });
    let method = input.parse::<Token![.]>().and_then(|_| input.parse::<Ident>());
    is_range && method.is_ok_and(|method| method == "step_by")
}

/// Whether a side of a range is left out.
pub(super) fn ends(input: ParseStream) -> bool {
    input.is_empty() || input.peek(Token![,]) || input.peek(Token![:]) || input.peek(Token![;])
}
