//! One function: its attributes, signature and body.
//!
//! Always: a function whose name can be read is one, with `Error` for what else cannot, so that its uses are no
//! further mistakes.

use super::super::ast::*;
use super::{Syntax, starts_item};
use crate::diag::{Code, Diagnostic, Place, closest};
use proc_macro2::{Ident, Span, TokenTree};
use syn::parse::ParseStream;
use syn::{Attribute, Token, Visibility, parenthesized, token};

/// The attributes of functions that the language itself reads.
struct FnAttributes {
    passed: Vec<Attribute>,
    train: Vec<Train>,
    remat: Option<Place>,
}

/// The attributes in front of an item, as far as they can be read.
pub(super) struct Outer {
    pub(super) attrs: Vec<Attribute>,
    /// Whether one that cannot be read says `train`.
    train: bool,
}

impl Syntax {
    /// All attributes that come next; an unreadable one is reported, and reading goes on at the item.
    pub(super) fn attributes(&self, input: ParseStream) -> Outer {
        let start = input.cursor();
        let decorated = self.decorators(input);
        match input.call(Attribute::parse_outer) {
            Ok(attrs) => Outer { attrs: decorated.into_iter().chain(attrs).collect(), train: false },
            Err(error) => {
                self.syntax_error(&error);
                let mut train = false;
                while !input.is_empty() && (!starts_item(input) || input.peek(Token![#])) {
                    let Ok(token) = input.parse::<TokenTree>() else { break };
                    train |= matches!(&token, TokenTree::Ident(word) if word == "train");
                }
                self.lose(start, input);
                Outer { attrs: vec![], train }
            }
        }
    }

    pub(super) fn function(&self, input: ParseStream, outer: Outer, vis: Visibility) -> syn::Result<Fn> {
        self.keyword(input, &vis)?;
        let name: Ident = input.parse()?;
        let FnAttributes { mut passed, train, remat } = self.fn_attributes(outer);
        self.misplaced(&mut passed, &["model"], &format!("the function `{name}`"));
        self.generics(input, &name)?;
        let content;
        parenthesized!(content in input);
        let mut receiver = Receiver::None;
        if content.peek(Token![&]) || content.peek(Token![self]) {
            receiver = self.receiver(&content).unwrap_or_else(|error| {
                self.syntax_error(&error);
                Receiver::Shared
            });
        }
        let params = self.list(&content, |input| self.param(input));
        let result = self.result_type(input, &name, receiver)?;
        let body = self.body(input, &name)?;
        Ok(Fn { source: self.source, attrs: passed, train, remat, vis, name, receiver, params, result, body })
    }

    /// `fn`, or the word of another language.
    fn keyword(&self, input: ParseStream, vis: &Visibility) -> syn::Result<()> {
        let Err(error) = input.parse::<Token![fn]>() else { return Ok(()) };
        let other = input.peek(syn::Ident) && input.peek2(syn::Ident);
        let ahead = input.fork();
        if other {
            ahead.parse::<Ident>()?;
        }
        if !ahead.peek(syn::Ident) || !ahead.peek2(token::Paren) {
            return Err(error);
        }
        let name = ahead.parse::<Ident>()?;
        let report = Diagnostic::new(Code::Syntax, error.span(), error.to_string());
        // In other languages every function is public.
        let vis = if matches!(vis, Visibility::Inherited) && name != "forward" { "pub " } else { "" };
        self.report(report.help(format!("write `{vis}fn {name}`")));
        if other {
            input.parse::<Ident>()?;
        }
        Ok(())
    }

    /// `x: f32[B, 64]`
    pub(super) fn param(&self, input: ParseStream) -> syn::Result<(Pat, TypeExpr)> {
        if let Some(param) = self.type_before_name(input)? {
            return Ok(param);
        }
        let span = input.span();
        let pat = self.pattern(input).unwrap_or_else(|error| {
            self.syntax_error(&error);
            Pat::Ignore(span)
        });
        if let Pat::Name { name, .. } = &pat
            && (input.is_empty() || input.peek(Token![,]))
        {
            let report = Diagnostic::new(Code::Syntax, name.span(), format!("`{name}` has no type"));
            self.report(report.help(format!("write `{name}:` and its type, such as `{name}: f32[B]`")));
            return Ok((pat, TypeExpr::Error));
        }
        if input.peek(Token![=]) {
            self.default_value(input, &pat, None)?;
            return Ok((pat, TypeExpr::Error));
        }
        if let Err(error) = input.parse::<Token![:]>() {
            self.syntax_error(&error);
        }
        let ty = self.type_or_error(input)?;
        if input.peek(Token![=]) {
            self.default_value(input, &pat, Some(&ty))?;
        }
        Ok((pat, ty))
    }

    /// `-> f32[B, 10]`
    fn result_type(&self, input: ParseStream, name: &Ident, receiver: Receiver) -> syn::Result<TypeExpr> {
        let span = input.span();
        let arrow = input.parse::<Option<Token![->]>>()?.is_some();
        if arrow && let Some(unnamed) = self.unnamed_record(input, name)? {
            return Ok(unnamed);
        }
        if arrow && !input.peek(token::Brace) {
            return self.type_or_error(input);
        }
        if !arrow && !input.peek(token::Brace) && !input.peek(Token![;]) && !input.is_empty() {
            let report = Diagnostic::new(Code::Syntax, span, "expected `->`");
            self.report(report.help("write `->` between the arguments and the type of the result"));
            while input.peek(Token![:]) || input.peek(Token![=]) || input.peek(Token![-]) || input.peek(Token![>]) {
                input.parse::<TokenTree>()?;
            }
            return self.type_or_error(input);
        }
        if !arrow && matches!(receiver, Receiver::Mut(_)) {
            // What changes state need not give anything.
            return Ok(TypeExpr::Tuple(vec![], name.span().into()));
        }
        self.report(
            Diagnostic::new(Code::Syntax, name.span(), format!("`{name}` returns nothing"))
                .help("add `->` and the type of its last expression behind the arguments"),
        );
        Ok(TypeExpr::Error)
    }

    fn body(&self, input: ParseStream, name: &Ident) -> syn::Result<Block> {
        if input.peek(token::Brace) {
            return self.block(input);
        }
        let start = input.cursor();
        let report = Diagnostic::new(Code::Syntax, input.span(), format!("`{name}` has no body"));
        self.report(report.help("write what it gives in braces"));
        self.skip_item(input);
        self.lose(start, input);
        Ok(unreadable(name.span()))
    }

    /// `&self,` or `&mut self,`
    pub(super) fn receiver(&self, input: ParseStream) -> syn::Result<Receiver> {
        input.parse::<Option<Token![&]>>()?;
        let mutable: Option<Token![mut]> = input.parse()?;
        let this = input.parse::<Token![self]>()?;
        if let Some(receiver) = self.typed_receiver(input, this.span)? {
            return Ok(receiver);
        }
        if !input.is_empty()
            && let Err(error) = input.parse::<Token![,]>()
        {
            self.syntax_error(&error);
        }
        let Some(mutable) = mutable else {
            return Ok(Receiver::Shared);
        };
        Ok(Receiver::Mut(mutable.span))
    }

    /// Takes `#[train(…)]` and `#[remat]` out of a function's attributes.
    fn fn_attributes(&self, outer: Outer) -> FnAttributes {
        let mut all = FnAttributes { passed: vec![], train: vec![], remat: None };
        if outer.train {
            all.train.push(Train { optimizer: None, chosen: None });
        }
        for attr in outer.attrs {
            if attr.path().is_ident("train") {
                match attr.parse_args_with(|input: ParseStream| self.train_args(input)) {
                    Ok(Train { optimizer: Some(optimizer), .. }) if trains(&all.train, &optimizer) => {
                        let message = format!("`{optimizer}` already trains the function");
                        self.report(Diagnostic::new(Code::DuplicateName, optimizer.span(), message));
                    }
                    Ok(train) => all.train.push(train),
                    Err(error) => {
                        self.report(
                            Diagnostic::new(Code::Syntax, attr.bracket_token.span.join(), error.to_string())
                                .help("name one optimiser: `#[train(AdamW)]`"),
                        );
                        all.train.push(Train { optimizer: None, chosen: None });
                    }
                }
            } else if attr.path().is_ident("remat") {
                all.remat = Some(attr.bracket_token.span.join().into());
            } else if let Some((name, meant)) = misspelt(&attr) {
                let bare = matches!(attr.meta, syn::Meta::Path(_)) && meant == "train";
                let report =
                    Diagnostic::new(Code::UnknownAttribute, name.span(), format!("there is no attribute `{name}`"));
                self.report(report.help(if bare { "write `train(AdamW)`".into() } else { format!("write `{meant}`") }));
                if meant == "train" {
                    let read = attr.parse_args_with(|input: ParseStream| self.train_args(input));
                    all.train.push(read.unwrap_or(Train { optimizer: None, chosen: None }));
                }
            } else {
                all.passed.push(attr);
            }
        }
        all
    }
}

fn trains(all: &[Train], optimizer: &Ident) -> bool {
    all.iter().any(|one| one.optimizer.as_ref() == Some(optimizer))
}

/// The name of an attribute that is one slip away from one of the language, and that: `#[trian(AdamW)]`.
fn misspelt(attr: &Attribute) -> Option<(&Ident, &'static str)> {
    let own = attr.path().get_ident()?;
    let name = own.to_string();
    let letters = |word: &str| {
        let mut letters: Vec<char> = word.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    let near = closest(&name, ["train", "remat"])?;
    let slip = letters(&name) == letters(near) || name.len() != near.len();
    slip.then_some((own, if near == "train" { "train" } else { "remat" }))
}

/// A body that cannot be read.
fn unreadable(at: Span) -> Block {
    let error = Expr { kind: ExprKind::Error, place: at.into() };
    Block { stmts: vec![Stmt::Expr(error.clone())], tail: Some(Box::new(error)), close: at }
}
