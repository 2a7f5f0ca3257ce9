//! What an instruction set must do with lanes of 64 bits: arithmetic, conversions, and memory by raw pointers.
//!
//! In: vectors. Out: vectors. Always: a vector of 64-bit lanes has as many of them as one of 32-bit lanes, so it is twice as
//! long and they share masks. A method does the same on every instruction set, up to the rounding of `mul_add_d` and the
//! order of the reductions.

use super::Vectors;

/// The reads and writes of a type of vector.
macro_rules! memory {
    ($t:ident $e:ty: $load:ident $load_masked:ident $store:ident $store_masked:ident $gather:ident $scatter:ident) => {
        /// Reads `LANES` words of 8 bytes.
        ///
        /// # Safety
        /// `p` must be valid for reading `LANES` words, but need not be aligned.
        unsafe fn $load(self, p: *const $e) -> Self::$t;
        /// Reads the words of the lanes in `m` and touches no others, which become 0.
        ///
        /// # Safety
        /// `p` offset by every lane in `m` must be valid for reading, but need not be aligned.
        unsafe fn $load_masked(self, p: *const $e, m: Self::M) -> Self::$t;
        /// Writes `LANES` words of 8 bytes.
        ///
        /// # Safety
        /// `p` must be valid for writing `LANES` words, but need not be aligned.
        unsafe fn $store(self, p: *mut $e, v: Self::$t);
        /// Writes the words of the lanes in `m` and touches no others.
        ///
        /// # Safety
        /// `p` offset by every lane in `m` must be valid for writing, but need not be aligned.
        unsafe fn $store_masked(self, p: *mut $e, m: Self::M, v: Self::$t);
        /// Reads `p[idx]` for the lanes in `m` and touches no others, which become 0.
        ///
        /// # Safety
        /// `p` offset by every index of a lane in `m` must be valid for reading, but need not be aligned.
        unsafe fn $gather(self, p: *const $e, idx: Self::I, m: Self::M) -> Self::$t;
        /// Writes `p[idx]` for the lanes in `m`, in ascending order of the lanes.
        ///
        /// # Safety
        /// `p` offset by every index of a lane in `m` must be valid for writing, but need not be aligned.
        unsafe fn $scatter(self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::$t);
    };
}

/// Lanes of 64 bits beside those of [`Vectors`].
///
/// Suffixes name the type of lane: `d` is f64, `l` is i64, `q` is u64. Integer arithmetic wraps. Shift counts are taken modulo
/// 64. Comparisons with NaN are false. `a_from_b` converts as Rust's `as` does: numbers with a fraction are truncated and
/// saturate, of which NaN gives 0; what is not exact is rounded to nearest.
pub trait Wide: Vectors {
    /// A vector of f64.
    type D: Copy;
    /// A vector of i64.
    type L: Copy;
    /// A vector of u64.
    type Q: Copy;
    /// All lanes `x`.
    fn splat_d(self, x: f64) -> Self::D;
    /// `a + b`.
    fn add_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// `a - b`.
    fn sub_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// `a · b`.
    fn mul_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// `a / b`.
    fn div_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// The larger lane; NaN if either is NaN.
    fn max_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// The smaller lane; NaN if either is NaN.
    fn min_d(self, a: Self::D, b: Self::D) -> Self::D;
    /// The smaller of `x` and a bound that is not NaN; NaN if `x` is NaN. Cheaper than `min_d`.
    fn at_most_d(self, x: Self::D, bound: Self::D) -> Self::D;
    /// The larger of `x` and a bound that is not NaN; NaN if `x` is NaN. Cheaper than `max_d`.
    fn at_least_d(self, x: Self::D, bound: Self::D) -> Self::D;
    /// `a · b + c`, rounded once where [`Vectors::FUSED`].
    fn mul_add_d(self, a: Self::D, b: Self::D, c: Self::D) -> Self::D;
    /// `-x`.
    fn neg_d(self, x: Self::D) -> Self::D;
    /// `|x|`.
    fn abs_d(self, x: Self::D) -> Self::D;
    /// The square root, correctly rounded.
    fn sqrt_d(self, x: Self::D) -> Self::D;
    /// The next integer not above.
    fn floor_d(self, x: Self::D) -> Self::D;
    /// The next integer not below.
    fn ceil_d(self, x: Self::D) -> Self::D;
    /// The nearest integer, ties to even.
    fn round_d(self, x: Self::D) -> Self::D;
    /// The next integer towards zero.
    fn trunc_d(self, x: Self::D) -> Self::D;
    /// `x · 2ⁿ` for integers `n` from -2044 to 2044.
    fn scale_d(self, x: Self::D, n: Self::D) -> Self::D;
    /// `a = b`.
    fn eq_d(self, a: Self::D, b: Self::D) -> Self::M;
    /// `a < b`.
    fn lt_d(self, a: Self::D, b: Self::D) -> Self::M;
    /// `a ≤ b`.
    fn le_d(self, a: Self::D, b: Self::D) -> Self::M;
    /// `a` where `m`, else `b`.
    fn select_d(self, m: Self::M, a: Self::D, b: Self::D) -> Self::D;
    /// The bits of `x`.
    fn bits_d(self, x: Self::D) -> Self::Q;
    /// The f64 with these bits.
    fn d_of_bits(self, x: Self::Q) -> Self::D;
    /// The sum of the lanes.
    fn reduce_add_d(self, x: Self::D) -> f64;
    /// The product of the lanes.
    fn reduce_mul_d(self, x: Self::D) -> f64;
    /// The largest lane; NaN if any is.
    fn reduce_max_d(self, x: Self::D) -> f64;
    /// The smallest lane; NaN if any is.
    fn reduce_min_d(self, x: Self::D) -> f64;

