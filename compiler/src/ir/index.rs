//! Index arithmetic of kernels: affine expressions over axes, loop counters and loaded indices, with
//! division and remainder as opaque atoms where they cannot be simplified away.

use super::dim::{self, Dim};
use std::fmt;

/// What an index varies with.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Atom {
    /// An axis of the kernel's iteration space.
    Axis(usize),
    /// The slice index of the repeat that many levels out (0 is the innermost).
    Loop(usize),
    /// The value of a scalar of the kernel (u32), for indices that are data.
    Value(usize),
    /// `⌊index / by⌋` for a positive `by`: rounded down, also below zero.
    Div(Box<Index>, Dim),
    /// The remainder of the same division, from 0 below `by`.
    Mod(Box<Index>, Dim),
}

/// `base + Σ coefficient · atom`, in canonical form: atoms sorted and distinct, no zero coefficients.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
pub struct Index {
    /// The constant part.
    pub base: Dim,
    /// The variable part.
    pub terms: Vec<(Atom, Dim)>,
}

impl Index {
    /// A constant.
    pub fn constant(base: impl Into<Dim>) -> Index {
        Index { base: base.into(), terms: vec![] }
    }

    /// One atom.
    pub fn atom(atom: Atom) -> Index {
        Index { base: Dim::default(), terms: vec![(atom, Dim::from(1))] }
    }

    /// An axis.
    pub fn axis(axis: usize) -> Index {
        Index::atom(Atom::Axis(axis))
    }

    /// The position among all those of some axes, the last of which varies fastest; `extents` are those of all axes.
    pub fn row_major(axes: &[usize], extents: &[Dim]) -> Index {
        let inner = |(index, stride): (Index, Dim), &axis: &usize| {
            (index.plus(&Index::axis(axis).times(&stride)), stride * extents[axis].clone())
        };
        axes.iter().rev().fold((Index::default(), Dim::from(1)), inner).0
    }

    /// The sum.
    pub fn plus(&self, other: &Index) -> Index {
        let mut sum = Index { base: self.base.clone() + other.base.clone(), terms: self.terms.clone() };
        for (atom, c) in &other.terms {
            match sum.terms.iter_mut().find(|(a, _)| a == atom) {
                Some((_, slot)) => *slot = slot.clone() + c.clone(),
                None => sum.terms.push((atom.clone(), c.clone())),
            }
        }
        sum.terms.retain(|(_, c)| !c.is(0));
        sum.terms.sort();
        sum
    }

    /// The product with a dimension.
    pub fn times(&self, by: &Dim) -> Index {
        let terms = self.terms.iter().map(|(a, c)| (a.clone(), c.clone() * by.clone()));
        Index { base: self.base.clone() * by.clone(), terms: terms.filter(|(_, c)| !c.is(0)).collect() }
    }

    /// The sum with a dimension.
    pub fn offset(&self, by: impl Into<Dim>) -> Index {
        Index { base: self.base.clone() + by.into(), terms: self.terms.clone() }
    }

    /// How much one step along an axis adds, where the axis occurs in no opaque atom.
    pub fn stride(&self, axis: usize) -> Option<Dim> {
        let mut stride = Dim::default();
        for (atom, c) in &self.terms {
            match atom {
                Atom::Axis(a) if *a == axis => stride = c.clone(),
                Atom::Axis(_) | Atom::Loop(_) => {}
                // A loaded index may vary with any axis; its user has to look.
                Atom::Value(_) => {}
                Atom::Div(inner, _) | Atom::Mod(inner, _) if inner.mentions(axis) => return None,
                Atom::Div(..) | Atom::Mod(..) => {}
            }
        }
        Some(stride)
    }

    /// Whether an axis occurs (loaded indices aside).
    pub fn mentions(&self, axis: usize) -> bool {
        self.any(&|atom| *atom == Atom::Axis(axis))
    }

    /// Whether it is the same in all turns of the loop around.
    pub fn is_still(&self) -> bool {
        !self.any(&|atom| *atom == Atom::Loop(0))
    }

    /// Whether an axis, loop counter or loaded index is wanted, those inside of divisions included.
    pub fn any(&self, wanted: &dyn Fn(&Atom) -> bool) -> bool {
        self.terms.iter().any(|(atom, _)| match atom {
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => wanted(atom),
            Atom::Div(inner, _) | Atom::Mod(inner, _) => inner.any(wanted),
        })
    }

    /// Whether nothing in it can be negative, because nothing is subtracted anywhere. Back ends may then compute it, and
    /// every part of it, with numbers that have no sign.
    pub fn is_unsigned(&self) -> bool {
        self.base.is_unsigned()
            && self.terms.iter().all(|(atom, c)| {
                c.is_unsigned()
                    && match atom {
                        Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => true,
                        Atom::Div(inner, by) | Atom::Mod(inner, by) => inner.is_unsigned() && by.is_unsigned(),
                    }
            })
    }

