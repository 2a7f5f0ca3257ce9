//! Burgers' equation: in come numbers, out come points at which it is to hold and how far a solution is from the exact one, for
//! `u_t + u·u_x = ν·u_xx` with −1 ≤ x ≤ 1, 0 ≤ t ≤ 1 and `u = −sin πx` at first.

use std::f64::consts::PI;

/// The viscosity ν.
pub const VISCOSITY: f64 = 0.05;

/// The k-th of evenly scattered places `x` and `t`: multiples of powers of 1/ρ, where ρ³ = ρ + 1.
pub fn scattered(k: u64) -> (f64, f64) {
    let rho = 1.324_717_957_244_746;
    let [a, b] = [1.0 / rho, 1.0 / (rho * rho)].map(|step| (0.5 + k as f64 * step).fract());
    (2.0 * a - 1.0, b)
}

/// Places of a grid, without those at first.
pub fn grid() -> impl Iterator<Item = (f64, f64)> {
    (0..=100).flat_map(|i| (1..=20).map(move |j| (f64::from(i) / 50.0 - 1.0, f64::from(j) / 20.0)))
}

/// The L2 error of a solution that is known on the [`grid`], relative to the exact one.
pub fn error(found: impl IntoIterator<Item = f64>) -> f64 {
    let (mut error, mut size) = (0.0, 0.0);
    for ((x, t), found) in grid().zip(found) {
        let exact = exact(x, t);
        error += (found - exact).powi(2);
        size += exact.powi(2);
    }
    (error / size).sqrt()
}

/// The solution by the transformation of Cole (1951) and Hopf (1950): a ratio of integrals over where the
/// heat at `(x, t)` comes from.
fn exact(x: f64, t: f64) -> f64 {
    let width = (4.0 * VISCOSITY * t).sqrt();
    let (mut flow, mut heat) = (0.0, 0.0);
    for k in -400..=400 {
        // The integrands vanish beyond eight widths, and there the trapezoidal rule is exact to rounding.
        let z = f64::from(k) / 50.0;
        let from = x - width * z;
        let weight = (-z * z - (PI * from).cos() / (2.0 * PI * VISCOSITY)).exp();
        flow -= (PI * from).sin() * weight;
        heat += weight;
    }
    flow / heat
}
