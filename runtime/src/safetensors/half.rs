//! Floats of 16 bits and fewer as f32, which has them all.

/// IEEE 754's binary16: a sign, 5 bits of exponent and 10 of fraction.
pub(super) fn from_f16(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 15) << 31, u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    let magnitude = match exponent {
        // Zero and what is below the smallest normal number, 2⁻¹⁴: the fraction counts 2⁻²⁴.
        0 => (fraction as f32 * f32::from_bits((127 - 24) << 23)).to_bits(),
        31 => 255 << 23 | fraction << 13,
        _ => (exponent + 127 - 15) << 23 | fraction << 13,
    };
    f32::from_bits(sign | magnitude)
}

/// bfloat16: the upper half of an f32.
pub(super) fn from_bf16(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// E4M3 of the OCP's 8-bit floating-point formats: a sign, 4 bits of exponent and 3 of fraction. It has no infinities.
pub(super) fn from_f8_e4m3(bits: u8) -> f32 {
    let (sign, exponent, fraction) = (u32::from(bits >> 7) << 31, u32::from(bits >> 3) & 15, u32::from(bits) & 7);
    let magnitude = match (exponent, fraction) {
        // Zero and what is below the smallest normal number, 2⁻⁶: the fraction counts 2⁻⁹.
        (0, _) => (fraction as f32 * f32::from_bits((127 - 9) << 23)).to_bits(),
        (15, 7) => f32::NAN.to_bits(),
        _ => (exponent + 127 - 7) << 23 | fraction << 20,
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_f16_is_its_formula() {
        for bits in 0..=u16::MAX {
            let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
            let magnitude = match exponent {
                0 => fraction / 1024.0 * 2f64.powi(-14),
                31 if fraction == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
            };
            let (wanted, found) = (if bits >> 15 == 1 { -magnitude } else { magnitude }, f64::from(from_f16(bits)));
            assert!(wanted == found || wanted.is_nan() && found.is_nan(), "{bits:#06x}: {wanted} {found}");
            assert_eq!(found.is_sign_negative(), bits >> 15 == 1);
        }
    }

    #[test]
    fn bf16_is_half_of_an_f32() {
        assert_eq!(from_bf16(0x3fc0), 1.5);
        assert_eq!(from_bf16(0xff80), f32::NEG_INFINITY);
        assert!(from_bf16(0x7fc1).is_nan());
    }

    #[test]
    fn every_f8_is_its_formula() {
        for bits in 0..=u8::MAX {
            let (exponent, fraction) = (i32::from(bits >> 3 & 15), f32::from(bits & 7));
            let magnitude = match (exponent, bits & 7) {
                (0, _) => fraction / 8.0 * 2f32.powi(-6),
                (15, 7) => f32::NAN,
                _ => (1.0 + fraction / 8.0) * 2f32.powi(exponent - 7),
            };
            let (wanted, found) = (if bits >> 7 == 1 { -magnitude } else { magnitude }, from_f8_e4m3(bits));
            assert!(wanted == found || wanted.is_nan() && found.is_nan(), "{bits:#04x}: {wanted} {found}");
        }
    }
}
