//! Expressions, by precedence climbing over Rust's operators.

use super::super::ast::*;
use super::Syntax;
use super::slice::ends;
use crate::diag::{Code, Place};
use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Lit, Token, braced, bracketed, parenthesized, token};

impl Syntax {
    pub(super) fn expr(&self, input: ParseStream) -> syn::Result<Expr> {
        self.binary(input, 0, true)
    }

    /// Operators of at least that precedence. `braces`: whether `Name { … }` is a struct here.
    pub(super) fn binary(&self, input: ParseStream, least: u8, braces: bool) -> syn::Result<Expr> {
        let mut left = self.unary(input, braces)?;
        loop {
            if let Some(error) = self.operator(input, &left, least)? {
                left = error;
                continue;
            }
            let Some(op) = peek_binary(input).filter(|op| op.precedence() > least) else { return Ok(left) };
            take_binary(input, op)?;
            let right = self.binary(input, op.precedence(), braces)?;
            left = self.infix(op, left, right);
        }
    }

    pub(super) fn unary(&self, input: ParseStream, braces: bool) -> syn::Result<Expr> {
        self.reference(input)?;
        if let Some(error) = self.negation(input, braces)? {
            return Ok(error);
        }
        let first = input.span();
        let op = if input.parse::<Option<Token![-]>>()?.is_some() {
            Unary::Neg
        } else if input.parse::<Option<Token![!]>>()?.is_some() {
            Unary::Not
        } else {
            return self.deeper(input, || self.postfix(input, braces));
        };
        let of = self.deeper(input, || self.unary(input, braces))?;
        let place = Place::from(first).to(of.place);
        Ok(Expr { kind: ExprKind::Unary(op, Box::new(of)), place })
    }

    pub(super) fn postfix(&self, input: ParseStream, braces: bool) -> syn::Result<Expr> {
        let mut expr = self.primary(input, braces)?;
        loop {
            if input.peek(token::Paren) {
                let (args, close) = self.args(input)?;
                let place = expr.place.to(close.into());
                expr = Expr { kind: ExprKind::Call(Box::new(expr), args), place };
            } else if input.peek(token::Bracket) {
                let content;
                let bracket = bracketed!(content in input);
                let items = self.list(&content, |input| self.index(input));
                let place = expr.place.to(bracket.span.close().into());
                expr = Expr { kind: ExprKind::Index(Box::new(expr), items), place };
            } else if input.peek(Token![.]) && !input.peek(Token![..]) {
                input.parse::<Token![.]>()?;
                expr = self.member(input, expr)?;
            } else if self.arrow(input)? {
                expr = self.member(input, expr)?;
            } else {
                return Ok(expr);
            }
        }
    }

    /// What follows a dot.
    fn member(&self, input: ParseStream, of: Expr) -> syn::Result<Expr> {
        if input.peek(syn::LitFloat) {
            // `x.0.1`: Rust's tokenizer reads a float.
            let lit: syn::LitFloat = input.parse()?;
            let mut expr = of;
            for digits in lit.to_string().split('.') {
                let k = digits.parse().map_err(|_| syn::Error::new(lit.span(), "expected a field"))?;
                let place = expr.place.to(lit.span().into());
                expr = Expr { kind: ExprKind::Part(Box::new(expr), k), place };
            }
            return Ok(expr);
        }
        if input.peek(syn::LitInt) {
            let lit: syn::LitInt = input.parse()?;
            let place = of.place.to(lit.span().into());
            return Ok(Expr { kind: ExprKind::Part(Box::new(of), lit.base10_parse()?), place });
        }
        let name = input.call(Ident::parse_any)?;
        if input.peek(token::Paren) {
            let (args, close) = self.args(input)?;
            let place = of.place.to(close.into());
            return Ok(Expr { kind: ExprKind::Method(Box::new(of), name, args), place });
        }
        let place = of.place.to(name.span().into());
        Ok(Expr { kind: ExprKind::Field(Box::new(of), name), place })
    }

    fn primary(&self, input: ParseStream, braces: bool) -> syn::Result<Expr> {
        let span = input.span();
        let at = |kind, last: Span| Expr { kind, place: Place { first: span, last } };
        if input.peek(Lit) {
            return Ok(at(self.literal(input.parse()?)?, span));
        }
        if input.peek(token::Paren) {
            let content;
            let place = Place { first: span, last: parenthesized!(content in input).span.close() };
            return match self.range_in_parentheses(&content, input, place)? {
                Some(range) => Ok(range),
                None => self.parenthesized(&content, place),
            };
        }
        if input.peek(token::Bracket) {
            let content;
            let bracket = bracketed!(content in input);
            let items = self.list(&content, |input| match input.parse::<Option<Token![..]>>()? {
                Some(rest) => {
                    Ok(Expr { kind: ExprKind::Rest, place: Place { first: rest.spans[0], last: rest.spans[1] } })
                }
                None => self.value(input),
            });
            return Ok(at(ExprKind::List(items), bracket.span.close()));
        }
        if input.peek(token::Brace) {
            let block = self.block(input)?;
            let close = block.close;
            return Ok(at(ExprKind::Block(Box::new(block)), close));
        }
        if input.peek(Token![if]) {
            return self.conditional(input);
        }
        if input.peek(Token![match]) {
            return self.choice(input);
        }
        if let Some(error) = self.control_flow(input) {
            return Ok(error);
        }
        if input.parse::<Option<Token![self]>>()?.is_some() {
            return Ok(at(ExprKind::SelfValue, span));
        }
        if input.peek(Token![|]) || input.peek(Token![||]) {
            return self.closure(input);
        }
        if let Some(closure) = self.lambda(input)? {
            return Ok(closure);
        }
        self.named(input, braces)
    }

