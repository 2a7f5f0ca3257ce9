//! Declarations and assignments as other languages write them: without `let`, with `:=`, without a value, of a field.
//!
//! Always: what is meant stands for it where that is sure, an `Error` where it is not, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, Span, TokenTree};
use syn::parse::ParseStream;
use syn::{Token, bracketed, token};

impl Syntax {
    /// Takes `let`, and gives where a declaration begins. One without the word is reported; `y :=` is left to
    /// `colon_equals`.
    pub(super) fn declares(&self, input: ParseStream) -> syn::Result<Option<Span>> {
        if let Some(word) = input.parse::<Option<Token![let]>>()? {
            return Ok(Some(word.span));
        }
        let mutable = input.peek(Token![mut]) && input.peek2(syn::Ident);
        let typed = input.peek(syn::Ident) && input.peek2(Token![:]) && !input.peek2(Token![::]);
        if !mutable && !typed {
            return self.other_word(input);
        }
        let (first, ahead) = (input.span(), input.fork());
        ahead.parse::<Option<Token![mut]>>()?;
        let name: Ident = ahead.parse()?;
        if !is_colon_equals(&ahead) {
            let report = Diagnostic::new(
                Code::Syntax,
                Place { first, last: name.span() },
                format!("`{name}` is declared without `let`"),
            );
            self.report(report.help(format!("write `let {}{name}`", if mutable { "mut " } else { "" })));
        }
        Ok(Some(first))
    }

    /// `var y = …`, or the type of C before the name.
    fn other_word(&self, input: ParseStream) -> syn::Result<Option<Span>> {
        let ahead = input.fork();
        let (word, name) = (ahead.parse::<Ident>(), ahead.parse::<Ident>());
        let (Ok(word), Ok(name), true) = (word, name, ahead.peek(Token![=]) && !ahead.peek(Token![==])) else {
            return Ok(None);
        };
        input.parse::<Ident>()?;
        let message = format!("`{name}` is declared with `{word}`, and not with `let`");
        self.report(Diagnostic::new(Code::Syntax, word.span(), message).help("write `let`"));
        Ok(Some(word.span()))
    }

    /// `:=` behind the pattern of a declaration that begins at `first`.
    pub(super) fn colon_equals(&self, input: ParseStream, first: Span, pat: &Pat) -> syn::Result<bool> {
        if !is_colon_equals(input) {
            return Ok(false);
        }
        input.parse::<Token![:]>()?;
        let last = input.parse::<Token![=]>()?.span;
        let mutable = if matches!(pat, Pat::Name { mutable: true, .. }) { "mut " } else { "" };
        let report = Diagnostic::new(Code::Syntax, Place { first, last }, "there is no `:=` in the model language");
        self.report(report.help(format!("write `let {mutable}{} =`", words::pattern_text(pat))));
        Ok(true)
    }

    /// `let y;`, of which the pattern has been read: gives the value that the next statement assigns, or what stands
    /// for one that several statements do.
    pub(super) fn without_value(&self, input: ParseStream, pat: &mut Pat) -> syn::Result<Option<Expr>> {
        let (Pat::Name { name, mutable }, true) = (pat, input.peek(Token![;])) else { return Ok(None) };
        let ahead = input.fork();
        ahead.parse::<Token![;]>()?;
        let assigned =
            ahead.parse::<Ident>().is_ok_and(|next| next == *name) && ahead.peek(Token![=]) && !ahead.peek(Token![==]);
        let place = Place::from(name.span());
        let report = Diagnostic::new(Code::Syntax, place, format!("`{name}` is declared without a value"));
        if !assigned {
            // Whoever assigns it may.
            *mutable = true;
            let value = if ahead.peek(Token![if]) { "if … { … } else { … }" } else { "…" };
            self.report(report.help(format!("declare it where it gets its value: `let {name} = {value};`")));
            return Ok(Some(Expr { kind: ExprKind::Error, place }));
        }
        input.parse::<Token![;]>()?;
        input.parse::<Ident>()?;
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        let help = format!("declare it where it gets its value: `let {name} = {};`", words::full(&value));
        self.report(report.help(help));
        Ok(Some(value))
    }

    /// `let self.h = …`: whether `self.h` is a state is not known here.
    pub(super) fn field_binding(&self, input: ParseStream) -> syn::Result<Option<Stmt>> {
        if !input.peek(Token![let]) || !input.peek2(Token![self]) {
            return Ok(None);
        }
        let start = input.cursor();
        let word = input.parse::<Token![let]>()?;
        let target = self.unary(input, false)?;
        while !input.is_empty() && !input.peek(Token![=]) {
            input.parse::<TokenTree>()?;
        }
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        let place = Place::from(word.span).to(target.place);
        let (field, text) = (words::full(&target), words::full(&value));
        let mut report = Diagnostic::new(Code::Syntax, place, format!("`let` declares a variable, not `{field}`"));
        report = report.note("a field that is declared with `state` is assigned without `let`");
        let variable = field.strip_prefix("self.").unwrap_or("value").to_owned();
        self.report(report.help(format!("write `{field} = {text};`, or `let {variable} = {text};`")));
        input.parse::<Option<Token![;]>>()?;
        self.lose(start, input);
        Ok(Some(Stmt::Expr(Expr { kind: ExprKind::Error, place: place.to(value.place) })))
    }

    /// `[a, b]` where several values are bound.
    pub(super) fn bracketed_pattern(&self, input: ParseStream) -> syn::Result<Option<Pat>> {
        if !input.peek(token::Bracket) {
            return Ok(None);
        }
        let content;
        let bracket = bracketed!(content in input);
        let place = Place { first: bracket.span.open(), last: bracket.span.close() };
        let before = self.reports();
        let pat = Pat::Tuple(self.list(&content, |input| self.pattern(input)), place);
        if self.reports() == before {
            let report = Diagnostic::new(Code::Syntax, place, "the names of several values stand in parentheses");
            self.report(report.help(format!("write `{}`", words::pattern_text(&pat))));
        }
        Ok(Some(pat))
    }
}

fn is_colon_equals(input: ParseStream) -> bool {
    input.peek(Token![:]) && input.peek2(Token![=]) && !input.peek2(Token![==])
}
