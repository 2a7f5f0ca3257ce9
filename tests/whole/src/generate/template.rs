//! Templates: an op's example in, the same call over values of the program out.

use super::Growing;
use crate::program::{Local, Operand};
use precast_compiler::ir::{DType, Dim, Type};
use precast_compiler::ops::{self, Domain, Op};

/// Ops that decide by the order of their operands.
pub(super) const ORDER: &[&str] = &[
    "sort",
    "argsort",
    "top_k",
    "max",
    "min",
    "argmax",
    "argmin",
    "cummax",
    "cummin",
    "max_pool1d",
    "max_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "global_max_pool",
    "maximum",
    "minimum",
    "clamp",
    "relu",
];

/// What a call in an example is given.
enum Part<'t> {
    Call(&'t str, Vec<(Option<&'t str>, Part<'t>)>),
    Text(&'t str),
}

impl Growing {
    /// A call of an op as one of its examples has it.
    pub(super) fn template(&mut self, op: &'static Op) -> Option<Vec<Local>> {
        let example = self.random.pick(op.examples);
        // Keys and dropout without one draw by the step.
        let other = self.random.percent(20) && self.program.types.iter().any(|t| t.shape.contains(&Dim::name("T")));
        let rename = |name: &str| Some(Dim::name(if other && name == "B" { "T" } else { name }));
        let types = example.input_types().ok()?;
        let orders = ORDER.contains(&op.name);
        let mut inputs = vec![];
        for (&(name, _, domain), ty) in example.inputs.iter().zip(types) {
            let shape: Vec<Dim> = ty.shape.iter().map(|d| d.substitute(&rename)).collect();
            let ty = Type { shape, ..ty };
            let is_key = ty.dtype == DType::U32 && ty.shape == [Dim::from(2)] && domain != Domain::Normal;
            let made = if is_key { None } else { self.source(&ty, domain) };
            let mut made = match made {
                Some(v) => v,
                None if self.closed => return None,
                None => self.given(ty, domain),
            };
            if orders && self.ty(made).dtype == DType::F32 && self.random.percent(80) {
                made = self.unstored(made).unwrap_or(made);
            }
            inputs.push((name, made));
        }
        let text = match other {
            true => rename_words(example.call),
            false => example.call.to_owned(),
        };
        let (call, _) = parse(&text)?;
        self.place(&call, &inputs)
    }

    /// `x · s + t` with values that are not known at build time where there are some.
    pub(super) fn unstored(&mut self, x: Local) -> Option<Local> {
        let scalar = Type::scalar(DType::F32);
        let scale = match self.closed {
            false => self.given(scalar, Domain::Positive),
            true => return self.with("mul", x, 0.7),
        };
        let scaled = self.one("mul", &[x, scale], &[])?;
        let shape = self.ty(x).shape;
        let shift = self.source(&Type::new(DType::F32, &shape[shape.len().saturating_sub(1)..]), Domain::Normal);
        match shift {
            Some(shift) => self.one("add", &[scaled, shift], &[]),
            None => self.with("add", scaled, 0.3),
        }
    }

    fn place(&mut self, part: &Part<'_>, inputs: &[(&str, Local)]) -> Option<Vec<Local>> {
        let Part::Call(name, parts) = part else { return None };
        let op = ops::op(name)?;
        let (mut operands, mut written) = (vec![], vec![]);
        for (label, part) in parts {
            let value = match part {
                Part::Call(..) => Some(self.place(part, inputs)?[0]),
                Part::Text(text) => inputs.iter().find(|(name, _)| name == text).map(|(_, v)| *v),
            };
            match (value, label, part) {
                (Some(v), None, _) => operands.push(Operand::Local(v)),
                (Some(v), Some(label), _) => {
                    let name = ["key", "lengths"].into_iter().find(|name| name == label)?;
                    // The language takes arguments with names where the signature has them.
                    operands.push(Operand::Named(name, v));
                }
                (None, label, Part::Text(text)) => written.push((label.map(str::to_owned), (*text).to_owned())),
                (None, _, Part::Call(..)) => return None,
            }
        }
        self.written(op, operands, written)
    }
}

fn rename_words(text: &str) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let chars: Vec<char> = text.chars().collect();
    let alone = |i: usize| (i == 0 || !word(chars[i - 1])) && chars.get(i + 1).is_none_or(|&c| !word(c));
    chars.iter().enumerate().map(|(i, &c)| if c == 'B' && alone(i) { 'T' } else { c }).collect()
}

/// Reads a call; what follows it is given back.
fn parse(text: &str) -> Option<(Part<'_>, &str)> {
    let open = text.find('(')?;
    let close = matching(text, open)?;
    let mut parts = vec![];
    for piece in split(&text[open + 1..close]) {
        let (label, rest) = match piece.split_once(" = ") {
            Some((label, rest)) if label.chars().all(|c| c.is_alphanumeric() || c == '_') => (Some(label), rest),
            _ => (None, piece),
        };
        let is_call = rest.starts_with(|c: char| c.is_alphabetic()) && rest.contains('(');
        parts.push((label, if is_call { parse(rest)?.0 } else { Part::Text(rest) }));
    }
    Some((Part::Call(text[..open].trim(), parts), &text[close + 1..]))
}

fn matching(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices().skip(open) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Splits at the commas outside of brackets and quotes.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut quoted, mut start) = (vec![], 0, false, 0);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 && !quoted => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}
