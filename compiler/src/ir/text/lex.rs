//! The tokens of the text form, and the parser of dimensions, literals, lists and records over them.

use super::datum::{Datum, Fields};
use crate::ir::prim::Scalar;
use crate::ir::{Category, DType, Dim, Type, Value};

/// A token.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// A word: letters, digits, `_` and `#`.
    Word(String),
    /// A number as it stands, with its suffix: `3`, `1e-5`, `3u32`.
    Number(String),
    /// A quoted text.
    Text(String),
    /// `%3`
    Value(Value),
    /// What follows `;` on a line: the user's name of a node.
    Note(String),
    /// Any other character.
    Sign(char),
}

/// A cursor over tokens; each knows its line.
pub(super) struct Cursor {
    tokens: Vec<(Token, usize)>,
    at: usize,
}

impl Cursor {
    /// Reads a text.
    pub(super) fn over(text: &str) -> Result<Cursor, String> {
        let mut tokens = vec![];
        for (n, line) in text.lines().enumerate() {
            let mut rest = line.trim_start();
            while let Some(first) = rest.chars().next() {
                let (token, length) = token(rest, first).map_err(|e| format!("line {}: {e}", n + 1))?;
                tokens.push((token, n + 1));
                rest = rest[length..].trim_start();
            }
        }
        Ok(Cursor { tokens, at: 0 })
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    pub(super) fn next(&mut self) -> Option<Token> {
        self.at += 1;
        self.tokens.get(self.at - 1).map(|(token, _)| token.clone())
    }

    /// An error at the last token.
    pub(super) fn fail<T>(&self, message: impl std::fmt::Display) -> Result<T, String> {
        let line = self.tokens.get(self.at.saturating_sub(1)).or(self.tokens.last()).map_or(1, |(_, line)| *line);
        Err(format!("line {line}: {message}"))
    }

    /// An error if something follows.
    pub(super) fn end(&self) -> Result<(), String> {
        self.peek().map_or(Ok(()), |token| self.fail(format!("{token:?} after the end")))
    }

    /// Consumes the sign if it is next.
    pub(super) fn sign(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    /// Consumes the word if it is next.
    pub(super) fn keyword(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Word(w)) if w == word);
        self.at += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { self.fail(format!("no `{sign}` before {:?}", self.peek())) }
    }

