//! What Rust and Python have and the model language has not: read as a whole, reported with what says the same here.
//!
//! Always: the reader stands behind it afterwards, and an `Error` stands for its value, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Diagnostic, Place};
use proc_macro2::{Delimiter, Ident, TokenTree};
use syn::parse::ParseStream;
use syn::{Attribute, Token};

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
            Diagnostic::new("control-flow", place, format!("there is no `{word}` in the model language")).help(help),
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
        let report = Diagnostic::new("control-flow", place, "there is no `if let` in the model language");
        self.report(report.help(format!("every value has its pattern: `let {pattern} = {text};`")));
        Ok(Some(Expr { kind: ExprKind::Error, place: place.to(value.place) }))
    }

    /// The operators `@`, `**`, `<<`, `>>`, `as` and `?` behind an operand, where one stands.
    pub(super) fn operator(&self, input: ParseStream, left: &Expr) -> syn::Result<Option<Expr>> {
        let text = words::brief(left);
        let first = input.span();
        let (length, name) = match () {
            () if input.peek(Token![@]) => (1, "@"),
            () if input.peek(Token![*]) && input.peek2(Token![*]) => (2, "**"),
            () if input.peek(Token![<<]) => (2, "<<"),
            () if input.peek(Token![>>]) => (2, ">>"),
            () if input.peek(Token![as]) => (0, "as"),
            () if input.peek(Token![?]) => (1, "?"),
            () => return Ok(None),
        };
        for _ in 0..length {
            input.parse::<proc_macro2::Punct>()?;
        }
        let (last, help) = match name {
            "as" => {
                input.parse::<Token![as]>()?;
                let to: Ident = input.parse()?;
                (to.span().into(), format!("write `cast({text}, \"{to}\")`"))
            }
            "?" => (first.into(), "remove it: what can fail is checked when the function is called".to_owned()),
            _ => {
                let right = self.unary(input, true)?;
                let other = words::brief(&right);
                let help = match (name, &right.kind) {
                    ("@", _) => format!("write `matmul({text}, {other})`"),
                    ("**", ExprKind::Int(2)) => format!("write `square({text})`"),
                    ("**", _) => format!("write `pow({text}, {other})`"),
                    ("<<", _) => format!("multiply by a power of two: `{text} * 2`"),
                    _ => format!("divide by a power of two: `{text} / 2`"),
                };
                (right.place, help)
            }
        };
        let place = left.place.to(last);
        let message = format!("there is no operator `{name}` in the model language");
        self.report(Diagnostic::new("unknown-operator", place, message).help(help));
        Ok(Some(Expr { kind: ExprKind::Error, place }))
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
        let report = Diagnostic::new("unknown-pattern", start.1.to(place), "an arm of a `match` takes no range");
        self.report(report.help(help));
        Ok(true)
    }

    /// `if` behind the patterns of an arm.
    pub(super) fn guard(&self, input: ParseStream) -> syn::Result<bool> {
        let Some(word) = input.parse::<Option<Token![if]>>()? else { return Ok(false) };
        let guard = self.expr(input)?;
        let place = Place::from(word.span).to(guard.place);
        let report = Diagnostic::new("unknown-pattern", place, "an arm of a `match` has no condition of its own");
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
        let report = Diagnostic::new("unknown-pattern", place, message);
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
                "remat" => "put it at the function whose values are computed again: `#[remat] fn forward(&self, …)`",
                _ => "put it at the function that gives the loss: `#[train(AdamW)] pub fn loss(&self, …) -> f32`",
            };
            self.report(Diagnostic::new("misplaced-attribute", place, message).help(help));
            false
        });
    }

    /// `= 1.0` behind the type of a state.
    pub(super) fn state_start(&self, input: ParseStream, name: &Ident) -> syn::Result<()> {
        let Some(equals) = input.parse::<Option<Token![=]>>()? else { return Ok(()) };
        let value = self.expr(input)?;
        let message =
            format!("the state `{name}` cannot begin as `{}`: every state begins as zeros", words::brief(&value));
        let report = Diagnostic::new("state-start", Place::from(equals.span).to(value.place), message);
        self.report(
            report.help(format!(
                "remove it, and add the start where it is read: `self.{name} + {}`",
                words::brief(&value)
            )),
        );
        Ok(())
    }
}

/// Whether an unreadable expression stands anywhere inside.
pub(in super::super) fn has_unreadable(block: &Block) -> bool {
    let inside = |stmt: &Stmt| match stmt {
        Stmt::Let { value, .. } => unreadable(value),
        Stmt::Assign { target, value, .. } => unreadable(target) || unreadable(value),
        Stmt::For { over, body, .. } => {
            has_unreadable(body)
                || match over {
                    Iter::Range { start, end, .. } => unreadable(start) || unreadable(end),
                    Iter::Field(field) => unreadable(field),
                }
        }
        Stmt::Expr(expr) => unreadable(expr),
    };
    block.stmts.iter().any(inside) || block.tail.as_deref().is_some_and(unreadable)
}

fn unreadable(expr: &Expr) -> bool {
    let (exprs, blocks) = expr.inside();
    matches!(expr.kind, ExprKind::Error) || exprs.into_iter().any(unreadable) || blocks.into_iter().any(has_unreadable)
}
