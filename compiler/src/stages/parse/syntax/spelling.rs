//! Signs of other languages in the place of ours: `:` for `=`, a type behind `self`, a condition without braces.
//!
//! Always: what is meant is sure, so that it is reported once and then read as if it stood there.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use super::elsewhere::next_is;
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::DType;
use crate::ops::{self, Signature};
use proc_macro2::{Ident, Span, TokenTree};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, Token, token};

impl Syntax {
    /// An argument, by position or by name.
    pub(super) fn arg(&self, input: ParseStream) -> syn::Result<Arg> {
        if let Some(arg) = self.colon_for_equals(input)? {
            return Ok(arg);
        }
        let named = input.peek(syn::Ident::peek_any) && input.peek2(Token![=]) && !input.peek2(Token![==]);
        let name = if named { Some(input.call(Ident::parse_any)?) } else { None };
        if named {
            input.parse::<Token![=]>()?;
        }
        Ok(Arg { name, value: self.value(input)? })
    }

    /// A number, truth value or text. A number with a type is reported, and read without: `255.0f64`.
    pub(super) fn literal(&self, lit: Lit) -> syn::Result<ExprKind> {
        let (digits, suffix) = match &lit {
            Lit::Int(n) => (n.base10_digits(), n.suffix()),
            Lit::Float(x) => (x.base10_digits(), x.suffix()),
            _ => ("", ""),
        };
        if !matches!(suffix, "" | "f32") {
            let message = format!("`{digits}{suffix}` has a type of its own, but numbers take that of what they meet");
            let report = Diagnostic::new(Code::TypeSyntax, lit.span(), message);
            self.report(report.help(format!("write `{digits}`")));
        }
        Ok(match &lit {
            Lit::Int(n) if n.suffix() == "f32" => ExprKind::Float(n.base10_parse()?),
            Lit::Int(n) => ExprKind::Int(n.base10_parse()?),
            Lit::Float(x) => ExprKind::Float(x.base10_parse()?),
            Lit::Bool(b) => ExprKind::Bool(b.value),
            Lit::Str(text) => ExprKind::Text(text.value()),
            other => return Err(syn::Error::new(other.span(), "this literal is not in the model language")),
        })
    }

    /// A float as a pattern of a `match`: its text and place.
    pub(super) fn float_case(&self, input: ParseStream) -> syn::Result<Option<(String, Place)>> {
        let minus = input.peek(Token![-]) && input.peek2(syn::LitFloat);
        if !minus && !input.peek(syn::LitFloat) {
            return Ok(None);
        }
        let first = input.span();
        input.parse::<Option<Token![-]>>()?;
        let number: syn::LitFloat = input.parse()?;
        let sign = if minus { "-" } else { "" };
        Ok(Some((format!("{sign}{number}"), Place::from(first).to(number.span().into()))))
    }

    /// Reports a float as a pattern, with the comparison that says the same.
    pub(super) fn report_float_case(&self, (number, place): &(String, Place), of: &Expr, arms: &[Arm]) {
        let text = words::brief(of);
        let message = format!("`{text}` is matched with {number}, but an arm takes integers, `true`, `false` or `_`");
        let help = match arms {
            [one, other] => {
                let (one, other) = (words::full(&one.body), words::full(&other.body));
                format!("write `if {text} == {number} {{ {one} }} else {{ {other} }}`")
            }
            _ => format!("write `if {text} == {number} {{ … }} else {{ … }}`"),
        };
        self.report(Diagnostic::new(Code::UnknownPattern, *place, message).help(help));
    }

    /// `: &Self` behind `self`, and the comma.
    pub(super) fn typed_receiver(&self, input: ParseStream, this: Span) -> syn::Result<Option<Receiver>> {
        if !input.peek(Token![:]) {
            return Ok(None);
        }
        let (mut last, mut mutable) = (this, None);
        while !input.is_empty() && !input.peek(Token![,]) {
            let word = next_is(input, "mut");
            last = input.parse::<TokenTree>()?.span();
            mutable = mutable.or(word.then_some(last));
        }
        input.parse::<Option<Token![,]>>()?;
        let place = Place { first: this, last };
        let report = Diagnostic::new(Code::FunctionForm, place, "`self` has no type in the model language");
        self.report(report.help(if mutable.is_some() { "write `&mut self`" } else { "write `&self`" }));
        Ok(Some(mutable.map_or(Receiver::Shared, Receiver::Mut)))
    }

    /// `name: value` among arguments, of which `name` comes next: the colon is reported.
    fn colon_for_equals(&self, input: ParseStream) -> syn::Result<Option<Arg>> {
        if !input.peek(syn::Ident) || !input.peek2(Token![:]) || input.peek2(Token![::]) {
            return Ok(None);
        }
        let name: Ident = input.parse()?;
        let span = input.parse::<Token![:]>()?.span;
        let value = self.expr(input)?;
        let report = Diagnostic::new(Code::Syntax, span, "what is given by name stands behind `=`");
        self.report(report.help(format!("write `{name} = {}`", words::full(&value))));
        Ok(Some(Arg { name: Some(name), value }))
    }

    /// `f32[B, 4] x`, as C has arguments.
    pub(super) fn type_before_name(&self, input: ParseStream) -> syn::Result<Option<(Pat, TypeExpr)>> {
        let ahead = input.fork();
        let is_type = ahead.parse::<Ident>().is_ok_and(|name| DType::from_name(&name.to_string()).is_some());
        if ahead.peek(token::Bracket) {
            ahead.parse::<TokenTree>()?;
        }
        if !is_type || !ahead.peek(syn::Ident) {
            return Ok(None);
        }
        let (first, ty) = (input.span(), self.type_expr(input)?);
        let name: Ident = input.parse()?;
        let place = Place { first, last: name.span() };
        let report = Diagnostic::new(Code::Syntax, place, format!("the type of `{name}` stands behind it"));
        self.report(report.help(format!("write `{name}: {}`", words::type_text(&ty))));
        Ok(Some((Pat::Name { name, mutable: false }, ty)))
    }

