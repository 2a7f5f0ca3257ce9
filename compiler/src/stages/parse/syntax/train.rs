//! What stands between the parentheses of `#[train(AdamW, only = [head, body.norm])]`.

use super::super::ast::*;
use super::super::vocabulary;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use crate::ops;
use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::parse::ParseStream;
use syn::{Token, token};

impl Syntax {
    /// `AdamW` or `AdamW, only = head`
    pub(super) fn train_args(&self, input: ParseStream) -> syn::Result<Train> {
        let name: Ident = input.parse()?;
        self.numbers_of_optimizer(input, &name)?;
        if !input.is_empty()
            && let Err(error) = input.parse::<Token![,]>()
        {
            input.parse::<TokenStream>()?;
            return Err(error);
        }
        let optimizer = Some(name.clone());
        if input.is_empty() {
            return Ok(Train { optimizer, chosen: None });
        }
        let word: Ident = input.parse()?;
        if word != "only" && !LEAVING_OUT.iter().any(|other| word == other) {
            let message = format!("`#[train(…)]` has no argument `{word}`");
            let report = Diagnostic::new(Code::UnknownAttribute, word.span(), message);
            let rest: TokenStream = input.parse()?;
            self.report(report.help(at_run_time(&name, Some(&word), &rest.to_string())));
            return Ok(Train { optimizer, chosen: None });
        }
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        let fields = match value.kind {
            ExprKind::List(items) => items,
            _ => vec![value],
        };
        Ok(Train { optimizer, chosen: Some(Chosen { word, fields }) })
    }

    /// `{ lr: 1e-3 }`, `(lr = 1e-3)` and `::default()` behind the name of an optimiser, whose numbers a program gives.
    fn numbers_of_optimizer(&self, input: ParseStream, optimizer: &Ident) -> syn::Result<()> {
        if !input.peek(Token![::]) && !input.peek(token::Brace) && !input.peek(token::Paren) {
            return Ok(());
        }
        let mut place = Place::from(input.span());
        let mut numbers = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            let token: TokenTree = input.parse()?;
            place.last = token.span();
            if let TokenTree::Group(group) = token {
                numbers = group.stream();
            }
        }
        let mut first = numbers.into_iter().peekable();
        let name = match first.peek() {
            Some(TokenTree::Ident(name)) => Some(name.clone()),
            _ => None,
        };
        if name.is_some() {
            first.next();
        }
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',');
        let value: TokenStream = first.take_while(|token| !is_comma(token)).collect();
        let message = format!("`#[train(…)]` names an optimiser, and a program gives the numbers of `{optimizer}`");
        let report = Diagnostic::new(Code::UnknownAttribute, place, message);
        self.report(report.help(at_run_time(optimizer, name.as_ref(), &value.to_string())));
        Ok(())
    }
}

/// What other libraries and languages write before the parts that are not trained.
const LEAVING_OUT: &[&str] = &["except", "exclude", "freeze", "frozen", "without"];

/// Where a number of an optimiser is given: `rest` is what stands behind its name.
fn at_run_time(optimizer: &Ident, number: Option<&Ident>, rest: &str) -> String {
    let known = ops::optimizer(&optimizer.to_string()).map_or(&[] as &[_], |optimizer| optimizer.numbers);
    let own = number.and_then(|number| vocabulary::number(&number.to_string(), known));
    let value = rest.trim_start_matches(['=', ':']).trim().replace("- ", "-");
    let (name, value) = match own.filter(|_| !value.contains([',', '(', '['])) {
        Some(own) => (own, &*value),
        None => (own.unwrap_or("rate"), "…"),
    };
    format!("remove it; numbers are given at run time: `net.trainer({optimizer} {{ {name}: {value}, ..default() }})`")
}
