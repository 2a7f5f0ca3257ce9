//! What contractions are made of.
//!
//! In: a type of elements. Out: vectors of it, on any instruction set. Always: what moves elements is written once, for every
//! type of them, and compiled for those that are used.

use super::pack::Lines;
use crate::Simd;

/// A type of elements: what moves and hands on elements of any type is written against it.
pub(crate) trait Element: Copy + Send + Sync + 'static {
    /// 0.
    const ZERO: Self;
    /// 4-byte words of one.
    const WORDS: usize;
    /// `LANES` elements.
    type V<S: Simd>: Copy;

    /// All lanes `x`.
    fn splat<S: Simd>(s: S, x: Self) -> Self::V<S>;
    /// `a · b + c`, rounded once where the set does so.
    fn mul_add<S: Simd>(s: S, a: Self::V<S>, b: Self::V<S>, c: Self::V<S>) -> Self::V<S>;
    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// `p` must be valid for reading `LANES` elements.
    unsafe fn load<S: Simd>(s: S, p: *const Self) -> Self::V<S>;
    /// Reads the elements of the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for reading.
    unsafe fn load_masked<S: Simd>(s: S, p: *const Self, m: S::M) -> Self::V<S>;
    /// Writes `LANES` elements.
    ///
    /// # Safety
    /// `p` must be valid for writing `LANES` elements.
    unsafe fn store<S: Simd>(s: S, p: *mut Self, v: Self::V<S>);
    /// Writes the elements of the lanes in `m` and touches no others.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for writing.
    unsafe fn store_masked<S: Simd>(s: S, p: *mut Self, m: S::M, v: Self::V<S>);
    /// Copies rows of elements that are two apart, at least one in each.
    ///
    /// # Safety
    /// Each row must be readable at `from` from its first element to the last, and writable at `to`.
    unsafe fn copy_evens<S: Simd>(s: S, from: *const Self, to: *mut Self, lines: Lines);
    /// Writes columns `at` to `at + count` of the matrix whose rows start at `rows`, as rows that are `step` elements apart.
    /// Where that is less than a vector, a row ends where the next one starts.
    ///
    /// # Safety
    /// `rows` must hold `LANES` pointers, each valid for reading `at + LANES` elements, and `to` must be valid for writing
    /// `count` rows of `LANES` elements; `count` is at most `LANES`.
    unsafe fn transpose<S: Simd>(s: S, rows: *const *const Self, at: usize, to: *mut Self, step: usize, count: usize);
}

impl Element for f32 {
    const ZERO: f32 = 0.0;
    const WORDS: usize = 1;
    type V<S: Simd> = S::F;

