//! Lists of blocks: `[Block(64); 6]`, `[Block(64, dilation = pow(2, i)) for i in 0..6]`, `[First(64), Second(64)]` and
//! `Sequential(Linear(64, 8), relu)`.

use super::super::ast::*;
use super::super::words;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place};
use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Lit, Token, bracketed, token};

impl Syntax {
    /// `[Block(64); 6]`, also as Python has it, `[Block(64)] * 6`, and with the number first.
    pub(super) fn blocks(&self, input: ParseStream, field: &Ident) -> syn::Result<FieldType> {
        let content;
        let bracket = bracketed!(content in input);
        let place = Place { first: bracket.span.open(), last: bracket.span.close() };
        if starts_with_count(&content) {
            let count = self.expr(&content)?;
            content.parse::<Token![;]>()?;
            let item = Box::new(self.field_type(&content, field)?);
            return Ok(self.repeated(item, count, place, "the number of blocks stands behind the block"));
        }
        let list = self.list_type(&content, field)?;
        if input.parse::<Option<Token![*]>>()?.is_none() {
            return Ok(list);
        }
        let count = self.expr(input)?;
        let place = place.to(count.place);
        match single(list) {
            Some(item) => {
                let message = "the number of blocks stands inside of the brackets";
                Ok(self.repeated(Box::new(item), count, place, message))
            }
            None => Err(syn::Error::new(place.first, "a list of several blocks has no number")),
        }
    }

    fn repeated(&self, item: Box<FieldType>, count: Expr, place: Place, message: &str) -> FieldType {
        let ty = FieldType::Repeat { item, count };
        self.report(Diagnostic::new(Code::Syntax, place, message).help(format!("write `{}`", words::field_text(&ty))));
        ty
    }

    /// What stands inside of the brackets.
    fn list_type(&self, input: ParseStream, field: &Ident) -> syn::Result<FieldType> {
        let first = self.entry(input, field)?;
        let Entry::Field(item) = first else { return self.rest(vec![first], input, field) };
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(FieldType::Repeat { item: Box::new(item), count: self.number_of_blocks(input)? });
        }
        if input.parse::<Option<Token![for]>>()?.is_some() {
            let name = input.parse()?;
            input.parse::<Token![in]>()?;
            return match self.iterated(input)? {
                Iter::Range { start, end, inclusive: false } => {
                    Ok(FieldType::Each { item: Box::new(item), name, start, end })
                }
                Iter::Range { start, .. } | Iter::Field(start) => {
                    Err(syn::Error::new(start.place.first, "blocks are numbered by a range such as `0..6`"))
                }
            };
        }
        self.rest(vec![Entry::Field(item)], input, field)
    }

    /// A list behind its first entry.
    fn rest(&self, mut entries: Vec<Entry>, input: ParseStream, field: &Ident) -> syn::Result<FieldType> {
        if !input.is_empty() {
            let comma = input.parse::<Token![,]>()?;
            entries.extend(self.entries(input, field)?);
            entries = match <[Entry; 2]>::try_from(entries) {
                Ok([Entry::Field(item), Entry::Function(count @ Expr { kind: ExprKind::Int(_), .. })]) => {
                    let message = "the number of blocks stands behind `;`";
                    return Ok(self.repeated(Box::new(item), count, comma.span.into(), message));
                }
                Ok(two) => two.into(),
                Err(entries) => entries,
            };
        }
        Ok(FieldType::List { entries, is_chain: false })
    }

    /// Entries with commas between them.
    pub(super) fn entries(&self, input: ParseStream, field: &Ident) -> syn::Result<Vec<Entry>> {
        let mut entries = vec![];
        while !input.is_empty() {
            entries.push(self.entry(input, field)?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(entries)
    }

    /// What has arguments, or is a list itself, is a layer or block; all else is a function.
    fn entry(&self, input: ParseStream, field: &Ident) -> syn::Result<Entry> {
        let path = input.peek(syn::Ident) && (input.peek2(Token![.]) || input.peek2(Token![::]));
        let called = input.peek(syn::Ident) && input.peek2(token::Paren);
        let bare = input.peek(syn::Ident) && input.fork().parse::<Ident>()?.to_string().starts_with(char::is_uppercase);
        match input.peek(token::Bracket) || path || called || bare {
            true => Ok(Entry::Field(self.field_type(input, field)?)),
            false => Ok(Entry::Function(self.expr(input)?)),
        }
    }
}

/// The only block of a list.
fn single(list: FieldType) -> Option<FieldType> {
    let FieldType::List { mut entries, is_chain: false } = list else { return None };
    match (entries.pop(), entries.is_empty()) {
        (Some(Entry::Field(item)), true) => Some(item),
        (Some(Entry::Field(_) | Entry::Function(_)) | None, _) => None,
    }
}

/// Whether a number comes next, or a name and behind `;` what can only be a block: a name in camel case, or one with
/// arguments. Names of blocks and of constants are free otherwise.
fn starts_with_count(input: ParseStream) -> bool {
    if input.peek(Lit) {
        return true;
    }
    let ahead = input.fork();
    let (Ok(_), Ok(_), Ok(block)) = (ahead.parse::<Ident>(), ahead.parse::<Token![;]>(), ahead.parse::<Ident>()) else {
        return false;
    };
    let name = block.to_string();
    name.starts_with(char::is_uppercase) && (name.contains(char::is_lowercase) || ahead.peek(token::Paren))
}
