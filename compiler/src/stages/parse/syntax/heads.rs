//! What stands before the braces of a struct and of an `impl`: names and parameters, and what Rust and Python write there.
//!
//! Always: what is meant stands for it, so that nothing follows from it.

use super::super::ast::*;
use super::super::words;
use super::elsewhere::next_is;
use super::{Syntax, starts_item};
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use std::cell::Cell;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::{Token, Visibility, parenthesized, token};

/// The parameters of a struct, some with a default.
type Params = Vec<(Ident, Option<Expr>)>;

/// What other libraries derive their layers from.
const BASES: [&str; 5] = ["LightningModule", "Layer", "Model", "Module", "object"];

impl Syntax {
    /// `struct` and the name, or what Python writes for both; `vis` is what stands before.
    pub(super) fn struct_name(&self, input: ParseStream, vis: &mut Visibility) -> syn::Result<Ident> {
        if !is_class(input) {
            input.parse::<Token![struct]>()?;
            return input.parse();
        }
        let word: Ident = input.parse()?;
        let name: Ident = input.parse()?;
        let mut place = Place { first: word.span(), last: name.span() };
        let ahead = input.fork();
        if let Ok(TokenTree::Group(bases)) = ahead.parse()
            && !ahead.peek(Token![;])
            && bases.delimiter() == Delimiter::Parenthesis
        {
            place.last = input.parse::<TokenTree>()?.span();
        }
        // In Python every class is public.
        *vis = Visibility::Public(Token![pub](word.span()));
        let report = Diagnostic::new(Code::Syntax, place, format!("there is no `{word}` in the model language"));
        self.report(report.help(format!("write `pub struct {name}`")));
        Ok(name)
    }

    /// `(dim, hidden = 4 * dim)` behind the name of a struct.
    pub(super) fn struct_params(&self, input: ParseStream, name: &Ident) -> syn::Result<Params> {
        if input.peek(Token![<]) {
            return self.generic_params(input, name);
        }
        if !input.peek(token::Paren) {
            return Ok(vec![]);
        }
        let content;
        let close = parenthesized!(content in input).span.close();
        let place = Place { first: name.span(), last: close };
        if let Some(base) = inherited(&content) {
            let message = format!("`{name}` inherits nothing from `{base}`: a struct is its fields and functions");
            self.report(Diagnostic::new(Code::Syntax, place, message).help(format!("write `{name}`")));
            content.parse::<TokenStream>()?;
            return Ok(vec![]);
        }
        let (before, wrong) = (self.reports(), Cell::new(None));
        let params = self.list(&content, |input| self.block_param(input, &wrong));
        if let Some(wrong) = wrong.get()
            && self.reports() == before
        {
            self.report_params(place, format!("the parameters of `{name}` {wrong}"), name, &params);
        }
        Ok(params)
    }

    /// `<const DIM: usize>` behind the name of a struct.
    fn generic_params(&self, input: ParseStream, name: &Ident) -> syn::Result<Params> {
        let (inside, last) = self.angles(input)?;
        let before = self.reports();
        let params = (|input: ParseStream| Ok(self.list(input, |input| self.block_param(input, &Cell::new(None)))))
            .parse2(inside)?;
        if self.reports() == before {
            let place = Place { first: name.span(), last };
            self.report_params(place, format!("the parameters of `{name}` stand in parentheses"), name, &params);
        }
        Ok(params)
    }

    fn report_params(&self, place: Place, message: String, name: &Ident, params: &Params) {
        let one = |(name, default): &(Ident, Option<Expr>)| match default {
            Some(default) => format!("{name} = {}", words::full(default)),
            None => name.to_string(),
        };
        let list: Vec<String> = params.iter().map(one).collect();
        self.report(Diagnostic::new(Code::Syntax, place, message).help(format!("write `{name}({})`", list.join(", "))));
    }

    /// `hidden = 4 * dim`; says what is `wrong` with how it is written.
    fn block_param(&self, input: ParseStream, wrong: &Cell<Option<&str>>) -> syn::Result<(Ident, Option<Expr>)> {
        if input.parse::<Option<Token![const]>>()?.is_some() {
            wrong.set(Some("have no types"));
        }
        let name: Ident = input.parse()?;
        if input.peek(Token![:]) && input.peek2(syn::Lit) {
            input.parse::<Token![:]>()?;
            wrong.set(Some("have their defaults behind `=`"));
            return Ok((name, Some(self.expr(input)?)));
        }
        if input.parse::<Option<Token![:]>>()?.is_some() {
            wrong.set(Some("have no types"));
            input.parse::<Option<Token![const]>>()?;
            let _: syn::Type = input.parse()?;
        }
        let default = input.parse::<Option<Token![=]>>()?.map(|_| self.expr(input)).transpose()?;
        Ok((name, default))
    }

