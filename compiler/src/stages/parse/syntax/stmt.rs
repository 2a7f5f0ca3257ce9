//! Statements and blocks. Always: an unreadable statement is reported, and an `Error` stands for it.

use super::super::ast::*;
use super::Syntax;
use crate::diag::{Code, Place};
use proc_macro2::Span;
use syn::parse::ParseStream;
use syn::{Token, braced, parenthesized, token};

impl Syntax {
    /// `{ …; tail }`; an unreadable statement is reported and skipped.
    pub(super) fn block(&self, input: ParseStream) -> syn::Result<Block> {
        let content;
        let brace = braced!(content in input);
        let close = brace.span.close();
        let mut block = Block { stmts: vec![], tail: None, close };
        while !content.is_empty() {
            if let Err(error) = self.statement(&content, &mut block) {
                self.syntax_error(&error);
                self.skip_statement(&content);
                block.stmts.push(unreadable(close));
            }
        }
        // What could not be read may have been the result.
        if let (None, Some(Stmt::Expr(Expr { kind: ExprKind::Error, place }))) = (&block.tail, block.stmts.last()) {
            block.tail = Some(Box::new(Expr { kind: ExprKind::Error, place: *place }));
        }
        Ok(block)
    }

    fn statement(&self, input: ParseStream, block: &mut Block) -> syn::Result<()> {
        if input.parse::<Option<Token![;]>>()?.is_some() {
            return Ok(());
        }
        if self.nested_item(input, "a function") {
            return Ok(());
        }
        if let Some(stmt) = self.field_binding(input)? {
            block.stmts.push(stmt);
            return Ok(());
        }
        if let Some(first) = self.declares(input)? {
            return self.binding(input, first, block);
        }
        if input.peek(Token![for]) {
            input.parse::<Token![for]>()?;
            let pat = self.pattern(input)?;
            input.parse::<Token![in]>()?;
            let over = self.iterated(input)?;
            let body = self.block(input)?;
            block.stmts.push(Stmt::For { pat, over, body });
            return Ok(());
        }
        if (input.peek(token::Paren) || input.peek(Token![_])) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            let target = self.target(input)?;
            input.parse::<Token![=]>()?;
            let value = self.expr(input)?;
            let lost = !input.is_empty() && !self.semicolon(input);
            block.stmts.push(Stmt::Assign { target, op: None, value });
            block.stmts.extend(lost.then(|| unreadable(block.close)));
            return Ok(());
        }
        let expr = self.expr(input)?;
        if let Some(op) = compound(input)? {
            let value = self.expr(input)?;
            // As in Rust, an assignment may be the last of a block without `;`.
            let lost = !input.is_empty() && !self.semicolon(input);
            block.stmts.push(Stmt::Assign { target: Target::One(expr), op, value });
            block.stmts.extend(lost.then(|| unreadable(block.close)));
        } else if input.is_empty() {
            block.tail = Some(Box::new(expr));
        } else {
            let ends_itself =
                matches!(expr.kind, ExprKind::If { .. } | ExprKind::Match(..) | ExprKind::Block(_) | ExprKind::Error);
            let lost = (!ends_itself || input.peek(Token![;])) && !self.semicolon(input);
            block.stmts.push(Stmt::Expr(expr));
            block.stmts.extend(lost.then(|| unreadable(block.close)));
        }
        Ok(())
    }

    /// What follows `let`, which stands at `first`.
    fn binding(&self, input: ParseStream, first: Span, block: &mut Block) -> syn::Result<()> {
        let mut pat = self.pattern(input)?;
        let (mut ty, equals) = (None, self.colon_equals(input, first, &pat)?);
        if !equals {
            ty = input.parse::<Option<Token![:]>>()?.map(|_| self.type_or_error(input)).transpose()?;
        }
        let value = match self.without_value(input, &mut pat)? {
            Some(value) => Ok(value),
            None if equals => self.value(input),
            None => input.parse::<Token![=]>().and_then(|_| self.value(input)),
        };
        let lost = value.is_ok() && !self.semicolon(input);
        // The names stay declared even where the value cannot be read.
        let value = value.unwrap_or_else(|error| {
            self.syntax_error(&error);
            self.skip_statement(input);
            Expr { kind: ExprKind::Error, place: pat.place() }
        });
        block.stmts.push(Stmt::Let { pat, ty, value });
        block.stmts.extend(lost.then(|| unreadable(block.close)));
        Ok(())
    }

    /// `(a, _, self.h)` on the left of an assignment.
    fn target(&self, input: ParseStream) -> syn::Result<Target> {
        if input.parse::<Option<Token![_]>>()?.is_some() {
            return Ok(Target::Ignore);
        }
        if !input.peek(token::Paren) {
            return self.expr(input).map(Target::One);
        }
        let content;
        let paren = parenthesized!(content in input);
        let mut items = vec![];
        let mut tuple = content.is_empty();
        while !content.is_empty() {
            items.push(self.target(&content)?);
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
                tuple = true;
            }
        }
        match items.pop() {
            Some(one) if !tuple => Ok(one),
            last => {
                items.extend(last);
                Ok(Target::Tuple(items, Place { first: paren.span.open(), last: paren.span.close() }))
            }
        }
    }

    /// The end of a statement; where it is missing, reading goes on at the next statement. Gives whether nothing had to
    /// be skipped.
    fn semicolon(&self, input: ParseStream) -> bool {
        let Err(error) = input.parse::<Token![;]>() else { return true };
        self.syntax_error(&error);
        let read = input.peek(Token![let]) || input.peek(Token![for]);
        if !read {
            self.skip_statement(input);
        }
        read
    }

    pub(super) fn iterated(&self, input: ParseStream) -> syn::Result<Iter> {
        let start = self.binary(input, 0, false)?;
        if !input.peek(Token![..]) {
            return Ok(self.called_range(&start).unwrap_or(Iter::Field(start)));
        }
        let inclusive = input.peek(Token![..=]);
        if inclusive {
            input.parse::<Token![..=]>()?;
        } else {
            input.parse::<Token![..]>()?;
        }
        let end = self.binary(input, 0, false)?;
        let (start, end) = self.ascending(Code::LoopWithoutEffect, start, end, inclusive);
        Ok(Iter::Range { start, end, inclusive })
    }
}

/// A statement that could not be read.
fn unreadable(at: Span) -> Stmt {
    Stmt::Expr(Expr { kind: ExprKind::Error, place: at.into() })
}

/// The operator of an assignment, `None` inside for a plain `=`.
fn compound(input: ParseStream) -> syn::Result<Option<Option<Binary>>> {
    if input.peek(Token![=]) {
        input.parse::<Token![=]>()?;
        return Ok(Some(None));
    }
    let table = [
        (input.peek(Token![+=]), Binary::Add),
        (input.peek(Token![-=]), Binary::Sub),
        (input.peek(Token![*=]), Binary::Mul),
        (input.peek(Token![/=]), Binary::Div),
    ];
    let Some(op) = table.into_iter().find_map(|(here, op)| here.then_some(op)) else {
        return Ok(None);
    };
    input.parse::<proc_macro2::Punct>()?;
    input.parse::<proc_macro2::Punct>()?;
    Ok(Some(Some(op)))
}
