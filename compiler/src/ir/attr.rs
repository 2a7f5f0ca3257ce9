//! The values of attributes, and the names by which a graph knows what `ops` declares.
//!
//! Which attributes an op has and what they accept, is declared with it.

use super::Dim;
use std::borrow::Cow;
use std::fmt;

/// The name of an op, a layer, an optimiser or an attribute.
pub type Name = Cow<'static, str>;

/// The value of an attribute.
#[derive(Clone, PartialEq, Debug)]
pub enum Attr {
    /// Not given, and without a default.
    Absent,
    /// An integer or a dimension.
    Int(Dim),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A word: `"same"`.
    Text(String),
    /// Several.
    List(Vec<Attr>),
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attr::Absent => f.write_str("nothing"),
            Attr::Int(dim) => write!(f, "{dim}"),
            Attr::Float(x) => write!(f, "{x:?}"),
            Attr::Bool(x) => write!(f, "{x}"),
            Attr::Text(text) => write!(f, "\"{text}\""),
            Attr::List(list) => {
                let list: Vec<String> = list.iter().map(Attr::to_string).collect();
                write!(f, "[{}]", list.join(", "))
            }
        }
    }
}

/// The attributes of a call, in the order of their declarations: every one, but that the text form leaves out those without a
/// value.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Attrs(pub Vec<(Name, Attr)>);

impl Attrs {
    /// The value of a declared attribute.
    pub fn get(&self, name: &str) -> &Attr {
        self.0.iter().find(|(n, _)| *n == name).map_or(&Attr::Absent, |(_, value)| value)
    }

    /// An integer or dimension.
    pub fn dim(&self, name: &str) -> Option<Dim> {
        match self.get(name) {
            Attr::Int(dim) => Some(dim.clone()),
            Attr::Absent | Attr::Float(_) | Attr::Bool(_) | Attr::Text(_) | Attr::List(_) => None,
        }
    }

    /// The same with another integer for one of them.
    pub fn with(&self, name: &str, number: i64) -> Attrs {
        let mut attrs = self.clone();
        attrs.0.iter_mut().filter(|(own, _)| *own == name).for_each(|(_, value)| *value = Attr::Int(number.into()));
        attrs
    }

    /// A constant integer.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.dim(name)?.as_const()
    }

    /// A number.
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Attr::Float(x) => Some(*x),
            Attr::Int(dim) => dim.as_const().map(|n| n as f64),
            Attr::Absent | Attr::Bool(_) | Attr::Text(_) | Attr::List(_) => None,
        }
    }

    /// The integer of an attribute that is required or has a default.
    pub fn known(&self, name: &str) -> i64 {
        self.int(name).unwrap_or_else(|| undeclared(name))
    }

    /// The integer or dimension of an attribute that is required or has a default.
    pub fn extent(&self, name: &str) -> Dim {
        self.dim(name).unwrap_or_else(|| undeclared(name))
    }

    /// The number of an attribute that is required or has a default.
    pub fn number(&self, name: &str) -> f64 {
        self.float(name).unwrap_or_else(|| undeclared(name))
    }

    /// The word of an attribute that is required or has a default.
    pub fn word(&self, name: &str) -> &str {
        self.text(name).unwrap_or_else(|| undeclared(name))
    }

    /// The integers or dimensions of an attribute that is required or has a default.
    pub fn extents(&self, name: &str) -> Vec<Dim> {
        self.dims(name).unwrap_or_else(|| undeclared(name))
    }

    /// Those of these names, as a layer hands them to its op.
    pub fn only(&self, names: &[&str]) -> Attrs {
        Attrs(self.0.iter().filter(|(name, _)| names.contains(&&**name)).cloned().collect())
    }

    /// A truth value; false where absent.
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Attr::Bool(true))
    }

    /// A word.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Attr::Text(text) => Some(text),
            Attr::Absent | Attr::Int(_) | Attr::Float(_) | Attr::Bool(_) | Attr::List(_) => None,
        }
    }

    /// Integers or dimensions: a list, or one alone.
    pub fn dims(&self, name: &str) -> Option<Vec<Dim>> {
        let one = |attr: &Attr| match attr {
            Attr::Int(dim) => Some(dim.clone()),
            Attr::Absent | Attr::Float(_) | Attr::Bool(_) | Attr::Text(_) | Attr::List(_) => None,
        };
        match self.get(name) {
            Attr::List(list) => list.iter().map(one).collect(),
            single => one(single).map(|dim| vec![dim]),
        }
    }

    /// One constant integer for each of `rank` spatial axes; a single one serves all.
    pub fn spatial(&self, name: &str, rank: usize) -> Option<Vec<i64>> {
        let list: Vec<i64> = self.dims(name)?.iter().map(Dim::as_const).collect::<Option<_>>()?;
        match list.as_slice() {
            [one] => Some(vec![*one; rank]),
            all if all.len() == rank => Some(list),
            _ => None,
        }
    }
}

/// An attribute that has no value of its kind, although the declaration says that it has one.
fn undeclared(name: &str) -> ! {
    unreachable!(
        "attributes are resolved, so `{name}` has a value of its kind, and layers hand all of them to their ops"
    )
}
