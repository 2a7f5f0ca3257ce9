//! The extents of a type, also as other languages write them: in other brackets, open, or with another bound.
//!
//! Always: what is meant stands for it where that is sure, an `Error` where it is not, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::DType;
use proc_macro2::{Delimiter, Ident, TokenTree};
use syn::parse::ParseStream;
use syn::{Token, braced, bracketed, parenthesized, token};

impl Syntax {
    /// The type of that element type, whose extents come next where it has any.
    pub(super) fn tensor(&self, input: ParseStream, dtype: Ident) -> syn::Result<TypeExpr> {
        let ours = input.peek(token::Bracket);
        if let Some(named) = self.named_types.borrow().get(&dtype.to_string())
            && !ours
        {
            return Ok(named.clone());
        }
        let mut place = Place::from(dtype.span());
        let content;
        place.last = if ours {
            bracketed!(content in input).span.close()
        } else if input.peek(token::Paren) {
            parenthesized!(content in input).span.close()
        } else if DType::from_name(&dtype.to_string()).is_some() && braces_hold_extents(input) {
            braced!(content in input).span.close()
        } else {
            return Ok(TypeExpr::Tensor { dtype, axes: vec![], place });
        };
        let before = self.reports();
        let mut axes = self.list(&content, |input| self.axis(input));
        let apart = input.peek(token::Bracket);
        while input.peek(token::Bracket) {
            let content;
            place.last = bracketed!(content in input).span.close();
            axes.extend(self.list(&content, |input| self.axis(input)));
        }
        if self.reports() > before {
            return Ok(TypeExpr::Error);
        }
        let ty = TypeExpr::Tensor { dtype, axes, place };
        let message = match (apart, ours) {
            (true, _) => "the extents of a type stand in one pair of brackets",
            (false, false) => "the extents of a type stand in square brackets",
            (false, true) => return Ok(ty),
        };
        let report = Diagnostic::new(Code::TypeSyntax, place, message);
        self.report(report.help(format!("write `{}`", words::type_text(&ty))));
        Ok(ty)
    }

    fn axis(&self, input: ParseStream) -> syn::Result<AxisExpr> {
        if self.any_extents(input)? {
            return Ok(AxisExpr::Rest);
        }
        if let Some(unnamed) = self.open_extent(input)? {
            return Ok(unnamed);
        }
        let expr = self.expr(input)?;
        Ok(match expr.kind {
            ExprKind::Binary(Binary::Le, value, bound) => AxisExpr::Dim { value: *value, bound: Some(*bound) },
            ExprKind::Binary(Binary::Lt, value, limit) => self.other_bound(expr.place, *value, below(*limit)),
            ExprKind::Binary(Binary::Gt, limit, value) if is_number(&limit) => {
                self.other_bound(expr.place, *value, below(*limit))
            }
            ExprKind::Binary(Binary::Ge, bound, value) if is_number(&bound) => {
                self.other_bound(expr.place, *value, *bound)
            }
            ExprKind::Binary(Binary::Gt | Binary::Ge, value, _) => self.lower_bound(expr.place, *value),
            _ => AxisExpr::Dim { value: expr, bound: None },
        })
    }

    /// `..`, and what Python writes for it: `...` and `*name`.
    fn any_extents(&self, input: ParseStream) -> syn::Result<bool> {
        let first = input.span();
        let (sign, last) = if let Some(dots) = input.parse::<Option<Token![...]>>()? {
            ("...".to_owned(), dots.spans[2])
        } else if input.peek(Token![*]) && input.peek2(syn::Ident) {
            input.parse::<Token![*]>()?;
            let name: Ident = input.parse()?;
            (format!("*{name}"), name.span())
        } else {
            return Ok(input.parse::<Option<Token![..]>>()?.is_some());
        };
        let message = format!("`{sign}` is no extent: any number of leading dimensions is `..`");
        let report = Diagnostic::new(Code::TypeSyntax, Place { first, last }, message);
        self.report(report.help("write `..`, or in a public function a capital name for each, such as `B`"));
        Ok(true)
    }

