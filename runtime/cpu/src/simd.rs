//! The vocabulary of kernels: vectors of 32-bit and of 64-bit lanes, and safe access to slices.
//!
//! In: slices and scalars. Out: slices and scalars. Always: no method touches memory outside its slice.

use core::marker::PhantomData;

use super::parallel::streams;
use super::{At, Fewer, Wide};
use crate::machine::machine;

/// Slices of fewer words are written through the caches.
fn large_words() -> usize {
    machine().l3
}

/// The most lanes that a kernel sees at once.
pub(super) const MAX_LANES: usize = 4 * super::vectors::MAX_LANES;

/// The addresses at which vectors of `S` are written past the caches.
#[derive(Clone, Copy, Debug)]
pub struct Skip<S> {
    /// The bits that such an address has not.
    bits: usize,
    of: PhantomData<S>,
}

/// The lanes of a type of vector that an access covers, and its reads and writes.
macro_rules! slices {
    ($($t:ident $e:ty: $select_at:ident $select:ident $load:ident $load_raw:ident $load_masked_raw:ident
        $store:ident $store_raw:ident $store_masked_raw:ident
        $gather:ident $gather_raw:ident $scatter:ident $scatter_raw:ident;)*) => {$(
        /// `new` in the lanes that `at` covers, else `old`.
        #[inline(always)]
        fn $select_at<A: At>(self, at: A, new: Self::$t, old: Self::$t) -> Self::$t {
            if A::FULL { new } else { self.$select(self.mask_at(at), new, old) }
        }
        /// Reads the lanes that `at` covers from `data[index..]`; the others are 0.
        #[inline(always)]
        fn $load<A: At>(self, data: &[$e], index: usize, at: A) -> Self::$t {
            let count = at.count(Self::LANES);
            check(data.len(), index, count);
            let p = data.as_ptr().wrapping_add(index);
            // SAFETY: `check` has proved that `count` words from `p` on lie within the slice.
            unsafe { if A::FULL { self.$load_raw(p) } else { self.$load_masked_raw(p, self.mask_first(count)) } }
        }
        /// Writes the lanes that `at` covers to `data[index..]`.
        #[inline(always)]
        fn $store<A: At>(self, data: &mut [$e], index: usize, at: A, v: Self::$t) {
            let count = at.count(Self::LANES);
            check(data.len(), index, count);
            let p = data.as_mut_ptr().wrapping_add(index);
            // SAFETY: `check` has proved that `count` words from `p` on lie within the slice.
            unsafe { if A::FULL { self.$store_raw(p, v) } else { self.$store_masked_raw(p, self.mask_first(count), v) } }
        }
        /// Reads `data[idx]`; lanes outside `m` or outside the slice are 0.
        #[inline(always)]
        fn $gather(self, data: &[$e], idx: Self::I, m: Self::M) -> Self::$t {
            let m = self.and_m(m, within(self, data.len(), idx));
            // SAFETY: the mask keeps only indices within the slice.
            unsafe { self.$gather_raw(data.as_ptr(), idx, m) }
        }
        /// Writes `data[idx]`, except for lanes outside `m` or outside the slice. Of equal indices the last lane wins.
        #[inline(always)]
        fn $scatter(self, data: &mut [$e], idx: Self::I, m: Self::M, v: Self::$t) {
            let m = self.and_m(m, within(self, data.len(), idx));
            // SAFETY: the mask keeps only indices within the slice.
            unsafe { self.$scatter_raw(data.as_mut_ptr(), idx, m, v) }
        }
    )*};
}

