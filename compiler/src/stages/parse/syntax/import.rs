//! Python's imports, which are read as the `use` that they mean.

use super::super::ast::Program;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Ident, TokenTree};
use syn::Token;
use syn::ext::IdentExt;
use syn::parse::ParseStream;

impl Syntax {
    /// `from blocks import Residual`, with or without `;`, also with `use`. What it names is not known here.
    pub(super) fn python_import(&self, input: ParseStream, program: &mut Program) -> syn::Result<bool> {
        let starts = ["from", "import"].iter().any(|word| next_is(input, word));
        if !starts || !input.peek2(syn::Ident) && !input.peek2(Token![.]) {
            return Ok(false);
        }
        let mut place = Place::from(input.span());
        let (mut path, mut names) = (vec![], vec![]);
        if next_is(input, "from") {
            input.parse::<Ident>()?;
            while !input.is_empty() && !next_is(input, "import") && !next_is(input, "use") {
                if let TokenTree::Ident(step) = input.parse::<TokenTree>()? {
                    path.push(step.to_string());
                }
            }
        }
        input.call(Ident::parse_any)?;
        loop {
            let name = input.call(Ident::parse_any)?;
            let local = match input.parse::<Option<Token![as]>>()? {
                Some(_) => input.parse()?,
                None => name.clone(),
            };
            place.last = local.span();
            names.push(if name == local { name.to_string() } else { format!("{name} as {local}") });
            program.unread_uses.push(local.to_string());
            if input.parse::<Option<Token![,]>>()?.is_none() {
                break;
            }
        }
        if let Some(end) = input.parse::<Option<Token![;]>>()? {
            place.last = end.span;
        }
        let names = if names.len() == 1 { names.concat() } else { format!("{{{}}}", names.join(", ")) };
        path.push(names);
        let report = Diagnostic::new(Code::Syntax, place, "blocks are imported with `use`, as in Rust");
        self.report(report.help(format!("write `use {};`", path.join("::"))));
        Ok(true)
    }
}

/// Whether the next token is that word.
fn next_is(input: ParseStream, word: &str) -> bool {
    input.cursor().ident().is_some_and(|(next, _)| next == word)
}
