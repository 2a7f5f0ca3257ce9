//! The values of the text form: dimensions, literals, texts, lists and records, printed and parsed.

use crate::ir::Dim;
use crate::ir::prim::Scalar;
use std::fmt;

/// A value of a field.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Datum {
    /// An integer, a dimension or a word: `3`, `2*B - 1`, `sum`.
    Dim(Dim),
    /// A literal whose text shows its type: `1.0`, `3u32`, `true`.
    Scalar(Scalar),
    /// A quoted text.
    Text(String),
    /// `[…]`
    List(Vec<Datum>),
    /// `{key value, …}`
    Record(Fields),
}

/// Named values, in order.
pub(super) type Fields = Vec<(String, Datum)>;

impl Datum {
    pub(super) fn word(word: &str) -> Datum {
        Datum::Dim(Dim::name(word))
    }

    pub(super) fn number(n: i64) -> Datum {
        Datum::Dim(n.into())
    }

    pub(super) fn dims(dims: &[Dim]) -> Datum {
        Datum::List(dims.iter().cloned().map(Datum::Dim).collect())
    }

    pub(super) fn numbers(numbers: impl IntoIterator<Item = usize>) -> Datum {
        Datum::List(numbers.into_iter().map(|n| Datum::number(n as i64)).collect())
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Dim(dim) => write!(f, "{dim}"),
            Datum::Scalar(x) => write!(f, "{x}"),
            Datum::Text(text) => write!(f, "{text:?}"),
            Datum::List(list) => {
                f.write_str("[")?;
                for (i, item) in list.iter().enumerate() {
                    write!(f, "{}{item}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("]")
            }
            Datum::Record(fields) => {
                f.write_str("{")?;
                for (i, (key, value)) in fields.iter().enumerate() {
                    write!(f, "{}{key} {value}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Access to fields by name; an error names the field that is missing or of another kind.
pub(super) struct Read<'a>(pub(super) &'a Fields);

impl<'a> Read<'a> {
    pub(super) fn find(&self, key: &str) -> Option<&'a Datum> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    pub(super) fn get(&self, key: &str) -> Result<&'a Datum, String> {
        self.find(key).ok_or_else(|| format!("no `{key}`"))
    }

    /// An error if there are others than these.
    pub(super) fn only(&self, keys: &[&str]) -> Result<(), String> {
        match self.0.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((key, _)) => Err(format!("no field is called `{key}` here")),
            None => Ok(()),
        }
    }

    pub(super) fn dim(&self, key: &str) -> Result<Dim, String> {
        match self.get(key)? {
            Datum::Dim(dim) => Ok(dim.clone()),
            other => Err(format!("`{key}` is {other}, not a dimension")),
        }
    }

    pub(super) fn int(&self, key: &str) -> Result<i64, String> {
        self.dim(key)?.as_const().ok_or_else(|| format!("`{key}` is not a number"))
    }

    pub(super) fn index(&self, key: &str) -> Result<usize, String> {
        usize::try_from(self.int(key)?).map_err(|_| format!("`{key}` is negative"))
    }

    pub(super) fn word(&self, key: &str) -> Result<String, String> {
        self.dim(key)?.as_name().map(str::to_owned).ok_or_else(|| format!("`{key}` is not a word"))
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, String> {
        match self.get(key)? {
            Datum::Text(text) => Ok(text),
            other => Err(format!("`{key}` is {other}, not a text")),
        }
    }

    pub(super) fn scalar(&self, key: &str) -> Result<Scalar, String> {
        match self.get(key)? {
            Datum::Scalar(x) => Ok(*x),
            other => Err(format!("`{key}` is {other}, not a literal")),
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, String> {
        match self.scalar(key)? {
            Scalar::Bool(x) => Ok(x),
            other => Err(format!("`{key}` is {other}, not true or false")),
        }
    }

    pub(super) fn list<T>(&self, key: &str, item: impl Fn(&Datum) -> Option<T>) -> Result<Vec<T>, String> {
        match self.get(key)? {
            Datum::List(list) => {
                list.iter().map(|d| item(d).ok_or_else(|| format!("{d} in `{key}`"))).collect::<Result<_, _>>()
            }
            other => Err(format!("`{key}` is {other}, not a list")),
        }
    }

    pub(super) fn dims(&self, key: &str) -> Result<Vec<Dim>, String> {
        self.list(key, |d| match d {
            Datum::Dim(dim) => Some(dim.clone()),
            Datum::Scalar(_) | Datum::Text(_) | Datum::List(_) | Datum::Record(_) => None,
        })
    }

    pub(super) fn indices(&self, key: &str) -> Result<Vec<usize>, String> {
        let dims = self.dims(key)?;
        let index = |d: &Dim| d.as_const().and_then(|n| usize::try_from(n).ok());
        dims.iter().map(index).collect::<Option<_>>().ok_or_else(|| format!("`{key}` are not indices"))
    }

    pub(super) fn records<T>(&self, key: &str, item: impl Fn(Read<'_>) -> Result<T, String>) -> Result<Vec<T>, String> {
        let list = self.list(key, |d| match d {
            Datum::Record(fields) => Some(item(Read(fields))),
            Datum::Dim(_) | Datum::Scalar(_) | Datum::Text(_) | Datum::List(_) => None,
        })?;
        list.into_iter().collect()
    }
}
