//! The transforms of Winograd's minimal filtering F(2×2, 3×3), F(3×3, 3×3) and F(4×4, 3×3).
//!
//! In: vectors whose lanes are independent. Out: the transform of each lane. Always: `Aᵀ((G g Gᵀ) ⊙ (Bᵀ d B))A`, summed over
//! channels between the product and `A`, is the `STEP` × `STEP` sums of a 3 × 3 filter `g` over a `PATCH` × `PATCH` patch `d`.
//! The matrices are those of Lavin and Gray, *Fast algorithms for convolutional neural networks*, 2016; for three sums, those of
//! Toom and Cook at 0, 1, −1, 2 and ∞.

use crate::Simd;

/// A filter is 3 × 3.
pub(super) const TAPS: usize = 3;

/// A minimal filtering, by what it does to one line.
pub(super) trait Minimal<const STEP: usize, const PATCH: usize> {
    /// `G g`
    fn filter_line<S: Simd>(s: S, g: [S::F; TAPS]) -> [S::F; PATCH];
    /// `Bᵀ d`
    fn patch_line<S: Simd>(s: S, d: [S::F; PATCH]) -> [S::F; PATCH];
    /// `Aᵀ m`
    fn sums_line<S: Simd>(s: S, m: [S::F; PATCH]) -> [S::F; STEP];
}

/// F(2×2, 3×3): 16 products for four sums.
pub(super) struct Two;

/// F(3×3, 3×3): 25 products for nine sums.
pub(super) struct Three;

/// F(4×4, 3×3): 36 products for sixteen sums.
pub(super) struct Four;

impl Minimal<2, 4> for Two {
    #[inline(always)]
    fn filter_line<S: Simd>(s: S, [a, b, c]: [S::F; TAPS]) -> [S::F; 4] {
        let half = s.splat_f(0.5);
        let (even, odd) = (s.mul_f(s.add_f(a, c), half), s.mul_f(b, half));
        [a, s.add_f(even, odd), s.sub_f(even, odd), c]
    }

    #[inline(always)]
    fn patch_line<S: Simd>(s: S, d: [S::F; 4]) -> [S::F; 4] {
        [s.sub_f(d[0], d[2]), s.add_f(d[1], d[2]), s.sub_f(d[2], d[1]), s.sub_f(d[1], d[3])]
    }

    #[inline(always)]
    fn sums_line<S: Simd>(s: S, m: [S::F; 4]) -> [S::F; 2] {
        [s.add_f(m[0], s.add_f(m[1], m[2])), s.sub_f(s.sub_f(m[1], m[2]), m[3])]
    }
}

impl Minimal<3, 5> for Three {
    #[inline(always)]
    fn filter_line<S: Simd>(s: S, [a, b, c]: [S::F; TAPS]) -> [S::F; 5] {
        let times = |x: S::F, by: f32| s.mul_f(x, s.splat_f(by));
        let even = s.add_f(a, c);
        let far = s.mul_add_f(c, s.splat_f(4.0), s.mul_add_f(b, s.splat_f(2.0), a));
        [times(a, 0.5), times(s.add_f(even, b), -0.5), times(s.sub_f(even, b), -1.0 / 6.0), times(far, 1.0 / 6.0), c]
    }

    #[inline(always)]
    fn patch_line<S: Simd>(s: S, d: [S::F; 5]) -> [S::F; 5] {
        let plus = |x: S::F, by: f32, y: S::F| s.mul_add_f(x, s.splat_f(by), y);
        let (far, near) = (s.sub_f(d[3], d[1]), s.sub_f(d[3], d[2]));
        [
            plus(s.sub_f(d[0], d[2]), 2.0, far),
            plus(d[1], -2.0, near),
            plus(s.sub_f(d[1], d[2]), 2.0, near),
            far,
            plus(far, -2.0, s.sub_f(d[4], d[2])),
        ]
    }

    #[inline(always)]
    fn sums_line<S: Simd>(s: S, m: [S::F; 5]) -> [S::F; 3] {
        let plus = |x: S::F, by: f32, y: S::F| s.mul_add_f(x, s.splat_f(by), y);
        let (even, odd) = (s.add_f(m[1], m[2]), s.sub_f(m[1], m[2]));
        [s.add_f(m[0], s.add_f(even, m[3])), plus(m[3], 2.0, odd), plus(m[3], 4.0, s.add_f(even, m[4]))]
    }
}

impl Minimal<4, 6> for Four {
    #[inline(always)]
    fn filter_line<S: Simd>(s: S, [a, b, c]: [S::F; TAPS]) -> [S::F; 6] {
        let times = |x: S::F, by: f32| s.mul_f(x, s.splat_f(by));
        let (even, odd) = (times(s.add_f(a, c), -1.0 / 6.0), times(b, -1.0 / 6.0));
        let (far, across) = (s.mul_add_f(c, s.splat_f(1.0 / 6.0), times(a, 1.0 / 24.0)), times(b, 1.0 / 12.0));
        [times(a, 0.25), s.add_f(even, odd), s.sub_f(even, odd), s.add_f(far, across), s.sub_f(far, across), c]
    }

    #[inline(always)]
    fn patch_line<S: Simd>(s: S, d: [S::F; 6]) -> [S::F; 6] {
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

    #[inline(always)]
    fn sums_line<S: Simd>(s: S, m: [S::F; 6]) -> [S::F; 4] {
        let plus = |x: S::F, by: f32, y: S::F| s.mul_add_f(x, s.splat_f(by), y);
        let (a, b) = (s.add_f(m[1], m[2]), s.sub_f(m[1], m[2]));
        let (c, d) = (s.add_f(m[3], m[4]), s.sub_f(m[3], m[4]));
        [s.add_f(m[0], s.add_f(a, c)), plus(d, 2.0, b), plus(c, 4.0, a), plus(d, 8.0, s.add_f(b, m[5]))]
    }
}