/// The reads and writes of elements of fewer bits than a lane has, which are the lowest of its bits.
macro_rules! fewer {
    ($($e:ty: $load:ident $load_raw:ident $load_first_raw:ident $store:ident $store_raw:ident $store_first_raw:ident
        $gather:ident $gather_raw:ident $scatter:ident $scatter_raw:ident;)*) => {$(
        /// Reads the lanes that `at` covers from `data[index..]`; the others are 0, and so are the upper bits.
        #[inline(always)]
        fn $load<A: At>(self, data: &[$e], index: usize, at: A) -> Self::U {
            let count = at.count(Self::LANES);
            check(data.len(), index, count);
            let p = data.as_ptr().wrapping_add(index);
            // SAFETY: `check` has proved that `count` elements from `p` on lie within the slice; `count` is at most `LANES`.
            unsafe { if A::FULL { self.$load_raw(p) } else { self.$load_first_raw(p, count) } }
        }
        /// Writes the lowest bits of the lanes that `at` covers to `data[index..]`.
        #[inline(always)]
        fn $store<A: At>(self, data: &mut [$e], index: usize, at: A, v: Self::U) {
            let count = at.count(Self::LANES);
            check(data.len(), index, count);
            let p = data.as_mut_ptr().wrapping_add(index);
            // SAFETY: `check` has proved that `count` elements from `p` on lie within the slice; `count` is at most `LANES`.
            unsafe { if A::FULL { self.$store_raw(p, v) } else { self.$store_first_raw(p, count, v) } }
        }
        /// Reads `data[idx]`; lanes outside `m` or outside the slice are 0, and so are the upper bits.
        #[inline(always)]
        fn $gather(self, data: &[$e], idx: Self::I, m: Self::M) -> Self::U {
            let m = self.and_m(m, within(self, data.len(), idx));
            // SAFETY: the mask keeps only indices within the slice, none of which is negative.
            unsafe { self.$gather_raw(data.as_ptr(), idx, m) }
        }
        /// Writes the lowest bits to `data[idx]`, except for lanes outside `m` or outside the slice. Of equal indices the last
        /// lane wins.
        #[inline(always)]
        fn $scatter(self, data: &mut [$e], idx: Self::I, m: Self::M, v: Self::U) {
            let m = self.and_m(m, within(self, data.len(), idx));
            // SAFETY: the mask keeps only indices within the slice, none of which is negative.
            unsafe { self.$scatter_raw(data.as_mut_ptr(), idx, m, v) }
        }
    )*};
}

/// What is done with vectors of numbers that have a fraction alone.
macro_rules! floats {
    ($($t:ident $e:ty: $stream:ident $stream_raw:ident $store:ident $lanes:ident $lanes2:ident $scatter_add:ident
        $load_raw:ident $store_raw:ident;)*) => {$(
        /// Stores, past the caches where `skip` allows.
        #[inline(always)]
        fn $stream<A: At>(self, data: &mut [$e], index: usize, at: A, v: Self::$t, skip: Skip<Self>) {
            let count = at.count(Self::LANES);
            check(data.len(), index, count);
            let p = data.as_mut_ptr().wrapping_add(index);
            if A::FULL && p.addr() & skip.bits == 0 {
                // SAFETY: `check` has proved that `LANES` words from `p` on lie within the slice, and `p` is aligned, because
                // only `skip` makes these bits. The kernel ends with a fence, before others can borrow the slice.
                unsafe { self.$stream_raw(p, v) }
            } else {
                self.$store(data, index, at, v);
            }
        }
        /// Applies a scalar function to each lane: for rare cases that are not worth vector code.
        #[inline(always)]
        fn $lanes(self, x: Self::$t, function: fn($e) -> $e) -> Self::$t {
            const { assert!(Self::LANES <= MAX_LANES) };
            let mut lanes = [0.0; MAX_LANES];
            // SAFETY: `lanes` has `MAX_LANES` words, and a vector at most as many, as was asserted.
            unsafe { self.$store_raw(lanes.as_mut_ptr(), x) };
            for lane in &mut lanes[..Self::LANES] {
                *lane = function(*lane);
            }
            // SAFETY: `lanes` has `MAX_LANES` words, all initialised, and a vector at most as many, as was asserted.
            unsafe { self.$load_raw(lanes.as_ptr()) }
        }
        /// Applies a scalar function to each pair of lanes.
        #[inline(always)]
        fn $lanes2(self, x: Self::$t, y: Self::$t, function: fn($e, $e) -> $e) -> Self::$t {
            const { assert!(Self::LANES <= MAX_LANES) };
            let mut lanes = [0.0; MAX_LANES];
            let mut other = [0.0; MAX_LANES];
            // SAFETY: both arrays have `MAX_LANES` words, and a vector at most as many, as was asserted.
            unsafe {
                self.$store_raw(lanes.as_mut_ptr(), x);
                self.$store_raw(other.as_mut_ptr(), y)
            };
            for (lane, y) in lanes.iter_mut().zip(other).take(Self::LANES) {
                *lane = function(*lane, y);
            }
            // SAFETY: `lanes` has `MAX_LANES` words, all initialised, and a vector at most as many, as was asserted.
            unsafe { self.$load_raw(lanes.as_ptr()) }
        }
        /// Adds to `data[idx]` lane by lane, so that equal indices accumulate; lanes outside `m` or outside the slice add
        /// nothing.
        #[inline(always)]
        fn $scatter_add(self, data: &mut [$e], idx: Self::I, m: Self::M, v: Self::$t) {
            const { assert!(Self::LANES <= MAX_LANES) };
            let mut indices = [-1i32; MAX_LANES];
            let mut values: [$e; MAX_LANES] = [0.0; MAX_LANES];
            // SAFETY: `indices` and `values` have `MAX_LANES` words, and a vector at most as many, as was asserted.
            unsafe {
                self.store_raw_i(indices.as_mut_ptr(), self.select_i(m, idx, self.splat_i(-1)));
                self.$store_raw(values.as_mut_ptr(), v);
            }
            for (index, value) in indices.into_iter().zip(values).take(Self::LANES) {
                if let Some(word) = usize::try_from(index).ok().and_then(|at| data.get_mut(at)) {
                    *word += value;
                }
            }
        }
    )*};
}

