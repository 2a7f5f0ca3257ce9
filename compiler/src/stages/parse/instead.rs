//! What to write instead of a name of another library, with the arguments that the user gave.

use super::ast::{Arg, ExprKind};
use super::vocabulary::Own::{self, Block, Drawn, Form, Function, Layer, Repetition, Sized};
use super::vocabulary::attribute;
use super::words;
use crate::ops::{self, Signature};
use proc_macro2::Ident;

impl Own {
    /// What to write where a function is called with these arguments; `values` are the texts of what it is applied to.
    pub(super) fn help_for_call(self, values: &[String], args: &[Arg]) -> String {
        match self {
            Function(name) if args.is_empty() => format!("write `{}`", applied(name, values, args)),
            // Where attributes have other names, too, the whole call is shown.
            Function(name) if renames(name, args) => {
                let given = args.iter().filter(|arg| arg.name.is_none()).map(|arg| words::full(&arg.value));
                let all: Vec<String> = values.iter().cloned().chain(given).collect();
                let named: Vec<Arg> = args.iter().filter(|arg| arg.name.is_some()).cloned().collect();
                format!("write `{}`", applied(name, &all, &named))
            }
            Function(name) => format!("write `{name}`"),
            Layer(name) => {
                let value = values.first().map_or("x", String::as_str);
                format!("declare a field: `name: {}`, and call `self.name({value})`", declaration(name, args))
            }
            Sized(stem) => format!("write `{stem}1d` or `{stem}2d`"),
            Repetition => repetition(values, args),
            Drawn(name) => {
                format!("write `{name}(key, [{}])`, where `key: u32[2]` is an argument of the function", shape(args))
            }
            Block(name) => import(name),
            Form(text) => text.to_owned(),
        }
    }

    /// What to write instead of the field of that name, or of one of a list, which is declared with these arguments.
    pub(super) fn help_for_declaration(self, field: Option<&Ident>, args: &[Arg]) -> String {
        let needed =
            |field: &Ident, call: &str| format!("remove `{field}`, and write `{call}` where the value is needed");
        match (self, field) {
            (Function(name), Some(field)) => needed(field, &applied(name, &[], args)),
            (Function(name), None) if args.is_empty() => format!("write `{name}`"),
            (Function(name), None) => format!("write `|x| {}`", applied(name, &["x".to_owned()], args)),
            (Layer(name), _) => format!("write `{}`", declaration(name, args)),
            (Sized(stem), _) => format!("write `{stem}1d` or `{stem}2d`"),
            (Repetition, Some(field)) => needed(field, "tile(…)"),
            (Repetition, None) => "write `|x| tile(x, …)`".to_owned(),
            (Drawn(name), Some(field)) => needed(field, &format!("{name}(key, […])")),
            (Drawn(name), None) => format!("write `|x| {name}(key, […])`"),
            (Block(name), _) => import(name),
            (Form(text), _) => text.to_owned(),
        }
    }
}

/// How a block of the library comes into a model.
fn import(block: &str) -> String {
    format!("import it: write `use precast::blocks::{block};` above the struct")
}

/// The call that has the meaning of `repeat`: with an axis that of NumPy, with several numbers that of PyTorch.
fn repetition(values: &[String], args: &[Arg]) -> String {
    let axis = args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| name == "axis" || name == "dim"));
    let numbers = args.iter().filter(|arg| arg.name.is_none()).map(|arg| words::full(&arg.value));
    let all: Vec<String> = values.iter().cloned().chain(numbers).collect();
    match (axis, &all[..]) {
        (Some(axis), [x, n, ..]) => {
            format!("write `repeat_interleave({x}, {n}, axis = {})`", words::full(&axis.value))
        }
        (None, [x, n]) => format!(
            "write `tile({x}, {n})`, or `repeat_interleave({x}, {n}, axis = 0)` where each element repeats by itself"
        ),
        (None, [_, _, ..]) => format!("write `tile({})`", all.join(", ")),
        (_, [] | [_]) => "write `tile`, or `repeat_interleave` where each element repeats by itself".to_owned(),
    }
}

/// The extents that are given one by one, in a list or in a tuple.
fn shape(args: &[Arg]) -> String {
    let text = |arg: &Arg| match &arg.value.kind {
        ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().map(words::full).collect::<Vec<_>>().join(", "),
        _ => words::full(&arg.value),
    };
    args.iter().filter(|arg| arg.name.is_none()).map(text).collect::<Vec<_>>().join(", ")
}

/// Whether an attribute that is given by name has another one in the function.
fn renames(function: &str, args: &[Arg]) -> bool {
    let known: Vec<&str> = ops::op(function).iter().flat_map(|op| op.attrs).map(|decl| decl.name).collect();
    args.iter().filter_map(|arg| arg.name.as_ref()).any(|name| attribute(name, &known).is_some())
}

/// The call of a function with what would have been the numbers of a layer.
pub(super) fn applied(name: &str, values: &[String], args: &[Arg]) -> String {
    let op = ops::op(name);
    let usage = || op.map_or("x".to_owned(), |op| Signature::of(op).usage(&[]));
    let mut all = if values.is_empty() { vec![usage()] } else { values.to_vec() };
    let known: Vec<&str> = op.iter().flat_map(|op| op.attrs).map(|decl| decl.name).collect();
    for arg in args {
        let text = words::full(&arg.value);
        match &arg.name {
            None => all.push(text),
            Some(name) => {
                let own = known.iter().copied().find(|own| name == own).or_else(|| attribute(name, &known));
                all.extend(own.map(|own| format!("{own} = {text}")));
            }
        }
    }
    format!("{name}({})", all.join(", "))
}

/// The declaration of a layer with these arguments, or with the names of those that it needs where they are too few.
fn declaration(name: &str, args: &[Arg]) -> String {
    let decls = ops::layer(name).map_or(&[] as &[_], |layer| layer.attrs);
    let needed: Vec<&str> = decls.iter().filter(|decl| decl.default.is_none()).map(|decl| decl.name).collect();
    let known: Vec<&str> = decls.iter().map(|decl| decl.name).collect();
    let one = |arg: &Arg| match &arg.name {
        None => words::full(&arg.value),
        Some(name) => {
            let own = attribute(name, &known).map_or(name.to_string(), str::to_owned);
            format!("{own} = {}", words::full(&arg.value))
        }
    };
    let given: Vec<String> = args.iter().map(one).collect();
    let list = if given.len() < needed.len() { needed.join(", ") } else { given.join(", ") };
    format!("{name}({list})")
}