    /// How many atoms it has, those inside of divisions included.
    pub fn atoms(&self) -> usize {
        let inside = |(atom, _): &(Atom, Dim)| match atom {
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => 0,
            Atom::Div(inner, _) | Atom::Mod(inner, _) => inner.atoms(),
        };
        self.terms.iter().map(|term| 1 + inside(term)).sum()
    }

    /// Whether only axes and loop counters occur, each linearly.
    pub fn is_affine(&self) -> bool {
        self.terms.iter().all(|(atom, _)| match atom {
            Atom::Axis(_) | Atom::Loop(_) => true,
            Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => false,
        })
    }

    /// Calls `see` with every scalar whose value is used.
    pub fn values(&self, see: &mut dyn FnMut(usize)) {
        for (atom, _) in &self.terms {
            match atom {
                Atom::Value(v) => see(*v),
                Atom::Axis(_) | Atom::Loop(_) => {}
                Atom::Div(inner, _) | Atom::Mod(inner, _) => inner.values(see),
            }
        }
    }

    /// The index with every axis, loop counter and loaded index replaced, those inside of divisions included.
    pub fn map(&self, with: &mut dyn FnMut(&Atom) -> Index) -> Index {
        self.replace(&mut |atom| match atom {
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => with(atom),
            Atom::Div(inner, by) => Index::atom(Atom::Div(Box::new(inner.map(with)), by.clone())),
            Atom::Mod(inner, by) => Index::atom(Atom::Mod(Box::new(inner.map(with)), by.clone())),
        })
    }

    /// The index with another one in place of an axis, inside of divisions, too.
    pub fn with_axis(&self, axis: usize, by: &Index) -> Index {
        self.map(&mut |atom| if *atom == Atom::Axis(axis) { by.clone() } else { Index::atom(atom.clone()) })
    }

    /// The index with the atoms of its terms replaced; what is inside of divisions is left to `with`.
    pub fn replace(&self, with: &mut dyn FnMut(&Atom) -> Index) -> Index {
        let terms = self.terms.iter().map(|(atom, c)| with(atom).times(c));
        terms.fold(Index::constant(self.base.clone()), |sum, term| sum.plus(&term))
    }
}

/// Knows how far axes reach, and simplifies divisions with that.
pub struct Ranges<'a>(pub &'a dyn Fn(&Atom) -> Option<Dim>);

impl Ranges<'_> {
    /// Whether `0 ≤ index < extent` for every position and binding (names are at least one).
    pub fn within(&self, index: &Index, extent: &Dim) -> bool {
        let Some((low, high)) = self.bounds(index) else { return false };
        is_nonnegative(&low) && is_nonnegative(&(extent.clone() - Dim::from(1) - high))
    }

    /// The smallest and the largest value, where every atom's reach and every sign is known.
    pub fn bounds(&self, index: &Index) -> Option<(Dim, Dim)> {
        let (mut low, mut high) = (index.base.clone(), index.base.clone());
        for (atom, c) in &index.terms {
            let extent = match atom {
                Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => (self.0)(atom)?,
                Atom::Div(inner, by) => {
                    let (l, h) = self.bounds(inner)?;
                    if !is_nonnegative(&l) {
                        return None;
                    }
                    h.floor_div(by) + Dim::from(1)
                }
                Atom::Mod(_, by) => by.clone(),
            };
            let reach = c.clone() * (extent - Dim::from(1));
            if is_nonnegative(c) {
                high = high + reach;
            } else if is_nonnegative(&-c.clone()) {
                low = low + reach;
            } else {
                return None;
            }
        }
        Some((low, high))
    }

    /// Quotient (rounded down) and remainder of an index by a positive dimension. Of coefficients that are numbers
    /// only the remainders are left inside of a division, so that nothing negative is divided at run time.
    pub fn divide(&self, index: &Index, by: &Dim) -> (Index, Index) {
        // In an empty axis no index is ever computed.
        if by.is(1) || by.is(0) {
            return (index.clone(), Index::default());
        }
        let (mut whole, mut rest) = (Index::constant(Dim::default()), Index::default());
        let parts = index.terms.iter().map(|(atom, c)| (Index::atom(atom.clone()), c));
        for (part, c) in parts.chain([(Index::constant(1), &index.base)]) {
            let (quotient, remainder) = split(c, by);
            whole = whole.plus(&part.times(&quotient));
            rest = rest.plus(&part.times(&remainder));
        }
        if self.within(&rest, by) {
            return (whole, rest);
        }
        if rest.terms.is_empty() {
            let quotient = rest.base.floor_div(by);
            return (whole.offset(quotient.clone()), rest.offset(-(quotient * by.clone())));
        }
        let div = Index::atom(Atom::Div(Box::new(rest.clone()), by.clone()));
        (whole.plus(&div), Index::atom(Atom::Mod(Box::new(rest), by.clone())))
    }
}

