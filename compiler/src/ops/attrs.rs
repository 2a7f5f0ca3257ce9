//! Attributes: the numbers of an op or layer that are known at build time.

use super::OpError;
use crate::ir::Dim;

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

/// What an attribute accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttrKind {
    /// An integer or a dimension.
    Int,
    /// One integer for all spatial axes, or a list with one for each.
    Ints,
    /// A number.
    Float,
    /// A truth value.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

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

/// The attributes of a call: every declared one, in order.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Attrs(pub Vec<(&'static str, Attr)>);

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

    /// A constant integer of at least one; what is wrong otherwise.
    pub fn positive(&self, name: &'static str) -> Result<i64, OpError> {
        match self.int(name) {
            Some(n) if n > 0 => Ok(n),
            Some(n) => Err(OpError::new("attribute", format!("`{name}` must be positive, not {n}")).attr(name)),
            None => Err(OpError::new("attribute", format!("`{name}` must be known at build time")).attr(name)),
        }
    }
}
