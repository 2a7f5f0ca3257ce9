//! Symbolic dimensions: integer polynomials over the names that run time binds (`B`, `T`).
//!
//! A `Dim` is always in canonical form (sorted monomials, no zero coefficients), so that two
//! dimensions are equal exactly when their polynomials are. Divisions that do not come out even stay
//! as one opaque atom.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::rc::Rc;

/// An integer polynomial over named dimensions, in canonical form.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Dim {
    /// Sorted monomials with their non-zero coefficients; the constant has the empty monomial. Shared, because dimensions are
    /// copied far more often than they are computed.
    terms: Rc<Vec<(Vec<Atom>, i64)>>,
}

/// A factor of a monomial.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A dimension that the arguments of a call bind.
    Name(String),
    /// `⌊a / b⌋` where the division is not known to come out even.
    FloorDiv(Box<Dim>, Box<Dim>),
    /// The larger of two dimensions that cannot be ordered at build time.
    Max(Box<Dim>, Box<Dim>),
}

impl Atom {
    /// The name, where it is one.
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Atom::Name(name) => Some(name),
            Atom::FloorDiv(..) | Atom::Max(..) => None,
        }
    }

    /// A lower bound; none where it may be negative, which would turn the bound of a product around.
    fn least(&self, lowest: &dyn Fn(&str) -> i64) -> Option<i64> {
        let least = match self {
            Atom::Name(name) => lowest(name),
            Atom::FloorDiv(a, by) => a.least(lowest)?.div_euclid(by.as_const().filter(|&by| by > 0)?),
            Atom::Max(a, b) => a.least(lowest).into_iter().chain(b.least(lowest)).max()?,
        };
        (least >= 0).then_some(least)
    }

    /// Whether nothing is subtracted in it, at any depth.
    pub fn is_unsigned(&self) -> bool {
        match self {
            Atom::Name(_) => true,
            Atom::FloorDiv(a, b) | Atom::Max(a, b) => a.is_unsigned() && b.is_unsigned(),
        }
    }
}

impl Dim {
    /// The dimension bound by `name` at run time.
    pub fn name(name: impl Into<String>) -> Dim {
        Dim::atom(Atom::Name(name.into()))
    }

    fn atom(atom: Atom) -> Dim {
        Dim { terms: Rc::new(vec![(vec![atom], 1)]) }
    }

    fn from_map(map: BTreeMap<Vec<Atom>, i64>) -> Dim {
        Dim { terms: Rc::new(map.into_iter().filter(|&(_, c)| c != 0).collect()) }
    }

