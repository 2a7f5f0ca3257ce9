//! Taking a number apart before a polynomial sees it.
//!
//! In: a vector of f32. Out: a whole number and a small remainder. Always: the products that cancel are exact, so the
//! remainder is as good as its own rounding (Cody and Waite, *Software Manual for the Elementary Functions*, 1980).

use super::Simd;

/// ln 2 in two parts. The upper one has 15 bits, so its product with an exponent is exact.
pub(super) const LN2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// Splits `x`, from -104 to 89, into `n·ln 2 + r` with `|r| ≤ ½ ln 2`: `(n, r)`.
#[inline(always)]
pub(super) fn by_ln2<S: Simd>(s: S, x: S::F) -> (S::F, S::F) {
    let n = s.round_f(s.mul_f(x, s.splat_f(core::f32::consts::LOG2_E)));
    let r = s.mul_add_f(n, s.splat_f(-LN2[0]), x);
    (n, s.mul_add_f(n, s.splat_f(-LN2[1]), r))
}

/// `2ⁿ` for whole `n` from -126 to 127.
#[inline(always)]
pub(super) fn power_of_two<S: Simd>(s: S, n: S::F) -> S::F {
    // The bits of 1.5·2²³ + n end in the bits of n, and nothing else survives the shift.
    let bits = s.bits_f(s.add_f(n, s.splat_f(12_582_912.0)));
    s.f_of_bits(s.add_u(s.shl_const_u::<23>(bits), s.splat_u(127 << 23)))
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
pub(super) fn error_of_sum<S: Simd>(s: S, a: S::F, b: S::F, sum: S::F) -> S::F {
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
