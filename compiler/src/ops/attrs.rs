//! Attributes: the numbers of an op or layer that are known at build time.

use super::OpError;
use super::initial::fit_initial;
use crate::diag::{Code, closest};
use crate::ir::Dim;
use crate::ir::attr::{Attr, Attrs};
use crate::ir::limits::INTEGER;

/// What an attribute accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrKind {
    /// An integer that is known at build time.
    Int,
    /// An integer or a dimension.
    Dim,
    /// One integer for all spatial axes, or a list with one for each.
    Ints,
    /// The same, or one of these words.
    IntsOr(&'static [&'static str]),
    /// The extents of a shape: a list, or integers one after the other.
    Shape,
    /// A number.
    Float,
    /// A number, or `None`.
    FloatOrNone,
    /// A truth value.
    Bool,
    /// A truth value, or one of these words.
    BoolOr(&'static [&'static str]),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
    /// How a parameter starts: `xavier_uniform`, `normal(0.02)`.
    Init,
}

impl AttrKind {
    /// Whether it accepts any number.
    fn takes_number(self) -> bool {
        matches!(self, AttrKind::Float | AttrKind::FloatOrNone)
    }

    /// Whether it accepts several integers.
    pub(crate) fn takes_list(self) -> bool {
        matches!(self, AttrKind::Ints | AttrKind::IntsOr(_) | AttrKind::Shape)
    }
}

/// What other languages write where nothing is given.
pub(crate) const ABSENT: [&str; 4] = ["None", "none", "null", "nil"];

/// The word for nothing.
pub(crate) const NONE: &str = "None";

/// The declaration of an attribute.
#[derive(Clone, Copy, Debug)]
pub struct AttrDecl {
    /// Its name.
    pub name: &'static str,
    /// What it accepts.
    pub kind: AttrKind,
    /// The value where it is not given, as the user would write it; `None` makes it required, and the empty
    /// text makes it optional without a value.
    pub default: Option<&'static str>,
    /// What it means, with units and range.
    pub doc: &'static str,
}

impl AttrDecl {
    /// A required attribute.
    pub const fn required(name: &'static str, kind: AttrKind, doc: &'static str) -> AttrDecl {
        AttrDecl { name, kind, default: None, doc }
    }

    /// An attribute with a default.
    pub const fn optional(name: &'static str, kind: AttrKind, default: &'static str, doc: &'static str) -> AttrDecl {
        AttrDecl { name, kind, default: Some(default), doc }
    }
}

impl Attr {
    /// An integer in it whose magnitude is larger than that.
    fn beyond(&self, most: i64) -> Option<&Dim> {
        match self {
            Attr::Int(dim) => dim.terms().iter().any(|(_, factor)| factor.unsigned_abs() > most as u64).then_some(dim),
            Attr::List(list) => list.iter().find_map(|one| one.beyond(most)),
            Attr::Absent | Attr::Float(_) | Attr::Bool(_) | Attr::Text(_) => None,
        }
    }
}

impl AttrDecl {
    /// The value where none is given; `None` where one must be.
    pub fn default_value(&self) -> Option<Attr> {
        let text = self.default?;
        Some(parse_literal(text).unwrap_or_else(|| unreachable!("the item tests parse every default: {text}")))
    }

    /// The value as this attribute keeps it.
    ///
    /// # Errors
    /// `wrong-attribute`, with what the attribute accepts; `literal-out-of-range`.
    pub fn fit(&self, value: Attr) -> Result<Attr, OpError> {
        if self.kind == AttrKind::Init && value != Attr::Absent {
            return fit_initial(self.name, value);
        }
        if let Some(large) = value.beyond(INTEGER).filter(|_| !self.kind.takes_number()) {
            let message = format!("{large} is beyond what `{}` takes, at most {INTEGER}", self.name);
            return Err(OpError::new(Code::LiteralOutOfRange, message).attr(self.name));
        }
        let is_int = |attr: &Attr| matches!(attr, Attr::Int(_));
        let ints = |list: &[Attr]| list.iter().all(is_int);
        let fitted = match (self.kind, value) {
            (AttrKind::Int, Attr::Int(dim)) if dim.as_const().is_none() => {
                let message = format!("`{}` must be known at build time, not {dim}", self.name);
                return Err(OpError::new(Code::WrongAttribute, message).attr(self.name));
            }
            (AttrKind::Int | AttrKind::Dim, value @ Attr::Int(_)) => Ok(value),
            (AttrKind::Ints | AttrKind::IntsOr(_), value @ Attr::Int(_)) => Ok(value),
            (AttrKind::Ints | AttrKind::IntsOr(_) | AttrKind::Shape, Attr::List(list)) if ints(&list) => {
                Ok(Attr::List(list))
            }
            (AttrKind::Shape, value @ Attr::Int(_)) => Ok(Attr::List(vec![value])),
            (AttrKind::Float | AttrKind::FloatOrNone, value @ Attr::Float(_)) => Ok(value),
            (AttrKind::Float | AttrKind::FloatOrNone, Attr::Int(dim)) => {
                dim.as_const().map(|n| Attr::Float(n as f64)).ok_or(Attr::Int(dim))
            }
            (AttrKind::FloatOrNone, Attr::Text(text)) if text == NONE => Ok(Attr::Text(text)),
            (AttrKind::Bool | AttrKind::BoolOr(_), value @ Attr::Bool(_)) => Ok(value),
            (AttrKind::Word(words) | AttrKind::IntsOr(words) | AttrKind::BoolOr(words), Attr::Text(text))
                if words.contains(&&*text) =>
            {
                Ok(Attr::Text(text))
            }
            (AttrKind::Text, value @ Attr::Text(_)) => Ok(value),
            (_, value) => Err(value),
        };
        fitted.map_err(|value| self.misfit(&value))
    }