    /// A name, or `Name { field: value }`.
    fn named(&self, input: ParseStream, braces: bool) -> syn::Result<Expr> {
        let span = input.span();
        let at = |kind, last: Span| Expr { kind, place: Place { first: span, last } };
        // `where` is an op, though Rust reserves the word.
        if !input.peek(syn::Ident) && !input.peek(Token![where]) && !input.peek(Token![Self]) {
            return Err(input.error("expected an expression"));
        }
        let name = input.call(Ident::parse_any)?;
        let path = self.path(input, name, false)?;
        if let Some(meant) = self.own_path(input, &path)? {
            return Ok(meant);
        }
        let Some(name) = self.path_of_value(path) else { return Ok(at(ExprKind::Error, span)) };
        if let Some(error) = self.macro_call(input, &name)? {
            return Ok(error);
        }
        if let Some(call) = self.bare_call(input, &name)? {
            return Ok(call);
        }
        let starts_upper = name.to_string().starts_with(char::is_uppercase);
        if braces && starts_upper && input.peek(token::Brace) {
            let content;
            let brace = braced!(content in input);
            let fields = self.list(&content, |input| {
                let name: Ident = input.parse()?;
                let value = match input.parse::<Option<Token![:]>>()? {
                    Some(_) => self.expr(input)?,
                    None => Expr { kind: ExprKind::Name(name.clone()), place: name.span().into() },
                };
                Ok((name, value))
            });
            return Ok(at(ExprKind::Struct(name, fields), brace.span.close()));
        }
        Ok(at(ExprKind::Name(name), span))
    }

