//! Sines and cosines of large numbers.
//!
//! In: an f64 from 2²⁰ on, and quarters of a turn. Out: the sine that many quarters further. Always: integer arithmetic up to
//! the angle, and no fused one behind it, so the bits are the same on every machine (Payne and Hanek, *Radian reduction for
//! trigonometric functions*, 1983).

use super::trig::{COSINE, SINE};

/// 64 zeros, and the first 1280 bits of 2/π behind the point.
#[rustfmt::skip]
const TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];
/// ½π in two parts, the upper one of 21 bits.
const HALF_PI: [f64; 2] = [1.570_796_012_878_418, 3.139_164_786_504_813e-7];

/// sin x, or with one quarter cos x, for |x| from 2²⁰ on; NaN for ±∞.
#[inline(never)]
pub(super) fn far(x: f64, quarters: u64) -> f64 {
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1075;
    if exponent > 971 {
        return f64::NAN;
    }
    let [high, middle, low] = product(bits & ((1 << 52) - 1) | 1 << 52, exponent);
    // Quarters in the two upper bits, and what is left of one, which is negative from a half on.
    let left = (u128::from(high) << 64 | u128::from(middle)) << 2 | u128::from(low >> 62);
    let quadrant = (high >> 62).wrapping_add((left >> 127) as u64).wrapping_add(quarters) & 3;
    let r = angle(left.cast_signed());
    let y = if quadrant & 1 == 0 { sine_of(r) } else { cosine_of(r) };
    let y = if quadrant & 2 == 0 { y } else { -y };
    // The sine is odd, the cosine even.
    if quarters == 0 && bits >> 63 == 1 { -y } else { y }
}

/// `significand·2^exponent·2/π` as 192 bits, two of them before the point: multiples of four quarters count for nothing.
fn product(significand: u64, exponent: i32) -> [u64; 3] {
    // From 2²⁰ on there are zeros enough before the point.
    let skipped = (exponent - 2 + 64).cast_unsigned();
    let (word, shift) = ((skipped / 64) as usize, skipped % 64);
    let [a, b, c, d] = [word, word + 1, word + 2, word + 3].map(|word| u128::from(TWO_OVER_PI[word]));
    let [high, middle, low] = [a << 64 | b, b << 64 | c, c << 64 | d].map(|pair| (pair << shift >> 64) as u64);
    let significand = u128::from(significand);
    let low = significand * u128::from(low);
    let middle = significand * u128::from(middle) + (low >> 64);
    let high = significand * u128::from(high) + (middle >> 64);
    [high as u64, middle as u64, low as u64]
}

/// `½π·left / 2¹²⁸`: the product of 32 bits with 21 is exact.
fn angle(left: i128) -> f64 {
    let magnitude = left.unsigned_abs();
    let zeros = magnitude.leading_zeros().min(127);
    let bits = magnitude << zeros;
    let upper = (bits >> 96) as f64 * f64::from_bits((1023 - 32) << 52);
    let lower = ((bits >> 43) & ((1 << 53) - 1)) as f64 * f64::from_bits((1023 - 85) << 52);
    let r = upper * HALF_PI[0] + (upper * HALF_PI[1] + lower * core::f64::consts::FRAC_PI_2);
    let r = r * f64::from_bits(u64::from(1023 - zeros) << 52);
    if left < 0 { -r } else { r }
}

/// sin r for |r| ≤ ¼π, and cos r.
fn sine_of(r: f64) -> f64 {
    let z = r * r;
    r + r * z * SINE.into_iter().rev().fold(0.0, |sum, c| sum * z + c)
}

fn cosine_of(r: f64) -> f64 {
    let z = r * r;
    1.0 - 0.5 * z + z * z * COSINE.into_iter().rev().fold(0.0, |sum, c| sum * z + c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sines and cosines from 400-digit arithmetic; the seventh number is the one nearest to a multiple of ½π.
    #[test]
    fn far_arguments_are_exact_to_a_bit() {
        let known: [(f64, f64, f64); 9] = [
            (1_048_576.0, 0.330_493_140_021_734_7, 0.943_808_393_901_312),
            (10_000_000.0, 0.420_547_793_190_782_5, -0.907_270_386_181_739_6),
            (-10_000_000_000.0, 0.487_506_025_087_510_7, 0.873_119_622_676_856),
            (3_000_000_000_000_000.0, 0.045_892_919_104_717_815, 0.998_946_364_914_577_3),
            (1e+22, -0.852_200_849_767_188_8, 0.523_214_785_395_139),
            (1e+100, -0.380_637_731_005_028_7, 0.924_724_238_751_933_8),
            (5.319_372_648_326_541e+255, 1.0, -4.687_165_924_254_628e-19),
            (1.797_693_134_862_315_7e+308, 0.004_961_954_789_184_062, -0.999_987_689_426_559_9),
            (4_954_051.830_178_631, -0.853_929_792_645_932_6, 0.520_388_229_336_208_7),
        ];
        for (x, sine, cosine) in known {
            for (got, want) in [(far(x, 0), sine), (far(x, 1), cosine)] {
                assert!(got.to_bits().abs_diff(want.to_bits()) <= 1, "{x:e}: {got:e}, not {want:e}");
            }
        }
        assert!(far(f64::INFINITY, 0).is_nan() && far(f64::NAN, 1).is_nan());
    }
}