    fn misfit(&self, value: &Attr) -> OpError {
        let words = |words: &[&str]| words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(" or ");
        let wanted = match self.kind {
            AttrKind::Int | AttrKind::Dim => "an integer".to_owned(),
            AttrKind::Ints => "an integer or a list of integers".to_owned(),
            AttrKind::IntsOr(list) => format!("an integer, a list of integers or {}", words(list)),
            AttrKind::Shape => "a list of extents".to_owned(),
            AttrKind::Float => "a number".to_owned(),
            AttrKind::FloatOrNone => format!("a number or `{NONE}`"),
            AttrKind::Bool => "true or false".to_owned(),
            AttrKind::BoolOr(list) => format!("true, false or {}", words(list)),
            AttrKind::Word(list) => words(list),
            AttrKind::Text => "a text".to_owned(),
            AttrKind::Init => "an initialiser".to_owned(),
        };
        let shown = match value {
            Attr::Text(text) if ABSENT.contains(&&**text) => format!("`{text}`"),
            other => other.to_string(),
        };
        let error = OpError::new(Code::WrongAttribute, format!("`{}` must be {wanted}, not {shown}", self.name))
            .attr(self.name);
        let known = match (self.kind, value) {
            (AttrKind::Bool | AttrKind::BoolOr(_), Attr::Int(n)) if n.is(0) => Some("false".to_owned()),
            (AttrKind::Bool | AttrKind::BoolOr(_), Attr::Int(n)) if n.is(1) => Some("true".to_owned()),
            (AttrKind::Bool | AttrKind::BoolOr(_), Attr::Text(text)) if ABSENT.contains(&&**text) => {
                Some("false".to_owned())
            }
            (AttrKind::Word(list) | AttrKind::IntsOr(list) | AttrKind::BoolOr(list), Attr::Text(text)) => {
                closest(text, list.iter().copied()).map(|word| format!("\"{word}\""))
            }
            (AttrKind::FloatOrNone, Attr::Text(text)) if ABSENT.contains(&&**text) => Some(NONE.to_owned()),
            _ => None,
        };
        match known {
            Some(word) => error.help(format!("write `{} = {word}`", self.name)),
            None if self.default.is_some() && matches!(value, Attr::Text(text) if ABSENT.contains(&&**text)) => {
                error.help("remove it: what is not given has its default")
            }
            None => error,
        }
    }
}

/// Reads an attribute's value as the user would write it; the empty text is an absent one.
pub(super) fn parse_literal(text: &str) -> Option<Attr> {
    let text = text.trim();
    Some(match text {
        "" => Attr::Absent,
        "true" => Attr::Bool(true),
        "false" => Attr::Bool(false),
        _ if text.starts_with('"') => Attr::Text(text.strip_prefix('"')?.strip_suffix('"')?.to_owned()),
        _ if text.starts_with('[') => {
            let inside = text.strip_prefix('[')?.strip_suffix(']')?;
            Attr::List(inside.split(',').map(parse_literal).collect::<Option<_>>()?)
        }
        _ => match text.parse::<i64>() {
            Ok(n) => Attr::Int(n.into()),
            Err(_) => Attr::Float(text.parse().ok()?),
        },
    })
}

/// A mistake in the attributes of a call or a constructor.
#[derive(Clone, PartialEq, Debug)]
pub struct AttrError {
    /// Which of the given values is guilty, positional ones first; the whole call where none is.
    pub given: Option<usize>,
    /// What is wrong with it.
    pub error: OpError,
}