    pub(super) fn word(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Word(word)) => Ok(word),
            other => self.fail(format!("a word, not {other:?}")),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, String> {
        match self.next() {
            Some(Token::Text(text)) => Ok(text),
            other => self.fail(format!("a text, not {other:?}")),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value, String> {
        match self.next() {
            Some(Token::Value(value)) => Ok(value),
            other => self.fail(format!("a value, not {other:?}")),
        }
    }

    /// `%1, %2`, possibly nothing.
    pub(super) fn values(&mut self) -> Result<Vec<Value>, String> {
        let mut values = vec![];
        while matches!(self.peek(), Some(Token::Value(_))) {
            values.push(self.value()?);
            if !self.sign(',') {
                break;
            }
        }
        Ok(values)
    }

    /// `f32[B, 3]`
    pub(super) fn ty(&mut self) -> Result<Type, String> {
        let word = self.word()?;
        let Some(dtype) = DType::from_name(&word) else { return self.fail(format!("no type `{word}`")) };
        let mut shape = vec![];
        if self.sign('[') {
            while !self.sign(']') {
                shape.push(self.dim()?);
                self.sign(',');
            }
        }
        Ok(Type::new(dtype, shape))
    }

    /// `key=value key=value`, possibly nothing.
    pub(super) fn fields(&mut self) -> Result<Fields, String> {
        let mut fields = vec![];
        let starts = |c: &Cursor| matches!(c.tokens.get(c.at + 1), Some((Token::Sign('='), _)));
        while matches!(self.peek(), Some(Token::Word(_))) && starts(self) {
            let key = self.word()?;
            self.expect('=')?;
            fields.push((key, self.datum()?));
        }
        Ok(fields)
    }

    fn datum(&mut self) -> Result<Datum, String> {
        if self.sign('[') {
            let mut list = vec![];
            while !self.sign(']') {
                list.push(self.datum()?);
                self.sign(',');
            }
            return Ok(Datum::List(list));
        }
        if self.sign('{') {
            let mut fields = vec![];
            while !self.sign('}') {
                fields.push((self.word()?, self.datum()?));
                self.sign(',');
            }
            return Ok(Datum::Record(fields));
        }
        if let Some(Token::Text(text)) = self.peek() {
            let text = text.clone();
            self.at += 1;
            return Ok(Datum::Text(text));
        }
        match self.scalar() {
            Some(scalar) => Ok(Datum::Scalar(scalar)),
            None => Ok(Datum::Dim(self.dim()?)),
        }
    }

    /// A literal whose text shows that it is no dimension.
    pub(super) fn scalar(&mut self) -> Option<Scalar> {
        let minus = usize::from(self.peek() == Some(&Token::Sign('-')));
        let (token, _) = self.tokens.get(self.at + minus)?;
        let sign = if minus == 1 { "-" } else { "" };
        let scalar = match token {
            Token::Word(word) if word == "true" || word == "false" => Scalar::Bool(word == "true"),
            Token::Word(number) | Token::Number(number) => {
                // Of two names the longer one: `bf16` ends like `f16`.
                let suffixes = DType::ALL.iter().filter_map(|dtype| Some((number.strip_suffix(dtype.name())?, *dtype)));
                let suffix = suffixes.min_by_key(|(digits, _)| digits.len());
                let (digits, dtype) = suffix.unwrap_or((number, DType::F32));
                let is_float = digits.contains(['.', 'e']) || digits == "inf" || digits == "NaN";
                let text = format!("{sign}{digits}");
                match dtype.category() {
                    Category::Float if is_float => Scalar::Float(dtype, text.parse().ok()?),
                    Category::Signed | Category::Unsigned => Scalar::Int(dtype, text.parse().ok()?),
                    Category::Float | Category::Bool => return None,
                }
            }
            Token::Text(_) | Token::Value(_) | Token::Note(_) | Token::Sign(_) => return None,
        };
        self.at += 1 + minus;
        Some(scalar)
    }

    /// A polynomial: `2*B*T - 1`.
    pub(super) fn dim(&mut self) -> Result<Dim, String> {
        let mut sum = match self.sign('-') {
            true => -self.product()?,
            false => self.product()?,
        };
        loop {
            if self.sign('+') {
                sum = sum + self.product()?;
            } else if self.sign('-') {
                sum = sum - self.product()?;
            } else {
                return Ok(sum);
            }
        }
    }

    fn product(&mut self) -> Result<Dim, String> {
        let mut product = self.factor()?;
        while self.sign('*') {
            product = product * self.factor()?;
        }
        Ok(product)
    }

    fn factor(&mut self) -> Result<Dim, String> {
        match self.next() {
            Some(Token::Number(digits)) => match digits.parse::<i64>() {
                Ok(n) => Ok(n.into()),
                Err(_) => self.fail(format!("`{digits}` is no dimension")),
            },
            Some(Token::Word(word)) if (word == "div" || word == "max") && self.sign('(') => {
                let a = self.dim()?;
                self.expect(',')?;
                let b = self.dim()?;
                self.expect(')')?;
                Ok(if word == "div" { a.floor_div(&b) } else { a.larger(&b) })
            }
            Some(Token::Word(word)) => Ok(Dim::name(word)),
            other => self.fail(format!("a dimension, not {other:?}")),
        }
    }
}

/// The first token of a line and its length.
fn token(rest: &str, first: char) -> Result<(Token, usize), String> {
    let run = |from: usize, accept: &dyn Fn(char) -> bool| {
        rest[from..].find(|c| !accept(c)).map_or(rest.len(), |end| from + end)
    };
    let inside = |c: char| c.is_alphanumeric() || c == '_' || c == '#';
    match first {
        ';' => Ok((Token::Note(rest[1..].trim().to_owned()), rest.len())),
        '"' => quoted(rest),
        '%' => {
            let end = run(1, &|c| c.is_ascii_digit());
            let number = rest[1..end].parse().map_err(|_| "a `%` without a number".to_owned())?;
            Ok((Token::Value(Value(number)), end))
        }
        _ if first.is_ascii_digit() => {
            let mut end = run(0, &|c| inside(c) || c == '.');
            if rest[..end].ends_with('e') && rest[end..].starts_with('-') {
                end = run(end + 1, &|c| c.is_ascii_digit());
            }
            Ok((Token::Number(rest[..end].to_owned()), end))
        }
        _ if inside(first) => {
            let end = run(0, &inside);
            Ok((Token::Word(rest[..end].to_owned()), end))
        }
        sign => Ok((Token::Sign(sign), sign.len_utf8())),
    }
}

/// A Rust string literal, which is how texts are printed.
fn quoted(rest: &str) -> Result<(Token, usize), String> {
    let mut escaped = false;
    let end = rest[1..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let end = 2 + end.ok_or("a text without an end")?;
    let literal: syn::LitStr = syn::parse_str(&rest[..end]).map_err(|e| e.to_string())?;
    Ok((Token::Text(literal.value()), end))
}
