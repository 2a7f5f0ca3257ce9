//! Comments that begin with `#`, as in Python: reported and left out.

use crate::diag::{Code, Diagnostic, Diags};
use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use std::iter::Peekable;

/// The text without such comments. What has none stays as it is, down to the spans of its brackets.
pub(super) fn without_comments(tokens: TokenStream, diags: &mut Diags) -> TokenStream {
    if !has_comment(tokens.clone()) {
        return tokens;
    }
    let (mut rest, mut kept) = (tokens.into_iter().peekable(), vec![]);
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Group(group) => kept.push(TokenTree::Group(inside(&group, diags))),
            token if is_comment(&token, &rest) => {
                let report = Diagnostic::new(Code::Syntax, token.span(), "a comment begins with `//`");
                diags.push(report.help("write `//`"));
                let line = line(token.span());
                while rest.next_if(|next| line_of(next) == line).is_some() {}
            }
            token => kept.push(token),
        }
    }
    kept.into_iter().collect()
}

fn inside(group: &Group, diags: &mut Diags) -> Group {
    if !has_comment(group.stream()) {
        return group.clone();
    }
    let mut clean = Group::new(group.delimiter(), without_comments(group.stream(), diags));
    clean.set_span(group.span());
    clean
}

fn has_comment(tokens: TokenStream) -> bool {
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        let found = match &token {
            TokenTree::Group(group) => has_comment(group.stream()),
            token => is_comment(token, &rest),
        };
        if found {
            return true;
        }
    }
    false
}

/// Whether a token is a `#` that begins no attribute, not even one without brackets: `# train(AdamW)`.
fn is_comment(token: &TokenTree, rest: &Peekable<impl Iterator<Item = TokenTree> + Clone>) -> bool {
    if !matches!(token, TokenTree::Punct(sign) if sign.as_char() == '#') {
        return false;
    }
    // What is left is copied for a `#` alone: texts are long.
    let mut next = rest.clone();
    let attribute = match (next.next(), next.next()) {
        (Some(TokenTree::Group(group)), _) => group.delimiter() == Delimiter::Bracket,
        (Some(TokenTree::Punct(sign)), _) => sign.as_char() == '!',
        (Some(TokenTree::Ident(word)), Some(TokenTree::Group(group))) => {
            group.delimiter() == Delimiter::Parenthesis && (word == "train" || word == "model")
        }
        (Some(TokenTree::Ident(_) | TokenTree::Literal(_)) | None, _) => false,
    };
    !attribute
}

fn line_of(token: &TokenTree) -> usize {
    match token {
        TokenTree::Group(group) => line(group.span_open()),
        token => line(token.span()),
    }
}

fn line(span: Span) -> usize {
    span.start().line
}
