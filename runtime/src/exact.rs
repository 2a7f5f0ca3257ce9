//! Functions of f64 that give the same bits on every machine. Always: only additions, products, quotients and roots,
//! which IEEE 754 fixes to the last bit; a system's mathematics library may differ in it.

use core::f64::consts::{FRAC_1_SQRT_2, LN_2, SQRT_2, TAU};

/// The natural logarithm of a positive normal number, within about 1e-15 of its size.
pub(crate) fn ln(x: f64) -> f64 {
    // x = m · 2ᵉ with m in [1/√2, √2), and ln m = 2 · artanh((m − 1) / (m + 1)).
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    if mantissa >= SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    debug_assert!((FRAC_1_SQRT_2 * 0.999..SQRT_2).contains(&mantissa), "ln of {x}");
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    // |s| is below 0.172, so that the terms fall by 34 each.
    let series = (0..12).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent) * LN_2 + 2.0 * s * series
}

/// The cosine of an angle in whole turns, from 0 to 1.
pub(crate) fn cos_of_turns(turns: f64) -> f64 {
    // In eighths of a turn the angle is at most π/4 away from a multiple of π/2.
    let quarter = (turns * 4.0 + 0.5).floor();
    let angle = (turns - quarter * 0.25) * TAU;
    let square = angle * angle;
    let cosine = (1..10).rev().fold(1.0, |tail, k| 1.0 - tail * square / f64::from(2 * k * (2 * k - 1)));
    let sine = angle * (1..10).rev().fold(1.0, |tail, k| 1.0 - tail * square / f64::from(2 * k * (2 * k + 1)));
    match quarter as i32 % 4 {
        0 => cosine,
        1 => -sine,
        2 => -cosine,
        _ => sine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_functions_of_their_names() {
        for k in 1..10_000 {
            let x = f64::from(k) / 9999.0;
            for scaled in [x, x * 1e-9, x * 1e9] {
                let (found, right) = (ln(scaled), scaled.ln());
                assert!((found - right).abs() <= 4e-16 * right.abs().max(1.0), "ln {scaled}: {found}, not {right}");
            }
            let (found, right) = (cos_of_turns(x), (TAU * x).cos());
            assert!((found - right).abs() <= 2e-15, "the cosine of {x} turns: {found}, not {right}");
        }
    }
}