/// What kernels are written against: the arithmetic of [`Vectors`](super::Vectors) and [`Wide`], and memory as slices, of
/// elements of [`Fewer`] bits too.
///
/// An access panics if it does not lie within its slice, which the compiler has excluded for emitted code. Vectors whose lanes are
/// visited one by one have as many at most as kernels see at once:
///
/// ```compile_fail,E0080
/// use precast_cpu::{Isa, Kernel, Simd, Twice, Vectors, run};
///
/// struct Wide;
///
/// impl Kernel for Wide {
///     fn run<S: Simd>(self, s: S) {
///         let s = Twice::new(Twice::new(Twice::new(Twice::new(s))));
///         s.lanes_f(s.splat_f(1.0), |x| x);
///     }
/// }
///
/// run(Isa::best(), Wide);
/// ```
pub trait Simd: Wide + Fewer {
    /// The lanes that `at` covers.
    #[inline(always)]
    fn mask_at<A: At>(self, at: A) -> Self::M {
        if A::FULL { self.splat_m(true) } else { self.mask_first(at.count(Self::LANES)) }
    }
    /// `a` where `m`, else `b`.
    #[inline(always)]
    fn select_m(self, m: Self::M, a: Self::M, b: Self::M) -> Self::M {
        self.or_m(self.and_m(m, a), self.and_m(self.not_m(m), b))
    }
    /// 1 where true, else 0.
    #[inline(always)]
    fn f_from_m(self, x: Self::M) -> Self::F {
        self.select_f(x, self.splat_f(1.0), self.splat_f(0.0))
    }
    /// 1 where true, else 0.
    #[inline(always)]
    fn u_from_m(self, x: Self::M) -> Self::U {
        self.select_u(x, self.splat_u(1), self.splat_u(0))
    }
    /// 1 where true, else 0.
    #[inline(always)]
    fn i_from_m(self, x: Self::M) -> Self::I {
        self.select_i(x, self.splat_i(1), self.splat_i(0))
    }
    /// 1 where true, else 0.
    #[inline(always)]
    fn d_from_m(self, x: Self::M) -> Self::D {
        self.select_d(x, self.splat_d(1.0), self.splat_d(0.0))
    }
    /// 1 where true, else 0.
    #[inline(always)]
    fn l_from_m(self, x: Self::M) -> Self::L {
        self.select_l(x, self.splat_l(1), self.splat_l(0))
    }
    /// 1 where true, else 0.
    #[inline(always)]
    fn q_from_m(self, x: Self::M) -> Self::Q {
        self.select_q(x, self.splat_q(1), self.splat_q(0))
    }
    /// Where not 0.
    #[inline(always)]
    fn m_from_d(self, x: Self::D) -> Self::M {
        self.not_m(self.eq_d(x, self.splat_d(0.0)))
    }
    /// Where not 0.
    #[inline(always)]
    fn m_from_l(self, x: Self::L) -> Self::M {
        self.not_m(self.eq_l(x, self.splat_l(0)))
    }
    /// Where not 0.
    #[inline(always)]
    fn m_from_q(self, x: Self::Q) -> Self::M {
        self.not_m(self.eq_q(x, self.splat_q(0)))
    }
    /// Where not 0.
    #[inline(always)]
    fn m_from_f(self, x: Self::F) -> Self::M {
        self.not_m(self.eq_f(x, self.splat_f(0.0)))
    }
    /// Where not 0.
    #[inline(always)]
    fn m_from_u(self, x: Self::U) -> Self::M {
        self.not_m(self.eq_u(x, self.splat_u(0)))
    }
    /// Where not 0.
    #[inline(always)]
    fn m_from_i(self, x: Self::I) -> Self::M {
        self.not_m(self.eq_i(x, self.splat_i(0)))
    }
    slices! {
        F f32: select_at_f select_f load_f load_raw_f load_masked_raw_f store_f store_raw_f store_masked_raw_f
            gather_f gather_raw_f scatter_f scatter_raw_f;
        I i32: select_at_i select_i load_i load_raw_i load_masked_raw_i store_i store_raw_i store_masked_raw_i
            gather_i gather_raw_i scatter_i scatter_raw_i;
        U u32: select_at_u select_u load_u load_raw_u load_masked_raw_u store_u store_raw_u store_masked_raw_u
            gather_u gather_raw_u scatter_u scatter_raw_u;
        D f64: select_at_d select_d load_d load_raw_d load_masked_raw_d store_d store_raw_d store_masked_raw_d
            gather_d gather_raw_d scatter_d scatter_raw_d;
        L i64: select_at_l select_l load_l load_raw_l load_masked_raw_l store_l store_raw_l store_masked_raw_l
            gather_l gather_raw_l scatter_l scatter_raw_l;
        Q u64: select_at_q select_q load_q load_raw_q load_masked_raw_q store_q store_raw_q store_masked_raw_q
            gather_q gather_raw_q scatter_q scatter_raw_q;
    }
    fewer! {
        u8: load_b load_raw_b load_first_raw_b store_b store_raw_b store_first_raw_b
            gather_b gather_raw_b scatter_b scatter_raw_b;
        u16: load_h load_raw_h load_first_raw_h store_h store_raw_h store_first_raw_h
            gather_h gather_raw_h scatter_h scatter_raw_h;
    }
    /// Asks the caches for the elements, of 8 bytes at most, of a vector at `index`, which may lie outside.
    #[inline(always)]
    fn fetch<T>(self, data: &[T], index: usize) {
        let p = data.as_ptr().wrapping_add(index);
        let mut at = 0;
        while at < Self::LANES {
            self.fetch_raw(p.wrapping_add(at).cast());
            at += const { 64 / if matches!(size_of::<T>(), 1 | 2 | 8) { size_of::<T>() } else { 4 } };
        }
    }
    /// When [`Simd::stream_f`] into a slice of `len` words of 4 bytes goes past the caches: at addresses that are aligned, at none
    /// where the slice is small or nothing orders stores behind the kernel.
    #[inline(always)]
    fn skip(self, len: usize) -> Skip<Self> {
        let bits = if len < large_words() || !streams() { usize::MAX } else { (4 * Self::LANES).min(64) - 1 };
        Skip { bits, of: PhantomData }
    }
    floats! {
        F f32: stream_f stream_raw_f store_f lanes_f lanes2_f scatter_add_f load_raw_f store_raw_f;
        D f64: stream_d stream_raw_d store_d lanes_d lanes2_d scatter_add_d load_raw_d store_raw_d;
    }
}

