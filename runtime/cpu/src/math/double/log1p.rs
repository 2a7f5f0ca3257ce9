//! ln(1 + x).
//!
//! In: any f64. Out: ln(1 + x) within [`ULP`], also near 0; -∞ at -1, NaN below. Always: -0 stays -0.

use super::Simd;
use super::log::{assemble, special};
use super::reduce::{by_power_of_two, error_of_sum};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// ln(1 + x) within 1.5 ULP, also near 0: -∞ at -1, NaN below.
#[inline(always)]
pub fn log1p<S: Simd>(s: S, x: S::D) -> S::D {
    let one = s.splat_d(1.0);
    let u = s.add_d(x, one);
    let lost = error_of_sum(s, one, x, u);
    let (e, m) = by_power_of_two(s, u);
    // What the sum lost is scaled like its mantissa.
    let f = s.add_d(s.scale_d(lost, s.neg_d(e)), s.sub_d(m, one));
    let y = special(s, u, assemble(s, e, f));
    s.select_d(s.eq_d(x, s.splat_d(0.0)), x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(log1p, f64::ln_1p);

    #[test]
    fn log1p_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-1.0, 4.0), (-0.01, 0.01)]);
    }
}