    #[inline(always)]
    fn splat<S: Simd>(s: S, x: f32) -> S::F {
        s.splat_f(x)
    }
    #[inline(always)]
    fn mul_add<S: Simd>(s: S, a: S::F, b: S::F, c: S::F) -> S::F {
        s.mul_add_f(a, b, c)
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const f32) -> S::F {
        // SAFETY: `p` is valid for reading `LANES` words by this method's contract.
        unsafe { s.load_raw_f(p) }
    }
    #[inline(always)]
    unsafe fn load_masked<S: Simd>(s: S, p: *const f32, m: S::M) -> S::F {
        // SAFETY: `p` may be read at each lane in `m` by this method's contract.
        unsafe { s.load_masked_raw_f(p, m) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(s: S, p: *mut f32, v: S::F) {
        // SAFETY: `p` is valid for writing `LANES` words by this method's contract.
        unsafe { s.store_raw_f(p, v) }
    }
    #[inline(always)]
    unsafe fn store_masked<S: Simd>(s: S, p: *mut f32, m: S::M, v: S::F) {
        // SAFETY: `p` may be written at each lane in `m` by this method's contract.
        unsafe { s.store_masked_raw_f(p, m, v) }
    }
    #[inline(always)]
    unsafe fn copy_evens<S: Simd>(s: S, mut from: *const f32, mut to: *mut f32, lines: Lines) {
        let whole = (lines.count - 1) / S::LANES * S::LANES;
        // The last vector of a row, for whose words a vector and the next one are read.
        let rest = lines.count - whole;
        let (first, next) = (s.mask_first(2 * rest - 1), s.mask_first((2 * rest - 1).saturating_sub(S::LANES)));
        let last = s.mask_first(rest);
        for _ in 0..lines.rows {
            // SAFETY: by this method's contract `from` is readable to the last word of this row, where masks end, and `to` has
            // its words.
            unsafe {
                for at in (0..whole).step_by(S::LANES) {
                    let pair = from.wrapping_add(2 * at);
                    let (a, b) = (s.load_raw_f(pair), s.load_raw_f(pair.wrapping_add(S::LANES)));
                    s.store_raw_f(to.add(at), s.evens_f(a, b));
                }
                let pair = from.wrapping_add(2 * whole);
                let a = s.load_masked_raw_f(pair, first);
                let b = s.load_masked_raw_f(pair.wrapping_add(S::LANES), next);
                s.store_masked_raw_f(to.add(whole), last, s.evens_f(a, b));
            }
            from = from.wrapping_offset(lines.from);
            to = to.wrapping_add(lines.to);
        }
    }
    #[inline(always)]
    unsafe fn transpose<S: Simd>(s: S, rows: *const *const f32, at: usize, to: *mut f32, step: usize, count: usize) {
        // SAFETY: rows and `to` are those that the method of the set asks for, by the same contract.
        unsafe { s.transpose_raw_f(rows, at, to, step, count) }
    }
}

impl Element for f64 {
    const ZERO: f64 = 0.0;
    const WORDS: usize = 2;
    type V<S: Simd> = S::D;

    #[inline(always)]
    fn splat<S: Simd>(s: S, x: f64) -> S::D {
        s.splat_d(x)
    }
    #[inline(always)]
    fn mul_add<S: Simd>(s: S, a: S::D, b: S::D, c: S::D) -> S::D {
        s.mul_add_d(a, b, c)
    }
    #[inline(always)]
    unsafe fn load<S: Simd>(s: S, p: *const f64) -> S::D {
        // SAFETY: `p` is valid for reading `LANES` numbers by this method's contract.
        unsafe { s.load_raw_d(p) }
    }
    #[inline(always)]
    unsafe fn load_masked<S: Simd>(s: S, p: *const f64, m: S::M) -> S::D {
        // SAFETY: `p` may be read at each lane in `m` by this method's contract.
        unsafe { s.load_masked_raw_d(p, m) }
    }
    #[inline(always)]
    unsafe fn store<S: Simd>(s: S, p: *mut f64, v: S::D) {
        // SAFETY: `p` is valid for writing `LANES` numbers by this method's contract.
        unsafe { s.store_raw_d(p, v) }
    }
    #[inline(always)]
    unsafe fn store_masked<S: Simd>(s: S, p: *mut f64, m: S::M, v: S::D) {
        // SAFETY: `p` may be written at each lane in `m` by this method's contract.
        unsafe { s.store_masked_raw_d(p, m, v) }
    }
    #[inline(always)]
    unsafe fn copy_evens<S: Simd>(_: S, mut from: *const f64, mut to: *mut f64, lines: Lines) {
        for _ in 0..lines.rows {
            for at in 0..lines.count {
                // SAFETY: the number at `2 · at` is one of this row's, and `to` has a place for it, by this method's contract.
                unsafe { to.add(at).write(from.add(2 * at).read()) }
            }
            from = from.wrapping_offset(lines.from);
            to = to.wrapping_add(lines.to);
        }
    }
    #[inline(always)]
    unsafe fn transpose<S: Simd>(s: S, rows: *const *const f64, at: usize, to: *mut f64, step: usize, count: usize) {
        // SAFETY: rows and `to` are those that the method of the set asks for, by the same contract.
        unsafe { s.transpose_raw_d(rows, at, to, step, count) }
    }
}