    /// The layers in parentheses that a tuple struct has for fields; they get names.
    pub(super) fn tuple_fields(&self, input: ParseStream, owner: &Ident) -> syn::Result<Option<Vec<Field>>> {
        if !is_tuple_struct(input) {
            return Ok(None);
        }
        let content;
        let start = input.cursor();
        let last = parenthesized!(content in input).span.close();
        let before = self.reports();
        let types = self.list(&content, |input| {
            let (_, span): (Visibility, Span) = (input.parse()?, input.span());
            Ok((self.field_type(input, owner)?, span))
        });
        let fields = named(types);
        // What they are called elsewhere follows from this.
        self.lose(start, input);
        let names = std::iter::once(owner).chain(fields.iter().map(|field| &field.name));
        self.diags.borrow_mut().lose(names.cloned().map(TokenTree::from).collect());
        if self.reports() == before {
            let list: Vec<String> =
                fields.iter().map(|field| format!("{}: {}", field.name, words::field_text(&field.ty))).collect();
            let place = Place { first: owner.span(), last };
            let mut report = Diagnostic::new(Code::Syntax, place, format!("the fields of `{owner}` have no names"));
            if let Some(first) = fields.first() {
                report = report.note(format!("what is `self.0` is `self.{}` then", first.name));
            }
            self.report(report.help(format!("write `{owner} {{ {} }}`", list.join(", "))));
        }
        input.parse::<Option<Token![;]>>()?;
        Ok(Some(fields))
    }

    /// The struct that an `impl` is for; what Rust writes around its name is reported.
    pub(super) fn implemented(&self, input: ParseStream) -> syn::Result<Ident> {
        let (mut tokens, mut depth) = (vec![], 0);
        while !input.is_empty() && !input.peek(token::Brace) && (depth > 0 || !starts_item(input)) {
            let token: TokenTree = input.parse()?;
            depth += angle(&token);
            tokens.push(token);
        }
        let (Some(name), Some(first), Some(last)) = (owner(&tokens), tokens.first(), tokens.last()) else {
            return Err(input.error("expected identifier"));
        };
        if tokens.len() > 1 {
            let place = Place { first: first.span(), last: last.span() };
            let is_trait = tokens.iter().any(|token| is_word(token, "for"));
            let message = match is_trait {
                true => "there are no traits in the model language",
                false => "an `impl` has the name of its struct alone",
            };
            self.report(Diagnostic::new(Code::Syntax, place, message).help(format!("write `impl {name}`")));
        }
        Ok(name)
    }
}

/// Whether Python's word for a struct comes next.
pub(super) fn is_class(input: ParseStream) -> bool {
    input.peek(syn::Ident) && input.peek2(syn::Ident) && next_is(input, "class")
}

/// What Python's parentheses behind the name of a class hold: another class.
fn inherited(content: ParseStream) -> Option<String> {
    let ahead = content.fork();
    let mut text = ahead.call(Ident::parse_any).ok()?.to_string();
    let is_base = BASES.contains(&&*text);
    let mut is_path = false;
    while let Some(sign) = separator(&ahead) {
        text = format!("{text}{sign}{}", ahead.call(Ident::parse_any).ok()?);
        is_path = true;
    }
    (ahead.is_empty() && (is_path || is_base)).then_some(text)
}

fn separator(input: ParseStream) -> Option<&'static str> {
    if input.parse::<Token![.]>().is_ok() {
        return Some(".");
    }
    input.parse::<Token![::]>().is_ok().then_some("::")
}

/// Whether parentheses come next that hold layers, and no braces behind them.
fn is_tuple_struct(input: ParseStream) -> bool {
    let ahead = input.fork();
    let Ok(TokenTree::Group(group)) = ahead.parse() else { return false };
    let layers = group.stream().into_iter().next().is_some_and(|first| match &first {
        TokenTree::Ident(word) => word == "pub" || word.to_string().starts_with(char::is_uppercase),
        TokenTree::Group(_) => true,
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    });
    group.delimiter() == Delimiter::Parenthesis && layers && !ahead.peek(token::Brace)
}

/// The fields with names after their layers, numbered where there are several of a kind.
fn named(types: Vec<(FieldType, Span)>) -> Vec<Field> {
    let stem = |ty: &FieldType| ty.blocks().first().map_or("field".to_owned(), |name| name.to_string().to_lowercase());
    let stems: Vec<String> = types.iter().map(|(ty, _)| stem(ty)).collect();
    let name = |k: usize| {
        let number = stems[..=k].iter().filter(|stem| **stem == stems[k]).count();
        let alone = stems.iter().filter(|stem| **stem == stems[k]).count() == 1;
        if alone { stems[k].clone() } else { format!("{}{number}", stems[k]) }
    };
    let fields = types.into_iter().enumerate();
    fields.map(|(k, (ty, span))| Field { name: Ident::new(&name(k), span), file: None, ty }).collect()
}

/// The name behind `for`, or else the first one, outside of angles.
fn owner(tokens: &[TokenTree]) -> Option<Ident> {
    let (mut depth, mut found) = (0, None);
    for token in tokens {
        depth += angle(token);
        match token {
            TokenTree::Ident(word) if depth == 0 && word == "for" => found = None,
            TokenTree::Ident(word) if depth == 0 && found.is_none() => found = Some(word.clone()),
            TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Group(_) | TokenTree::Literal(_) => {}
        }
    }
    found
}

/// By how much a token changes the depth of angles.
fn angle(token: &TokenTree) -> i32 {
    match token {
        TokenTree::Punct(sign) => i32::from(sign.as_char() == '<') - i32::from(sign.as_char() == '>'),
        TokenTree::Ident(_) | TokenTree::Group(_) | TokenTree::Literal(_) => 0,
    }
}

fn is_word(token: &TokenTree, text: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == text)
}
