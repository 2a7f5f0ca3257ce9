//! Ranges where a value or a number stands: read as a whole, reported with the numbers that are meant.
//!
//! Always: an `Error` stands for a range, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, TokenStream};
use syn::parse::ParseStream;
use syn::{LitInt, Token};

impl Syntax {
    /// An expression where a range may stand by mistake.
    pub(super) fn value(&self, input: ParseStream) -> syn::Result<Expr> {
        let start = self.expr(input)?;
        let Some((end, inclusive)) = self.end_of_range(input)? else { return Ok(start) };
        let place = start.place.to(end.place);
        let report = no_value(place);
        let (from, to, more) = (words::full(&start), words::full(&end), if inclusive { " + 1" } else { "" });
        self.report(
            match numbers(&start, &end, inclusive).filter(|numbers| (1..=words::LISTED).contains(&count(numbers))) {
                Some(numbers) => {
                    let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
                    report.help(format!("write `[{}]`", numbers.join(", ")))
                }
                None => report.help(format!("write `arange({from}, {to}{more})`")),
            },
        );
        Ok(Expr { kind: ExprKind::Error, place })
    }

    /// `(0..8)` between literals, with `.rev()` and `.step_by(2)` behind it: `content` stands in the parentheses.
    pub(super) fn range_in_parentheses(
        &self,
        content: ParseStream,
        input: ParseStream,
        mut place: Place,
    ) -> syn::Result<Option<Expr>> {
        let literal = |ahead: ParseStream| ahead.parse::<LitInt>().and_then(|number| number.base10_parse::<i64>());
        let ahead = content.fork();
        let (Ok(start), true) = (literal(&ahead), ahead.peek(Token![..])) else { return Ok(None) };
        let inclusive = ahead.parse::<Option<Token![..=]>>()?.is_some();
        if !inclusive {
            ahead.parse::<Token![..]>()?;
        }
        let (Ok(end), true) = (literal(&ahead), ahead.is_empty()) else { return Ok(None) };
        content.parse::<TokenStream>()?;
        let end = end.saturating_add(i64::from(inclusive));
        // What is too long to be listed has no help.
        let mut numbers: Vec<i64> = if count(&(start..end)) <= words::LISTED { (start..end).collect() } else { vec![] };
        while input.peek(Token![.]) && input.peek2(syn::Ident) {
            input.parse::<Token![.]>()?;
            let (method, (args, close)) = (input.parse::<Ident>()?, self.args(input)?);
            place.last = close;
            match (&*method.to_string(), &args[..]) {
                ("rev", []) => numbers.reverse(),
                ("step_by", [Arg { name: None, value: Expr { kind: ExprKind::Int(step @ 1..), .. } }]) => {
                    numbers = numbers.into_iter().step_by(usize::try_from(*step).unwrap_or(1)).collect();
                }
                _ => numbers.clear(),
            }
        }
        let report = no_value(place);
        let text: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let help = (!numbers.is_empty()).then(|| format!("write `[{}]`", text.join(", ")));
        self.report(Diagnostic { help, ..report });
        Ok(Some(Expr { kind: ExprKind::Error, place }))
    }

    /// How many blocks there are, where a range of their numbers may stand by mistake.
    pub(super) fn number_of_blocks(&self, input: ParseStream) -> syn::Result<Expr> {
        let start = self.expr(input)?;
        let Some((end, inclusive)) = self.end_of_range(input)? else { return Ok(start) };
        let place = start.place.to(end.place);
        let report = Diagnostic::new(Code::WrongAttribute, place, "a range is no number of blocks");
        let number = numbers(&start, &end, inclusive).map(|numbers| format!("write `{}`", count(&numbers)));
        self.report(Diagnostic { help: number, ..report });
        Ok(Expr { kind: ExprKind::Error, place })
    }

    /// `..` and `..=` with an end behind them, where they stand; also whether the end belongs to it.
    fn end_of_range(&self, input: ParseStream) -> syn::Result<Option<(Expr, bool)>> {
        let inclusive = input.parse::<Option<Token![..=]>>()?.is_some();
        if !inclusive && input.parse::<Option<Token![..]>>()?.is_none() {
            return Ok(None);
        }
        Ok(Some((self.expr(input)?, inclusive)))
    }
}

/// The report of a range where a value stands.
fn no_value(place: Place) -> Diagnostic {
    let report = Diagnostic::new(Code::BadExpression, place, "a range is no value");
    report.note("ranges stand between the brackets of an index and behind `for … in`")
}

/// The numbers of a range between literals.
fn numbers(start: &Expr, end: &Expr, inclusive: bool) -> Option<std::ops::Range<i64>> {
    match (&start.kind, &end.kind) {
        (ExprKind::Int(from), ExprKind::Int(to)) => Some(*from..to.checked_add(i64::from(inclusive))?),
        _ => None,
    }
}

fn count(numbers: &std::ops::Range<i64>) -> usize {
    usize::try_from(numbers.end.saturating_sub(numbers.start)).unwrap_or(0)
}
