//! The WGSL of foreign functions: the declarations that it sees, and its text under names of its own.
//!
//! Comes in: a foreign function with WGSL. Goes out: text. Always: the user's function gives the element of the result at
//! a position, one `u32` for each axis; each argument is a function of a position of its own; what an argument's extents
//! bind is a `u32` of that name. All names get a prefix, so that several functions stand in one module.

use super::Dim;
use super::dim::Atom;
use super::model::ForeignFn;
use super::ty::{DType, Type};
use std::fmt::Write;

impl ForeignFn {
    /// The extents of the arguments and the result that are no constants, each once, and where each first stands.
    pub fn open_extents(&self) -> Vec<(Dim, Operand)> {
        let args = self.args.iter().enumerate().map(|(k, (_, ty))| (Some(k), ty));
        let results = self.results.iter().map(|ty| (None, ty));
        let mut all: Vec<(Dim, Operand)> = vec![];
        for (of, ty) in args.chain(results) {
            for (axis, dim) in ty.shape.iter().enumerate() {
                if dim.as_const().is_none() && !all.iter().any(|(known, _)| known == dim) {
                    all.push((dim.clone(), Operand { of, axis }));
                }
            }
        }
        all
    }

    /// What the function's WGSL sees under a prefix: extents as variables and arguments as functions. `word` gives the
    /// value of an argument's element at a position in memory.
    pub fn surroundings(&self, prefix: &str, word: &dyn Fn(usize, &str) -> String) -> String {
        let mut text = String::new();
        for k in 0..self.open_extents().len() {
            let _ = writeln!(text, "var<private> {}: u32;", self.extent(prefix, k));
        }
        for (k, (name, ty)) in self.args.iter().enumerate() {
            let params: Vec<String> = (0..ty.rank()).map(|axis| format!("i{axis}: u32")).collect();
            let (params, scalar) = (params.join(", "), scalar(ty.dtype));
            let value = word(k, &self.position(prefix, ty));
            let _ = writeln!(text, "fn {prefix}{name}({params}) -> {scalar} {{ return {value}; }}");
        }
        text
    }

    /// The variable of the k-th open extent.
    pub fn extent(&self, prefix: &str, k: usize) -> String {
        match self.open_extents().get(k).and_then(|(dim, _)| name(dim)) {
            Some(name) => format!("{prefix}{name}"),
            None => format!("{prefix}precast_extent{k}"),
        }
    }

    /// Statements that find the position of element `at` of the result, and the call that gives it.
    pub fn element(&self, prefix: &str) -> (String, String) {
        let Some(ty) = self.results.first() else { unreachable!("a foreign function has a result") };
        let mut text = "    var rest = at;\n".to_owned();
        for (axis, dim) in ty.shape.iter().enumerate().skip(1).rev() {
            let extent = self.extent_of(prefix, dim);
            let _ = writeln!(text, "    let i{axis} = rest % {extent};\n    rest = rest / {extent};");
        }
        let args: Vec<String> =
            (0..ty.rank()).map(|axis| if axis == 0 { "rest".to_owned() } else { format!("i{axis}") }).collect();
        (text, format!("{prefix}{}({})", self.name, args.join(", ")))
    }

    /// Where the element at `i0`, `i1` … lies, row-major; at the end of an axis where the position is beyond it.
    fn position(&self, prefix: &str, ty: &Type) -> String {
        let mut text = String::new();
        for (axis, dim) in ty.shape.iter().enumerate() {
            let extent = self.extent_of(prefix, dim);
            let index = format!("min(i{axis}, {extent} - 1u)");
            text = if axis == 0 { index } else { format!("({text}) * {extent} + {index}") };
        }
        if text.is_empty() { "0u".to_owned() } else { text }
    }

    fn extent_of(&self, prefix: &str, dim: &Dim) -> String {
        match (dim.as_const(), self.open_extents().iter().position(|(known, _)| known == dim)) {
            (Some(n), _) => format!("{n}u"),
            (None, Some(k)) => self.extent(prefix, k),
            (None, None) => unreachable!("every extent that is no constant is open"),
        }
    }

    /// The WGSL with a prefix before each name that it declares or that is given to it.
    pub fn prefixed(&self, text: &str, prefix: &str) -> String {
        let mut names = declared(text);
        names.extend(self.args.iter().map(|(name, _)| name.clone()));
        names.extend(self.open_extents().iter().filter_map(|(dim, _)| name(dim)));
        let (mut out, mut members, mut depth) = (String::new(), None, 0);
        let tokens: Vec<(Token, &str)> = tokens(text).collect();
        for (n, &(kind, token)) in tokens.iter().enumerate() {
            let solid = |(kind, _): &&(Token, &str)| *kind != Token::Space;
            let (before, after) = (tokens[..n].iter().rfind(solid), tokens[n + 1..].iter().find(solid));
            let is = |neighbour: Option<&(Token, &str)>, sign: &str| neighbour.is_some_and(|(_, text)| *text == sign);
            match token {
                "struct" if kind == Token::Word => members = Some(depth),
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    members = members.filter(|&outside| depth > outside);
                }
                _ => {}
            }
            let member = is(before, ".") || is(after, ":") && members.is_some_and(|outside| depth > outside);
            if kind == Token::Word && !member && names.iter().any(|name| name == token) {
                out += prefix;
            }
            out += token;
        }
        out
    }
}