impl<S: Wide + Fewer> Simd for S {}

/// Panics unless `count` words from `index` on lie within `len`. In a loop, all but one comparison is invariant.
#[inline(always)]
fn check(len: usize, index: usize, count: usize) {
    if len < count || index > len - count {
        outside(len, index, count);
    }
}

/// Which indices lie within a slice of `len` words.
#[inline(always)]
fn within<S: Simd>(s: S, len: usize, idx: S::I) -> S::M {
    let reachable = len.min(1 << 31) as u32;
    s.lt_u(s.u_from_i(idx), s.splat_u(reachable))
}

#[cold]
#[inline(never)]
#[allow(clippy::panic, reason = "an index outside a slice, as in the standard library")]
fn outside(len: usize, index: usize, count: usize) -> ! {
    panic!("{count} words at {index} are outside a slice of {len}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::binary;
    use crate::{Family, Full, Isa, Kernel, Part, run, run_streaming};

    const N: usize = 16 * 24;

    /// Pairs of values at which operations differ: both zeros, NaN, infinities, halves, the edges of the integers.
    fn floats() -> ([f32; N], [f32; N]) {
        let edges = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            2_147_483_648.0,
            -2_147_483_648.0,
            4_294_967_296.0,
            4_294_967_040.0,
            3e9,
            8_388_609.0,
            4_194_304.5,
            1e-40,
            -3.7,
            123.25,
            1e30,
            65_535.5,
        ];
        (core::array::from_fn(|i| edges[i % 24]), core::array::from_fn(|i| edges[(i / 24 + i * 5) % 24]))
    }

    fn words() -> ([u32; N], [u32; N]) {
        let edges = [
            0,
            1,
            2,
            3,
            31,
            32,
            33,
            !0,
            !0 - 1,
            1 << 31,
            (1 << 31) - 1,
            (1 << 31) + 1,
            65_536,
            16_777_217,
            12_345,
            0xffff_0001,
        ];
        (core::array::from_fn(|i| edges[i % 16]), core::array::from_fn(|i| edges[(i / 16 + i * 3) % 16]))
    }

    fn same(got: f32, want: f32) -> bool {
        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan() || got == 0.0 && want == 0.0
    }

    mod of_floats {
        use super::*;
        binary! { load_f store_f floats f32, same;
            add_f(a, b) = a + b;
            sub_f(a, b) = a - b;
            mul_f(a, b) = a * b;
            div_f(a, b) = a / b;
            max_f(a, b) = if a.is_nan() || b.is_nan() { f32::NAN } else { a.max(b) };
            min_f(a, b) = if a.is_nan() || b.is_nan() { f32::NAN } else { a.min(b) };
        }
    }

    mod of_words {
        use super::*;
        binary! { load_u store_u words u32, |a, b| a == b;
            add_u(a, b) = a.wrapping_add(b);
            sub_u(a, b) = a.wrapping_sub(b);
            mul_u(a, b) = a.wrapping_mul(b);
            div_u(a, b) = a.checked_div(b).unwrap_or(0);
            rem_u(a, b) = a.checked_rem(b).unwrap_or(0);
            max_u(a, b) = a.max(b);
            min_u(a, b) = a.min(b);
            and_u(a, b) = a & b;
            or_u(a, b) = a | b;
            xor_u(a, b) = a ^ b;
            shl_u(a, b) = a << (b & 31);
            shr_u(a, b) = a >> (b & 31);
        }
    }

    fn integers() -> ([i32; N], [i32; N]) {
        let (a, b) = words();
        (a.map(u32::cast_signed), b.map(u32::cast_signed))
    }

    mod of_integers {
        use super::*;
        binary! { load_i store_i integers i32, |a, b| a == b;
            add_i(a, b) = a.wrapping_add(b);
            sub_i(a, b) = a.wrapping_sub(b);
            mul_i(a, b) = a.wrapping_mul(b);
            div_i(a, b) = if b == 0 { 0 } else { a.wrapping_div(b) };
            rem_i(a, b) = if b == 0 { 0 } else { a.wrapping_rem(b) };
            max_i(a, b) = a.max(b);
            min_i(a, b) = a.min(b);
            shl_i(a, b) = a << (b & 31);
            shr_i(a, b) = a >> (b & 31);
        }
    }

    /// Writes the results of the unary and mixed operations as rows of words.
    struct Rows<'a>(&'a [f32], &'a [f32], &'a [u32], &'a [u32], &'a mut [[u32; N]; 26]);

    impl Kernel for Rows<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for at in (0..N).step_by(S::LANES) {
                let (f, g) = (s.load_f(self.0, at, Full), s.load_f(self.1, at, Full));
                let (u, v) = (s.load_u(self.2, at, Full), s.load_u(self.3, at, Full));
                let (i, j) = (s.i_from_u(u), s.i_from_u(v));
                let rows = [
                    s.bits_f(s.neg_f(f)),
                    s.bits_f(s.abs_f(f)),
                    s.bits_f(s.sqrt_f(f)),
                    s.bits_f(s.floor_f(f)),
                    s.bits_f(s.ceil_f(f)),
                    s.bits_f(s.round_f(f)),
                    s.bits_f(s.trunc_f(f)),
                    s.u_from_i(s.i_from_f(f)),
                    s.u_from_f(f),
                    s.bits_f(s.f_from_i(i)),
                    s.bits_f(s.f_from_u(u)),
                    s.u_from_m(s.eq_f(f, g)),
                    s.u_from_m(s.lt_f(f, g)),
                    s.u_from_m(s.le_f(f, g)),
                    s.u_from_m(s.lt_i(i, j)),
                    s.u_from_m(s.le_i(i, j)),
                    s.u_from_m(s.lt_u(u, v)),
                    s.u_from_m(s.le_u(u, v)),
                    s.u_from_m(s.eq_u(u, v)),
                    s.select_u(s.xor_m(s.lt_u(u, v), s.splat_m(true)), u, v),
                    s.not_u(u),
                    s.u_from_i(s.abs_i(i)),
                    s.u_from_i(s.neg_i(i)),
                    s.shr_const_u::<7>(u),
                    s.u_from_i(s.shr_const_i::<7>(i)),
                    s.shl_const_u::<7>(u),
                ];
                for (row, out) in rows.into_iter().zip(self.4.iter_mut()) {
                    s.store_u(out, at, Full, row);
                }
            }
        }
    }

    #[test]
    fn unary_and_mixed_operations() {
        let ((f, g), (u, v)) = (floats(), words());
        for isa in Isa::available() {
            let mut rows = [[0; N]; 26];
            run(isa, Rows(&f, &g, &u, &v, &mut rows));
            for n in 0..N {
                let (f, g, u, v) = (f[n], g[n], u[n], v[n]);
                let (i, j) = (u.cast_signed(), v.cast_signed());
                let floats = [-f, f.abs(), f.sqrt(), f.floor(), f.ceil(), f.round_ties_even(), f.trunc()];
                for (row, want) in floats.into_iter().enumerate() {
                    let got = f32::from_bits(rows[row][n]);
                    assert!(
                        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                        "{isa:?}: row {row} of {f}: {got}"
                    );
                }
                let words = [
                    (f as i32).cast_unsigned(),
                    f as u32,
                    (i as f32).to_bits(),
                    (u as f32).to_bits(),
                    (f == g).into(),
                    (f < g).into(),
                    (f <= g).into(),
                    (i < j).into(),
                    (i <= j).into(),
                    (u < v).into(),
                    (u <= v).into(),
                    (u == v).into(),
                    if u < v { v } else { u },
                    !u,
                    i.wrapping_abs().cast_unsigned(),
                    i.wrapping_neg().cast_unsigned(),
                    u >> 7,
                    (i >> 7).cast_unsigned(),
                    u << 7,
                ];
                for (row, want) in words.into_iter().enumerate() {
                    assert_eq!(rows[row + 7][n], want, "{isa:?}: row {} of {f} {g} {u} {v}", row + 7);
                }
            }
        }
    }

    struct Memory<'a>(&'a [f32], &'a mut [f32], usize);

    impl Kernel for Memory<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Memory(data, out, n) = self;
            let mut total = s.splat_f(0.0);
            crate::sweep!(S, j, at, n, {
                let v = s.load_f(data, j, at);
                total = s.select_at_f(at, s.add_f(total, v), total);
                s.store_f(out, j, at, s.add_f(v, v));
            });
            out[n] = s.reduce_add_f(total);
            // Every other lane from the end of the slice, one of them outside.
            let idx = s.sub_i(s.splat_i(data.len() as i32), s.add_i(s.iota_i(), s.iota_i()));
            let odd = s.m_from_u(s.and_u(s.iota_u(), s.splat_u(3)));
            let got = s.gather_f(data, idx, odd);
            out[n + 1] = s.reduce_add_f(got);
            out[n + 2] = s.reduce_max_f(got);
            s.scatter_f(&mut out[n + 3..], idx, s.splat_m(true), s.splat_f(7.0));
            s.scatter_add_f(&mut out[n + 3..], s.splat_i(0), s.mask_at(Part::new(3)), s.f_from_i(s.iota_i()));
        }
    }

    #[test]
    fn memory_is_touched_only_where_it_should_be() {
        let data: Vec<f32> = (1..40u8).map(f32::from).collect();
        for isa in Isa::available() {
            let lanes = isa.set().lanes();
            for n in 0..39 {
                let mut out = [0.0; 100];
                run(isa, Memory(&data, &mut out, n));
                for (at, word) in out[..n].iter().enumerate() {
                    assert_eq!(*word, 2.0 * data[at], "{isa:?} {n}");
                }
                assert_eq!(out[n], data[..n].iter().sum::<f32>());
                let gathered = (0..lanes).filter(|lane| lane % 4 != 0).map(|lane| data[39 - 2 * lane]);
                assert_eq!(out[n + 1], gathered.clone().sum::<f32>());
                assert_eq!(out[n + 2], gathered.fold(0.0, f32::max));
                assert_eq!(out[n + 3], 3.0);
                for (at, word) in out[n + 3..].iter().enumerate().skip(1) {
                    let hit = at % 2 == 1 && at <= 39 && at > 39 - 2 * lanes;
                    assert_eq!(*word, if hit { 7.0 } else { 0.0 }, "{isa:?} {n} {at}");
                }
            }
        }
    }

    struct Stream<'a>(&'a [f32], &'a mut [f32], usize);

    impl Kernel for Stream<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let s = crate::Twice::new(s);
            let skip = s.skip(self.2);
            crate::sweep!(crate::Twice<S>, j, at, self.0.len(), {
                s.fetch(self.0, j + 1000);
                s.stream_f(self.1, j, at, s.load_f(self.0, j, at), skip);
            });
        }
    }

    #[test]
    fn what_goes_past_the_caches_arrives() {
        let from: Vec<f32> = (0..150).map(|n| n as f32).collect();
        for isa in Isa::available() {
            for (start, size) in (0..20).flat_map(|start| [(start, 0), (start, large_words())]) {
                let mut to = vec![-1.0; 150 + 40];
                run_streaming(isa, Stream(&from, &mut to[start..start + 150], size));
                assert_eq!(to[start..start + 150], from, "{isa:?} {start} {size}");
                assert!(to[..start].iter().chain(&to[start + 150..]).all(|x| *x == -1.0), "{isa:?} {start} {size}");
            }
        }
    }

    struct Skips(bool);

    impl Kernel for Skips {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            assert_eq!(s.skip(large_words()).bits < usize::MAX, self.0);
        }
    }

    #[test]
    fn only_what_a_fence_follows_goes_past_the_caches() {
        for isa in Isa::available() {
            run(isa, Skips(false));
            run_streaming(isa, Skips(true));
            assert!(std::panic::catch_unwind(|| run_streaming(isa, Skips(false))).is_err());
            run(isa, Skips(false));
        }
    }

    struct Beyond<'a>(&'a [f32], usize);

    impl Kernel for Beyond<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            s.load_f(self.0, self.1, Full);
        }
    }

    #[test]
    fn an_access_outside_its_slice_is_stopped() {
        for isa in Isa::available() {
            for index in [1, 16, 17, usize::MAX, usize::MAX - 15] {
                let outside = std::panic::catch_unwind(|| run(isa, Beyond(&[0.0; 16][..isa.set().lanes()], index)));
                assert!(outside.is_err(), "{isa:?} {index}");
            }
        }
    }
}