    /// The value, where no name is involved.
    pub fn as_const(&self) -> Option<i64> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(atoms, c)] if atoms.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The name, where the dimension is one name alone.
    pub fn as_name(&self) -> Option<&str> {
        match self.terms.as_slice() {
            [(atoms, 1)] => match atoms.as_slice() {
                [Atom::Name(name)] => Some(name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The sorted monomials and their coefficients.
    pub fn terms(&self) -> &[(Vec<Atom>, i64)] {
        &self.terms
    }

    /// The monomials, as dimensions with a coefficient of one, and their coefficients.
    pub fn split(&self) -> impl Iterator<Item = (Dim, i64)> {
        self.terms.iter().map(|(atoms, c)| (Dim { terms: Rc::new(vec![(atoms.clone(), 1)]) }, *c))
    }

    /// The factor, which is positive, and the summand of a multiple of a name, or of that and a number.
    pub fn affine(&self, name: &str) -> Option<(i64, i64)> {
        let (mut factor, mut summand) = (None, 0);
        for (atoms, coefficient) in self.terms() {
            match atoms.as_slice() {
                [] => summand = *coefficient,
                [atom] if atom.as_name() == Some(name) => factor = Some(*coefficient),
                _ => return None,
            }
        }
        Some((factor.filter(|factor| *factor > 0)?, summand))
    }

    /// Whether this is the constant `n`.
    pub fn is(&self, n: i64) -> bool {
        self.as_const() == Some(n)
    }

    /// The exact quotient, where the polynomial division comes out even for every binding.
    pub fn exact_div(&self, by: &Dim) -> Option<Dim> {
        if self == by {
            return Some(Dim::from(1));
        }
        let by_lead = by.lead()?;
        let (mut quotient, mut rest) = (Dim::from(0), self.clone());
        // Each step takes the leading term away, and a quotient has no more terms than the dividend, but where terms cancel out.
        for _ in 0..=self.terms.len() * by.terms.len() {
            let Some(lead) = rest.lead() else { return Some(quotient) };
            let term = monomial_quotient(lead, by_lead)?;
            rest = rest - term.clone() * by.clone();
            quotient = quotient + term;
        }
        None
    }

    /// The term that leads in an order that products keep: that of most names, and among these that of the first names.
    fn lead(&self) -> Option<&(Vec<Atom>, i64)> {
        self.terms.iter().max_by_key(|(atoms, _)| (atoms.len(), Reverse(atoms)))
    }

    /// Whether it is a multiple of a number, whatever its names are.
    pub fn is_multiple_of(&self, of: u32) -> bool {
        self.exact_div(&Dim::from(i64::from(of))).is_some()
    }

    /// `⌊self / by⌋`; `by` must not be the constant zero.
    pub fn floor_div(&self, by: &Dim) -> Dim {
        if let Some(quotient) = self.exact_div(by) {
            return quotient;
        }
        if let Some(b) = by.as_const().filter(|b| *b > 0)
            && let (quotient, rest) = self.div_rem(b)
            && rest.as_const().is_some()
        {
            // A number alone is left over: `⌊(32 · H − 1) / 2⌋` is `16 · H − 1`.
            return quotient;
        }
        match (self.as_const(), by.as_const()) {
            (Some(a), Some(b)) if b != 0 => Dim::from(a.div_euclid(b)),
            _ => Dim::atom(Atom::FloorDiv(Box::new(self.clone()), Box::new(by.clone()))),
        }
    }

    /// `self = quotient · by + remainder`, where each coefficient of the remainder is from 0 below a positive `by`.
    pub fn div_rem(&self, by: i64) -> (Dim, Dim) {
        let each = |with: fn(i64, i64) -> i64| {
            Dim::from_map(self.terms.iter().map(|(atoms, c)| (atoms.clone(), with(*c, by))).collect())
        };
        (each(i64::div_euclid), each(i64::rem_euclid))
    }

    /// `⌈self / by⌉` for a positive constant `by`.
    pub fn ceil_div(&self, by: i64) -> Dim {
        match self.exact_div(&Dim::from(by)) {
            Some(quotient) => quotient,
            None => (self.clone() + Dim::from(by - 1)).floor_div(&Dim::from(by)),
        }
    }

    /// Whether nothing is subtracted in it, at any depth.
    pub fn is_unsigned(&self) -> bool {
        self.terms.iter().all(|(atoms, c)| *c >= 0 && atoms.iter().all(Atom::is_unsigned))
    }

    /// The larger of the two for every binding (names are at least one).
    pub fn larger(&self, other: &Dim) -> Dim {
        match (self.clone() - other.clone()).as_const() {
            Some(d) if d >= 0 => self.clone(),
            Some(_) => other.clone(),
            None => Dim::atom(Atom::Max(Box::new(self.clone()), Box::new(other.clone()))),
        }
    }

    /// The value under a binding of the names; `None` if a name is unbound or the value overflows.
    pub fn eval(&self, binding: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let mut sum = 0i64;
        for (atoms, c) in self.terms.iter() {
            let mut product = *c;
            for atom in atoms {
                let value = match atom {
                    Atom::Name(name) => binding(name)?,
                    Atom::FloorDiv(a, b) => a.eval(binding)?.checked_div_euclid(b.eval(binding)?)?,
                    Atom::Max(a, b) => a.eval(binding)?.max(b.eval(binding)?),
                };
                product = product.checked_mul(value)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// The dimension with names replaced; names for which `with` has no answer stay.
    pub fn substitute(&self, with: &dyn Fn(&str) -> Option<Dim>) -> Dim {
        let mut sum = Dim::default();
        for (atoms, c) in self.terms.iter() {
            let mut product = Dim::from(*c);
            for atom in atoms {
                product = product
                    * match atom {
                        Atom::Name(name) => with(name).unwrap_or_else(|| Dim::name(name.clone())),
                        Atom::FloorDiv(a, b) => a.substitute(with).floor_div(&b.substitute(with)),
                        Atom::Max(a, b) => a.substitute(with).larger(&b.substitute(with)),
                    };
            }
            sum = sum + product;
        }
        sum
    }

    /// A lower bound, where one is plain to see; `lowest` is that of a name.
    pub fn least(&self, lowest: &dyn Fn(&str) -> i64) -> Option<i64> {
        let term = |(atoms, c): &(Vec<Atom>, i64)| {
            if *c < 0 && !atoms.is_empty() {
                return None;
            }
            atoms.iter().try_fold(*c, |product, atom| product.checked_mul(atom.least(lowest)?))
        };
        self.terms.iter().try_fold(0i64, |sum, t| sum.checked_add(term(t)?))
    }

    /// Calls `see` with every name in the dimension.
    pub fn names(&self, see: &mut dyn FnMut(&str)) {
        for atom in self.terms.iter().flat_map(|(atoms, _)| atoms) {
            match atom {
                Atom::Name(name) => see(name),
                Atom::FloorDiv(a, b) | Atom::Max(a, b) => {
                    a.names(see);
                    b.names(see);
                }
            }
        }
    }
}

/// The product of the dimensions of a shape: its number of elements.
pub fn product<'a>(dims: impl IntoIterator<Item = &'a Dim>) -> Dim {
    dims.into_iter().fold(Dim::from(1), |a, b| a * b.clone())
}

impl From<i64> for Dim {
    fn from(n: i64) -> Dim {
        Dim { terms: Rc::new(if n == 0 { vec![] } else { vec![(vec![], n)] }) }
    }
}

impl From<i32> for Dim {
    fn from(n: i32) -> Dim {
        Dim::from(i64::from(n))
    }
}

impl From<usize> for Dim {
    fn from(n: usize) -> Dim {
        Dim::from(n as i64)
    }
}

impl Add for Dim {
    type Output = Dim;
    fn add(self, other: Dim) -> Dim {
        match (self.as_const(), other.as_const()) {
            (Some(a), Some(b)) => return Dim::from(a.saturating_add(b)),
            (Some(0), None) => return other,
            (None, Some(0)) => return self,
            _ => {}
        }
        let mut map: BTreeMap<_, _> = Rc::unwrap_or_clone(self.terms).into_iter().collect();
        for (atoms, c) in Rc::unwrap_or_clone(other.terms) {
            let sum: &mut i64 = map.entry(atoms).or_insert(0);
            *sum = sum.saturating_add(c);
        }
        Dim::from_map(map)
    }
}

impl Neg for Dim {
    type Output = Dim;
    fn neg(mut self) -> Dim {
        Rc::make_mut(&mut self.terms).iter_mut().for_each(|(_, c)| *c = c.saturating_neg());
        self
    }
}

impl Sub for Dim {
    type Output = Dim;
    fn sub(self, other: Dim) -> Dim {
        self + -other
    }
}

impl Mul for Dim {
    type Output = Dim;
    fn mul(self, other: Dim) -> Dim {
        match (self.as_const(), other.as_const()) {
            (Some(a), Some(b)) => return Dim::from(a.saturating_mul(b)),
            (Some(1), None) => return other,
            (None, Some(1)) => return self,
            _ => {}
        }
        let mut map = BTreeMap::new();
        for (a, ca) in self.terms.iter() {
            for (b, cb) in other.terms.iter() {
                let mut atoms: Vec<Atom> = a.iter().chain(b).cloned().collect();
                atoms.sort();
                let sum: &mut i64 = map.entry(atoms).or_default();
                *sum = sum.saturating_add(ca.saturating_mul(*cb));
            }
        }
        Dim::from_map(map)
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Atom::Name(name) => f.write_str(name),
            Atom::FloorDiv(a, b) => write!(f, "div({a}, {b})"),
            Atom::Max(a, b) => write!(f, "max({a}, {b})"),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        // Constants sort first but read best last: `T - 1`, not `-1 + T`.
        let (constant, named): (Vec<_>, Vec<_>) = self.terms.iter().partition(|(a, _)| a.is_empty());
        for (i, (atoms, c)) in named.into_iter().chain(constant).enumerate() {
            let sign = if *c < 0 { "-" } else { "+" };
            match (i, *c < 0) {
                (0, true) => f.write_str("-")?,
                (0, false) => {}
                _ => write!(f, " {sign} ")?,
            }
            let magnitude = c.unsigned_abs();
            if atoms.is_empty() || magnitude != 1 {
                write!(f, "{magnitude}")?;
                if !atoms.is_empty() {
                    f.write_str("*")?;
                }
            }
            for (j, atom) in atoms.iter().enumerate() {
                write!(f, "{}{atom}", if j > 0 { "*" } else { "" })?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The exact quotient of two terms.
fn monomial_quotient((atoms, coefficient): &(Vec<Atom>, i64), (by, c): &(Vec<Atom>, i64)) -> Option<Dim> {
    let mut rest = atoms.clone();
    for atom in by {
        let at = rest.iter().position(|own| own == atom)?;
        rest.remove(at);
    }
    (coefficient % c == 0).then(|| Dim::from_map(BTreeMap::from([(rest, coefficient / c)])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_polynomials_are_equal_values() {
        let (b, t) = (Dim::name("B"), Dim::name("T"));
        assert_eq!(b.clone() * t.clone() + Dim::from(2), Dim::from(2) + t.clone() * b.clone());
        assert_eq!((b.clone() - b.clone()).as_const(), Some(0));
        assert_eq!((Dim::from(6) * b.clone()).exact_div(&Dim::from(3)), Some(Dim::from(2) * b.clone()));
        let odd = Dim::from(32) * b.clone() - Dim::from(1);
        assert_eq!(odd.floor_div(&Dim::from(2)), Dim::from(16) * b.clone() - Dim::from(1));
        assert_eq!(odd.floor_div(&Dim::from(3)).to_string(), "div(32*B - 1, 3)");
    }

    #[test]
    fn sums_are_divided_by_sums() {
        let (b, t, p) = (Dim::name("B"), Dim::name("T"), Dim::name("P"));
        let all = || [b.clone(), t.clone() + p.clone(), Dim::from(3) * t.clone() - b.clone() + Dim::from(1)];
        for (x, y) in all().into_iter().flat_map(|x| all().map(|y| (x.clone(), y))) {
            let product = x.clone() * y.clone() * Dim::from(4);
            assert_eq!(product.exact_div(&y), Some(x * Dim::from(4)), "{product} by {y}");
            assert_eq!((product + Dim::from(1)).exact_div(&y), None);
        }
        // Where terms of the product cancel out.
        let difference = |power: &dyn Fn(&Dim) -> Dim| power(&t) - power(&p);
        let cubes = difference(&|x| x.clone() * x.clone() * x.clone());
        let quotient = t.clone() * t.clone() + t.clone() * p.clone() + p.clone() * p.clone();
        assert_eq!(cubes.exact_div(&difference(&Dim::clone)), Some(quotient));
        assert_eq!(t.exact_div(&(t.clone() + p.clone())), None);
        assert_eq!(Dim::from(0).exact_div(&(t.clone() + p)), Some(Dim::from(0)));
        assert_eq!(t.exact_div(&Dim::from(0)), None);
    }

    #[test]
    fn bounds_follow_from_names() {
        let t = || Dim::name("T");
        let least = |dim: Dim| dim.least(&|name| i64::from(name != "at"));
        assert_eq!(least(t() * 3.into()), Some(3));
        assert_eq!(least(t() - 1.into()), Some(0));
        assert_eq!(least(t() - 5.into()), Some(-4));
        assert_eq!(least(Dim::name("B") - t()), None);
        assert_eq!(least(Dim::name("at") + 1.into()), Some(1));
        assert_eq!(least((t() + 3.into()).floor_div(&2.into())), Some(2));
    }

    #[test]
    fn it_reads_as_people_write_it() {
        let t = Dim::name("T");
        assert_eq!((Dim::from(2) * t.clone() - Dim::from(1)).to_string(), "2*T - 1");
        assert_eq!(t.floor_div(&Dim::from(2)).to_string(), "div(T, 2)");
    }
}
