//! Elementary functions on vectors of f64.
//!
//! In: a vector of f64. Out: the function of each lane, within the `ULP` of its file of the exact value. Always: the special
//! values of IEEE 754 and C's `math.h`, subnormal numbers included, and the same formula on every instruction set.
//!
//! `cargo test` compares with the machine's library on every instruction set: numbers of all magnitudes, and the ranges where a
//! function changes, densely. `PRECAST_ULPS=1` makes both sixteen times as dense and `--nocapture` prints the largest differences.
//!
//! Coefficients marked *minimax* come from a Remez exchange in 160-bit arithmetic for the stated weight and interval.

mod atan;
#[cfg(test)]
mod check;
mod erf;
mod exp;
mod expm1;
mod far;
mod log;
mod log1p;
mod pow;
mod reduce;
mod rem;
mod rsqrt;
mod sigmoid;
mod tanh;
mod trig;

pub use atan::atan;
pub use erf::erf;
pub use exp::exp;
pub use expm1::expm1;
pub use log::log;
pub use log1p::log1p;
pub use pow::pow;
pub use rem::rem;
pub use rsqrt::rsqrt;
pub use sigmoid::sigmoid;
pub use tanh::tanh;
pub use trig::{cos, sin};

use crate::Simd;

/// `c₀ + c₁·x + c₂·x² + …` by Horner's rule in x² over pairs, which waits half as long as the rule in x.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(s: S, x: S::D, coefficients: [f64; N]) -> S::D {
    let squared = s.mul_d(x, x);
    let mut low = (N - 1) / 2 * 2;
    let mut sum = s.splat_d(coefficients[low]);
    if low + 1 < N {
        sum = s.mul_add_d(x, s.splat_d(coefficients[low + 1]), sum);
    }
    while low > 0 {
        low -= 2;
        let pair = s.mul_add_d(x, s.splat_d(coefficients[low + 1]), s.splat_d(coefficients[low]));
        sum = s.mul_add_d(sum, squared, pair);
    }
    sum
}

/// `magnitude`, which is not negative, with the sign of `sign`.
#[inline(always)]
fn with_sign<S: Simd>(s: S, magnitude: S::D, sign: S::D) -> S::D {
    let bit = s.and_q(s.bits_d(sign), s.splat_q(1 << 63));
    s.d_of_bits(s.or_q(s.bits_d(magnitude), bit))
}