/// The values of all declared attributes from the given ones: positional in the order of the declarations, where a
/// shape takes all integers that follow each other, then named.
///
/// # Errors
/// Every mistake: `too-many-attributes`, `unknown-attribute`, `duplicate-attribute`, `wrong-attribute`,
/// `missing-attribute`.
pub fn resolve(
    decls: &'static [AttrDecl],
    positional: Vec<Attr>,
    named: Vec<(String, Attr)>,
) -> Result<Attrs, Vec<AttrError>> {
    let mut values: Vec<Option<Attr>> = vec![None; decls.len()];
    let mut errors = vec![];
    let first_named = positional.len();
    let mut queue = positional.into_iter().enumerate().peekable();
    let mut slots = 0..decls.len();
    while let Some((at, value)) = queue.next() {
        let Some(slot) = slots.next() else {
            errors.push(AttrError { given: Some(at), error: surplus(&value) });
            break;
        };
        if let Some((other, error)) = exchanged(decls, slot, &value, queue.peek().map(|(_, next)| next)) {
            errors.push(AttrError { given: Some(at), error });
            (values[slot], values[other]) = (Some(Attr::Absent), Some(Attr::Absent));
            queue.next();
            slots.next();
            continue;
        }
        let value = match (decls[slot].kind, value) {
            (AttrKind::Shape, value @ Attr::Int(_)) => {
                let others = std::iter::from_fn(|| queue.next_if(|(_, next)| matches!(next, Attr::Int(_))));
                Attr::List([value].into_iter().chain(others.map(|(_, next)| next)).collect())
            }
            (_, value) => value,
        };
        if let Some((meant, error)) = misplaced(decls, &named, slot, &value) {
            errors.push(AttrError { given: Some(at), error });
            values[meant] = Some(Attr::Absent);
            continue;
        }
        values[slot] = fit_or_note(&decls[slot], value, at, &mut errors);
    }
    for (k, (name, value)) in named.into_iter().enumerate() {
        let given = Some(first_named + k);
        match decls.iter().position(|decl| decl.name == name) {
            None => errors.push(AttrError { given, error: unknown(decls, &name) }),
            // A value that does not fit has been reported.
            Some(slot) if values[slot] == Some(Attr::Absent) => {}
            Some(slot) if values[slot].is_some() => {
                let error = OpError::new(Code::DuplicateAttribute, format!("`{name}` is given twice"));
                errors.push(AttrError { given, error: error.attr(decls[slot].name) });
            }
            Some(slot) => values[slot] = fit_or_note(&decls[slot], value, first_named + k, &mut errors),
        }
    }
    let mut lacking = vec![];
    for (value, decl) in values.iter_mut().zip(decls).filter(|(value, _)| value.is_none()) {
        *value = decl.default_value();
        lacking.extend(value.is_none().then_some(decl));
    }
    errors.extend(missing(&lacking));
    if !errors.is_empty() {
        return Err(errors);
    }
    let named = |(decl, value): (&AttrDecl, Option<Attr>)| (decl.name.into(), value.unwrap_or(Attr::Absent));
    Ok(Attrs(decls.iter().zip(values).map(named).collect()))
}

fn surplus(value: &Attr) -> OpError {
    OpError::new(Code::TooManyAttributes, format!("`{{callee}}` has no place for {value}")).help("remove it")
}

/// The one report of all attributes that must be given.
fn missing(lacking: &[&AttrDecl]) -> Option<AttrError> {
    let needs = match lacking {
        [] => return None,
        [one] => format!("`{}`: {}", one.name, one.doc),
        [before @ .., last] => {
            let before: Vec<String> = before.iter().map(|decl| format!("`{}`", decl.name)).collect();
            format!("{} and `{}`", before.join(", "), last.name)
        }
    };
    let all: Vec<String> = lacking.iter().map(|decl| format!("{} = …", decl.name)).collect();
    let error = OpError::new(Code::MissingAttribute, format!("`{{callee}}` needs {needs}"));
    Some(AttrError { given: None, error: error.help(format!("add `{}`", all.join(", "))) })
}

/// What stands in the place of an attribute that is given by name was meant for another one: which, and the report.
fn misplaced(decls: &[AttrDecl], named: &[(String, Attr)], slot: usize, value: &Attr) -> Option<(usize, OpError)> {
    let is_named = |decl: &AttrDecl| named.iter().any(|(name, _)| decl.name == name);
    let is_open = |decl: &AttrDecl| decl.default.is_none() && !is_named(decl) && decl.fit(value.clone()).is_ok();
    let meant = (slot + 1..decls.len()).find(|&other| is_open(&decls[other])).filter(|_| is_named(&decls[slot]))?;
    let message = format!("`{{callee}}` takes `{}` first, so {value} needs a name", decls[slot].name);
    let error = OpError::new(Code::WrongAttribute, message).help(format!("write `{} = {value}`", decls[meant].name));
    Some((meant, error))
}

