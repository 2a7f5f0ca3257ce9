//! The arctangent.
//!
//! In: any f64. Out: the angle in radians, from -π/2 to π/2, within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::{Simd, polynomial, with_sign};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 2.0;

/// (atan u / u - 1) / u² = BEND(u²), minimax for the relative error of atan on 0 ≤ u ≤ 1: 2⁻⁶⁰·².
const BEND: [f64; 21] = [
    -0.333_333_333_333_332_87,
    0.199_999_999_999_904_48,
    -0.142_857_142_850_366_94,
    0.111_111_110_864_497_64,
    -0.090_909_085_473_036_42,
    0.076_922_997_123_814_06,
    -0.066_665_837_279_106_41,
    0.058_817_161_847_729_504,
    -0.052_594_339_250_526_32,
    0.047_449_265_729_361_66,
    -0.042_863_920_825_031_75,
    0.038_210_086_691_154_12,
    -0.032_785_462_794_090_98,
    0.026_151_706_234_055_71,
    -0.018_614_234_581_945_655,
    0.011_317_675_160_521_519,
    -0.005_612_399_904_716_149,
    0.002_151_592_459_528_853_3,
    -0.000_592_894_205_907_723,
    0.000_103_871_990_899_960_24,
    -8.654_205_957_987_76e-06,
];
/// π/2, and what is to be added to that.
const QUARTER: [f64; 2] = [core::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17];

/// atan x within 2 ULP. Beyond 1 it is `π/2 - atan 1/x`.
#[inline(always)]
pub fn atan<S: Simd>(s: S, x: S::D) -> S::D {
    let (t, one) = (s.abs_d(x), s.splat_d(1.0));
    let steep = s.lt_d(one, t);
    let u = s.select_d(steep, s.div_d(one, t), t);
    let z = s.mul_d(u, u);
    let angle = s.mul_add_d(s.mul_d(u, z), polynomial(s, z, BEND), u);
    let [quarter, rest] = QUARTER.map(|part| s.splat_d(part));
    let beyond = s.add_d(s.sub_d(quarter, angle), rest);
    with_sign(s, s.select_d(steep, beyond, angle), x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::double::check::{self, unary};

    unary!(atan, f64::atan);

    #[test]
    fn atan_is_within_its_bound() {
        check::everywhere::<Function>(ULP, &[(-8.0, 8.0), (0.9, 1.1)]);
    }
}
