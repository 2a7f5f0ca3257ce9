//! Items: constants, structs, aliases, impls and functions.

use super::super::ast::*;
use super::super::vocabulary;
use super::Syntax;
use crate::diag::{Code, Diagnostic, Place, closest};
use crate::ops;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::buffer::Cursor;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::{Attribute, Token, UseTree, Visibility, braced, bracketed, parenthesized};

/// The attributes of functions that the language itself reads.
struct FnAttributes {
    passed: Vec<Attribute>,
    train: Vec<Train>,
    remat: Option<Place>,
}

impl Syntax {
    /// All items; an unreadable one is reported and skipped.
    pub(super) fn program(&self, input: ParseStream, program: &mut Program) {
        while !input.is_empty() {
            let start = input.cursor();
            if let Err(error) = self.item(input, program) {
                self.syntax_error(&error);
                self.skip_item(input);
                continue;
            }
            let tokens = between(start, input.cursor());
            if let Some(name) = declared_name(&tokens) {
                program.items.push(Item { name, tokens });
            }
        }
    }

    fn item(&self, input: ParseStream, program: &mut Program) -> syn::Result<()> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        if input.peek(Token![use]) {
            let item: syn::ItemUse = input.parse()?;
            match uses(&item) {
                Ok(uses) => program.uses.extend(uses),
                Err(error) => self.syntax_error(&error),
            }
            return Ok(());
        }
        let vis: Visibility = input.parse()?;
        if input.peek(Token![use]) {
            let message = "blocks are imported for this macro alone";
            return Err(syn::Error::new(input.span(), message));
        }
        if !input.peek(Token![struct]) && !input.peek(Token![fn]) {
            self.misplaced(&mut attrs, &["model", "train", "remat"], "this item");
        }
        if input.peek(Token![const]) {
            program.consts.push(self.constant(input)?);
        } else if input.peek(Token![struct]) {
            self.structure(input, attrs, vis, program)?;
        } else if input.peek(Token![impl]) {
            let block = self.implementation(input, &mut program.externs)?;
            program.impls.push(block);
        } else if input.peek(Token![fn]) {
            program.fns.push(self.function(input, attrs, vis)?);
        } else if input.peek(Token![extern]) {
            program.externs.push(self.foreign(input)?);
        } else {
            return Err(input.error("expected `struct`, `impl`, `fn`, `const` or `use`"));
        }
        Ok(())
    }

    /// `x: f32[B, 64]`
    pub(super) fn param(&self, input: ParseStream) -> syn::Result<(Pat, TypeExpr)> {
        let pat = self.pattern(input)?;
        input.parse::<Token![:]>()?;
        Ok((pat, self.type_or_error(input)?))
    }

    fn constant(&self, input: ParseStream) -> syn::Result<Const> {
        input.parse::<Token![const]>()?;
        let name = input.parse()?;
        if input.parse::<Option<Token![:]>>()?.is_some() {
            let _: syn::Type = input.parse()?;
        }
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        input.parse::<Token![;]>()?;
        Ok(Const { name, value })
    }

    fn structure(
        &self,
        input: ParseStream,
        mut attrs: Vec<Attribute>,
        vis: Visibility,
        to: &mut Program,
    ) -> syn::Result<()> {
        input.parse::<Token![struct]>()?;
        let name: Ident = input.parse()?;
        self.misplaced(&mut attrs, &["train", "remat"], &format!("the struct `{name}`"));
        if matches!(vis, Visibility::Inherited) {
            self.misplaced(&mut attrs, &["model"], &format!("`{name}`, which is not public"));
        }
        if input.parse::<Option<Token![=]>>()?.is_some() {
            let target: Ident = input.parse()?;
            let args = if input.peek(syn::token::Paren) { self.args(input)?.0 } else { vec![] };
            input.parse::<Token![;]>()?;
            if target == "onnx" {
                self.unsupported(target.span(), "`onnx(…)` is");
            } else {
                to.aliases.push(Alias { source: self.source, attrs, vis, name, target, args });
            }
            return Ok(());
        }
        let mut params = vec![];
        if input.peek(syn::token::Paren) {
            let content;
            parenthesized!(content in input);
            params = self.list(&content, |input| {
                let name: Ident = input.parse()?;
                let default = input.parse::<Option<Token![=]>>()?.map(|_| self.expr(input)).transpose()?;
                Ok((name, default))
            });
        }
        let content;
        braced!(content in input);
        let fields = self.list(&content, |input| self.field(input)).into_iter().flatten().collect();
        to.structs.push(Struct { source: self.source, attrs, vis, name, params, fields });
        Ok(())
    }

    fn field(&self, input: ParseStream) -> syn::Result<Option<Field>> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        self.misplaced(&mut attrs, &["model", "train", "remat"], "a field");
        self.meaningless(&attrs);
        let _: Visibility = input.parse()?;
        let name = input.call(Ident::parse_any)?;
        self.unnameable(&name);
        if name == "state" && !input.peek(Token![:]) {
            let name: Ident = input.parse()?;
            input.parse::<Token![:]>()?;
            let ty = FieldType::State(self.type_or_error(input)?);
            self.state_start(input, &name)?;
            return Ok(Some(Field { name, ty }));
        }
        input.parse::<Token![:]>()?;
        let ty = match self.field_type(input, &name) {
            Ok(ty) => ty,
            Err(error) => {
                self.syntax_error(&error);
                while !input.is_empty() && !input.peek(Token![,]) {
                    input.parse::<proc_macro2::TokenTree>()?;
                }
                FieldType::Error
            }
        };
        Ok(Some(Field { name, ty }))
    }

    fn field_type(&self, input: ParseStream, field: &Ident) -> syn::Result<FieldType> {
        if input.peek(syn::token::Bracket) {
            let content;
            bracketed!(content in input);
            let item = Box::new(self.field_type(&content, field)?);
            content.parse::<Token![;]>()?;
            let count = self.expr(&content)?;
            return Ok(FieldType::Repeat { item, count });
        }
        let name = input.parse()?;
        let path = self.path(input, name, true)?;
        if self.field_of_type(input, &path.meant, field)? {
            return Ok(FieldType::Error);
        }
        let mut args = vec![];
        let mut last = path.meant.span();
        if input.peek(syn::token::Paren) {
            (args, last) = self.args(input)?;
        }
        let Some(name) = self.path_of_field(path, field, &args) else { return Ok(FieldType::Error) };
        let place = Place { first: name.span(), last };
        Ok(FieldType::One { name, args, place })
    }

    /// What is declared foreign inside is reported, and then as good as outside.
    fn implementation(&self, input: ParseStream, externs: &mut Vec<Extern>) -> syn::Result<Impl> {
        input.parse::<Token![impl]>()?;
        let name: Ident = input.parse()?;
        let content;
        braced!(content in input);
        let mut fns = vec![];
        while !content.is_empty() {
            let one = (|| {
                let attrs = content.call(Attribute::parse_outer)?;
                let vis = content.parse()?;
                self.function_words(&content)?;
                if !content.peek(Token![fn]) && self.nested_item(&content, "an `impl`") {
                    return Ok(None);
                }
                if content.peek(Token![extern]) {
                    let message = "a foreign function belongs to no struct";
                    self.foreign_mistake(content.span(), message, format!("declare it in front of `impl {name}`"));
                    externs.push(self.foreign(&content)?);
                    return Ok(None);
                }
                self.function(&content, attrs, vis).map(Some)
            })();
            match one {
                Ok(function) => fns.extend(function),
                Err(error) => {
                    self.syntax_error(&error);
                    self.skip_item(&content);
                }
            }
        }
        Ok(Impl { name, fns })
    }

    fn function(&self, input: ParseStream, attrs: Vec<Attribute>, vis: Visibility) -> syn::Result<Fn> {
        let FnAttributes { mut passed, train, remat } = self.fn_attributes(attrs);
        self.function_word(input, &vis)?;
        let name: Ident = input.parse()?;
        self.misplaced(&mut passed, &["model"], &format!("the function `{name}`"));
        self.generics(input, &name)?;
        let content;
        parenthesized!(content in input);
        let mut receiver = Receiver::None;
        if content.peek(Token![&]) || content.peek(Token![self]) {
            receiver = self.receiver(&content)?;
        }
        let params = self.list(&content, |input| self.param(input));
        let result = match input.parse::<Option<Token![->]>>()? {
            Some(_) => self.type_or_error(input)?,
            // What changes state need not give anything.
            None if matches!(receiver, Receiver::Mut(_)) => TypeExpr::Tuple(vec![], content_span(&name)),
            None if input.peek(Token![:]) => self.colon_for_arrow(input)?,
            None => {
                self.report(
                    Diagnostic::new(Code::Syntax, content_span(&name), format!("`{name}` returns nothing"))
                        .help("add `->` and the type of its last expression behind the arguments"),
                );
                TypeExpr::Error
            }
        };
        let body = self.block(input)?;
        Ok(Fn { source: self.source, attrs: passed, train, remat, vis, name, receiver, params, result, body })
    }

    /// `&self,` or `&mut self,`
    pub(super) fn receiver(&self, input: ParseStream) -> syn::Result<Receiver> {
        input.parse::<Option<Token![&]>>()?;
        let mutable: Option<Token![mut]> = input.parse()?;
        let this = input.parse::<Token![self]>()?;
        if let Some(receiver) = self.typed_receiver(input, this.span)? {
            return Ok(receiver);
        }
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        let Some(mutable) = mutable else {
            return Ok(Receiver::Shared);
        };
        Ok(Receiver::Mut(mutable.span))
    }

    /// Takes `#[train(…)]` and `#[remat]` out of a function's attributes.
    fn fn_attributes(&self, attrs: Vec<Attribute>) -> FnAttributes {
        let mut all = FnAttributes { passed: vec![], train: vec![], remat: None };
        for attr in attrs {
            if attr.path().is_ident("train") {
                match attr.parse_args_with(|input: ParseStream| self.train_args(input)) {
                    Ok(Train { optimizer, .. }) if all.train.iter().any(|t| t.optimizer == optimizer) => {
                        let message = format!("`{optimizer}` already trains the function");
                        self.report(Diagnostic::new(Code::DuplicateName, optimizer.span(), message));
                    }
                    Ok(train) => all.train.push(train),
                    Err(error) => self.report(
                        Diagnostic::new(Code::Syntax, attr.bracket_token.span.join(), error.to_string())
                            .help("name one optimiser: `#[train(AdamW)]`"),
                    ),
                }
            } else if attr.path().is_ident("remat") {
                all.remat = Some(attr.bracket_token.span.join().into());
            } else if let Some(near) = misspelt(&attr) {
                let name = attr.path().to_token_stream();
                let message = format!("there is no attribute `{name}`");
                let report = Diagnostic::new(Code::UnknownAttribute, attr.path().span(), message);
                self.report(report.help(format!("write `{near}`")));
                let args = attr.parse_args_with(|input: ParseStream| self.train_args(input)).ok();
                all.train.extend(args.filter(|_| near == "train"));
            } else {
                all.passed.push(attr);
            }
        }
        all
    }

    /// `AdamW` or `AdamW, only = head`
    fn train_args(&self, input: ParseStream) -> syn::Result<Train> {
        let optimizer: Ident = input.parse()?;
        if input.parse::<Option<Token![,]>>()?.is_none() || input.is_empty() {
            return Ok(Train { optimizer, only: None });
        }
        let only: Ident = input.parse()?;
        if only != "only" {
            let message = format!("`#[train(…)]` has no argument `{only}`");
            let report = Diagnostic::new(Code::UnknownAttribute, only.span(), message);
            let rest = input.parse::<TokenStream>()?.to_string();
            let known = ops::optimizer(&optimizer.to_string()).map_or(&[] as &[_], |optimizer| optimizer.numbers);
            let own = vocabulary::number(&only.to_string(), known);
            let value = rest.trim_start_matches('=').trim();
            self.report(match own.filter(|_| !value.contains([',', '(', '['])) {
                Some(own) => report.help(format!(
                    "remove it; numbers are given at run time: `net.trainer({optimizer} {{ {own}: {value}, ..default() }})`"
                )),
                None => report.help(format!(
                    "remove it; numbers are given at run time: `net.trainer({optimizer} {{ {}: …, ..default() }})`",
                    own.unwrap_or("rate")
                )),
            });
            return Ok(Train { optimizer, only: None });
        }
        input.parse::<Token![=]>()?;
        let value = self.expr(input)?;
        let only = match value.kind {
            ExprKind::List(items) => items,
            _ => vec![value],
        };
        Ok(Train { optimizer, only: Some(only) })
    }
}

