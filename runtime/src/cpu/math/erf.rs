//! The error function.
//!
//! In: any f32. Out: erf x within [`ULP`]. Always: odd, NaN stays NaN and -0 stays -0.

use super::{Simd, exp, polynomial, with_sign};

/// Error bound.
#[cfg(test)]
const ULP: f64 = 1.5;

/// Where the two formulas meet.
const BORDER: f32 = 0.9;
/// erf(x) / x - 1 in x², minimax for the relative error of erf on |x| ≤ 0.9: 2⁻³¹·⁷.
const NEAR: [f32; 7] =
    [0.128_379_17, -0.376_126_35, 0.112_837_15, -0.026_860_509, 0.005_203_859, -0.000_817_563_97, 8.513_106e-5];
/// ln(1 - erf(t)), minimax for the relative error of erf on 0.9 ≤ t ≤ 4: 2⁻²⁹·¹.
const FAR: [f32; 7] =
    [-0.000_166_466_63, -1.127_797_1, -0.636_976_24, -0.104_113_53, 0.022_315_135, -0.003_065_469_7, 0.000_198_217_41];

/// erf x.
#[inline(always)]
pub fn erf<S: Simd>(s: S, x: S::F) -> S::F {
    let magnitude = s.abs_f(x);
    let near = s.mul_add_f(magnitude, polynomial(s, s.mul_f(x, x), NEAR), magnitude);
    // From 3.92 on the nearest f32 is 1.
    let t = s.at_most_f(magnitude, s.splat_f(4.0));
    let far = s.sub_f(s.splat_f(1.0), exp(s, polynomial(s, t, FAR)));
    with_sign(s, s.select_f(s.lt_f(magnitude, s.splat_f(BORDER)), near, far), x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::math::check::{self, unary};

    /// The Taylor series below 3, the continued fraction of the complement beyond (Abramowitz and Stegun 7.1.6, 7.1.14).
    fn reference(x: f64) -> f64 {
        let t = x.abs();
        let value = if t < 3.0 {
            let (mut term, mut sum, mut n) = (t, t, 0.0);
            while term > 1e-19 * sum {
                n += 1.0;
                term *= 2.0 * t * t / (2.0 * n + 1.0);
                sum += term;
            }
            2.0 / std::f64::consts::PI.sqrt() * (-t * t).exp() * sum
        } else if t < 7.0 {
            let fraction = (1..60).rev().fold(t, |below, n| t + 0.5 * f64::from(n) / below);
            1.0 - (-t * t).exp() / (std::f64::consts::PI.sqrt() * fraction)
        } else if t.is_nan() {
            t
        } else {
            1.0
        };
        value.copysign(x)
    }

    unary!(erf, reference);

    #[test]
    fn erf_is_within_its_bound() {
        check::everywhere::<Function>(ULP);
    }
}