/// `c = quotient · by + remainder`; the remainder is not negative where `by` is a number.
fn split(c: &Dim, by: &Dim) -> (Dim, Dim) {
    match (c.exact_div(by), by.as_const()) {
        (Some(quotient), _) => (quotient, Dim::default()),
        (None, Some(by)) => c.div_rem(by),
        (None, None) => (Dim::default(), c.clone()),
    }
}

/// Whether a dimension is at least zero for every binding of its names to numbers of at least one.
///
/// Names are written as one plus something non-negative; then no negative coefficient may remain. Quotients are extents, or
/// parts of them, which a call checks when it binds the names; only those of what is always negative are taken for that.
pub fn is_nonnegative(dim: &Dim) -> bool {
    let factor = |atom: &dim::Atom| match atom {
        dim::Atom::Name(_) | dim::Atom::Max(..) => true,
        dim::Atom::FloorDiv(a, _) => !is_nonnegative(&(-a.as_ref().clone() - Dim::from(1))),
    };
    let shifted = dim.substitute(&|name| Some(Dim::name(name) + Dim::from(1)));
    dim.terms().iter().all(|(atoms, _)| atoms.iter().all(factor)) && shifted.terms().iter().all(|(_, c)| *c >= 0)
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Axis(a) => write!(f, "i{a}"),
            Atom::Loop(l) => write!(f, "l{l}"),
            Atom::Value(v) => write!(f, "v{v}"),
            Atom::Div(index, by) => write!(f, "div({index}, {by})"),
            Atom::Mod(index, by) => write!(f, "mod({index}, {by})"),
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (atom, c)) in self.terms.iter().enumerate() {
            let negative = matches!(c.terms(), [(_, factor)] if *factor < 0);
            let c = if negative { -c.clone() } else { c.clone() };
            f.write_str(match (n, negative) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            })?;
            match (c.as_const(), c.terms().len()) {
                (Some(1), _) => write!(f, "{atom}")?,
                (_, 1) => write!(f, "{c}*{atom}")?,
                _ => write!(f, "({c})*{atom}")?,
            }
        }
        match self.base.to_string().strip_prefix('-') {
            _ if self.base.is(0) && !self.terms.is_empty() => Ok(()),
            Some(rest) if !self.terms.is_empty() => write!(f, " - {rest}"),
            _ if self.terms.is_empty() => write!(f, "{}", self.base),
            _ => write!(f, " + {}", self.base),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_of_a_merged_index_cancels() {
        // i0 < B, i1 < 8: (8·i0 + i1) / 8 = i0, remainder i1.
        let extents = [Dim::name("B"), Dim::from(8)];
        let extent = |atom: &Atom| match atom {
            Atom::Axis(a) => Some(extents[*a].clone()),
            _ => None,
        };
        let merged = Index::axis(0).times(&Dim::from(8)).plus(&Index::axis(1));
        assert_eq!(Ranges(&extent).divide(&merged, &Dim::from(8)), (Index::axis(0), Index::axis(1)));
        let (whole, _) = Ranges(&extent).divide(&merged, &Dim::from(3));
        assert!(!whole.is_affine());
    }

    #[test]
    fn a_quotient_of_something_negative_is_negative() {
        let (b, four) = (Dim::name("B"), Dim::from(4));
        assert!(is_nonnegative(&four.floor_div(&b)));
        assert!(is_nonnegative(&(b.clone() + four.clone()).floor_div(&Dim::from(2))));
        assert!(!is_nonnegative(&(-four.clone()).floor_div(&b)));
        assert!(!is_nonnegative(&(b.clone() * (-b.clone() - four).floor_div(&Dim::from(3)))));
    }

    #[test]
    fn nothing_negative_is_divided() {
        let extent = |_: &Atom| Some(Dim::from(3));
        let index = Index::axis(0).times(&Dim::from(2)).plus(&Index::axis(1).times(&Dim::from(-1))).offset(-1);
        let (whole, rest) = Ranges(&extent).divide(&index, &Dim::from(2));
        assert_eq!(whole.to_string(), "i0 - i1 + div(i1 + 1, 2) - 1");
        assert_eq!(rest.to_string(), "mod(i1 + 1, 2)");
        assert_eq!(Ranges(&extent).divide(&Index::constant(-1), &Dim::from(2)).0, Index::constant(-1));
    }
}
