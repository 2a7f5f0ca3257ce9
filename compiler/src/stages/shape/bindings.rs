//! What the dimensions of inlined calls stand for: names with `#` and the axes behind `..`.

use crate::ir::attr::{Attr, Attrs};
use crate::ir::written::{Axis, Fit};
use crate::ir::{DType, Dim};
use std::collections::{BTreeMap, BTreeSet};

/// The bindings of one function's inlined calls.
#[derive(Clone)]
pub(super) struct Bindings {
    /// The type of the parameters, and of floats that nothing else decides.
    pub(super) float: DType,
    names: BTreeMap<String, Dim>,
    rests: BTreeMap<usize, Vec<Dim>>,
    /// Dimensions of the call that may be larger than an inlined one declares, which has been reported.
    exceeded: BTreeSet<String>,
}

/// Why a shape does not fit.
pub(super) enum Misfit {
    /// Another number of axes.
    Rank,
    /// The axis differs from what is asked for: the extent as written, whether an earlier argument bound it, what
    /// it stands for, and what is there.
    Extent { text: String, named: bool, wanted: Dim, found: Dim },
    /// The axes behind `..` differ.
    Rest,
    /// An extent's name is bound nowhere.
    Unbound(String),
}

/// Whether a name belongs to an inlined call.
fn is_inner(name: &str) -> bool {
    name.contains('#')
}

/// The dimension in the user's words.
pub(super) fn shown(dim: &Dim) -> String {
    dim.substitute(&|name| name.split_once('#').map(|(user, _)| Dim::name(user))).to_string()
}

impl Bindings {
    /// Without names yet.
    pub(super) fn new(float: DType) -> Bindings {
        Bindings { float, names: BTreeMap::new(), rests: BTreeMap::new(), exceeded: BTreeSet::new() }
    }

    /// The dimension with what is bound put in; `None` where something is not.
    pub(super) fn dim(&self, dim: &Dim) -> Option<Dim> {
        let put = dim.substitute(&|name| self.names.get(name).cloned());
        self.unbound(&put).is_none().then_some(put)
    }

    fn unbound(&self, dim: &Dim) -> Option<String> {
        let mut found = None;
        dim.names(&mut |name| {
            if is_inner(name) {
                found = Some(name.to_owned());
            }
        });
        found
    }

    /// The attribute with what is bound put in; `None` where something is not.
    pub(super) fn attr(&self, attr: &Attr) -> Option<Attr> {
        Some(match attr {
            Attr::Int(dim) => Attr::Int(self.dim(dim)?),
            Attr::List(list) => {
                let mut all = vec![];
                for item in list {
                    match self.rest_of(item) {
                        Some(rest) => all.extend(rest.iter().cloned().map(Attr::Int)),
                        None => all.push(self.attr(item)?),
                    }
                }
                Attr::List(all)
            }
            Attr::Absent | Attr::Float(_) | Attr::Bool(_) | Attr::Text(_) => attr.clone(),
        })
    }

    /// The axes that `..` stands for, where the item is one.
    fn rest_of(&self, item: &Attr) -> Option<&Vec<Dim>> {
        let Attr::Int(dim) = item else { return None };
        let scope = dim.as_name()?.strip_prefix("..#")?;
        self.rests.get(&scope.parse().ok()?)
    }

    pub(super) fn attrs(&self, attrs: &Attrs) -> Option<Attrs> {
        let all: Option<Vec<_>> = attrs.0.iter().map(|(name, attr)| Some((name.clone(), self.attr(attr)?))).collect();
        all.map(Attrs)
    }

    /// The shape that a pattern stands for, where all of it is bound.
    pub(super) fn shape(&self, fit: &Fit) -> Option<Vec<Dim>> {
        let mut shape = vec![];
        for axis in &fit.axes {
            match axis {
                Some(axis) => shape.push(self.dim(&axis.dim)?),
                None => shape.extend(self.rests.get(&fit.scope)?.iter().cloned()),
            }
        }
        Some(shape)
    }

    /// Says that an extent has been reported as larger than what an inlined call declares.
    pub(super) fn exceeds(&mut self, extent: &Dim) {
        extent.names(&mut |name| _ = self.exceeded.insert(name.to_owned()));
    }

    /// Whether that has been said of an extent with this name.
    pub(super) fn has_exceeded(&self, name: &str) -> bool {
        self.exceeded.contains(name)
    }

    /// Binds a name; gives what it stands for already where that differs.
    pub(super) fn bind(&mut self, name: &Dim, extent: &Dim) -> Result<(), Dim> {
        let Some(name) = name.as_name() else { return if name == extent { Ok(()) } else { Err(name.clone()) } };
        match self.names.get(name) {
            Some(known) if known != extent => Err(known.clone()),
            Some(_) => Ok(()),
            None => {
                self.names.insert(name.to_owned(), extent.clone());
                Ok(())
            }
        }
    }

    /// Fits a shape to a pattern and binds the names in it.
    pub(super) fn fit(&mut self, fit: &Fit, shape: &[Dim]) -> Result<(), Misfit> {
        let rest = fit.axes.iter().position(Option::is_none);
        let fixed = fit.axes.iter().flatten().count();
        if shape.len() < fixed || (rest.is_none() && shape.len() > fixed) {
            return Err(Misfit::Rank);
        }
        let lead = rest.unwrap_or(fixed);
        let tail = shape.len() - (fixed - lead);
        let found = shape[..lead].iter().chain(&shape[tail..]);
        let mut pairs: Vec<(&Axis, &Dim)> = fit.axes.iter().flatten().zip(found).collect();
        // Names alone bind first, so that `f32[D / 2, D]` can be checked from left to right.
        pairs.sort_by_key(|(axis, _)| axis.dim.as_name().is_none());
        for (axis, found) in pairs {
            self.fit_extent(axis, found)?;
        }
        if rest.is_some() {
            let middle = &shape[lead..tail];
            if self.rests.entry(fit.scope).or_insert_with(|| middle.to_vec()) != middle {
                return Err(Misfit::Rest);
            }
        }
        Ok(())
    }

    fn fit_extent(&mut self, axis: &Axis, found: &Dim) -> Result<(), Misfit> {
        let put = axis.dim.substitute(&|name| self.names.get(name).cloned());
        if let Some(name) = self.unbound(&put) {
            let bound = solve(&put, &name, found).ok_or_else(|| Misfit::Unbound(shown(&Dim::name(name.clone()))))?;
            self.names.insert(name, bound);
            return Ok(());
        }
        if put == *found {
            return Ok(());
        }
        Err(Misfit::Extent { text: axis.text.clone(), named: put != axis.dim, wanted: put, found: found.clone() })
    }
}

/// The value of `name` for which `pattern`, linear in it, equals `found`.
fn solve(pattern: &Dim, name: &str, found: &Dim) -> Option<Dim> {
    let at = |n: i64| pattern.substitute(&|other| (other == name).then(|| n.into()));
    let (base, slope) = (at(0), at(1) - at(0));
    let value = (found.clone() - base).exact_div(&slope)?;
    let back = pattern.substitute(&|other| (other == name).then(|| value.clone()));
    (back == *found).then_some(value)
}
