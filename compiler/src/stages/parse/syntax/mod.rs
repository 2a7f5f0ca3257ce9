//! Tokens in, syntax tree out. What cannot be read is reported, left out, and reading goes on behind it.

mod bindings;
mod closure;
mod comments;
mod elsewhere;
mod expr;
mod extent;
mod foreign;
mod foreign_type;
mod function;
mod heads;
mod import;
mod items;
mod items_elsewhere;
mod list;
mod operator;
mod path;
mod range;
mod slice;
mod spelling;
mod stmt;
mod train;
mod types;

use super::ast::{Expr, ExprKind, Program, TypeExpr};
use crate::diag::{Code, Diagnostic, Diags, Place};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use syn::Token;
use syn::buffer::Cursor;
use syn::parse::{ParseStream, Parser};

pub(super) use elsewhere::has_unreadable;
pub(super) use items::{imported, uses};

/// Reads one text: the macro's own is number 0, those that travelled to it follow.
pub(super) fn read(tokens: TokenStream, source: usize, diags: &mut Diags) -> Program {
    let mut program = Program::default();
    if let Some(deep) = deepest(&tokens) {
        diags.push(nesting(deep));
        return program;
    }
    let tokens = comments::without_comments(tokens, diags);
    let syntax = Syntax {
        source,
        diags: RefCell::new(std::mem::take(diags)),
        depth: Cell::new(0),
        named_types: RefCell::default(),
        cut: Cell::new(false),
    };
    // The result only repeats what has been reported: syn marks tokens that recovery skipped.
    let _ = Parser::parse2(
        |input: ParseStream| {
            syntax.program(input, &mut program);
            Ok(())
        },
        tokens,
    );
    *diags = syntax.diags.into_inner();
    program
}

/// How deep expressions are read: each level takes some kilobytes of the thread's stack.
const NESTING: usize = 128;

fn nesting(place: Span) -> Diagnostic {
    let message = format!("this is nested more than {NESTING} deep");
    Diagnostic::new(Code::Nesting, place, message).help("give an inner part a name: `let part = …;`")
}

/// The first bracket that is nested too deep; found without recursion.
fn deepest(tokens: &TokenStream) -> Option<Span> {
    let mut level: Vec<Group> = groups(tokens.clone()).collect();
    for _ in 0..NESTING {
        level = level.into_iter().flat_map(|group| groups(group.stream())).collect();
    }
    level.first().map(Group::span_open)
}

fn groups(tokens: TokenStream) -> impl Iterator<Item = Group> {
    tokens.into_iter().filter_map(|token| match token {
        TokenTree::Group(group) => Some(group),
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
    })
}

/// The reader: its methods take from the stream and report to the sink.
struct Syntax {
    source: usize,
    diags: RefCell<Diags>,
    /// How deep the expression that is being read is nested.
    depth: Cell<usize>,
    /// The types that have a name, which has been reported.
    named_types: RefCell<BTreeMap<String, TypeExpr>>,
    /// Whether something was passed over as too deep, so that what follows cannot be read.
    cut: Cell<bool>,
}

impl Syntax {
    fn report(&self, diagnostic: Diagnostic) {
        self.diags.borrow_mut().push(diagnostic);
    }

    /// How many reports there are.
    fn reports(&self) -> usize {
        self.diags.borrow().list().len()
    }

    fn syntax_error(&self, error: &syn::Error) {
        if !self.cut.get() {
            self.report(Diagnostic::new(Code::Syntax, error.span(), error.to_string()));
        }
    }

    /// Reads an expression one level deeper; what is too deep is reported, and passed over to the statement's end.
    fn deeper(&self, input: ParseStream, read: impl FnOnce() -> syn::Result<Expr>) -> syn::Result<Expr> {
        if self.depth.get() == NESTING {
            let place = Place::from(input.span());
            self.report(nesting(place.first));
            self.cut.set(true);
            while !input.is_empty() && !input.peek(Token![;]) {
                input.parse::<TokenTree>()?;
            }
            return Ok(Expr { kind: ExprKind::Error, place });
        }
        self.depth.set(self.depth.get() + 1);
        let read = read();
        self.depth.set(self.depth.get() - 1);
        read
    }

    /// Remembers what stands from `start` to here: it could not be read.
    fn lose(&self, start: Cursor<'_>, input: ParseStream) {
        self.diags.borrow_mut().lose(between(start, input.cursor()));
    }

    /// Skips to behind the next `;` or brace group of this level, or to the start of the next item.
    fn skip_item(&self, input: ParseStream) {
        while !input.is_empty() && !starts_item(input) {
            match input.parse::<TokenTree>() {
                Ok(TokenTree::Punct(p)) if p.as_char() == ';' => return,
                Ok(TokenTree::Group(g)) if g.delimiter() == Delimiter::Brace => return,
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Skips to behind the next `;` of this level.
    fn skip_statement(&self, input: ParseStream) {
        let start = input.cursor();
        while !input.is_empty() && input.parse::<TokenTree>().is_ok_and(|t| t.to_string() != ";") {}
        self.lose(start, input);
    }

    /// Skips to behind the next `,` of this level.
    fn skip_to_comma(&self, input: ParseStream) {
        while !input.is_empty() && input.parse::<TokenTree>().is_ok_and(|t| t.to_string() != ",") {}
    }

    /// Items between commas, a trailing one allowed; an unreadable item is reported and left out.
    fn list<T>(&self, input: ParseStream, item: impl Fn(ParseStream) -> syn::Result<T>) -> Vec<T> {
        let mut all = vec![];
        while !input.is_empty() {
            let start = input.cursor();
            match item(input) {
                Ok(one) => all.push(one),
                Err(error) => {
                    self.syntax_error(&error);
                    self.skip_to_comma(input);
                    self.lose(start, input);
                    continue;
                }
            }
            if input.is_empty() {
                break;
            }
            // Where a comma is missing, the next item is read all the same.
            if let Err(error) = input.parse::<Token![,]>() {
                self.syntax_error(&error);
                if input.peek(Token![;]) || start == input.cursor() {
                    let _ = input.parse::<TokenTree>();
                }
            }
        }
        all
    }
}

/// Whether the next token starts an item.
fn starts_item(input: ParseStream) -> bool {
    let word = input.cursor().ident().is_some_and(|(word, _)| {
        ["pub", "struct", "impl", "fn", "const", "use", "extern"].iter().any(|start| word == start)
    });
    word || input.peek(Token![#])
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
