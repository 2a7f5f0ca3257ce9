//! Signs of other languages in the place of ours: `:` for `=`, a type behind `self`, a condition without braces.
//!
//! Always: what is meant is sure, so that it is reported once and then read as if it stood there.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use super::elsewhere::next_is;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, Span, TokenTree};
use syn::parse::ParseStream;
use syn::{Lit, Token, token};

impl Syntax {
    /// An argument, by position or by name.
    pub(super) fn arg(&self, input: ParseStream) -> syn::Result<Arg> {
        if let Some(arg) = self.colon_for_equals(input)? {
            return Ok(arg);
        }
        let named = input.peek(syn::Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]);
        let name = if named { Some(input.parse()?) } else { None };
        if named {
            input.parse::<Token![=]>()?;
        }
        Ok(Arg { name, value: self.expr(input)? })
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
