//! Taking a number apart before a polynomial sees it.
//!
//! In: a vector of f64. Out: a whole number and a small remainder. Always: the products that cancel are exact, so the
//! remainder is as good as its own rounding (Cody and Waite, *Software Manual for the Elementary Functions*, 1980).

use crate::Simd;

/// ln 2 in two parts. The upper one has 32 bits, so its product with an exponent is exact.
pub(super) const LN2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];

/// 1.5·2⁵²: a number below 2⁵¹ that is added to it loses its fraction, rounded to even, and the sum ends in the bits of what
/// is left.
pub(super) const RAISE: f64 = 6_755_399_441_055_744.0;

/// Splits `x`, from -746 to 710, into `n·ln 2 + r` with `|r|` at most about `½ ln 2`: `([RAISE] + n, n, r)`.
#[inline(always)]
pub(super) fn by_ln2<S: Simd>(s: S, x: S::D) -> (S::D, S::D, S::D) {
    let raised = s.mul_add_d(x, s.splat_d(core::f64::consts::LOG2_E), s.splat_d(RAISE));
    let n = s.sub_d(raised, s.splat_d(RAISE));
    let r = s.mul_add_d(n, s.splat_d(-LN2[0]), x);
    (raised, n, s.mul_add_d(n, s.splat_d(-LN2[1]), r))
}

/// `2ⁿ⁻¹` of a raised whole `n` from -1021 to 1024: nothing but `n` survives the shift.
#[inline(always)]
pub(super) fn half_power_of_two<S: Simd>(s: S, raised: S::D) -> S::D {
    s.d_of_bits(s.add_q(s.shl_const_q::<52>(s.bits_d(raised)), s.splat_q(1022 << 52)))
}

/// 2⁵², whose sum with an integer below ends in the bits of that.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// Splits a positive, finite `x` into `2ᵉ·m` with `√½ ≤ m < √2`: `(e, m)`.
#[inline(always)]
pub(super) fn by_power_of_two<S: Simd>(s: S, x: S::D) -> (S::D, S::D) {
    let subnormal = s.lt_d(x, s.splat_d(f64::MIN_POSITIVE));
    let scaled = s.select_d(subnormal, s.mul_d(x, s.splat_d(18_014_398_509_481_984.0)), x);
    let bits = s.bits_d(scaled);
    let one = s.splat_q(1023 << 52);
    // The exponent of x / √½, and 1023.
    let biased = s.shr_const_q::<52>(s.add_q(bits, s.splat_q((1023 << 52) - 0x3fe6_a09e_667f_3bcd)));
    let m = s.d_of_bits(s.sub_q(s.add_q(bits, one), s.shl_const_q::<52>(biased)));
    let raised = s.d_of_bits(s.or_q(biased, s.splat_q(WHOLE.to_bits())));
    let bias = s.select_d(subnormal, s.splat_d(WHOLE + 1023.0 + 54.0), s.splat_d(WHOLE + 1023.0));
    (s.sub_d(raised, bias), m)
}

/// The exact error of `a + b` rounded to `sum` (Knuth's two-sum).
#[inline(always)]
pub(super) fn error_of_sum<S: Simd>(s: S, a: S::D, b: S::D, sum: S::D) -> S::D {
    let b_seen = s.sub_d(sum, a);
    let a_seen = s.sub_d(sum, b_seen);
    s.add_d(s.sub_d(a, a_seen), s.sub_d(b, b_seen))
}

/// The exact error of `a · b` rounded to `product`, for magnitudes below 2⁹⁹⁵ (without fused arithmetic by Dekker's
/// splitting).
#[inline(always)]
pub(super) fn error_of_product<S: Simd>(s: S, a: S::D, b: S::D, product: S::D) -> S::D {
    if S::FUSED {
        return s.mul_add_d(a, b, s.neg_d(product));
    }
    let (a_high, a_low) = split(s, a);
    let (b_high, b_low) = split(s, b);
    let high = s.sub_d(s.mul_d(a_high, b_high), product);
    let middle = s.add_d(s.add_d(high, s.mul_d(a_high, b_low)), s.mul_d(a_low, b_high));
    s.add_d(middle, s.mul_d(a_low, b_low))
}

#[inline(always)]
fn split<S: Simd>(s: S, x: S::D) -> (S::D, S::D) {
    let spread = s.mul_d(x, s.splat_d(134_217_729.0));
    let high = s.sub_d(spread, s.sub_d(spread, x));
    (high, s.sub_d(x, high))
}
