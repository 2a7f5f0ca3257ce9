//! What an instruction set must do: arithmetic on vectors of 32-bit lanes, and memory by raw pointers.
//!
//! In: vectors. Out: vectors. Always: a method does the same on every instruction set, up to the rounding of `mul_add_f` and
//! the order of the reductions.

use super::{Kernel, Simd};

/// The reductions of a set whose integers, signed or not, have one type of vector, by its macro that folds one, with what makes
/// integers of floats and floats of integers.
#[cfg(target_arch = "x86_64")]
macro_rules! reductions {
    ($fold:ident, $self:ident, $bits:path, $floats:path) => {
        $fold! { $self;
            reduce_add_f: F -> f32 = add_f, $bits, $floats;
            reduce_mul_f: F -> f32 = mul_f, $bits, $floats;
            reduce_max_f: F -> f32 = max_f, $bits, $floats;
            reduce_min_f: F -> f32 = min_f, $bits, $floats;
            reduce_add_i: I -> i32 = add_i, core::convert::identity, core::convert::identity;
            reduce_mul_i: I -> i32 = mul_i, core::convert::identity, core::convert::identity;
            reduce_max_i: I -> i32 = max_i, core::convert::identity, core::convert::identity;
            reduce_min_i: I -> i32 = min_i, core::convert::identity, core::convert::identity;
            reduce_add_u: U -> u32 = add_u, core::convert::identity, core::convert::identity;
            reduce_mul_u: U -> u32 = mul_u, core::convert::identity, core::convert::identity;
            reduce_max_u: U -> u32 = max_u, core::convert::identity, core::convert::identity;
            reduce_min_u: U -> u32 = min_u, core::convert::identity, core::convert::identity;
        }
    };
}
#[cfg(target_arch = "x86_64")]
pub(super) use reductions;