    /// All lanes `x`.
    fn splat_l(self, x: i64) -> Self::L;
    /// `a + b`.
    fn add_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// `a - b`.
    fn sub_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// `a · b`.
    fn mul_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// `a / b`; 0 where `b` is 0.
    fn div_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// The remainder with the sign of `a`; 0 where `b` is 0.
    fn rem_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// The larger lane.
    fn max_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// The smaller lane.
    fn min_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// `-x`, wrapping.
    fn neg_l(self, x: Self::L) -> Self::L;
    /// `|x|`, wrapping.
    fn abs_l(self, x: Self::L) -> Self::L;
    /// Bitwise and.
    fn and_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// Bitwise or.
    fn or_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// Bitwise xor.
    fn xor_l(self, a: Self::L, b: Self::L) -> Self::L;
    /// Bitwise complement.
    fn not_l(self, x: Self::L) -> Self::L;
    /// `x << (by mod 64)`.
    fn shl_l(self, x: Self::L, by: Self::L) -> Self::L;
    /// `x >> (by mod 64)`, keeping the sign.
    fn shr_l(self, x: Self::L, by: Self::L) -> Self::L;
    /// `x << N`, for `N < 64`.
    fn shl_const_l<const N: u32>(self, x: Self::L) -> Self::L;
    /// `x >> N`, for `N < 64`, keeping the sign.
    fn shr_const_l<const N: u32>(self, x: Self::L) -> Self::L;
    /// `a = b`.
    fn eq_l(self, a: Self::L, b: Self::L) -> Self::M;
    /// `a < b`.
    fn lt_l(self, a: Self::L, b: Self::L) -> Self::M;
    /// `a ≤ b`.
    fn le_l(self, a: Self::L, b: Self::L) -> Self::M;
    /// `a` where `m`, else `b`.
    fn select_l(self, m: Self::M, a: Self::L, b: Self::L) -> Self::L;
    /// The sum of the lanes.
    fn reduce_add_l(self, x: Self::L) -> i64;
    /// The product of the lanes.
    fn reduce_mul_l(self, x: Self::L) -> i64;
    /// The largest lane.
    fn reduce_max_l(self, x: Self::L) -> i64;
    /// The smallest lane.
    fn reduce_min_l(self, x: Self::L) -> i64;

    /// All lanes `x`.
    fn splat_q(self, x: u64) -> Self::Q;
    /// `a + b`.
    fn add_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// `a - b`.
    fn sub_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// `a · b`.
    fn mul_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// `a / b`; 0 where `b` is 0.
    fn div_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// The remainder; 0 where `b` is 0.
    fn rem_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// The larger lane.
    fn max_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// The smaller lane.
    fn min_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// Bitwise and.
    fn and_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// Bitwise or.
    fn or_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// Bitwise xor.
    fn xor_q(self, a: Self::Q, b: Self::Q) -> Self::Q;
    /// Bitwise complement.
    fn not_q(self, x: Self::Q) -> Self::Q;
    /// `x << (by mod 64)`.
    fn shl_q(self, x: Self::Q, by: Self::Q) -> Self::Q;
    /// `x >> (by mod 64)`, filling with zeros.
    fn shr_q(self, x: Self::Q, by: Self::Q) -> Self::Q;
    /// `x << N`, for `N < 64`.
    fn shl_const_q<const N: u32>(self, x: Self::Q) -> Self::Q;
    /// `x >> N`, for `N < 64`, filling with zeros.
    fn shr_const_q<const N: u32>(self, x: Self::Q) -> Self::Q;
    /// `a = b`.
    fn eq_q(self, a: Self::Q, b: Self::Q) -> Self::M;
    /// `a < b`.
    fn lt_q(self, a: Self::Q, b: Self::Q) -> Self::M;
    /// `a ≤ b`.
    fn le_q(self, a: Self::Q, b: Self::Q) -> Self::M;
    /// `a` where `m`, else `b`.
    fn select_q(self, m: Self::M, a: Self::Q, b: Self::Q) -> Self::Q;
    /// The sum of the lanes.
    fn reduce_add_q(self, x: Self::Q) -> u64;
    /// The product of the lanes.
    fn reduce_mul_q(self, x: Self::Q) -> u64;
    /// The largest lane.
    fn reduce_max_q(self, x: Self::Q) -> u64;
    /// The smallest lane.
    fn reduce_min_q(self, x: Self::Q) -> u64;

