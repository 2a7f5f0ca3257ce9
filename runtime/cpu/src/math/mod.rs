//! Elementary functions on vectors.
//!
//! In: a vector of f32. Out: the function of each lane, within the `ULP` of its file of the exact value (a unit in the last
//! place is the distance of two neighbouring f32 at the exact value). Always: the special values of IEEE 754 and C's
//! `math.h`, subnormal numbers included, and the same formula on every instruction set, but for erf, which is a table where
//! that is one instruction.
//!
//! `cargo test` compares every 257th f32 with a reference in f64 on every instruction set, and
//! `PRECAST_ULPS=1 cargo test --release -p precast --lib math -- --nocapture` compares all of them and prints the largest
//! errors.
//!
//! Coefficients marked *minimax* come from a Remez exchange in 160-bit arithmetic for the stated weight and interval.

mod atan;
#[cfg(test)]
mod check;
pub mod double;
mod erf;
mod exp;
mod expm1;
mod log;
mod log1p;
mod pow;
pub(crate) mod reduce;
mod rem;
mod rsqrt;
mod sigmoid;
mod tanh;
mod threefry;
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
pub use threefry::threefry;
pub(crate) use threefry::words as threefry_words;
pub use trig::{cos, sin};

use super::Simd;

/// `c₀ + c₁·x + c₂·x² + …` by Horner's rule in x² over pairs: half the wait of the rule in x, and as many instructions where
/// the caller needs x² too.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(s: S, x: S::F, coefficients: [f32; N]) -> S::F {
    let squared = s.mul_f(x, x);
    let pair = |low: usize| s.mul_add_f(x, s.splat_f(coefficients[low + 1]), s.splat_f(coefficients[low]));
    let mut low = (N - 1) / 2 * 2;
    let mut sum = if low + 1 < N { pair(low) } else { s.splat_f(coefficients[low]) };
    while low > 0 {
        low -= 2;
        sum = s.mul_add_f(sum, squared, pair(low));
    }
    sum
}

/// `c₀ + c₁·x + c₂·x²` by Horner's rule.
#[inline(always)]
fn quadratic<S: Simd>(s: S, x: S::F, coefficients: [f32; 3]) -> S::F {
    let upper = s.mul_add_f(x, s.splat_f(coefficients[2]), s.splat_f(coefficients[1]));
    s.mul_add_f(upper, x, s.splat_f(coefficients[0]))
}

/// `magnitude`, which is not negative, with the sign of `sign`.
#[inline(always)]
fn with_sign<S: Simd>(s: S, magnitude: S::F, sign: S::F) -> S::F {
    let bit = s.and_u(s.bits_f(sign), s.splat_u(1 << 31));
    s.f_of_bits(s.or_u(s.bits_f(magnitude), bit))
}
