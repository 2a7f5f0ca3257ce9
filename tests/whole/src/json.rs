//! A program as JSON, for judges in other languages: data in, text out. Always: attributes are complete, defaults
//! included, and extents are text in the named dimensions.

use crate::program::{Body, Call, Derivative, Field, Local, Operand, Program, Step};
use precast_compiler::ir::attr::{Attr, Attrs};
use precast_compiler::ir::{Dim, Type};
use precast_compiler::ops;
use std::fmt;

/// A value of JSON, with Python's `NaN` and `Infinity`.
#[derive(Clone, Debug)]
pub enum Json {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Several values.
    List(Vec<Json>),
    /// Values by name.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Values by name.
    pub fn object<const N: usize>(parts: [(&str, Json); N]) -> Json {
        Json::Object(parts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// One value for each of these.
    pub fn list<T>(of: impl IntoIterator<Item = T>, each: impl FnMut(T) -> Json) -> Json {
        Json::List(of.into_iter().map(each).collect())
    }

    /// Numbers.
    pub fn numbers(of: impl IntoIterator<Item = f64>) -> Json {
        Json::list(of, Json::Number)
    }

    /// A text.
    pub fn text(of: impl fmt::Display) -> Json {
        Json::Text(of.to_string())
    }

    fn locals(of: &[Local]) -> Json {
        Json::list(of, |&v| Json::Whole(v as i64))
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(x) => write!(f, "{x}"),
            Json::Whole(x) => write!(f, "{x}"),
            Json::Number(x) if x.is_nan() => f.write_str("NaN"),
            Json::Number(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "Infinity" } else { "-Infinity" }),
            Json::Number(x) => write!(f, "{x:?}"),
            Json::Text(text) => quoted(f, text),
            Json::List(all) => {
                for (k, one) in all.iter().enumerate() {
                    write!(f, "{}{one}", if k == 0 { "[" } else { "," })?;
                }
                f.write_str(if all.is_empty() { "[]" } else { "]" })
            }
            Json::Object(all) => {
                for (k, (name, one)) in all.iter().enumerate() {
                    f.write_str(if k == 0 { "{" } else { "," })?;
                    quoted(f, name)?;
                    write!(f, ":{one}")?;
                }
                f.write_str(if all.is_empty() { "{}" } else { "}" })
            }
        }
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

impl Program {
    /// The program as JSON.
    pub fn json(&self) -> Json {
        let given = |all: &[crate::program::Given]| Json::list(all, |given| Json::Whole(given.local as i64));
        Json::object([
            ("seed", Json::text(self.seed)),
            ("text", Json::text(self.text())),
            ("precision", Json::text(self.precision)),
            ("parameters", Json::text(self.stored.unwrap_or(self.precision))),
            ("types", Json::list(&self.types, ty)),
            ("args", given(&self.args)),
            ("params", given(&self.params)),
            ("fields", Json::list(&self.fields, field)),
            ("steps", steps(&self.steps)),
            ("results", Json::locals(&self.results)),
            ("weighed", Json::list(&self.weighed, |&(result, weight)| Json::locals(&[result, weight]))),
        ])
    }
}

fn ty(ty: &Type) -> Json {
    Json::object([("dtype", Json::text(ty.dtype.name())), ("shape", Json::list(&ty.shape, Json::text))])
}

/// A layer as the op that a call of it is, or a stack of blocks as what each computes.
fn field(field: &Field) -> Json {
    if let Some((count, parameter, block)) = &field.block {
        let parts = [("count", Json::Whole(*count as i64)), ("type", ty(parameter)), ("body", body(block))];
        return Json::object(parts);
    }
    let layer = declared(&field.declared)
        .map_or(Json::Null, |(op, attrs)| Json::object([("op", Json::text(op)), ("attrs", attributes(&attrs))]));
    Json::object([("declared", Json::text(&field.declared)), ("layer", layer)])
}

/// The op and its attributes from the text that declares a layer.
fn declared(text: &str) -> Option<(&'static str, Attrs)> {
    let (name, rest) = text.split_once('(')?;
    let layer = ops::layer(name.trim())?;
    let (mut positional, mut named) = (vec![], vec![]);
    for part in crate::generate::split(rest.trim_end().strip_suffix(')')?) {
        match part.split_once(" = ") {
            // Parameters are drawn, however they start.
            Some(("init" | "bias_init", _)) => {}
            Some((name, text)) => named.push((name.to_owned(), crate::generate::attr(text)?)),
            None => positional.push(crate::generate::attr(part)?),
        }
    }
    let attrs = (layer.op_attrs)(&ops::resolve(layer.attrs, positional, named).ok()?);
    let given = attrs.0.into_iter().map(|(name, value)| (name.into_owned(), value)).collect();
    Some((layer.op.name, ops::resolve(layer.op.attrs, vec![], given).ok()?))
}

fn steps(all: &[Step]) -> Json {
    Json::list(all, step)
}

fn step(step: &Step) -> Json {
    match step {
        Step::Call(call) => self::call(call),
        Step::Layer { field, operands, results } => Json::object([
            ("kind", Json::text("layer")),
            ("field", Json::Whole(*field as i64)),
            ("operands", Json::locals(operands)),
            ("results", Json::locals(results)),
        ]),
        Step::Branch { condition, cases, results } => Json::object([
            ("kind", Json::text("branch")),
            ("condition", Json::Whole(*condition as i64)),
            ("cases", Json::list(cases, body)),
            ("results", Json::locals(results)),
        ]),
        Step::Scan { over, axis, from, reverse, form, body: inside, results } => Json::object([
            ("kind", Json::text("scan")),
            ("form", Json::text(form)),
            ("over", Json::Whole(*over as i64)),
            ("axis", Json::Whole(*axis as i64)),
            ("from", Json::Whole(*from as i64)),
            ("reverse", Json::Bool(*reverse)),
            ("body", body(inside)),
            ("results", Json::locals(results)),
        ]),
        Step::Map { over, body: inside, results } => Json::object([
            ("kind", Json::text("map")),
            ("over", Json::locals(over)),
            ("body", body(inside)),
            ("results", Json::locals(results)),
        ]),
        Step::Derive { how, of, body: inside, results } => Json::object([
            ("kind", Json::text("derive")),
            ("how", Json::text(derivative(*how))),
            ("of", Json::locals(of)),
            ("body", body(inside)),
            ("results", Json::locals(results)),
        ]),
        Step::Repeat { field, over, result } => Json::object([
            ("kind", Json::text("repeat")),
            ("field", Json::Whole(*field as i64)),
            ("over", Json::Whole(*over as i64)),
            ("results", Json::locals(&[*result])),
        ]),
        Step::Store { state, part, operator, value, read } => Json::object([
            ("kind", Json::text("store")),
            ("state", Json::Whole(*state as i64)),
            ("part", Json::text(part)),
            ("operator", Json::text(operator)),
            ("value", Json::Whole(*value as i64)),
            ("results", Json::locals(read.as_slice())),
        ]),
    }
}

fn derivative(how: Derivative) -> &'static str {
    match how {
        Derivative::Grad => "grad",
        Derivative::ValueAndGrad => "value_and_grad",
        Derivative::Hvp => "hvp",
        Derivative::Jvp => "jvp",
        Derivative::Vjp => "vjp",
    }
}

fn call(call: &Call) -> Json {
    let operand = |operand: &Operand| match operand {
        Operand::Local(v) => Json::object([("local", Json::Whole(*v as i64))]),
        Operand::Named(name, v) => Json::object([("name", Json::text(name)), ("local", Json::Whole(*v as i64))]),
        Operand::Number(x) => Json::object([("number", Json::Number(*x))]),
    };
    Json::object([
        ("kind", Json::text("call")),
        ("op", Json::text(call.op)),
        ("operands", Json::list(&call.operands, operand)),
        ("attrs", attributes(&call.attrs)),
        ("results", Json::locals(&call.results)),
    ])
}

fn body(body: &Body) -> Json {
    Json::object([
        ("params", Json::locals(&body.params)),
        ("steps", steps(&body.steps)),
        ("outs", Json::locals(&body.outs)),
    ])
}

fn attributes(attrs: &Attrs) -> Json {
    Json::Object(attrs.0.iter().map(|(name, value)| (name.to_string(), attribute(value))).collect())
}

/// What depends on named dimensions is told apart from words.
fn attribute(value: &Attr) -> Json {
    let dim = |dim: &Dim| match dim.as_const() {
        Some(n) => Json::Whole(n),
        None => Json::object([("dim", Json::text(dim))]),
    };
    match value {
        Attr::Absent => Json::Null,
        Attr::Int(n) => dim(n),
        Attr::Float(x) => Json::Number(*x),
        Attr::Bool(x) => Json::Bool(*x),
        Attr::Text(text) => Json::text(text),
        Attr::List(list) => Json::list(list, attribute),
    }
}