    /// `_`, `?`, `:`, `*` or `-1` where an extent stands.
    fn open_extent(&self, input: ParseStream) -> syn::Result<Option<AxisExpr>> {
        let Some((sign, place)) = open(input)? else { return Ok(None) };
        let message = format!("`{sign}` leaves the extent open, but an extent is a number or a name");
        // Further ones of the same signature are the same mistake.
        let same = |d: &Diagnostic| d.message == message && d.place.line() == place.line();
        let again = self.diags.borrow().list().iter().any(same);
        if !again {
            let report = Diagnostic::new(Code::TypeSyntax, place, message);
            self.report(report.help("write a capital name, such as `B`: equal extents have equal names"));
        }
        Ok(Some(AxisExpr::Dim { value: Expr { kind: ExprKind::Error, place }, bound: None }))
    }

    /// `T < 512` or `512 >= T`, which has the meaning of `value <= bound`.
    fn other_bound(&self, place: Place, value: Expr, bound: Expr) -> AxisExpr {
        let said = format!("{} <= {}", words::full(&value), words::full(&bound));
        let report = Diagnostic::new(Code::TypeSyntax, place, "the bound of a dimension stands behind `<=`");
        self.report(report.help(format!("write `{said}`")));
        AxisExpr::Dim { value, bound: Some(bound) }
    }

    /// `T >= 2`.
    fn lower_bound(&self, place: Place, value: Expr) -> AxisExpr {
        let name = words::full(&value);
        let report =
            Diagnostic::new(Code::TypeSyntax, place, format!("`{name}` has a lower bound, and only upper ones exist"));
        self.report(report.help(format!("write `{name}`")));
        AxisExpr::Dim { value, bound: None }
    }
}

/// Takes the sign of an extent that stays open, where one comes next.
fn open(input: ParseStream) -> syn::Result<Option<(String, Place)>> {
    let ahead = input.fork();
    let first = input.span();
    let minus = ahead.parse::<Option<Token![-]>>()?.is_some();
    let (sign, last) = match ahead.parse::<TokenTree>() {
        Ok(TokenTree::Literal(one)) if minus && one.to_string() == "1" => ("-1".to_owned(), one.span()),
        Ok(TokenTree::Punct(sign)) if !minus && "?:*".contains(sign.as_char()) => (sign.to_string(), sign.span()),
        Ok(TokenTree::Ident(word)) if !minus && word == "_" => (word.to_string(), word.span()),
        _ => return Ok(None),
    };
    if !ahead.is_empty() && !ahead.peek(Token![,]) {
        return Ok(None);
    }
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(Some((sign, Place { first, last })))
}

/// Whether braces come next that are no function's body: more follows than an item's end, or nothing but commas
/// separates what they hold.
fn braces_hold_extents(input: ParseStream) -> bool {
    let ahead = input.fork();
    let Ok(TokenTree::Group(group)) = ahead.parse() else { return false };
    let follows = ahead.peek(token::Brace) || ahead.peek(Token![,]) || ahead.peek(Token![=]);
    let signs: Vec<char> = group.stream().into_iter().filter_map(sign).collect();
    let listed = signs.contains(&',') && !signs.contains(&';') && !signs.contains(&'|');
    group.delimiter() == Delimiter::Brace && (follows || listed)
}

fn sign(token: TokenTree) -> Option<char> {
    match token {
        TokenTree::Punct(sign) => Some(sign.as_char()),
        TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => None,
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Int(_))
}

/// The largest integer below a limit.
fn below(limit: Expr) -> Expr {
    let place = limit.place;
    let kind = match limit.kind {
        ExprKind::Int(n) => ExprKind::Int(n - 1),
        _ => ExprKind::Binary(Binary::Sub, Box::new(limit), Box::new(Expr { kind: ExprKind::Int(1), place })),
    };
    Expr { kind, place }
}
