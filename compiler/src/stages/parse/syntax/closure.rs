//! Functions without a name: `|state, x| body`, and what Python writes for it.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::Ident;
use syn::Token;
use syn::parse::ParseStream;

impl Syntax {
    /// `|state, x| body`, with or without types.
    pub(super) fn closure(&self, input: ParseStream) -> syn::Result<Expr> {
        let first = input.span();
        let mut params = vec![];
        if input.parse::<Option<Token![||]>>()?.is_none() {
            input.parse::<Token![|]>()?;
            while !input.peek(Token![|]) {
                let pat = self.pattern(input)?;
                let ty = input.parse::<Option<Token![:]>>()?.map(|_| self.type_expr(input)).transpose()?;
                params.push((pat, ty));
                if !input.peek(Token![|]) {
                    input.parse::<Token![,]>()?;
                }
            }
            input.parse::<Token![|]>()?;
        }
        let body = self.expr(input)?;
        let place = Place::from(first).to(body.place);
        Ok(Expr { kind: ExprKind::Closure(Box::new(Closure { params, body })), place })
    }

    /// `lambda x: body`, which is read as the closure that it is.
    pub(super) fn lambda(&self, input: ParseStream) -> syn::Result<Option<Expr>> {
        let is_lambda = input.cursor().ident().is_some_and(|(word, _)| word == "lambda");
        if !is_lambda || !input.peek2(syn::Ident) && !input.peek2(Token![:]) {
            return Ok(None);
        }
        let first = Place::from(input.parse::<Ident>()?.span());
        let mut params = vec![];
        while !input.peek(Token![:]) {
            params.push((self.pattern(input)?, None));
            if !input.peek(Token![:]) {
                input.parse::<Token![,]>()?;
            }
        }
        let place = first.to(input.parse::<Token![:]>()?.span.into());
        let body = self.expr(input)?;
        let names: Vec<String> = params.iter().map(|(pat, _)| words::pattern_text(pat)).collect();
        let message = "there is no `lambda` in the model language: the arguments of a closure stand between bars";
        let report = Diagnostic::new(Code::FunctionForm, place, message);
        self.report(report.help(format!("write `|{}| {}`", names.join(", "), words::full(&body))));
        let place = first.to(body.place);
        Ok(Some(Expr { kind: ExprKind::Closure(Box::new(Closure { params, body })), place }))
    }
}