    /// A parenthesized expression, or a tuple.
    fn parenthesized(&self, content: ParseStream, place: Place) -> syn::Result<Expr> {
        let mut items = vec![];
        let mut tuple = content.is_empty();
        while !content.is_empty() {
            items.push(self.value(content)?);
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
                tuple = true;
            }
        }
        match items.pop() {
            Some(one) if !tuple => Ok(Expr { kind: one.kind, place }),
            last => {
                items.extend(last);
                Ok(Expr { kind: ExprKind::Tuple(items), place })
            }
        }
    }

    fn conditional(&self, input: ParseStream) -> syn::Result<Expr> {
        let first = input.span();
        input.parse::<Token![if]>()?;
        let unreadable = self.condition_with_let(input)?;
        let condition = Box::new(match &unreadable {
            Some(error) => error.clone(),
            None => self.condition(input)?,
        });
        let then = Box::new(self.braced_block(input, &condition)?);
        let mut last = then.close;
        let mut otherwise = None;
        if input.parse::<Option<Token![else]>>()?.is_some() {
            let expr = match input.peek(Token![if]) {
                true => self.deeper(input, || self.conditional(input))?,
                false => self.primary(input, false)?,
            };
            last = expr.place.last;
            otherwise = Some(Box::new(expr));
        }
        let kind = if unreadable.is_some() { ExprKind::Error } else { ExprKind::If { condition, then, otherwise } };
        Ok(Expr { kind, place: Place { first, last } })
    }

    /// `match n { 0 => a, 1 | 2 => b, _ => c }`
    fn choice(&self, input: ParseStream) -> syn::Result<Expr> {
        let first = input.parse::<Token![match]>()?.span;
        let of = self.binary(input, 0, false)?;
        let content;
        let brace = braced!(content in input);
        let (mut arms, mut unreadable, mut float) = (vec![], false, None);
        while !content.is_empty() {
            let mut cases = vec![];
            while cases.is_empty() || content.parse::<Option<Token![|]>>()?.is_some() {
                if let Some(number) = self.float_case(&content)? {
                    float.get_or_insert(number);
                    cases.push((Case::Rest, content.span().into()));
                    continue;
                }
                let name = self.named_case(&content)?;
                unreadable |= name.is_some();
                let case = name.map_or_else(|| self.case(&content), Ok)?;
                unreadable |= self.range_case(&content, &of, case)?;
                cases.push(case);
            }
            unreadable |= self.guard(&content)?;
            content.parse::<Token![=>]>()?;
            let body = self.expr(&content)?;
            // As in Rust, a block needs no comma behind it.
            let block = matches!(body.kind, ExprKind::Block(_));
            arms.push(Arm { cases, body });
            if !content.is_empty() && (!block || content.peek(Token![,])) {
                content.parse::<Token![,]>()?;
            }
        }
        if let Some(number) = &float {
            self.report_float_case(number, &of, &arms);
        }
        let place = Place { first, last: brace.span.close() };
        let kind = if unreadable || float.is_some() { ExprKind::Error } else { ExprKind::Match(Box::new(of), arms) };
        Ok(Expr { kind, place })
    }

    pub(super) fn case(&self, input: ParseStream) -> syn::Result<(Case, Place)> {
        if let Some(rest) = input.parse::<Option<Token![_]>>()? {
            return Ok((Case::Rest, rest.span.into()));
        }
        let minus: Option<Token![-]> = input.parse()?;
        let span = input.span();
        let place = Place::from(minus.as_ref().map_or(span, |m| m.span)).to(span.into());
        match self.literal(input.parse()?)? {
            ExprKind::Int(n) => Ok((Case::Int(if minus.is_some() { -n } else { n }), place)),
            ExprKind::Bool(b) if minus.is_none() => Ok((Case::Bool(b), place)),
            _ => Err(syn::Error::new(span, "expected an integer, `true`, `false` or `_`")),
        }
    }

    /// `(a, name = b)` and the closing parenthesis.
    pub(super) fn args(&self, input: ParseStream) -> syn::Result<(Vec<Arg>, Span)> {
        let content;
        let paren = parenthesized!(content in input);
        let mut args = vec![];
        while !content.is_empty() {
            args.push(self.arg(&content)?);
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok((args, paren.span.close()))
    }

    fn index(&self, input: ParseStream) -> syn::Result<Index> {
        if let Some(error) = self.slice(input, None)? {
            return Ok(error);
        }
        if let Some(stepped) = self.stepped(input)? {
            return Ok(stepped);
        }
        let first = Place::from(input.span());
        if input.parse::<Option<Token![_]>>()?.is_some() {
            return Ok(Index::Whole);
        }
        let ranges = |input: ParseStream| input.peek(Token![..]);
        let start = if ranges(input) { None } else { Some(self.expr(input)?) };
        if let Some(error) = self.slice(input, start.as_ref())? {
            return Ok(error);
        }
        if !ranges(input) {
            return start.map(Index::At).ok_or_else(|| input.error("expected an index"));
        }
        let inclusive = input.peek(Token![..=]);
        let mut dots = Place::from(input.span());
        if inclusive {
            input.parse::<Token![..=]>()?;
        } else {
            dots.last = input.parse::<Token![..]>()?.spans[1];
        }
        let end = if ends(input) { None } else { Some(self.expr(input)?) };
        if let Some(step) = self.slice_step(input, (start.as_ref(), end.as_ref()), first)? {
            return Ok(step);
        }
        let (start, end) = match (start, end) {
            (Some(start), Some(end)) => {
                let (start, end) = self.ascending(Code::SliceOutOfRange, start, end, inclusive);
                (Some(start), Some(end))
            }
            sides => sides,
        };
        Ok(match (&start, &end) {
            (None, None) => Index::Rest(dots),
            _ => Index::Range { start, end, inclusive },
        })
    }
}

/// The infix operator that comes next, unless it is part of an assignment.
fn peek_binary(input: ParseStream) -> Option<Binary> {
    let table: [(bool, Binary); 16] = [
        (input.peek(Token![||]), Binary::Or),
        (input.peek(Token![&&]), Binary::And),
        (input.peek(Token![==]), Binary::Eq),
        (input.peek(Token![!=]), Binary::Ne),
        (input.peek(Token![<=]), Binary::Le),
        (input.peek(Token![>=]), Binary::Ge),
        (input.peek(Token![<]), Binary::Lt),
        (input.peek(Token![>]), Binary::Gt),
        (input.peek(Token![|]) && !input.peek(Token![|=]), Binary::BitOr),
        (input.peek(Token![^]) && !input.peek(Token![^=]), Binary::BitXor),
        (input.peek(Token![&]) && !input.peek(Token![&=]), Binary::BitAnd),
        (input.peek(Token![+]) && !input.peek(Token![+=]), Binary::Add),
        (input.peek(Token![-]) && !input.peek(Token![-=]), Binary::Sub),
        (input.peek(Token![*]) && !input.peek(Token![*=]), Binary::Mul),
        (input.peek(Token![/]) && !input.peek(Token![/=]), Binary::Div),
        (input.peek(Token![%]) && !input.peek(Token![%=]), Binary::Rem),
    ];
    table.into_iter().find_map(|(here, op)| here.then_some(op))
}

fn take_binary(input: ParseStream, op: Binary) -> syn::Result<()> {
    for _ in op.text().chars() {
        input.parse::<proc_macro2::Punct>()?;
    }
    Ok(())
}
