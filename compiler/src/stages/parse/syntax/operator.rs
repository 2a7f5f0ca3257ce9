//! Operators of Rust and Python that the language has not: read as a whole, reported with what says the same here.
//!
//! Always: the reader stands behind it afterwards, and what is meant stands for it where that is sure, an `Error` where it
//! is not, so that nothing follows from it.

use super::super::ast::*;
use super::super::{vocabulary, words};
use super::Syntax;
use super::elsewhere::next_is;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, Punct, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, Token, token};

impl Syntax {
    /// The operators `@`, `**`, `<<`, `>>`, `as` and `?`, also with `:`, behind an operand of an operator of precedence
    /// `least`, where one stands.
    pub(super) fn operator(&self, input: ParseStream, left: &Expr, least: u8) -> syn::Result<Option<Expr>> {
        if is_choice(input) {
            // It binds more loosely than all others.
            return if least > 0 { Ok(None) } else { self.ternary(input, left).map(Some) };
        }
        if let Some(read) = self.behind(input, left, least)? {
            return Ok(Some(read));
        }
        if let Some(sign) = input.parse::<Option<Token![?]>>()? {
            let report = Diagnostic::new(Code::UnknownOperator, sign.span, no_operator("?"));
            self.report(report.help("remove it: what can fail is checked when the function is called"));
            return Ok(Some(left.clone()));
        }
        if input.parse::<Option<Token![as]>>()?.is_some() {
            let to: Ident = input.parse()?;
            let name = to.to_string();
            let element_type = vocabulary::element_type(&name).unwrap_or(&name);
            let name = Expr { kind: ExprKind::Text(element_type.to_owned()), place: to.span().into() };
            let converted = called("cast", [left.clone(), name]);
            self.no_operator("as", &converted);
            return Ok(Some(converted));
        }
        self.signed(input, left)
    }

    /// `a ? b : c`
    fn ternary(&self, input: ParseStream, condition: &Expr) -> syn::Result<Expr> {
        input.parse::<Token![?]>()?;
        let then = self.binary(input, 0, true)?;
        input.parse::<Token![:]>()?;
        let other = self.binary(input, 0, true)?;
        let place = condition.place.to(other.place);
        let (text, yes, no) = (words::full(condition), words::full(&then), words::full(&other));
        let help = format!("write `if {text} {{ {yes} }} else {{ {no} }}`, or by element `where({text}, {yes}, {no})`");
        self.report(Diagnostic::new(Code::UnknownOperator, place, no_operator("?")).help(help));
        Ok(Expr { kind: ExprKind::Error, place })
    }

    /// `@`, `**`, `<<` and `>>`
    fn signed(&self, input: ParseStream, left: &Expr) -> syn::Result<Option<Expr>> {
        let name = match () {
            () if input.peek(Token![@]) => "@",
            () if input.peek(Token![*]) && input.peek2(Token![*]) => "**",
            () if input.peek(Token![<<]) => "<<",
            () if input.peek(Token![>>]) => ">>",
            () => return Ok(None),
        };
        let operand = || {
            for _ in name.chars() {
                input.parse::<proc_macro2::Punct>()?;
            }
            self.unary(input, true)
        };
        let mut right = operand()?;
        let meant = match name {
            "@" => {
                let mut product = called("matmul", [left.clone(), right]);
                while input.peek(Token![@]) {
                    right = operand()?;
                    product = called("matmul", [product, right]);
                }
                product
            }
            "**" => powered(left, right),
            _ => match shifted(name, left, &right) {
                Some(meant) => meant,
                None => {
                    let place = left.place.to(right.place);
                    self.report(Diagnostic::new(Code::UnknownOperator, place, no_operator(name)));
                    return Ok(Some(Expr { kind: ExprKind::Error, place }));
                }
            },
        };
        self.no_operator(name, &meant);
        Ok(Some(meant))
    }

    /// What stands behind a value and is no infix sign: `and`, `or`, `++`, `if`.
    fn behind(&self, input: ParseStream, left: &Expr, least: u8) -> syn::Result<Option<Expr>> {
        if let Some(both) = self.worded(input, left, least)? {
            return Ok(Some(both));
        }
        match self.step(input, left)? {
            None => self.choice_behind(input, left, least),
            error => Ok(error),
        }
    }

