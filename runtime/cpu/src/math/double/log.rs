//! The natural logarithm.
//!
//! In: any f64. Out: ln x within [`ULP`]; -∞ at 0, NaN below. Always: NaN stays NaN and ∞ stays ∞.
//!
//! ln(1 + f) = f - ½f² + q(½f² + z·TAIL(z)) with q = f / (2 + f) and z = q², as in `e_log.c` of fdlibm (Sun Microsystems, 1993).

use super::reduce::{LN2, by_power_of_two};
use super::{Simd, polynomial};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.1;

/// (2 artanh(q) - 2q) / q³ in z = q², minimax for the error relative to 2q on √½ ≤ 1 + f ≤ √2: 2⁻⁵⁹·⁵.
const TAIL: [f64; 7] = [
    0.666_666_666_666_673_4,
    0.399_999_999_994_151_9,
    0.285_714_287_422_924_93,
    0.222_221_985_802_705_4,
    0.181_835_641_182_265_64,
    0.153_140_516_411_931_66,
    0.147_959_798_182_089_01,
];

/// ln x within 1.1 ULP: -∞ at 0, NaN below.
#[inline(always)]
pub fn log<S: Simd>(s: S, x: S::D) -> S::D {
    let (e, m) = by_power_of_two(s, x);
    let y = assemble(s, e, s.sub_d(m, s.splat_d(1.0)));
    special(s, x, y)
}

/// `e·ln 2 + ln(1 + f)`.
#[inline(always)]
pub(super) fn assemble<S: Simd>(s: S, e: S::D, f: S::D) -> S::D {
    let q = s.div_d(f, s.add_d(f, s.splat_d(2.0)));
    let z = s.mul_d(q, q);
    let half_square = s.mul_d(s.mul_d(f, f), s.splat_d(0.5));
    let tail = s.mul_add_d(z, polynomial(s, z, TAIL), half_square);
    let small = s.mul_add_d(q, tail, s.mul_d(e, s.splat_d(LN2[1])));
    let fraction = s.sub_d(f, s.sub_d(half_square, small));
    s.mul_add_d(e, s.splat_d(LN2[0]), fraction)
}

/// `y`, but what the logarithm of `x` is where `x` is not positive and finite.
#[inline(always)]
pub(super) fn special<S: Simd>(s: S, x: S::D, y: S::D) -> S::D {
    let zero = s.splat_d(0.0);
    let y = s.select_d(s.lt_d(x, s.splat_d(f64::INFINITY)), y, x);
    let y = s.select_d(s.lt_d(x, zero), s.splat_d(f64::NAN), y);
    s.select_d(s.eq_d(x, zero), s.splat_d(f64::NEG_INFINITY), y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(log, f64::ln);

    #[test]
    fn log_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(0.0, 4.0), (0.99, 1.01)]);
    }
}