/// Two values that follow each other, each of which is one for the place of the other: where the second belongs, and the
/// report.
fn exchanged(decls: &[AttrDecl], slot: usize, value: &Attr, next: Option<&Attr>) -> Option<(usize, OpError)> {
    let (first, second, next) = (&decls[slot], decls.get(slot + 1)?, next?);
    let fits = |decl: &AttrDecl, value: &Attr| decl.fit(value.clone()).is_ok();
    let wrong = !fits(first, value) && !fits(second, next) && fits(first, next) && fits(second, value);
    let message = format!("`{{callee}}` takes `{}` before `{}`", first.name, second.name);
    wrong.then(|| (slot + 1, OpError::new(Code::WrongAttribute, message).help(format!("write `{next}, {value}`"))))
}

/// The fitted value; a misfit is noted and counts as given, so that it is not reported as missing too.
fn fit_or_note(decl: &AttrDecl, value: Attr, given: usize, errors: &mut Vec<AttrError>) -> Option<Attr> {
    Some(decl.fit(value).unwrap_or_else(|error| {
        errors.push(AttrError { given: Some(given), error });
        Attr::Absent
    }))
}

fn unknown(decls: &[AttrDecl], name: &str) -> OpError {
    let error = OpError::new(Code::UnknownAttribute, format!("`{{callee}}` has no attribute `{name}`"));
    match closest(name, decls.iter().map(|decl| decl.name)) {
        Some(known) => error.help(format!("write `{known}`")),
        None if decls.is_empty() => error.help("remove it: there are no attributes"),
        None => {
            let known: Vec<String> = decls.iter().map(|decl| format!("`{}`", decl.name)).collect();
            error.help(format!("it has {}", known.join(", ")))
        }
    }
}

impl Attrs {
    /// The integer of an attribute that is required or has a default, if it is at least one.
    ///
    /// # Errors
    /// `wrong-attribute` where it is not.
    pub fn positive(&self, name: &'static str) -> Result<i64, OpError> {
        match self.known(name) {
            n if n > 0 => Ok(n),
            n => Err(OpError::new(Code::WrongAttribute, format!("`{name}` must be positive, not {n}")).attr(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static DECLS: &[AttrDecl] = &[
        AttrDecl::required("shape", AttrKind::Shape, "the extents"),
        AttrDecl::optional("scale", AttrKind::Float, "1.5", "a factor"),
        AttrDecl::optional("reduction", AttrKind::Word(&["mean", "sum"]), "\"mean\"", "what is reduced"),
    ];

    #[test]
    fn only_extents_may_be_dimensions() {
        static DECLS: &[AttrDecl] = &[
            AttrDecl::optional("axis", AttrKind::Int, "-1", "an axis"),
            AttrDecl::optional("k", AttrKind::Dim, "1", "how many"),
        ];
        let b = || Attr::Int(Dim::name("B"));
        let errors = resolve(DECLS, vec![], vec![("axis".into(), b())]).unwrap_err();
        assert_eq!(errors[0].error.message, "`axis` must be known at build time, not B");
        let attrs = resolve(DECLS, vec![], vec![("k".into(), b())]).unwrap();
        assert_eq!((attrs.known("axis"), attrs.extent("k")), (-1, Dim::name("B")));
    }

    #[test]
    fn positional_integers_make_a_shape() {
        let attrs = resolve(DECLS, vec![Attr::Int(5.into()), Attr::Int(7.into()), Attr::Float(2.0)], vec![]).unwrap();
        assert_eq!(attrs.dims("shape").unwrap(), vec![Dim::from(5), Dim::from(7)]);
        assert_eq!(attrs.float("scale"), Some(2.0));
        assert_eq!(attrs.text("reduction"), Some("mean"));
    }

    #[test]
    fn every_mistake_is_reported() {
        let named = vec![("scales".to_owned(), Attr::Float(1.0)), ("reduction".to_owned(), Attr::Text("maen".into()))];
        let errors = resolve(DECLS, vec![], named).unwrap_err();
        let codes: Vec<_> = errors.iter().map(|e| (e.error.code, e.given)).collect();
        assert_eq!(
            codes,
            [(Code::UnknownAttribute, Some(0)), (Code::WrongAttribute, Some(1)), (Code::MissingAttribute, None)]
        );
        assert_eq!(errors[0].error.help.as_deref(), Some("write `scale`"));
        assert_eq!(errors[1].error.help.as_deref(), Some("write `reduction = \"mean\"`"));
    }
}