    /// Python's `left if condition else other`, which binds more loosely than all operators.
    fn choice_behind(&self, input: ParseStream, left: &Expr, least: u8) -> syn::Result<Option<Expr>> {
        if least > 0 || !is_choice_behind(input) {
            return Ok(None);
        }
        input.parse::<Token![if]>()?;
        let condition = self.binary(input, 0, true)?;
        input.parse::<Token![else]>()?;
        let other = self.deeper(input, || self.binary(input, 0, true))?;
        let place = left.place.to(other.place);
        let (text, yes, no) = (words::full(&condition), words::full(left), words::full(&other));
        let message = "the condition of a choice stands before its values";
        let report = Diagnostic::new(Code::UnknownOperator, place, message);
        self.report(report.help(format!("write `if {text} {{ {yes} }} else {{ {no} }}`")));
        let close = left.place.last;
        let then = Box::new(Block { stmts: vec![], tail: Some(Box::new(left.clone())), close });
        let kind = ExprKind::If { condition: Box::new(condition), then, otherwise: Some(Box::new(other)) };
        Ok(Some(Expr { kind, place }))
    }

    /// The arrow of C before a field.
    pub(super) fn arrow(&self, input: ParseStream) -> syn::Result<bool> {
        let Some(arrow) = input.parse::<Option<Token![->]>>()? else { return Ok(false) };
        let place = Place { first: arrow.spans[0], last: arrow.spans[1] };
        let message = "there is no operator `->` in the model language";
        self.report(Diagnostic::new(Code::UnknownOperator, place, message).help("write `.`"));
        Ok(true)
    }

    /// `y++` and `y--`, behind which nothing stands.
    fn step(&self, input: ParseStream, of: &Expr) -> syn::Result<Option<Expr>> {
        let ahead = input.fork();
        let (first, second) = (ahead.parse::<Punct>(), ahead.parse::<Punct>());
        let (Ok(first), Ok(second), true) = (first, second, ahead.is_empty() || ahead.peek(Token![;])) else {
            return Ok(None);
        };
        let sign = first.as_char();
        if sign != second.as_char() || !"+-".contains(sign) {
            return Ok(None);
        }
        input.parse::<Punct>()?;
        input.parse::<Punct>()?;
        let place = of.place.to(second.span().into());
        let message = format!("there is no operator `{sign}{sign}` in the model language");
        let report = Diagnostic::new(Code::UnknownOperator, place, message);
        self.report(report.help(format!("write `{} {sign}= 1`", words::full(of))));
        Ok(Some(Expr { kind: ExprKind::Error, place }))
    }

    /// Python's `and` and `or` behind an operand of an operator of precedence `least`.
    fn worded(&self, input: ParseStream, left: &Expr, least: u8) -> syn::Result<Option<Expr>> {
        let op = match () {
            () if next_is(input, "and") => Binary::And,
            () if next_is(input, "or") => Binary::Or,
            () => return Ok(None),
        };
        if op.precedence() <= least {
            return Ok(None);
        }
        let word: Ident = input.call(Ident::parse_any)?;
        let right = self.binary(input, op.precedence(), true)?;
        let both = joined(op, left.clone(), right);
        self.no_operator(&word.to_string(), &both);
        Ok(Some(both))
    }

    /// Python's `not`, which binds more loosely than comparisons, before an operand.
    pub(super) fn negation(&self, input: ParseStream, braces: bool) -> syn::Result<Option<Expr>> {
        let ahead = input.fork();
        let stands = next_is(input, "not") && ahead.call(Ident::parse_any).is_ok();
        let operand = ahead.peek(syn::Ident) || ahead.peek(Token![self]) || ahead.peek(Lit) || ahead.peek(token::Paren);
        if !stands || !operand {
            return Ok(None);
        }
        let word = input.call(Ident::parse_any)?;
        let of = self.binary(input, Binary::And.precedence(), braces)?;
        let place = Place::from(word.span()).to(of.place);
        let negated = Expr { kind: ExprKind::Unary(Unary::Not, Box::new(of)), place };
        self.no_operator("not", &negated);
        Ok(Some(negated))
    }

    /// What an infix operator makes of its operands, unless it means something else in the language.
    pub(super) fn infix(&self, op: Binary, left: Expr, right: Expr) -> Expr {
        if let (true, Some(middle)) = (op.compares(), compared(&left)) {
            let second = joined(op, middle.clone(), right);
            let both = joined(Binary::And, left, second);
            let message = "comparisons do not chain in the model language";
            let report = Diagnostic::new(Code::UnknownOperator, both.place, message);
            self.report(report.help(format!("write `{}`", words::full(&both))));
            return both;
        }
        if op == Binary::BitXor && is_number(&right) {
            let base = base(&left);
            let (of, exponent) = (words::full(base), words::full(&right));
            let power = if exponent == "2" { format!("square({of})") } else { format!("pow({of}, {exponent})") };
            let place = base.place.to(right.place);
            let report =
                Diagnostic::new(Code::UnknownOperator, place, "`^` is no power, but the exclusive or of bools");
            self.report(report.help(format!("write `{power}`")));
            return Expr { kind: ExprKind::Error, place: left.place.to(right.place) };
        }
        joined(op, left, right)
    }

