//! The three transforms of Winograd's minimal filtering F(4×4, 3×3).
//!
//! In: vectors whose lanes are independent. Out: the transform of each lane. Always: `Aᵀ((G g Gᵀ) ⊙ (Bᵀ d B))A`, summed over
//! channels between the product and `A`, is the 4 × 4 sums of a 3 × 3 filter `g` over a 6 × 6 patch `d`. The matrices are those of
//! Lavin and Gray, *Fast algorithms for convolutional neural networks*, 2016.

use super::super::super::Simd;

/// A patch and its transform are 6 × 6.
pub(super) const PATCH: usize = 6;
/// The sums of a patch are 4 × 4.
pub(super) const STEP: usize = 4;
/// A filter is 3 × 3.
pub(super) const TAPS: usize = 3;

/// `G g` of one line.
#[inline(always)]
pub(super) fn filter_line<S: Simd>(s: S, [a, b, c]: [S::F; TAPS]) -> [S::F; PATCH] {
    let times = |x: S::F, by: f32| s.mul_f(x, s.splat_f(by));
    let (even, odd) = (times(s.add_f(a, c), -1.0 / 6.0), times(b, -1.0 / 6.0));
    let (far, across) = (s.mul_add_f(c, s.splat_f(1.0 / 6.0), times(a, 1.0 / 24.0)), times(b, 1.0 / 12.0));
    [times(a, 0.25), s.add_f(even, odd), s.sub_f(even, odd), s.add_f(far, across), s.sub_f(far, across), c]
}

/// `Bᵀ d` of one line.
#[inline(always)]
pub(super) fn patch_line<S: Simd>(s: S, d: [S::F; PATCH]) -> [S::F; PATCH] {
    let plus = |x: S::F, by: f32, y: S::F| s.mul_add_f(x, s.splat_f(by), y);
    let (even, odd) = (plus(d[2], -4.0, d[4]), plus(d[1], -4.0, d[3]));
    let (near, across) = (s.sub_f(d[4], d[2]), s.sub_f(d[3], d[1]));
    [
        plus(d[0], 4.0, plus(d[2], -5.0, d[4])),
        s.add_f(even, odd),
        s.sub_f(even, odd),
        plus(across, 2.0, near),
        plus(across, -2.0, near),
        plus(d[1], 4.0, plus(d[3], -5.0, d[5])),
    ]
}

/// `Aᵀ m` of one line.
#[inline(always)]
pub(super) fn sums_line<S: Simd>(s: S, m: [S::F; PATCH]) -> [S::F; STEP] {
    let plus = |x: S::F, by: f32, y: S::F| s.mul_add_f(x, s.splat_f(by), y);
    let (a, b) = (s.add_f(m[1], m[2]), s.sub_f(m[1], m[2]));
    let (c, d) = (s.add_f(m[3], m[4]), s.sub_f(m[3], m[4]));
    [s.add_f(m[0], s.add_f(a, c)), plus(d, 2.0, b), plus(c, 4.0, a), plus(d, 8.0, s.add_f(b, m[5]))]
}
