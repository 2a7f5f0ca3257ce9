//! What contractions are made of.
//!
//! In: a type of elements. Out: vectors of it, on any instruction set. Always: what moves elements is written once, for every
//! type of them, and compiled for those that are used.

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
    /// Copies `count` elements that are two apart.
    ///
    /// # Safety
    /// `from` must be valid for reading from the first of them to the last, and `to` for writing `count` elements.
    unsafe fn copy_evens<S: Simd>(s: S, from: *const Self, count: usize, to: *mut Self);
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
    unsafe fn copy_evens<S: Simd>(s: S, from: *const f32, count: usize, to: *mut f32) {
        let mut at = 0;
        while at < count {
            let rest = count - at;
            let from = from.wrapping_add(2 * at);
            let beyond = s.mask_first((2 * rest - 1).saturating_sub(S::LANES));
            // SAFETY: by this method's contract `from` is readable to its last word, where masks end; `to` has `count`.
            unsafe {
                let (a, b) = if rest >= S::LANES {
                    (s.load_raw_f(from), s.load_masked_raw_f(from.wrapping_add(S::LANES), beyond))
                } else {
                    let few = s.mask_first(2 * rest - 1);
                    (s.load_masked_raw_f(from, few), s.load_masked_raw_f(from.wrapping_add(S::LANES), beyond))
                };
                let evens = s.evens_f(a, b);
                if rest >= S::LANES {
                    s.store_raw_f(to.add(at), evens);
                } else {
                    s.store_masked_raw_f(to.add(at), s.mask_first(rest), evens);
                }
            }
            at += S::LANES.min(rest);
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
    unsafe fn copy_evens<S: Simd>(_: S, from: *const f64, count: usize, to: *mut f64) {
        for at in 0..count {
            // SAFETY: the number at `2 · at` is one of those that may be read, and `to` has `count`, by this method's
            // contract.
            unsafe { to.add(at).write(from.add(2 * at).read()) }
        }
    }
    #[inline(always)]
    unsafe fn transpose<S: Simd>(s: S, rows: *const *const f64, at: usize, to: *mut f64, step: usize, count: usize) {
        // SAFETY: rows and `to` are those that the method of the set asks for, by the same contract.
        unsafe { s.transpose_raw_d(rows, at, to, step, count) }
    }
}
