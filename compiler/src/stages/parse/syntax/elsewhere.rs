//! What Rust and Python have and the model language has not: read as a whole, reported with what says the same here.
//!
//! Always: the reader stands behind it afterwards, and an `Error` stands for its value, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Delimiter, Ident, TokenTree};
use quote::ToTokens;
use syn::parse::ParseStream;
use syn::{Attribute, Token, token};

impl Syntax {
    /// `while`, `loop`, `return`, `break` and `continue`, where one stands.
    pub(super) fn control_flow(&self, input: ParseStream) -> Option<Expr> {
        let looping = "repeat a known number of times with `for k in 0..8 { … }`, or run along an axis with `scan(…)`";
        let (word, help) = match () {
            () if input.peek(Token![while]) => ("while", looping),
            () if input.peek(Token![loop]) => ("loop", looping),
            () if input.peek(Token![return]) => ("return", "let the result be the last expression, without `;`"),
            () if input.peek(Token![break]) => ("break", "keep the old value instead: `if go_on { x = block(x); }`"),
            () if input.peek(Token![continue]) => ("continue", "put the rest of the round into `if … { … }`"),
            () => return None,
        };
        let place = Place::from(input.span());
        self.report(
            Diagnostic::new(Code::ControlFlow, place, format!("there is no `{word}` in the model language")).help(help),
        );
        let braced = matches!(word, "while" | "loop");
        Some(Expr { kind: ExprKind::Error, place: place.to(self.pass(input, braced)) })
    }