    /// `= 0.5` behind an argument of a function, whose type stands before it where it has one.
    pub(super) fn default_value(&self, input: ParseStream, pat: &Pat, ty: Option<&TypeExpr>) -> syn::Result<()> {
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        let name = words::pattern_text(pat);
        let ty = match (ty, &value.kind) {
            (Some(ty), _) => words::type_text(ty),
            (None, ExprKind::Int(_)) => "i32".to_owned(),
            (None, ExprKind::Bool(_)) => "bool".to_owned(),
            (None, _) => "f32".to_owned(),
        };
        let message = format!("`{name}` cannot have the default {}: a call gives all arguments", words::brief(&value));
        let report = Diagnostic::new(Code::Syntax, pat.place().to(value.place), message);
        self.report(report.help(format!("write `{name}: {ty}`")));
        Ok(())
    }

    /// A condition, in which `=` stands for `==` where that is what was meant.
    pub(super) fn condition(&self, input: ParseStream) -> syn::Result<Expr> {
        let left = self.binary(input, 0, false)?;
        let Some(sign) = input.parse::<Option<Token![=]>>()? else { return Ok(left) };
        let right = self.binary(input, 0, false)?;
        let place = left.place.to(right.place);
        let both = Expr { kind: ExprKind::Binary(Binary::Eq, Box::new(left), Box::new(right)), place };
        let report = Diagnostic::new(Code::Syntax, sign.span, "`=` assigns, and a condition compares with `==`");
        self.report(report.help(format!("write `if {}`", words::full(&both))));
        Ok(both)
    }

    /// `relu x`: a function whose argument has no parentheses; `name` has been read.
    pub(super) fn bare_call(&self, input: ParseStream, name: &Ident) -> syn::Result<Option<Expr>> {
        if ops::op(&name.to_string()).is_none() || !starts_operand(input) {
            return Ok(None);
        }
        // On the next line it is another statement, and `;` is missing.
        if name.span().end().line != input.span().start().line {
            return Ok(None);
        }
        let callee = Expr { kind: ExprKind::Name(name.clone()), place: name.span().into() };
        let takes = ops::op(&name.to_string()).map_or(1, |op| Signature::of(op).args.len());
        let (mut args, mut place) = (vec![], callee.place);
        while starts_operand(input) {
            let value = self.deeper(input, || self.postfix(input, false))?;
            place = place.to(value.place);
            args.push(Arg { name: None, value });
            if args.len() < takes {
                input.parse::<Option<Token![,]>>()?;
            }
        }
        let call = Expr { kind: ExprKind::Call(Box::new(callee), args), place };
        let message = format!("what `{name}` is applied to stands in parentheses");
        let report = Diagnostic::new(Code::Syntax, place, message);
        self.report(report.help(format!("write `{}`", words::full(&call))));
        Ok(Some(call))
    }

    /// Python's `range(3)` behind `in`.
    pub(super) fn called_range(&self, over: &Expr) -> Option<Iter> {
        let ExprKind::Call(callee, args) = &over.kind else { return None };
        let is_range = matches!(&callee.kind, ExprKind::Name(name) if name == "range");
        let zero = Expr { kind: ExprKind::Int(0), place: over.place };
        let (start, end) = match &args[..] {
            [end] => (zero, end.value.clone()),
            [start, end] => (start.value.clone(), end.value.clone()),
            _ => return None,
        };
        if !is_range {
            return None;
        }
        let text = format!("{}..{}", words::full(&start), words::full(&end));
        let report = Diagnostic::new(Code::Syntax, over.place, "a range is written with `..`");
        self.report(report.help(format!("write `{text}`")));
        Some(Iter::Range { start, end, inclusive: false })
    }

    /// The sides of a range in their order: numbers that run downwards are reported, and read as if they did not.
    pub(super) fn ascending(&self, code: Code, start: Expr, end: Expr, inclusive: bool) -> (Expr, Expr) {
        let (ExprKind::Int(from), ExprKind::Int(to)) = (&start.kind, &end.kind) else { return (start, end) };
        if from <= to {
            return (start, end);
        }
        let dots = if inclusive { "..=" } else { ".." };
        let message = format!("`{from}{dots}{to}` is empty: it ends before it starts");
        let report = Diagnostic::new(code, start.place.to(end.place), message);
        self.report(report.help(format!("write `{to}{dots}{from}`")));
        (end, start)
    }

    /// The block behind a condition; one without braces is reported, and read as if it had them.
    pub(super) fn braced_block(&self, input: ParseStream, condition: &Expr) -> syn::Result<Block> {
        if input.peek(token::Brace) || input.is_empty() {
            return self.block(input);
        }
        let value = self.expr(input)?;
        let message = format!("what stands behind the condition `{}` needs braces", words::brief(condition));
        let report = Diagnostic::new(Code::Syntax, value.place, message);
        self.report(report.help(format!("write `{{ {} }}`", words::full(&value))));
        let close = value.place.last;
        Ok(Block { stmts: vec![], tail: Some(Box::new(value)), close })
    }
}

/// Whether a value comes next that cannot stand directly behind another one.
fn starts_operand(input: ParseStream) -> bool {
    let word = input.peek(syn::Ident) && !["and", "or", "is", "not"].iter().any(|word| next_is(input, word));
    word || input.peek(syn::Lit) || input.peek(Token![self])
}
