//! Named results: all models of a macro in; reports those of one name that would be two Rust structs.

use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::model::Results;
use crate::ir::{Function, Model, Type};
use proc_macro2::Ident;

/// A function that returns a struct.
struct Returning<'m> {
    /// Such as `Net.read`.
    function: String,
    name: &'m Ident,
    fields: &'m [Ident],
    types: Vec<&'m Type>,
}

/// Reports structs of one name whose fields have other names or Rust types.
pub(super) fn check(models: &[Model], diags: &mut Diags) {
    let functions = models.iter().flat_map(|model| model.functions.iter().map(move |function| (model, function)));
    let mut known: Vec<Returning<'_>> = vec![];
    for new in functions.filter_map(|(model, function)| returning(model, function)) {
        match known.iter().find(|first| first.name == new.name) {
            Some(first) => difference(first, &new).into_iter().for_each(|report| diags.push(report)),
            None => known.push(new),
        }
    }
}

fn returning<'m>(model: &'m Model, function: &'m Function) -> Option<Returning<'m>> {
    let Results::Struct(name, fields) = &function.results else { return None };
    let types = function.graph.outputs.iter().map(|&value| function.graph.ty(value)).collect();
    Some(Returning { function: format!("{}.{}", model.name, function.name), name, fields, types })
}

/// How the second differs from the first.
fn difference(first: &Returning<'_>, new: &Returning<'_>) -> Option<Diagnostic> {
    let name = new.name;
    let report = |message: String| Diagnostic::new(Code::DuplicateName, name.span(), message);
    if first.fields != new.fields {
        let list = |fields: &[Ident]| fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
        let (before, now) = (list(first.fields), list(new.fields));
        let message = format!("`{name}` has the fields {now} here, and {before} in `{}`", first.function);
        return Some(report(message).help("give one of them another name"));
    }
    let differs = |k: &usize| !is_one_in_rust(first.types[*k], new.types[*k]);
    let k = (0..new.fields.len()).find(differs)?;
    let (before, now) = (first.types[k], new.types[k]);
    let field = format!("`{}` of `{name}`", new.fields[k]);
    let message = format!("{field} is {before} in `{}`, and {now} in `{}`", first.function, new.function);
    Some(report(message).help(format!("return a tuple instead of `{name} {{ … }}`, or give one of them another name")))
}

/// Whether two types are one in Rust, where the constant extents at the end are part of the type.
fn is_one_in_rust(a: &Type, b: &Type) -> bool {
    a.dtype == b.dtype && a.rank() == b.rank() && a.fixed() == b.fixed()
}