    /// Takes the tokens up to the end of the statement, or to the end of the next braces; gives the last.
    fn pass(&self, input: ParseStream, braced: bool) -> Place {
        let mut last = input.span();
        while !input.is_empty() && !input.peek(Token![;]) && (braced || !input.peek(Token![,])) {
            let Ok(token) = input.parse::<TokenTree>() else { break };
            last = token.span();
            if braced && matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace) {
                break;
            }
        }
        last.into()
    }

    /// `let pattern = value` as a condition.
    pub(super) fn condition_with_let(&self, input: ParseStream) -> syn::Result<Option<Expr>> {
        if !input.peek(Token![let]) {
            return Ok(None);
        }
        let place = Place::from(input.parse::<Token![let]>()?.span);
        let pattern = self.pattern(input)?;
        input.parse::<Token![=]>()?;
        let value = self.binary(input, 0, false)?;
        let (pattern, text) = (words::pattern_text(&pattern), words::brief(&value));
        let report = Diagnostic::new(Code::ControlFlow, place, "there is no `if let` in the model language");
        self.report(report.help(format!("every value has its pattern: `let {pattern} = {text};`")));
        Ok(Some(Expr { kind: ExprKind::Error, place: place.to(value.place) }))
    }

    /// `..` behind a pattern of a `match`: a range. `of` is what is matched.
    pub(super) fn range_case(&self, input: ParseStream, of: &Expr, start: (Case, Place)) -> syn::Result<bool> {
        let (Case::Int(first), true) = (start.0, input.peek(Token![..])) else { return Ok(false) };
        let inclusive = input.parse::<Option<Token![..=]>>()?.is_some();
        if !inclusive {
            input.parse::<Token![..]>()?;
        }
        let (end, place) = self.case(input)?;
        let Case::Int(last) = end else { return Ok(false) };
        let (text, least) = (words::brief(of), if inclusive { "<=" } else { "<" });
        let values: Vec<String> = (first..last + i64::from(inclusive)).take(9).map(|n| n.to_string()).collect();
        let help = match values.len() {
            1..=8 => format!("write `{}`", values.join(" | ")),
            _ => format!("write `if {text} >= {first} && {text} {least} {last} {{ … }} else {{ … }}`"),
        };
        let report = Diagnostic::new(Code::UnknownPattern, start.1.to(place), "an arm of a `match` takes no range");
        self.report(report.help(help));
        Ok(true)
    }

    /// `if` behind the patterns of an arm.
    pub(super) fn guard(&self, input: ParseStream) -> syn::Result<bool> {
        let Some(word) = input.parse::<Option<Token![if]>>()? else { return Ok(false) };
        let guard = self.expr(input)?;
        let place = Place::from(word.span).to(guard.place);
        let report = Diagnostic::new(Code::UnknownPattern, place, "an arm of a `match` has no condition of its own");
        self.report(report.help(format!("write `if {} {{ … }} else {{ … }}`", words::brief(&guard))));
        Ok(true)
    }

    /// A name as a pattern of a `match`.
    pub(super) fn named_case(&self, input: ParseStream) -> syn::Result<Option<(Case, Place)>> {
        if !input.peek(syn::Ident) {
            return Ok(None);
        }
        let name: Ident = input.parse()?;
        let place = Place::from(name.span());
        if input.peek(Token![if]) {
            // The condition is what is reported.
            return Ok(Some((Case::Rest, place)));
        }
        let message = format!("`{name}` is no value that an arm can take");
        let report = Diagnostic::new(Code::UnknownPattern, place, message);
        let report = report.note("an arm takes integers, `true` or `false`, or `_` for all the rest");
        self.report(report.help("write `_`"));
        Ok(Some((Case::Rest, place)))
    }

    /// Takes out and reports the language's own attributes where they mean nothing: `what` is what they stand at.
    pub(super) fn misplaced(&self, attrs: &mut Vec<Attribute>, named: &[&str], what: &str) {
        attrs.retain(|attr| {
            let Some(name) = named.iter().find(|name| attr.path().is_ident(name)) else { return true };
            let place = attr.bracket_token.span.join();
            let message = format!("`#[{name}]` means nothing at {what}");
            let help = match *name {
                "model" => "put it at the public struct: `#[model(memory = minimize)] pub struct Net { … }`",
                "derive" => "remove it: every model has `Clone` and `Debug`",
                "remat" => "put it at the function whose values are computed again: `#[remat] fn forward(&self, …)`",
                _ => "put it at the function that gives the loss: `#[train(AdamW)] pub fn loss(&self, …) -> f32`",
            };
            self.report(Diagnostic::new(Code::MisplacedAttribute, place, message).help(help));
            false
        });
    }

    /// Reports the attributes of a field that nobody reads: what documents it and what lints may stay.
    pub(super) fn meaningless(&self, attrs: &[Attribute]) {
        const HARMLESS: [&str; 6] = ["doc", "allow", "expect", "warn", "deny", "forbid"];
        for attr in attrs.iter().filter(|attr| !HARMLESS.iter().any(|name| attr.path().is_ident(name))) {
            let name: String = attr.path().to_token_stream().to_string().split_whitespace().collect();
            let message = format!("`#[{name}]` means nothing at a field");
            let report = Diagnostic::new(Code::MisplacedAttribute, attr.bracket_token.span.join(), message);
            self.report(report.help("remove it"));
        }
    }

    /// Reports a field whose name emitted code could not spell, as `r#type` spells `type`.
    pub(super) fn unnameable(&self, name: &Ident) {
        if ["self", "Self", "super", "crate", "_"].iter().any(|word| name == word) {
            let report = Diagnostic::new(Code::ReservedName, name.span(), format!("a field cannot be named `{name}`"));
            self.report(report.help(format!("rename it, for example to `{}_`", name.to_string().to_lowercase())));
        }
    }

    /// `&` or `&mut` before a value or type, which is read as if it were not there.
    pub(super) fn reference(&self, input: ParseStream) -> syn::Result<()> {
        while let Some(and) = input.parse::<Option<Token![&]>>()? {
            input.parse::<Option<Token![mut]>>()?;
            let message = "there are no references in the model language";
            let report = Diagnostic::new(Code::Reference, Place::from(and.span), message);
            self.report(report.help("remove `&`: values are neither moved nor borrowed"));
        }
        Ok(())
    }

    /// `name!(…)`, where `name` has been read.
    pub(super) fn macro_call(&self, input: ParseStream, name: &Ident) -> syn::Result<Option<Expr>> {
        let called = input.peek2(token::Paren) || input.peek2(token::Bracket) || input.peek2(token::Brace);
        if !input.peek(Token![!]) || !called {
            return Ok(None);
        }
        input.parse::<Token![!]>()?;
        let group: TokenTree = input.parse()?;
        let message = format!("`{name}!` is a macro, and the model language has none");
        let help = match name.to_string() {
            text if text.contains("assert") => "bound dimensions in the signature: `x: f32[B, T <= 512]`",
            text if text.contains("print") || text == "dbg" => "let the function give the value as a further result",
            text if text == "vec" => "write a list without it: `[1, 2, 3]`",
            _ => "remove it",
        };
        let place = Place::from(name.span());
        self.report(Diagnostic::new(Code::MacroCall, place, message).help(help));
        Ok(Some(Expr { kind: ExprKind::Error, place: place.to(group.span().into()) }))
    }

    /// An item of Rust inside of a function or `impl`, which is passed.
    pub(super) fn nested_item(&self, input: ParseStream, inside: &str) -> bool {
        let words = ["fn", "struct", "const", "use", "static", "enum", "type", "impl", "mod", "trait"];
        let Some(word) = words.into_iter().find(|word| next_is(input, word)) else { return false };
        let message = format!("`{word}` stands inside of {inside}");
        let report = Diagnostic::new(Code::NestedItem, input.span(), message);
        self.report(report.help("declare it beside the structs of the macro"));
        let start = input.cursor();
        let _ = input.parse::<TokenTree>();
        self.skip_item(input);
        self.lose(start, input);
        true
    }

    /// The functions that stand among the fields of a struct, of which the first is reported, up to the end of the fields.
    pub(super) fn function_among_fields(&self, input: ParseStream, owner: &Ident) {
        let message = format!("`fn` stands among the fields of `{owner}`");
        let report = Diagnostic::new(Code::NestedItem, input.span(), message);
        self.report(report.help(format!("end the fields before it, and begin `impl {owner} {{`")));
        let start = input.cursor();
        while input.parse::<TokenTree>().is_ok() {}
        self.lose(start, input);
    }

    /// `async`, `unsafe` or `const` before a function.
    pub(super) fn function_words(&self, input: ParseStream) -> syn::Result<()> {
        while let Some(word) = ["async", "unsafe", "const"].into_iter().find(|word| next_is(input, word)) {
            if word == "const" && !input.peek2(Token![fn]) {
                return Ok(());
            }
            let span = input.parse::<TokenTree>()?.span();
            let message = format!("functions of the model language are not `{word}`");
            let help = match word {
                "async" => "remove it: every method of the model exists with `_async` too",
                _ => "remove it",
            };
            self.report(Diagnostic::new(Code::FunctionForm, span, message).help(help));
        }
        Ok(())
    }

    /// `<…>` behind the name of a function.
    pub(super) fn generics(&self, input: ParseStream, name: &Ident) -> syn::Result<()> {
        if !input.peek(Token![<]) {
            return Ok(());
        }
        let first = Place::from(input.span());
        while !input.peek(Token![>]) && !input.is_empty() {
            input.parse::<TokenTree>()?;
        }
        let last = input.parse::<Token![>]>()?.span;
        let report = Diagnostic::new(Code::FunctionForm, first.to(last.into()), format!("`{name}` is generic"));
        self.report(report.help("remove it: capital names in the types of arguments stand for any extent"));
        Ok(())
    }

    /// `state` between the name of a field and its type.
    pub(super) fn state_behind_name(&self, input: ParseStream, name: &Ident) -> syn::Result<Option<FieldType>> {
        if !next_is(input, "state") || !input.peek2(syn::Ident) {
            return Ok(None);
        }
        let word: Ident = input.parse()?;
        let ty = self.state(input, name)?;
        let report = Diagnostic::new(Code::FieldType, word.span(), format!("`state` stands behind `{name}:`"));
        self.report(report.help(format!("write `state {name}: {}`", words::type_text(&ty))));
        Ok(Some(FieldType::State(ty)))
    }

    /// `= 1.0` behind the type of a state.
    pub(super) fn state_start(&self, input: ParseStream, name: &Ident, ty: &TypeExpr) -> syn::Result<()> {
        let Some(equals) = input.parse::<Option<Token![=]>>()? else { return Ok(()) };
        let value = self.expr(input)?;
        let place = Place::from(equals.span).to(value.place);
        let text = words::full(&value);
        let called = match &value.kind {
            ExprKind::Call(of, _) => words::brief(of),
            _ => text.clone(),
        };
        if matches!(&*called, "zeros" | "0" | "0.0") {
            let report = Diagnostic::new(Code::StateStart, place, format!("the state `{name}` begins as zeros anyway"));
            self.report(report.help(format!("write `state {name}: {}`", words::type_text(ty))));
            return Ok(());
        }
        let is_float = matches!(ty, TypeExpr::Tensor { dtype, .. } if dtype == "f32");
        let start = match (&*called, &value.kind) {
            ("ones", _) => Some(if is_float { "1.0".to_owned() } else { "1".to_owned() }),
            (_, ExprKind::Call(..) | ExprKind::Error) => None,
            _ => Some(text.clone()),
        };
        let message = format!("the state `{name}` cannot begin as `{text}`: every state begins as zeros");
        let help = match start {
            Some(start) => format!("remove it, and add the start where it is read: `self.{name} + {start}`"),
            None => format!("remove it, and assign `self.{name}` in a function that is called first"),
        };
        self.report(Diagnostic::new(Code::StateStart, place, message).help(help));
        Ok(())
    }
}

/// Whether the next token is that word.
pub(super) fn next_is(input: ParseStream, word: &str) -> bool {
    input.cursor().ident().is_some_and(|(next, _)| next == word)
}

/// Whether an unreadable expression stands anywhere inside.
pub(in super::super) fn has_unreadable(block: &Block) -> bool {
    let (exprs, blocks) = block.inside();
    exprs.into_iter().any(unreadable) || blocks.into_iter().any(has_unreadable)
}

fn unreadable(expr: &Expr) -> bool {
    let (exprs, blocks) = expr.inside();
    matches!(expr.kind, ExprKind::Error) || exprs.into_iter().any(unreadable) || blocks.into_iter().any(has_unreadable)
}