/// An instruction set, as a value that proves that the machine has it.
///
/// Suffixes name the type of lane: `f` is f32, `i` is i32, `u` is u32, `m` is a mask. Integer arithmetic wraps. Shift counts
/// are taken modulo 32. Comparisons with NaN are false.
pub trait Vectors: Copy + Send + Sync + core::fmt::Debug + super::sealed::Sealed + 'static {
    /// Lanes per vector.
    const LANES: usize;
    /// Whether `mul_add_f` rounds once.
    const FUSED: bool;
    /// Whether `lookup_f` is one instruction.
    const TABLES: bool = false;
    /// Whether LLVM sees the lanes of a vector as scalars.
    const SCALARS: bool = false;
    /// Rows of the register tile of `contract`: as many as leave registers for the operands, and as a vector has lanes at most.
    const ROWS: usize;

    /// A vector of f32.
    type F: Copy;
    /// A vector of i32.
    type I: Copy;
    /// A vector of u32.
    type U: Copy;
    /// A vector of truth values.
    type M: Copy;

    /// Runs `kernel` inside a `#[target_feature]` frame of this instruction set. What every machine has needs none, and is
    /// compiled once.
    #[inline(always)]
    fn enter<K: Kernel>(self, kernel: K)
    where
        Self: Simd,
    {
        self.call(kernel);
    }
    /// As [`Vectors::enter`], but compiled once wherever it is called from.
    #[inline(never)]
    fn call<K: Kernel>(self, kernel: K)
    where
        Self: Simd,
    {
        kernel.run(self);
    }

    /// All lanes `x`.
    fn splat_f(self, x: f32) -> Self::F;
    /// All lanes `x`.
    fn splat_i(self, x: i32) -> Self::I;
    /// All lanes `x`.
    fn splat_u(self, x: u32) -> Self::U;
    /// All lanes `x`.
    fn splat_m(self, x: bool) -> Self::M;
    /// The lane numbers 0, 1, 2, ….
    fn iota_i(self) -> Self::I;
    /// The lane numbers 0, 1, 2, ….
    fn iota_u(self) -> Self::U;
    /// `a + b`.
    fn add_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a - b`.
    fn sub_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a · b`.
    fn mul_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`.
    fn div_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// The larger lane; NaN if either is NaN.
    fn max_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller lane; NaN if either is NaN.
    fn min_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a + b`.
    fn add_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a - b`.
    fn sub_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a · b`.
    fn mul_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// a / b; an integer divided by zero gives 0.
    fn div_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// The larger lane.
    fn max_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// The smaller lane.
    fn min_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a + b`.
    fn add_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// `a - b`.
    fn sub_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// `a · b`.
    fn mul_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// a / b; an integer divided by zero gives 0.
    fn div_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// The larger lane.
    fn max_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// The smaller lane.
    fn min_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// `a · b + c`, rounded once where [`Vectors::FUSED`].
    fn mul_add_f(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The smaller of `x` and a bound that is not NaN; NaN if `x` is NaN. Cheaper than `min_f`.
    fn at_most_f(self, x: Self::F, bound: Self::F) -> Self::F;
    /// The larger of `x` and a bound that is not NaN; NaN if `x` is NaN. Cheaper than `max_f`.
    fn at_least_f(self, x: Self::F, bound: Self::F) -> Self::F;
    /// `-x`.
    fn neg_f(self, x: Self::F) -> Self::F;
    /// `|x|`.
    fn abs_f(self, x: Self::F) -> Self::F;
    /// The square root, correctly rounded.
    fn sqrt_f(self, x: Self::F) -> Self::F;
    /// `a / b` within 1 ULP, for finite `a`, magnitudes of `b` from 2⁻¹⁰⁰ to 2¹⁰⁰, and NaN. Cheaper than a division where
    /// that is slow.
    #[inline(always)]
    fn quotient_f(self, a: Self::F, b: Self::F) -> Self::F {
        self.div_f(a, b)
    }
    /// `1 / √x` within 1.5 ULP; ±∞ at ±0, 0 at ∞, NaN below 0.
    #[inline(always)]
    fn rsqrt_f(self, x: Self::F) -> Self::F {
        self.div_f(self.splat_f(1.0), self.sqrt_f(x))
    }
    /// The next integer not above.
    fn floor_f(self, x: Self::F) -> Self::F;
    /// The next integer not below.
    fn ceil_f(self, x: Self::F) -> Self::F;
    /// The nearest integer, ties to even.
    fn round_f(self, x: Self::F) -> Self::F;
    /// The next integer towards zero.
    fn trunc_f(self, x: Self::F) -> Self::F;
    /// `x · 2ⁿ` for integers `n` from -252 to 252.
    fn scale_f(self, x: Self::F, n: Self::F) -> Self::F;
    /// `-x`, wrapping.
    fn neg_i(self, x: Self::I) -> Self::I;
    /// `|x|`, wrapping.
    fn abs_i(self, x: Self::I) -> Self::I;
    /// The remainder with the sign of `a`; 0 where `b` is 0.
    fn rem_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise and.
    fn and_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise or.
    fn or_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise xor.
    fn xor_i(self, a: Self::I, b: Self::I) -> Self::I;
    /// Bitwise complement.
    fn not_i(self, x: Self::I) -> Self::I;
    /// `x << (by mod 32)`.
    fn shl_i(self, x: Self::I, by: Self::I) -> Self::I;
    /// `x >> (by mod 32)`, keeping the sign.
    fn shr_i(self, x: Self::I, by: Self::I) -> Self::I;
    /// `x << N`, for `N < 32`.
    fn shl_const_i<const N: u32>(self, x: Self::I) -> Self::I;
    /// `x >> N`, for `N < 32`, keeping the sign.
    fn shr_const_i<const N: u32>(self, x: Self::I) -> Self::I;
    /// The remainder; 0 where `b` is 0.
    fn rem_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// Bitwise and.
    fn and_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// Bitwise or.
    fn or_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// Bitwise xor.
    fn xor_u(self, a: Self::U, b: Self::U) -> Self::U;
    /// Bitwise complement.
    fn not_u(self, x: Self::U) -> Self::U;
    /// `x << (by mod 32)`.
    fn shl_u(self, x: Self::U, by: Self::U) -> Self::U;
    /// `x >> (by mod 32)`, filling with zeros.
    fn shr_u(self, x: Self::U, by: Self::U) -> Self::U;
    /// `x << N`, for `N < 32`.
    fn shl_const_u<const N: u32>(self, x: Self::U) -> Self::U;
    /// `x >> N`, for `N < 32`, filling with zeros.
    fn shr_const_u<const N: u32>(self, x: Self::U) -> Self::U;
    /// `a = b`.
    fn eq_f(self, a: Self::F, b: Self::F) -> Self::M;
    /// `a < b`.
    fn lt_f(self, a: Self::F, b: Self::F) -> Self::M;
    /// `a ≤ b`.
    fn le_f(self, a: Self::F, b: Self::F) -> Self::M;
    /// `a` where `m`, else `b`.
    fn select_f(self, m: Self::M, a: Self::F, b: Self::F) -> Self::F;
    /// `a = b`.
    fn eq_i(self, a: Self::I, b: Self::I) -> Self::M;
    /// `a < b`.
    fn lt_i(self, a: Self::I, b: Self::I) -> Self::M;
    /// `a ≤ b`.
    fn le_i(self, a: Self::I, b: Self::I) -> Self::M;
    /// `a` where `m`, else `b`.
    fn select_i(self, m: Self::M, a: Self::I, b: Self::I) -> Self::I;
    /// `a = b`.
    fn eq_u(self, a: Self::U, b: Self::U) -> Self::M;
    /// `a < b`.
    fn lt_u(self, a: Self::U, b: Self::U) -> Self::M;
    /// `a ≤ b`.
    fn le_u(self, a: Self::U, b: Self::U) -> Self::M;
    /// `a` where `m`, else `b`.
    fn select_u(self, m: Self::M, a: Self::U, b: Self::U) -> Self::U;
    /// `a` and `b`.
    fn and_m(self, a: Self::M, b: Self::M) -> Self::M;
    /// `a` or `b`.
    fn or_m(self, a: Self::M, b: Self::M) -> Self::M;
    /// `a` xor `b`.
    fn xor_m(self, a: Self::M, b: Self::M) -> Self::M;
    /// The opposite.
    fn not_m(self, x: Self::M) -> Self::M;
    /// Whether some lane is true.
    fn any_m(self, x: Self::M) -> bool;
    /// Whether all lanes are true.
    fn all_m(self, x: Self::M) -> bool;
    /// The nearest f32.
    fn f_from_i(self, x: Self::I) -> Self::F;
    /// The nearest f32.
    fn f_from_u(self, x: Self::U) -> Self::F;
    /// Truncates and saturates; NaN gives 0.
    fn i_from_f(self, x: Self::F) -> Self::I;
    /// Truncates and saturates; NaN gives 0.
    fn u_from_f(self, x: Self::F) -> Self::U;
    /// The same bits.
    fn i_from_u(self, x: Self::U) -> Self::I;
    /// The same bits.
    fn u_from_i(self, x: Self::I) -> Self::U;
    /// The bits of `x`.
    fn bits_f(self, x: Self::F) -> Self::U;
    /// The f32 with these bits.
    fn f_of_bits(self, x: Self::U) -> Self::F;
    /// True in the first `n` lanes.
    fn mask_first(self, n: usize) -> Self::M;
    /// The sum of the lanes.
    fn reduce_add_f(self, x: Self::F) -> f32;
    /// The product of the lanes.
    fn reduce_mul_f(self, x: Self::F) -> f32;
    /// The largest lane; NaN if any is.
    fn reduce_max_f(self, x: Self::F) -> f32;
    /// The smallest lane; NaN if any is.
    fn reduce_min_f(self, x: Self::F) -> f32;
    /// The sum of the lanes.
    fn reduce_add_i(self, x: Self::I) -> i32;
    /// The product of the lanes.
    fn reduce_mul_i(self, x: Self::I) -> i32;
    /// The largest lane.
    fn reduce_max_i(self, x: Self::I) -> i32;
    /// The smallest lane.
    fn reduce_min_i(self, x: Self::I) -> i32;
    /// The sum of the lanes.
    fn reduce_add_u(self, x: Self::U) -> u32;
    /// The product of the lanes.
    fn reduce_mul_u(self, x: Self::U) -> u32;
    /// The largest lane.
    fn reduce_max_u(self, x: Self::U) -> u32;
    /// The smallest lane.
    fn reduce_min_u(self, x: Self::U) -> u32;

    /// Reads `LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for reading `LANES` words.
    unsafe fn load_raw_f(self, p: *const f32) -> Self::F;
    /// Reads the words of the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for reading.
    unsafe fn load_masked_raw_f(self, p: *const f32, m: Self::M) -> Self::F;
    /// Writes `LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for writing `LANES` words.
    unsafe fn store_raw_f(self, p: *mut f32, v: Self::F);
    /// Writes `LANES` words past the caches, where the machine can.
    ///
    /// # Safety
    /// `p` must be valid for writing `LANES` words and aligned to as many bytes, or to 64 if they are more. The words may
    /// be read by other threads after [`Vectors::settle`] only.
    #[inline(always)]
    unsafe fn stream_raw_f(self, p: *mut f32, v: Self::F) {
        // SAFETY: `p` is valid for writing `LANES` words by this method's contract; nothing goes past the caches.
        unsafe { self.store_raw_f(p, v) }
    }
    /// Asks the caches for the line of an address, which need not be valid.
    #[inline(always)]
    fn fetch_raw(self, _: *const f32) {}
    /// Orders what was written past the caches before everything that follows.
    #[inline(always)]
    fn settle(self) {}
    /// Writes the words of the lanes in `m` and touches no others.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for writing.
    unsafe fn store_masked_raw_f(self, p: *mut f32, m: Self::M, v: Self::F);
    /// Reads `p[idx]` for the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every index of a lane in `m` must be valid for reading.
    unsafe fn gather_raw_f(self, p: *const f32, idx: Self::I, m: Self::M) -> Self::F;
    /// Writes `p[idx]` for the lanes in `m`, in ascending order of the lanes.
    ///
    /// # Safety
    /// `p` offset by every index of a lane in `m` must be valid for writing.
    unsafe fn scatter_raw_f(self, p: *mut f32, idx: Self::I, m: Self::M, v: Self::F);

    /// Reads `LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for reading `LANES` words.
    unsafe fn load_raw_i(self, p: *const i32) -> Self::I;
    /// Reads the words of the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for reading.
    unsafe fn load_masked_raw_i(self, p: *const i32, m: Self::M) -> Self::I;
    /// Writes `LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for writing `LANES` words.
    unsafe fn store_raw_i(self, p: *mut i32, v: Self::I);
    /// Writes the words of the lanes in `m` and touches no others.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for writing.
    unsafe fn store_masked_raw_i(self, p: *mut i32, m: Self::M, v: Self::I);
    /// Reads `p[idx]` for the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every index of a lane in `m` must be valid for reading.
    unsafe fn gather_raw_i(self, p: *const i32, idx: Self::I, m: Self::M) -> Self::I;
    /// Writes `p[idx]` for the lanes in `m`, in ascending order of the lanes.
    ///
    /// # Safety
    /// `p` offset by every index of a lane in `m` must be valid for writing.
    unsafe fn scatter_raw_i(self, p: *mut i32, idx: Self::I, m: Self::M, v: Self::I);

    /// Reads `LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for reading `LANES` words.
    unsafe fn load_raw_u(self, p: *const u32) -> Self::U;
    /// Reads the words of the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for reading.
    unsafe fn load_masked_raw_u(self, p: *const u32, m: Self::M) -> Self::U;
    /// Writes `LANES` words.
    ///
    /// # Safety
    /// `p` must be valid for writing `LANES` words.
    unsafe fn store_raw_u(self, p: *mut u32, v: Self::U);
    /// Writes the words of the lanes in `m` and touches no others.
    ///
    /// # Safety
    /// `p` offset by every lane in `m` must be valid for writing.
    unsafe fn store_masked_raw_u(self, p: *mut u32, m: Self::M, v: Self::U);
    /// Reads `p[idx]` for the lanes in `m` and touches no others, which become 0.
    ///
    /// # Safety
    /// `p` offset by every index of a lane in `m` must be valid for reading.
    unsafe fn gather_raw_u(self, p: *const u32, idx: Self::I, m: Self::M) -> Self::U;
    /// Writes `p[idx]` for the lanes in `m`, in ascending order of the lanes.
    ///
    /// # Safety
    /// `p` offset by every index of a lane in `m` must be valid for writing.
    unsafe fn scatter_raw_u(self, p: *mut u32, idx: Self::I, m: Self::M, v: Self::U);

    /// `table[at mod 16]`.
    #[inline(always)]
    fn lookup_f(self, table: &[f32; 16], at: Self::U) -> Self::F {
        let (mut places, mut lanes) = ([0; MAX_LANES], [0.0; MAX_LANES]);
        // SAFETY: `places` has `MAX_LANES` words, which no vector of a machine exceeds; `Twice` has a method of its own.
        unsafe { self.store_raw_u(places.as_mut_ptr(), at) };
        for (lane, place) in lanes.iter_mut().zip(places) {
            *lane = table[place as usize % 16];
        }
        // SAFETY: `lanes` has `MAX_LANES` words, all written, and a vector of a machine has no more.
        unsafe { self.load_raw_f(lanes.as_ptr()) }
    }

    /// The lanes 0, 2, 4, … of `a`, then those of `b`.
    #[inline(always)]
    fn evens_f(self, a: Self::F, b: Self::F) -> Self::F {
        every_second(self, a, b, 0)
    }

    /// The lanes 1, 3, 5, … of `a`, then those of `b`.
    #[inline(always)]
    fn odds_f(self, a: Self::F, b: Self::F) -> Self::F {
        every_second(self, a, b, 1)
    }

    /// Asks for the line of memory that `p` points into, which need not exist, without waiting for it.
    #[inline(always)]
    fn prefetch(self, _: *const f32) {}

    /// Writes columns `at` to `at + count` of the matrix whose rows start at `rows`, as rows that are `step` words apart. Where
    /// that is less than a vector, a row ends where the next one starts.
    ///
    /// # Safety
    /// `rows` must hold `LANES` pointers, each valid for reading `at + LANES` words, and `to` must be valid for writing
    /// `count` rows of `LANES` words; `count` is at most `LANES`.
    #[inline(always)]
    unsafe fn transpose_raw_f(self, rows: *const *const f32, at: usize, to: *mut f32, step: usize, count: usize) {
        for column in 0..count {
            for row in 0..Self::LANES {
                // SAFETY: by contract row `row` of the `LANES` rows has `at + LANES` words, of which
                // `column < count ≤ LANES` picks one, and `to` is valid for writing `LANES` words at every `step` for
                // `count` rows.
                unsafe { to.add(column * step + row).write((*rows.add(row)).add(at + column).read()) };
            }
        }
    }
    /// Writes the sum of the lanes of each vector.
    ///
    /// # Safety
    /// `to` must be valid for writing 8 words.
    #[inline(always)]
    unsafe fn add_up_raw_f(self, v: [Self::F; 8], to: *mut f32) {
        for (at, v) in v.into_iter().enumerate() {
            // SAFETY: `to` is valid for writing 8 words by this method's contract, and there are 8 vectors.
            unsafe { to.add(at).write(self.reduce_add_f(v)) };
        }
    }
}

/// Every second lane of `a`, then of `b`, from lane `first` on, by way of memory.
#[inline(always)]
fn every_second<V: Vectors>(v: V, a: V::F, b: V::F, first: usize) -> V::F {
    const { assert!(2 * V::LANES <= 4 * MAX_LANES) };
    let mut lanes = [0.0; 4 * MAX_LANES];
    // SAFETY: `lanes` has room for two vectors of `2 · MAX_LANES` words each, as `Twice` has of a machine's; this crate calls it on
    // none that are longer.
    unsafe {
        v.store_raw_f(lanes.as_mut_ptr(), a);
        v.store_raw_f(lanes.as_mut_ptr().add(V::LANES), b);
    }
    for lane in 0..V::LANES {
        lanes[lane] = lanes[2 * lane + first];
    }
    // SAFETY: `lanes` has `4 · MAX_LANES` words, all initialised, of which a vector is half at most.
    unsafe { v.load_raw_f(lanes.as_ptr()) }
}

/// The most lanes of a set that drivers run on.
pub(super) const MAX_LANES: usize = 16;
