//! Slices of NumPy and steps between the brackets of an index: read as a whole, reported with what says the same here.
//!
//! A step is reported by shape, which knows the extents that the help needs; any other slice is read as the one that is meant.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use syn::Token;
use syn::parse::ParseStream;

impl Syntax {
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

/// Whether a side of a range is left out.
pub(super) fn ends(input: ParseStream) -> bool {
    input.is_empty() || input.peek(Token![,]) || input.peek(Token![:]) || input.peek(Token![;])
}
