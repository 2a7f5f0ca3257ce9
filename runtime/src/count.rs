//! Counts that are known when a program is built: polynomials of the named dimensions in, words, bytes and operations
//! out. Always: what does not fit is remembered as such and never wraps around.

/// A number of words or operations, or a part of one, which may be negative; nothing where it is too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count(Option<i128>);

/// Words of one cache line, in which memory is allocated.
const LINE: usize = 16;

impl Count {
    /// This number.
    #[inline]
    pub const fn of(n: u64) -> Count {
        Count(Some(n as i128))
    }

    /// The value of a dimension.
    #[inline]
    pub const fn dim(n: usize) -> Count {
        Count(Some(n as i128))
    }

    /// The sum.
    #[inline]
    pub const fn plus(self, other: Count) -> Count {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Count(a.checked_add(b)),
            _ => Count(None),
        }
    }

    /// The difference.
    #[inline]
    pub const fn minus(self, other: Count) -> Count {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Count(a.checked_sub(b)),
            _ => Count(None),
        }
    }

    /// The product.
    #[inline]
    pub const fn times(self, other: Count) -> Count {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Count(a.checked_mul(b)),
            _ => Count(None),
        }
    }

    /// The quotient by a positive number, rounded down.
    #[inline]
    pub const fn over(self, other: Count) -> Count {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Count(a.checked_div_euclid(b)),
            _ => Count(None),
        }
    }

    /// The larger of the two.
    #[inline]
    pub const fn larger(self, other: Count) -> Count {
        match (self.0, other.0) {
            (Some(a), Some(b)) => Count(Some(if a > b { a } else { b })),
            _ => Count(None),
        }
    }

    /// This number, where a loop can count an axis of that extent.
    #[inline]
    pub const fn beside(self, extent: Count) -> Count {
        match extent.0 {
            Some(n) if 0 <= n && n <= isize::MAX as i128 => self,
            _ => Count(None),
        }
    }

    /// This number, where kernels can count so many elements that are smaller than words.
    #[inline]
    pub const fn counting(self, elements: Count) -> Count {
        match elements.words() {
            Some(_) => self,
            None => Count(None),
        }
    }

    /// As a number of words, which kernels count in 32 bits.
    #[inline]
    pub const fn words(self) -> Option<usize> {
        match self.0 {
            Some(n) if 0 <= n && n <= i32::MAX as i128 => Some(n as usize),
            _ => None,
        }
    }

    /// The bytes that are allocated for so many words; `usize::MAX` where they are too many.
    pub const fn arena_bytes(self) -> usize {
        match self.words() {
            Some(words) => words.div_ceil(LINE).saturating_mul(4 * LINE),
            None => usize::MAX,
        }
    }

    /// As a number of operations; `u64::MAX` where they are too many.
    pub const fn operations(self) -> u64 {
        match self.0 {
            Some(n) if 0 <= n && n <= u64::MAX as i128 => n as u64,
            _ => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_do_not_wrap_around() {
        let large = Count::of(u64::MAX);
        assert_eq!(large.plus(Count::of(1)).operations(), u64::MAX);
        assert_eq!(large.times(large).over(large).words(), None);
        assert_eq!(Count::of(1).minus(Count::of(2)).arena_bytes(), usize::MAX);
        assert_eq!(Count::of(7).over(Count::of(0)).operations(), u64::MAX);
        // Of 4 places to the front in an axis of 3, modulo 3: −4 − 3·⌊−4 / 3⌋ = 2.
        let (shift, extent) = (Count::of(0).minus(Count::of(4)), Count::of(3));
        assert_eq!(shift.minus(extent.times(shift.over(extent))).words(), Some(2));
    }

    #[test]
    fn words_are_allocated_by_the_line() {
        assert_eq!(Count::of(0).arena_bytes(), 0);
        assert_eq!(Count::of(17).arena_bytes(), 128);
        assert_eq!(Count::of(i32::MAX as u64 + 1).words(), None);
        assert_eq!(Count::dim(5).larger(Count::of(3)).words(), Some(5));
        assert_eq!(Count::dim(5).beside(Count::of(3)).words(), Some(5));
        // 3·10⁹ bytes fill 750·10⁶ words, but their indices do not fit 32 bits.
        let bytes = Count::of(3_000_000_000);
        assert_eq!(bytes.over(Count::of(4)).counting(bytes).words(), None);
        assert_eq!(Count::dim(2).counting(Count::of(8)).words(), Some(2));
        assert_eq!(Count::dim(5).beside(Count::of(1 << 32).times(Count::of(1 << 32))).words(), None);
    }
}