/// The attribute of the language that a function's unknown one probably is.
fn misspelt(attr: &Attribute) -> Option<&'static str> {
    const OURS: [&str; 2] = ["train", "remat"];
    const RUSTS: [&str; 14] = [
        "allow",
        "cfg",
        "cold",
        "deny",
        "deprecated",
        "doc",
        "expect",
        "forbid",
        "inline",
        "must_use",
        "rustfmt",
        "test",
        "trace",
        "warn",
    ];
    let name = attr.path().get_ident()?.to_string();
    if RUSTS.contains(&name.as_str()) {
        return None;
    }
    let near = closest(&name, OURS)?;
    OURS.into_iter().find(|own| *own == near)
}

/// The blocks that an item `use …;` names.
pub(in super::super) fn uses(item: &syn::ItemUse) -> syn::Result<Vec<Use>> {
    let mut all = vec![];
    named(item.leading_colon.is_some(), &mut vec![], &item.tree, &mut all)?;
    Ok(all)
}

fn named(absolute: bool, path: &mut Vec<Ident>, tree: &UseTree, all: &mut Vec<Use>) -> syn::Result<()> {
    let one = |path: &[Ident], target: &Ident, name: &Ident| Use {
        absolute,
        path: path.to_vec(),
        target: target.clone(),
        name: name.clone(),
    };
    match tree {
        UseTree::Path(step) => {
            path.push(step.ident.clone());
            named(absolute, path, &step.tree, all)?;
            path.pop();
        }
        UseTree::Name(last) => all.push(one(path, &last.ident, &last.ident)),
        UseTree::Rename(last) => all.push(one(path, &last.ident, &last.rename)),
        UseTree::Group(group) => {
            for item in &group.items {
                named(absolute, path, item, all)?;
            }
        }
        UseTree::Glob(glob) => return Err(syn::Error::new(glob.star_token.span, "name each block that is imported")),
    }
    Ok(())
}

/// The tokens from one place of a stream to a later one.
fn between(start: Cursor<'_>, end: Cursor<'_>) -> TokenStream {
    let mut tokens = vec![];
    let mut at = start;
    while at != end
        && let Some((token, next)) = at.token_tree()
    {
        tokens.push(token);
        at = next;
    }
    tokens.into_iter().collect()
}

/// The name after the keyword of an item.
fn declared_name(item: &TokenStream) -> Option<String> {
    let mut words = item.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(word) => Some(word.to_string()),
        TokenTree::Group(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    });
    words.find(|word| matches!(word.as_str(), "struct" | "impl" | "fn" | "const"))?;
    words.next()
}

fn content_span(name: &Ident) -> crate::diag::Place {
    name.span().into()
}