/// An extent of an argument, or of the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Which argument; none for the result.
    pub of: Option<usize>,
    /// Which axis.
    pub axis: usize,
}

/// The name of an extent that is nothing else.
fn name(dim: &Dim) -> Option<String> {
    match dim.terms() {
        [(atoms, 1)] => match atoms.as_slice() {
            [Atom::Name(name)] => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// The type of an element.
pub fn scalar(dtype: DType) -> &'static str {
    if dtype == DType::Bool { DType::U32.name() } else { dtype.name() }
}

/// The first directive of a WGSL text, such as `enable`.
pub fn directive(text: &str) -> Option<&str> {
    let words = tokens(text).filter(|(kind, _)| *kind == Token::Word).map(|(_, word)| word);
    words.into_iter().next().filter(|word| ["enable", "requires", "diagnostic"].contains(word))
}

/// The first call of a WGSL text that waits for other invocations.
pub fn barrier(text: &str) -> Option<&str> {
    let mut words = tokens(text).filter(|(kind, _)| *kind == Token::Word).map(|(_, word)| word);
    words.find(|word| word.ends_with("Barrier") || *word == "workgroupUniformLoad")
}

/// The names that a WGSL text declares outside of functions.
fn declared(text: &str) -> Vec<String> {
    let (mut names, mut depth, mut angles, mut waits) = (vec![], 0, 0, false);
    for (kind, token) in tokens(text).filter(|(kind, _)| *kind != Token::Space) {
        match token {
            "{" | "(" => depth += 1,
            "}" | ")" => depth -= 1,
            "<" if waits => angles += 1,
            ">" if waits => angles -= 1,
            "fn" | "const" | "var" | "struct" | "alias" if depth == 0 => waits = true,
            _ if waits && angles == 0 && kind == Token::Word => {
                names.push(token.to_owned());
                waits = false;
            }
            _ => {}
        }
    }
    names
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    /// A name or keyword.
    Word,
    /// White space or a comment.
    Space,
    /// A number or one sign.
    Other,
}

/// The tokens of a WGSL text, which together are the text.
fn tokens(text: &str) -> impl Iterator<Item = (Token, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let until = |ends: &dyn Fn(char) -> bool| rest.find(ends).unwrap_or(rest.len());
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let (kind, length) = match first {
            _ if rest.starts_with("//") => (Token::Space, until(&|c| c == '\n')),
            _ if rest.starts_with("/*") => (Token::Space, comment(rest)),
            c if c.is_whitespace() => (Token::Space, until(&|c| !c.is_whitespace())),
            c if c.is_ascii_digit() => (Token::Other, until(&|c| !word(c))),
            c if word(c) => (Token::Word, until(&|c| !word(c))),
            c => (Token::Other, c.len_utf8()),
        };
        let (token, behind) = rest.split_at(length);
        rest = behind;
        Some((kind, token))
    })
}

/// The length of a comment in `/* … */`, which may hold others.
fn comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_get_a_prefix_and_members_do_not() {
        let vector = |name: &str| Type::new(DType::F32, vec![Dim::name(name)]);
        let function = ForeignFn {
            name: "f".into(),
            args: vec![("x".into(), vector("N")), ("y".into(), vector("N"))],
            results: vec![vector("N")],
            wgsl: None,
        };
        let text = "const e = 1.5e3; // x\nstruct P { x: f32, w: vec2<f32> }\n/* x /* y */ f */\n\
                    fn f(i: u32) -> f32 { let p = P(x(i), vec2(y(N - i))); let ex = p.x; return p.w.y + ex * e; }";
        let wanted = "const q_e = 1.5e3; // x\nstruct q_P { x: f32, w: vec2<f32> }\n/* x /* y */ f */\n\
                      fn q_f(i: u32) -> f32 { let p = q_P(q_x(i), vec2(q_y(q_N - i))); let ex = p.x; \
                      return p.w.y + ex * q_e; }";
        assert_eq!(function.prefixed(text, "q_"), wanted);
    }

    #[test]
    fn positions_are_row_major() {
        let ty = Type::new(DType::F32, vec![Dim::name("B"), Dim::name("T") * Dim::from(2), Dim::from(3)]);
        let function =
            ForeignFn { name: "f".into(), args: vec![("x".into(), ty.clone())], results: vec![ty], wgsl: None };
        let text = function.surroundings("", &|_, at| at.to_owned());
        let wanted =
            "return ((min(i0, B - 1u)) * precast_extent1 + min(i1, precast_extent1 - 1u)) * 3u + min(i2, 3u - 1u);";
        assert!(text.contains(wanted), "{text}");
        assert_eq!(function.element("").1, "f(rest, i1, i2)");
    }
}
