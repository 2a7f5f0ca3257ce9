//! Taking a number apart before a polynomial sees it.
//!
//! In: a vector of f32. Out: a whole number and a small remainder. Always: the products that cancel are exact, so the
//! remainder is as good as its own rounding (Cody and Waite, *Software Manual for the Elementary Functions*, 1980).

use super::Simd;

/// ln 2 in two parts. The upper one has 15 bits, so its product with an exponent is exact.
pub(super) const LN2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// 1.5·2²³: a number below 2²² that is added to it loses its fraction, rounded to even, and the sum ends in the bits of
/// what is left.
pub(super) const RAISE: f32 = 12_582_912.0;

/// Splits `x`, from -104.5 to 89, into `n·ln 2 + r` with `|r|` at most about `½ ln 2`: `([RAISE] + n, n, r)`.
#[inline(always)]
pub(super) fn by_ln2<S: Simd>(s: S, x: S::F) -> (S::F, S::F, S::F) {
    let raised = s.mul_add_f(x, s.splat_f(core::f32::consts::LOG2_E), s.splat_f(RAISE));
    let n = s.sub_f(raised, s.splat_f(RAISE));
    let r = s.mul_add_f(n, s.splat_f(-LN2[0]), x);
    (raised, n, s.mul_add_f(n, s.splat_f(-LN2[1]), r))
}

/// `2ⁿ⁻¹` of a raised whole `n` from -125 to 128.
#[inline(always)]
pub(super) fn half_power_of_two<S: Simd>(s: S, raised: S::F) -> S::F {
    s.f_of_bits(s.add_u(shifted(s, raised), s.splat_u(126 << 23)))
}

/// `2⁻ⁿ` of a raised whole `n` from -127 to 126.
#[inline(always)]
pub(super) fn inverse_power_of_two<S: Simd>(s: S, raised: S::F) -> S::F {
    s.f_of_bits(s.sub_u(s.splat_u(127 << 23), shifted(s, raised)))
}

/// `n·2²³` as an integer: nothing but `n` survives the shift.
#[inline(always)]
fn shifted<S: Simd>(s: S, raised: S::F) -> S::U {
    s.shl_const_u::<23>(s.bits_f(raised))
}

/// Splits a positive, finite `x` into `2ᵉ·m` with `√½ ≤ m < √2`: `(e, m)`.
#[inline(always)]
pub(super) fn by_power_of_two<S: Simd>(s: S, x: S::F) -> (S::I, S::F) {
    let subnormal = s.lt_f(x, s.splat_f(f32::MIN_POSITIVE));
    let scaled = s.select_f(subnormal, s.mul_f(x, s.splat_f(8_388_608.0)), x);
    let bits = s.i_from_u(s.bits_f(scaled));
    let root_half = s.splat_i(0x3f35_04f3);
    let e = s.shr_const_i::<23>(s.sub_i(bits, root_half));
    let m = s.f_of_bits(s.u_from_i(s.sub_i(bits, s.shl_const_i::<23>(e))));
    (s.select_i(subnormal, s.sub_i(e, s.splat_i(23)), e), m)
}

/// The exact error of `a + b` rounded to `sum` (Knuth's two-sum).
#[inline(always)]
pub(crate) fn error_of_sum<S: Simd>(s: S, a: S::F, b: S::F, sum: S::F) -> S::F {
    let b_seen = s.sub_f(sum, a);
    let a_seen = s.sub_f(sum, b_seen);
    s.add_f(s.sub_f(a, a_seen), s.sub_f(b, b_seen))
}

/// The exact error of `a · b` rounded to `product`, for magnitudes below 2¹¹⁵ (without fused arithmetic by Dekker's
/// splitting).
#[inline(always)]
pub(super) fn error_of_product<S: Simd>(s: S, a: S::F, b: S::F, product: S::F) -> S::F {
    if S::FUSED {
        return s.mul_add_f(a, b, s.neg_f(product));
    }
    let (a_high, a_low) = split(s, a);
    let (b_high, b_low) = split(s, b);
    let high = s.sub_f(s.mul_f(a_high, b_high), product);
    let middle = s.add_f(s.add_f(high, s.mul_f(a_high, b_low)), s.mul_f(a_low, b_high));
    s.add_f(middle, s.mul_f(a_low, b_low))
}

#[inline(always)]
fn split<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let spread = s.mul_f(x, s.splat_f(4097.0));
    let high = s.sub_f(spread, s.sub_f(spread, x));
    (high, s.sub_f(x, high))
}