    /// The same number.
    fn d_from_f(self, x: Self::F) -> Self::D;
    /// The same number.
    fn d_from_i(self, x: Self::I) -> Self::D;
    /// The same number.
    fn d_from_u(self, x: Self::U) -> Self::D;
    /// The nearest f64.
    fn d_from_l(self, x: Self::L) -> Self::D;
    /// The nearest f64.
    fn d_from_q(self, x: Self::Q) -> Self::D;
    /// The nearest f32.
    fn f_from_d(self, x: Self::D) -> Self::F;
    /// The nearest f32.
    fn f_from_l(self, x: Self::L) -> Self::F;
    /// The nearest f32.
    fn f_from_q(self, x: Self::Q) -> Self::F;
    /// Truncates and saturates; NaN gives 0.
    fn i_from_d(self, x: Self::D) -> Self::I;
    /// The low 32 bits.
    fn i_from_l(self, x: Self::L) -> Self::I;
    /// The low 32 bits.
    fn i_from_q(self, x: Self::Q) -> Self::I;
    /// Truncates and saturates; NaN gives 0.
    fn u_from_d(self, x: Self::D) -> Self::U;
    /// The low 32 bits.
    fn u_from_l(self, x: Self::L) -> Self::U;
    /// The low 32 bits.
    fn u_from_q(self, x: Self::Q) -> Self::U;
    /// Truncates and saturates; NaN gives 0.
    fn l_from_f(self, x: Self::F) -> Self::L;
    /// Truncates and saturates; NaN gives 0.
    fn l_from_d(self, x: Self::D) -> Self::L;
    /// The same number.
    fn l_from_i(self, x: Self::I) -> Self::L;
    /// The same number.
    fn l_from_u(self, x: Self::U) -> Self::L;
    /// The same bits.
    fn l_from_q(self, x: Self::Q) -> Self::L;
    /// Truncates and saturates; NaN gives 0.
    fn q_from_f(self, x: Self::F) -> Self::Q;
    /// Truncates and saturates; NaN gives 0.
    fn q_from_d(self, x: Self::D) -> Self::Q;
    /// The same number, wrapping below 0.
    fn q_from_i(self, x: Self::I) -> Self::Q;
    /// The same number.
    fn q_from_u(self, x: Self::U) -> Self::Q;
    /// The same bits.
    fn q_from_l(self, x: Self::L) -> Self::Q;

    memory! { D f64: load_raw_d load_masked_raw_d store_raw_d store_masked_raw_d gather_raw_d scatter_raw_d }
    memory! { L i64: load_raw_l load_masked_raw_l store_raw_l store_masked_raw_l gather_raw_l scatter_raw_l }
    memory! { Q u64: load_raw_q load_masked_raw_q store_raw_q store_masked_raw_q gather_raw_q scatter_raw_q }

    /// Writes `LANES` words past the caches, where the machine can.
    ///
    /// # Safety
    /// `p` must be valid for writing `LANES` words and aligned to half as many bytes as they have, or to 64 if these are more.
    /// The words may be read by other threads after [`Vectors::settle`] only.
    #[inline(always)]
    unsafe fn stream_raw_d(self, p: *mut f64, v: Self::D) {
        // SAFETY: `p` is valid for writing `LANES` words by this method's contract; nothing goes past the caches.
        unsafe { self.store_raw_d(p, v) }
    }

    /// Writes columns `at` to `at + count` of the matrix whose rows start at `rows`, as rows that are `step` words apart. Where
    /// that is less than a vector, a row ends where the next one starts.
    ///
    /// # Safety
    /// `rows` must hold `LANES` pointers, each valid for reading `at + LANES` words, and `to` must be valid for writing
    /// `count` rows of `LANES` words; `count` is at most `LANES`.
    #[inline(always)]
    unsafe fn transpose_raw_d(self, rows: *const *const f64, at: usize, to: *mut f64, step: usize, count: usize) {
        for column in 0..count {
            for row in 0..Self::LANES {
                // SAFETY: by contract row `row` of the `LANES` rows has `at + LANES` words, of which
                // `column < count ≤ LANES` picks one, and `to` is valid for writing `LANES` words at every `step` for
                // `count` rows.
                unsafe { to.add(column * step + row).write((*rows.add(row)).add(at + column).read()) };
            }
        }
    }
}

#[cfg(test)]
mod tests;
