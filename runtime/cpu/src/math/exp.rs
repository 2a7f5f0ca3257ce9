//! eˣ.
//!
//! In: any f32. Out: eˣ within [`ULP`], infinity above 88.72, subnormal below -87.33, 0 below -103.97. Always: NaN stays NaN.

use super::reduce::by_ln2;
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.1;

/// (eʳ - 1 - r) / r², minimax for the relative error of eʳ on |r| ≤ ½ ln 2: 2⁻²⁸·³.
const TAIL: [f32; 5] = [0.499_999_94, 0.166_665_2, 0.041_668_4, 0.008_368_851, 0.001_381_432_3];

/// eˣ within 1.1 ULP: infinity above 88.72, subnormal below -87.33, 0 below -103.97.
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::F) -> S::F {
    let (n, r) = parts(s, x);
    power(s, n, r)
}

/// e to the power of `x + rest`, for a `rest` below an ULP of `x`.
#[inline(always)]
pub(super) fn with_rest<S: Simd>(s: S, x: S::F, rest: S::F) -> S::F {
    let (n, r) = parts(s, x);
    power(s, n, s.add_f(r, rest))
}

/// `(n, r)` of `n·ln 2 + r`, with `x` kept where its power is 0, finite or just infinite.
#[inline(always)]
fn parts<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let x = s.at_least_f(s.at_most_f(x, s.splat_f(89.0)), s.splat_f(-104.5));
    let (_, n, r) = by_ln2(s, x);
    (n, r)
}

/// 2ⁿ·eʳ.
#[inline(always)]
fn power<S: Simd>(s: S, n: S::F, r: S::F) -> S::F {
    let tail = polynomial(s, r, TAIL);
    let power = s.add_f(s.mul_add_f(s.mul_f(r, r), tail, r), s.splat_f(1.0));
    s.scale_f(power, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(exp, f64::exp);

    #[test]
    fn exp_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
