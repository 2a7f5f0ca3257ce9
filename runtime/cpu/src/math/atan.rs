//! The arctangent.
//!
//! In: any f32. Out: the angle in radians, from -π/2 to π/2, within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::{Simd, polynomial, with_sign};

/// Error bound, with fused multiply-adds and without.
#[cfg(test)]
const ULP: [f64; 2] = [1.5, 2.0];

/// (atan u / u - 1) / u² = BEND(u²), minimax for the relative error of atan on 0 ≤ u ≤ 1: 2⁻²⁸·⁵.
const BEND: [f32; 9] = [
    -0.333_333,
    0.199_985_49,
    -0.142_642_42,
    0.109_521_86,
    -0.084_034_5,
    0.057_957_593,
    -0.031_177_847,
    0.010_914_606,
    -0.001_793_621_8,
];
/// π/2, and what is to be added to that.
const QUARTER: [f32; 2] = [core::f32::consts::FRAC_PI_2, -4.371_139e-8];

/// atan x within 1.5 ULP, or 2 without fused multiply-adds. Beyond 1 it is `π/2 - atan 1/x`.
#[inline(always)]
pub fn atan<S: Simd>(s: S, x: S::F) -> S::F {
    let (t, one) = (s.abs_f(x), s.splat_f(1.0));
    let steep = s.lt_f(one, t);
    let u = s.select_f(steep, s.div_f(one, t), t);
    let z = s.mul_f(u, u);
    let angle = s.mul_add_f(s.mul_f(u, z), polynomial(s, z, BEND), u);
    let [quarter, rest] = QUARTER.map(|part| s.splat_f(part));
    let beyond = s.add_f(s.sub_f(quarter, angle), rest);
    with_sign(s, s.select_f(steep, beyond, angle), x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::check::{self, unary};

    unary!(atan, f64::atan);

    #[test]
    fn atan_is_within_its_bound() {
        check::everywhere_within::<Function>(ULP);
    }
}
