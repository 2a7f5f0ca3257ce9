//! How much of a vector a memory access covers, and the loop that covers a length with vectors.
//!
//! In: a number of elements. Out: the loop body, once for whole vectors ([`Full`]) and once for the rest ([`Part`]).
//! Always: every index below the length is covered exactly once, in ascending order.

/// How many lanes a memory access touches: [`Full`] or [`Part`], and nobody else's word:
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy)]
/// struct Mine;
///
/// impl precast_cpu::At for Mine {
///     const FULL: bool = true;
///
///     fn count(self, _: usize) -> usize {
///         0
///     }
/// }
/// ```
pub trait At: Copy + super::sealed::Sealed {
    /// Whether all lanes are touched, known at compile time.
    const FULL: bool;

    /// How many lanes are touched on a vector of `lanes` lanes; never more than `lanes`.
    fn count(self, lanes: usize) -> usize;
}

/// All lanes.
#[derive(Clone, Copy, Debug)]
pub struct Full;

/// The first few lanes.
#[derive(Clone, Copy, Debug)]
pub struct Part(usize);

impl Part {
    /// The first `count` lanes.
    #[inline(always)]
    pub fn new(count: usize) -> Self {
        Part(count)
    }
}

impl At for Full {
    const FULL: bool = true;

    #[inline(always)]
    fn count(self, lanes: usize) -> usize {
        lanes
    }
}

impl At for Part {
    const FULL: bool = false;

    #[inline(always)]
    fn count(self, lanes: usize) -> usize {
        self.0.min(lanes)
    }
}

/// `sweep!(S, j, at, n, { body })` runs the body for `j = 0, LANES, 2·LANES, …` below `n`, with `at` bound to `Full`, or to
/// `Part` for the lanes that remain at the end. The body is written out twice, so that the common case has no mask.
#[doc(hidden)]
#[macro_export]
macro_rules! sweep {
    ($s:ty, $j:ident, $at:ident, $n:expr, $body:block) => {{
        let length: usize = $n;
        let mut $j: usize = 0;
        while length - $j >= <$s as $crate::Vectors>::LANES {
            let $at = $crate::Full;
            $body
            $j += <$s as $crate::Vectors>::LANES;
        }
        if $j < length {
            let $at = $crate::Part::new(length - $j);
            $body
        }
    }};
}
