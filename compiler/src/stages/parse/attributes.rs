//! Attributes of a call or constructor: what the user gave in, the declared attributes with values out.

use super::ast::*;
use super::{vocabulary, words};
use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::DType;
use crate::ir::attr::{Attr, Attrs};
use crate::ops::{self, AttrDecl, AttrError, AttrKind};
use proc_macro2::Ident;

/// One given argument.
pub(super) struct Given {
    pub(super) name: Option<Ident>,
    /// Unknown after a report.
    pub(super) value: Option<Attr>,
    pub(super) text: String,
    /// Where its value was given: for a name that is known at build time at its declaration.
    pub(super) place: Place,
    /// Where it stands in the call.
    pub(super) written: Place,
}

impl Given {
    pub(super) fn new(arg: &Arg, value: Option<Attr>) -> Given {
        Given {
            name: arg.name.clone(),
            value,
            text: words::full(&arg.value),
            place: arg.value.place,
            written: arg.value.place,
        }
    }
}

/// The attributes of a call.
pub(super) struct Bound {
    /// Every declared attribute; `None` after a report.
    pub(super) attrs: Option<Attrs>,
    /// Where each given one stands.
    pub(super) places: Vec<(&'static str, Place)>,
    /// Each given one: its name, whether it was written, and its text.
    pub(super) written: Vec<(&'static str, bool, String)>,
}

/// Binds the given values to the declared attributes and reports what does not fit: floats are of that type. `place` is the whole
/// call.
pub(super) fn bind(
    callee: &str,
    decls: &'static [AttrDecl],
    given: &[Given],
    float: DType,
    place: Place,
    diags: &mut Diags,
) -> Bound {
    // Positional ones first: the numbering of `resolve`.
    let (positional, named): (Vec<&Given>, Vec<&Given>) = given.iter().partition(|g| g.name.is_none());
    let order: Vec<&Given> = positional.iter().chain(&named).copied().collect();
    let mut bound = Bound { attrs: None, places: vec![], written: vec![] };
    let mut slot = 0;
    for (i, one) in positional.iter().enumerate() {
        if let Some(decl) = decls.get(slot) {
            bound.places.push((decl.name, one.place));
            bound.written.push((decl.name, false, one.text.clone()));
            let is_int = |g: Option<&&Given>| matches!(g.map(|g| &g.value), Some(Some(Attr::Int(_))));
            let goes_on = decl.kind == AttrKind::Shape && is_int(Some(one)) && is_int(positional.get(i + 1));
            slot += usize::from(!goes_on);
        }
    }
    for one in &named {
        if let Some(decl) = decls.iter().find(|d| one.name.as_ref().is_some_and(|n| n == d.name)) {
            bound.places.push((decl.name, one.place));
            bound.written.push((decl.name, true, one.text.clone()));
        }
    }
    // What is unknown has been reported; only the names are checked then.
    if given.iter().any(|g| g.value.is_none()) {
        for name in named.iter().filter_map(|g| g.name.as_ref()) {
            if !decls.iter().any(|d| name == d.name) {
                diags.push(unknown(callee, name, decls.iter().map(|d| d.name)));
            }
        }
        return bound;
    }
    let beyond: Vec<Diagnostic> = order.iter().filter_map(|one| beyond(one, float)).collect();
    if !beyond.is_empty() {
        beyond.into_iter().for_each(|report| diags.push(report));
        return bound;
    }
    let before = diags.list().len();
    for name in named.iter().filter_map(|g| g.name.as_ref()).filter(|name| meant(name, decls).is_some()) {
        diags.push(unknown(callee, name, decls.iter().map(|d| d.name)));
    }
    match resolved(decls, &positional, &named) {
        Ok(attrs) => bound.attrs = Some(attrs).filter(|_| diags.list().len() == before),
        Err(_) if let Some(attrs) = reordered(callee, decls, &positional, &named, diags) => bound.attrs = Some(attrs),
        Err(errors) => errors.into_iter().for_each(|one| diags.push(misfit(callee, one, &order, place))),
    }
    bound
}

fn resolved(decls: &'static [AttrDecl], positional: &[&Given], named: &[&Given]) -> Result<Attrs, Vec<AttrError>> {
    let values = positional.iter().filter_map(|g| g.value.clone()).collect();
    // What has another name here is reported, and then as good as right.
    let own = |name: &Ident| meant(name, decls).map_or_else(|| name.to_string(), str::to_owned);
    let pairs = named.iter().filter_map(|g| Some((own(g.name.as_ref()?), g.value.clone()?))).collect();
    ops::resolve(decls, values, pairs)
}

/// The attributes where the first two stand in the wrong order, which is reported.
fn reordered(
    callee: &str,
    decls: &'static [AttrDecl],
    positional: &[&Given],
    named: &[&Given],
    diags: &mut Diags,
) -> Option<Attrs> {
    let ([first, second], [a, b, ..]) = (positional, decls) else { return None };
    let attrs = resolved(decls, &[second, first], named).ok()?;
    let message = format!("`{callee}` takes `{}` first and then `{}`", a.name, b.name);
    let report = Diagnostic::new(Code::WrongAttribute, first.place.to(second.place), message);
    diags.push(report.help(format!("write `{}, {}`", second.text, first.text)));
    Some(attrs)
}

/// The report of an attribute that does not fit, among those that are given; `place` is the whole call.
fn misfit(callee: &str, one: AttrError, order: &[&Given], place: Place) -> Diagnostic {
    let given = one.given.and_then(|k| order.get(k));
    let misnamed = matches!(one.error.code, Code::UnknownAttribute | Code::DuplicateAttribute);
    let at = match given {
        Some(g) if one.error.code == Code::TooManyAttributes => g.written,
        Some(g) if misnamed => g.name.as_ref().map_or(g.place, |n| n.span().into()),
        Some(g) => g.place,
        None => place,
    };
    let (mut message, help) = one.error.render(callee, &[]);
    if let (Some(g), Code::TooManyAttributes) = (given, one.error.code) {
        message = format!("`{callee}` has no place for `{}`", g.text);
    }
    let mut report = Diagnostic::new(one.error.code, at, message);
    let unknown = given.filter(|_| one.error.code == Code::UnknownAttribute);
    let elsewhere = unknown.and_then(|g| vocabulary::attribute_elsewhere(&g.name.as_ref()?.to_string(), &g.text));
    report.help = elsewhere.or(help);
    let is_name = place.first.start() == place.last.start();
    if let (Code::MissingAttribute, true, Some(help)) = (one.error.code, is_name, &report.help) {
        // The name of a layer stands alone, as that of a type does.
        report.help = help.strip_prefix("add `").map(|all| format!("write `{callee}({}", all.replace('`', ")`")));
    }
    report
}

/// The attribute that another library calls so, where the callee has none of that name.
fn meant(name: &Ident, decls: &'static [AttrDecl]) -> Option<&'static str> {
    let known: Vec<&str> = decls.iter().map(|decl| decl.name).collect();
    vocabulary::attribute(name, &known).filter(|_| !decls.iter().any(|decl| name == decl.name))
}

/// The report of a number that is beyond what a float type holds.
fn beyond(given: &Given, float: DType) -> Option<Diagnostic> {
    let report = Diagnostic::new(Code::LiteralOutOfRange, given.place, format!("`{}` is no {float}", given.text));
    (!is_finite(given.value.as_ref(), float)).then(|| report.note(format!("{float} holds {}", float.range())))
}

/// Whether the numbers in a value are finite in a float type.
fn is_finite(value: Option<&Attr>, float: DType) -> bool {
    match value {
        Some(Attr::Float(x)) => float.holds(*x),
        Some(Attr::List(items)) => items.iter().all(|item| is_finite(Some(item), float)),
        Some(Attr::Int(_) | Attr::Bool(_) | Attr::Text(_) | Attr::Absent) | None => true,
    }
}

/// A name that the callee does not know.
pub(super) fn unknown<'a>(callee: &str, name: &Ident, known: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let known: Vec<&str> = known.into_iter().collect();
    let message = format!("`{callee}` has no attribute `{name}`");
    let report = Diagnostic::new(Code::UnknownAttribute, name.span(), message);
    match vocabulary::attribute(name, &known).or_else(|| closest(&name.to_string(), known.iter().copied())) {
        Some(near) => report.help(format!("write `{near}`")),
        None if known.is_empty() => report.help("remove it: there are no attributes"),
        None => report.help(format!("it has `{}`", known.join("`, `"))),
    }
}
