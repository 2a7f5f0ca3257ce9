//! ln(1 + x).
//!
//! In: any f32. Out: ln(1 + x) within [`ULP`], also near 0; -∞ at -1, NaN below. Always: -0 stays -0.

use super::Simd;
use super::log::{assemble, special};
use super::reduce::{by_power_of_two, error_of_sum};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// ln(1 + x) within 1.5 ULP, also near 0: -∞ at -1, NaN below.
#[inline(always)]
pub fn log1p<S: Simd>(s: S, x: S::F) -> S::F {
    let one = s.splat_f(1.0);
    let u = s.add_f(x, one);
    let lost = error_of_sum(s, one, x, u);
    let (e, m) = by_power_of_two(s, u);
    // What the sum lost is scaled like its mantissa; from 2¹²⁷ on it is nothing.
    let exponent = s.sub_i(s.splat_i(127), s.min_i(e, s.splat_i(127)));
    let scale = s.f_of_bits(s.u_from_i(s.shl_const_i::<23>(exponent)));
    let f = s.mul_add_f(lost, scale, s.sub_f(m, one));
    let y = special(s, u, assemble(s, s.f_from_i(e), f));
    s.select_f(s.eq_f(x, s.splat_f(0.0)), x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(log1p, f64::ln_1p);

    #[test]
    fn log1p_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