    fn no_operator(&self, name: &str, meant: &Expr) {
        let report = Diagnostic::new(Code::UnknownOperator, meant.place, no_operator(name));
        self.report(report.help(format!("write `{}`", words::full(meant))));
    }
}

fn no_operator(name: &str) -> String {
    format!("there is no operator `{name}` in the model language")
}

/// A call of a function of the language, which stands from the first argument to the last.
fn called<const N: usize>(function: &str, args: [Expr; N]) -> Expr {
    let place = args[0].place.to(args[N - 1].place);
    let name = Ident::new(function, place.first);
    let args = args.into_iter().map(|value| Arg { name: None, value }).collect();
    let callee = Expr { kind: ExprKind::Name(name), place: place.first.into() };
    Expr { kind: ExprKind::Call(Box::new(callee), args), place }
}

/// A power, which binds more tightly than a sign before it.
fn powered(base: &Expr, exponent: Expr) -> Expr {
    let end = |expr: &Expr| expr.place.last.end();
    match &base.kind {
        ExprKind::Unary(sign, of) if end(of) == end(base) => {
            let power = powered(of, exponent);
            let place = base.place.to(power.place);
            Expr { kind: ExprKind::Unary(*sign, Box::new(power)), place }
        }
        _ if matches!(exponent.kind, ExprKind::Int(2)) => {
            let place = base.place.to(exponent.place);
            Expr { place, ..called("square", [base.clone()]) }
        }
        _ => called("pow", [base.clone(), exponent]),
    }
}

/// What a shift by a known number of bits means.
fn shifted(sign: &str, left: &Expr, right: &Expr) -> Option<Expr> {
    let ExprKind::Int(bits @ 0..31) = right.kind else { return None };
    let factor = Expr { kind: ExprKind::Int(1 << bits), place: right.place };
    let op = if sign == "<<" { Binary::Mul } else { Binary::Div };
    Some(joined(op, left.clone(), factor))
}

fn joined(op: Binary, left: Expr, right: Expr) -> Expr {
    let place = left.place.to(right.place);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), place }
}

/// The last operand of a comparison without parentheses, which may be one of a chain.
fn compared(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Binary(op, _, last) if op.compares() && !is_enclosed(expr) => Some(last),
        ExprKind::Binary(Binary::And, _, last) if !is_enclosed(expr) => compared(last),
        _ => None,
    }
}

/// What a power behind an expression applies to: its last operand, since powers bind more tightly than all else.
fn base(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Binary(_, _, last) if !is_enclosed(expr) => base(last),
        _ => expr,
    }
}

/// Whether an operator and its operands stand in parentheses of their own.
fn is_enclosed(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(_, first, _) => expr.place.first.start() != first.place.first.start(),
        _ => false,
    }
}

fn is_number(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Unary(Unary::Neg, of) => is_number(of),
        kind => matches!(kind, ExprKind::Int(_) | ExprKind::Float(_)),
    }
}

/// Whether a `?` comes next and further on a `:`, as in `a ? b : c`.
fn is_choice(input: ParseStream) -> bool {
    let ahead = input.fork();
    if ahead.parse::<Token![?]>().is_err() {
        return false;
    }
    let ends = |input: ParseStream| input.is_empty() || input.peek(Token![;]) || input.peek(Token![,]);
    while !ends(&ahead) {
        if ahead.peek(Token![:]) && !ahead.peek(Token![::]) {
            return true;
        }
        if ahead.parse::<Option<Token![::]>>().ok().flatten().is_none() && ahead.parse::<TokenTree>().is_err() {
            return false;
        }
    }
    false
}

/// Whether `if` comes next and, before anything ends the expression, `else`: braces would stand between those of Rust.
fn is_choice_behind(input: ParseStream) -> bool {
    let ahead = input.fork();
    if ahead.parse::<Token![if]>().is_err() {
        return false;
    }
    while !ahead.is_empty() && !ahead.peek(token::Brace) && !ahead.peek(Token![;]) && !ahead.peek(Token![,]) {
        if ahead.parse::<TokenTree>().is_ok_and(|token| token.to_string() == "else") {
            return true;
        }
    }
    false
}
