//! Lists of blocks: `[Block(64); 6]`, `[Block(64, dilation = pow(2, i)) for i in 0..6]`, `[First(64), Second(64)]` and
//! `Sequential(Linear(64, 8), relu)`.

use super::super::ast::*;
use super::Syntax;
use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Token, token};

impl Syntax {
    /// What stands inside of the brackets.
    pub(super) fn list_type(&self, input: ParseStream, field: &Ident) -> syn::Result<FieldType> {
        let first = self.entry(input, field)?;
        let Entry::Field(item) = first else { return self.rest(vec![first], input, field) };
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(FieldType::Repeat { item: Box::new(item), count: self.expr(input)? });
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
            input.parse::<Token![,]>()?;
            entries.extend(self.entries(input, field)?);
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
