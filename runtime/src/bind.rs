//! The check of a call's arguments: in come the extents that the arguments have, out come the
//! values of the named dimensions. Always: once `finish` returns, equal names have equal values,
//! none is zero, and every bound holds.

use crate::error::{Error, Result};

/// What gives a dimension its value where no argument does. No argument has this name, which is a word of the language.
const SESSION: &str = "session";

/// A named dimension of a function.
#[derive(Debug)]
pub struct Dim {
    /// Its name.
    pub name: &'static str,
    /// The largest value that the signature allows.
    pub bound: Option<usize>,
}

/// The named dimensions of one call while its arguments are looked at.
#[derive(Debug)]
pub struct Bindings<const N: usize> {
    dims: &'static [Dim; N],
    values: [usize; N],
    /// The arguments that gave the values; no value is known where this is empty.
    givers: [&'static str; N],
}

impl<const N: usize> Bindings<N> {
    /// Nothing is bound yet.
    #[inline]
    pub fn new(dims: &'static [Dim; N]) -> Self {
        Bindings { dims, values: [0; N], givers: [""; N] }
    }

    /// `argument` has `found` where the signature has the name of dimension `index`.
    #[inline]
    pub fn name(&mut self, index: usize, argument: &'static str, found: usize) -> Result<()> {
        if self.values[index] == found && found != 0 {
            return Ok(());
        }
        self.bind(index, argument, found)
    }

    #[inline]
    fn bind(&mut self, index: usize, argument: &'static str, found: usize) -> Result<()> {
        let Dim { name: dimension, bound } = self.dims[index];
        if found == 0 {
            return Err(Error::Empty { argument, dimension });
        }
        if self.givers[index] == SESSION {
            let expected = self.values[index];
            return Err(Error::Session { argument, dimension, found, expected });
        }
        if !self.givers[index].is_empty() {
            let (other, expected) = (self.givers[index], self.values[index]);
            return Err(Error::Dimension { argument, dimension, found, other, expected });
        }
        if let Some(bound) = bound.filter(|&bound| found > bound) {
            return Err(Error::Bound { argument, dimension, found, bound });
        }
        (self.values[index], self.givers[index]) = (found, argument);
        Ok(())
    }

    /// The session was made with these values of the dimensions of those indices.
    #[inline]
    pub fn session(&mut self, indices: &[usize], values: &[usize]) -> Result<()> {
        for (&index, &found) in indices.iter().zip(values) {
            let Dim { name: dimension, bound } = self.dims[index];
            if let Some(bound) = bound.filter(|&bound| found > bound) {
                return Err(Error::Bound { argument: SESSION, dimension, found, bound });
            }
            (self.values[index], self.givers[index]) = (found, SESSION);
        }
        Ok(())
    }

    /// The argument that dimension `index` is the value of.
    #[inline]
    pub fn position(&mut self, index: usize, found: u32) {
        self.values[index] = found as usize;
    }

    /// `argument` has `found` at `axis`, where the signature has `written`, which is
    /// `scale · name + offset` in the name of dimension `index`.
    #[allow(clippy::too_many_arguments)]
    pub fn affine(
        &mut self,
        index: usize,
        (scale, offset): (usize, isize),
        argument: &'static str,
        axis: usize,
        written: &'static str,
        found: usize,
    ) -> Result<()> {
        let scaled = found.checked_add_signed(offset.wrapping_neg());
        let value = scaled.filter(|scaled| scaled.is_multiple_of(scale)).map(|scaled| scaled / scale);
        let expected = (!self.givers[index].is_empty())
            .then(|| self.values[index].wrapping_mul(scale).wrapping_add_signed(offset));
        match value.filter(|_| expected.is_none_or(|expected| expected == found)) {
            Some(value) => self.name(index, argument, value),
            None => Err(Error::Extent { argument, axis, found, written, expected }),
        }
    }

    /// The value of dimension `index`, as far as it is known.
    pub fn value(&self, index: usize) -> usize {
        self.values[index]
    }

