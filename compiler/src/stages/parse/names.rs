//! The names that are known at build time: their values, and where the user gave these.

use super::ast::{Expr, ExprKind};
use crate::diag::Place;
use crate::ir::attr::Attr;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// Names and their values; `None` where a reported mistake leaves the value unknown.
#[derive(Clone, Default, Debug)]
pub(super) struct Names {
    values: BTreeMap<String, Option<Attr>>,
    origins: BTreeMap<String, Place>,
}

impl Names {
    /// Adds a name whose value stands at a place.
    pub(super) fn give(&mut self, name: String, value: Option<Attr>, place: Place) -> Option<Option<Attr>> {
        self.origins.insert(name.clone(), place);
        self.values.insert(name, value)
    }

    /// Where the value of an expression was written: for the name of a constant or parameter where it got its value, from
    /// name to name; else the expression itself.
    pub(super) fn origin(&self, expr: &Expr) -> Place {
        self.origin_of_name(expr).unwrap_or(expr.place)
    }

    /// The same where the expression is such a name.
    pub(super) fn origin_of_name(&self, expr: &Expr) -> Option<Place> {
        match &expr.kind {
            ExprKind::Name(name) => self.origins.get(&name.to_string()).copied(),
            _ => None,
        }
    }
}

impl Deref for Names {
    type Target = BTreeMap<String, Option<Attr>>;

    fn deref(&self) -> &Self::Target {
        &self.values
    }
}

impl DerefMut for Names {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.values
    }
}