    /// The values of all names.
    #[inline]
    pub fn finish(self) -> [usize; N] {
        self.values
    }
}

/// `argument` has `found` at `axis`, where the signature has `written`, whose value is `expected`,
/// or too large for a number.
#[inline]
pub fn extent(
    argument: &'static str,
    axis: usize,
    written: &'static str,
    expected: Option<usize>,
    found: usize,
) -> Result<()> {
    if expected == Some(found) {
        return Ok(());
    }
    Err(Error::Extent { argument, axis, found, written, expected })
}

/// A buffer for results has the length that the results have.
#[inline]
pub fn room(argument: &'static str, found: usize, needed: usize) -> Result<()> {
    if found == needed {
        return Ok(());
    }
    Err(Error::Length { argument, found, needed, multiple: false })
}

/// An extent that is computed from named dimensions, an error if it is too large.
#[inline]
pub fn fits(function: &'static str, extent: Option<usize>) -> Result<usize> {
    extent.ok_or(Error::Overflow { function })
}

/// `argument` is a position of at most `limit`, an error if it is larger. Nothing fits where `limit` is absent.
#[inline]
pub fn position(
    (function, argument): (&'static str, &'static str),
    found: usize,
    written: &'static str,
    limit: Option<usize>,
) -> Result<()> {
    match limit {
        Some(limit) if found <= limit => Ok(()),
        Some(limit) => Err(Error::Position { argument, found, limit, written }),
        None => Err(Error::Negative { function, written }),
    }
}

/// An extent or a position inside of a function, an error if it is negative.
#[inline]
pub fn needed(function: &'static str, written: &'static str, value: Option<usize>) -> Result<()> {
    match value {
        Some(_) => Ok(()),
        None => Err(Error::Negative { function, written }),
    }
}

/// The product of extents, an error if it is too large.
#[inline]
pub fn product(function: &'static str, extents: &[usize]) -> Result<usize> {
    let product = extents.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
    product.ok_or(Error::Overflow { function })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_session_binds_before_arguments_do() {
        let mut bindings = Bindings::new(&DIMS);
        bindings.session(&[0], &[4]).unwrap();
        bindings.position(1, 0);
        bindings.name(0, "x", 4).unwrap();
        let error = bindings.name(0, "y", 3).unwrap_err();
        assert_eq!(error.to_string(), "`y` has B = 3, but the session was made with B = 4");
        assert_eq!(bindings.finish(), [4, 0]);
        assert!(Bindings::new(&DIMS).session(&[1], &[9]).is_err());
    }

    #[test]
    fn positions_have_limits() {
        let at = |found, limit| position(("step", "at"), found, "T - 1", limit);
        assert!(at(7, Some(7)).is_ok());
        assert_eq!(at(8, Some(7)).unwrap_err().to_string(), "`at` is 8, but may be at most T - 1 = 7");
        assert!(matches!(at(0, None), Err(Error::Negative { function: "step", .. })));
    }

    static DIMS: [Dim; 2] = [Dim { name: "B", bound: None }, Dim { name: "T", bound: Some(8) }];

    #[test]
    fn names_are_bound_once_and_compared_after() {
        let mut bindings = Bindings::new(&DIMS);
        bindings.name(0, "image", 4).unwrap();
        bindings.name(0, "label", 4).unwrap();
        let error = bindings.name(0, "mask", 3).unwrap_err();
        assert_eq!(error.to_string(), "`mask` has B = 3, but `image` has B = 4");
        let error = bindings.name(1, "ids", 9).unwrap_err();
        assert_eq!(error.to_string(), "`ids` has T = 9, but T <= 8");
        let error = bindings.name(1, "ids", 0).unwrap_err();
        assert_eq!(error.to_string(), "`ids` is empty: T must be at least 1");
        bindings.name(1, "ids", 8).unwrap();
        assert_eq!(bindings.finish(), [4, 8]);
    }

    #[test]
    fn arithmetic_binds_its_name_or_is_compared() {
        let mut bindings = Bindings::new(&DIMS);
        bindings.affine(0, (2, 1), "x", 1, "2 * B + 1", 9).unwrap();
        assert_eq!(bindings.value(0), 4);
        let error = bindings.affine(0, (2, 0), "y", 0, "2 * B", 6).unwrap_err();
        assert_eq!(error.to_string(), "`y` has 6 in dimension 0, but 2 * B = 8");
        let error = bindings.affine(1, (2, 0), "z", 0, "2 * T", 7).unwrap_err();
        assert_eq!(error.to_string(), "`z` has 7 in dimension 0, which is no 2 * T");
        let error = bindings.affine(1, (1, 3), "z", 0, "T + 3", 2).unwrap_err();
        assert_eq!(error.to_string(), "`z` has 2 in dimension 0, which is no T + 3");
        let error = bindings.affine(1, (1, -1), "z", 0, "T - 1", 8).unwrap_err();
        assert_eq!(error.to_string(), "`z` has T = 9, but T <= 8");
    }

    #[test]
    fn products_that_overflow_are_errors() {
        assert_eq!(product("f", &[3, 4]).unwrap(), 12);
        assert!(matches!(product("f", &[usize::MAX, 2]), Err(Error::Overflow { function: "f" })));
    }
}
