//! What an instruction set must do with numbers of fewer bits: memory of elements of 8 and 16 bits by raw pointers, and the
//! conversions of f16 that some sets have an instruction for.
//!
//! In: elements, or vectors of 32-bit lanes. Out: the same. Always: an element is the lowest bits of its lane; reads fill the
//! others with zeros, writes leave them out. A method gives the same bits on every instruction set.

use super::Vectors;
use super::bits::f16;
use super::vectors::MAX_LANES;

/// The reads and writes of a type of element.
macro_rules! memory {
    ($e:ty: $load:ident $load_first:ident $store:ident $store_first:ident $gather:ident $scatter:ident) => {
        /// Reads `LANES` elements.
        ///
        /// # Safety
        /// `p` must be valid for reading `LANES` elements, but need not be aligned.
        unsafe fn $load(self, p: *const $e) -> Self::U;
        /// Reads the first `count` elements and touches no others, which become 0.
        ///
        /// # Safety
        /// `p` must be valid for reading `count` elements, but need not be aligned; `count` is at most `LANES`.
        #[inline(always)]
        unsafe fn $load_first(self, p: *const $e, count: usize) -> Self::U {
            const { assert!(Self::LANES <= MAX_LANES) };
            let mut all: [$e; MAX_LANES] = [0; MAX_LANES];
            // SAFETY: by contract there are `count` elements at `p`, and not more than lanes, for which `all` has room, as was
            // asserted; bytes need no alignment.
            unsafe {
                core::ptr::copy_nonoverlapping(p.cast::<u8>(), all.as_mut_ptr().cast(), count * size_of::<$e>());
                self.$load(all.as_ptr())
            }
        }
        /// Writes `LANES` elements.
        ///
        /// # Safety
        /// `p` must be valid for writing `LANES` elements, but need not be aligned.
        unsafe fn $store(self, p: *mut $e, v: Self::U);
        /// Writes the first `count` elements and touches no others.
        ///
        /// # Safety
        /// `p` must be valid for writing `count` elements, but need not be aligned; `count` is at most `LANES`.
        #[inline(always)]
        unsafe fn $store_first(self, p: *mut $e, count: usize, v: Self::U) {
            const { assert!(Self::LANES <= MAX_LANES) };
            let mut all: [$e; MAX_LANES] = [0; MAX_LANES];
            // SAFETY: by contract there is room for `count` elements at `p`, and they are not more than lanes, for which `all`
            // has room, as was asserted; bytes need no alignment.
            unsafe {
                self.$store(all.as_mut_ptr(), v);
                core::ptr::copy_nonoverlapping(all.as_ptr().cast::<u8>(), p.cast(), count * size_of::<$e>());
            }
        }
        /// Reads `p[idx]` for the lanes in `m` and touches no others, which become 0.
        ///
        /// # Safety
        /// No index of a lane in `m` may be negative, and `p` offset by each must be valid for reading, but need not be
        /// aligned.
        #[inline(always)]
        unsafe fn $gather(self, p: *const $e, idx: Self::I, m: Self::M) -> Self::U {
            let (places, mut lanes) = (places(self, idx, m), [0; MAX_LANES]);
            let zero: $e = 0;
            for (lane, place) in lanes.iter_mut().zip(places).take(Self::LANES) {
                // Addresses are chosen rather than ways, which nobody could foresee.
                let from = if place < 0 { &raw const zero } else { p.wrapping_offset(place as isize) };
                // SAFETY: this is `zero`, or the index of a lane in `m`, at which `p` is valid for reading by contract.
                *lane = u32::from(unsafe { from.read_unaligned() });
            }
            // SAFETY: `lanes` has `MAX_LANES` words, and a vector at most as many, as `places` asserts.
            unsafe { self.load_raw_u(lanes.as_ptr()) }
        }
        /// Writes `p[idx]` for the lanes in `m`, in ascending order of the lanes.
        ///
        /// # Safety
        /// No index of a lane in `m` may be negative, and `p` offset by each must be valid for writing, but need not be
        /// aligned.
        #[inline(always)]
        unsafe fn $scatter(self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::U) {
            let (places, mut lanes) = (places(self, idx, m), [0; MAX_LANES]);
            // SAFETY: `lanes` has `MAX_LANES` words, and a vector at most as many, as `places` asserts.
            unsafe { self.store_raw_u(lanes.as_mut_ptr(), v) };
            let mut nowhere: $e = 0;
            for (lane, place) in lanes.into_iter().zip(places).take(Self::LANES) {
                let to = if place < 0 { &raw mut nowhere } else { p.wrapping_offset(place as isize) };
                // SAFETY: this is `nowhere`, or the index of a lane in `m`, at which `p` is valid for writing by contract.
                unsafe { to.write_unaligned(lane as $e) };
            }
        }
    };
}

/// Elements of fewer bits than the lanes of [`Vectors`] have.
///
/// Suffixes name the type of element: `b` is 8 bits, `h` is 16 bits.
pub trait Fewer: Vectors {
    memory! { u8: load_raw_b load_first_raw_b store_raw_b store_first_raw_b gather_raw_b scatter_raw_b }
    memory! { u16: load_raw_h load_first_raw_h store_raw_h store_first_raw_h gather_raw_h scatter_raw_h }

    /// The number that the lowest 16 bits are as f16; NaN becomes quiet.
    #[inline(always)]
    fn f_from_f16(self, x: Self::U) -> Self::F {
        f16::decode(self, x)
    }
    /// Reads `LANES` elements as f16, as [`Fewer::f_from_f16`] says.
    ///
    /// # Safety
    /// `p` must be valid for reading `LANES` elements, but need not be aligned.
    #[inline(always)]
    unsafe fn load_raw_f16(self, p: *const u16) -> Self::F {
        // SAFETY: `p` is valid for reading `LANES` elements by this method's contract.
        self.f_from_f16(unsafe { self.load_raw_h(p) })
    }
    /// The bits of the nearest f16, ties to even; NaN becomes quiet and keeps its sign and the bits that there is room for.
    #[inline(always)]
    fn f16_from_f(self, x: Self::F) -> Self::U {
        f16::encode(self, x)
    }
    /// The nearest number of f16, as [`Fewer::f16_from_f`] says.
    #[inline(always)]
    fn round_f16(self, x: Self::F) -> Self::F {
        f16::round(self, x)
    }
}

/// The indices of the lanes in `m`; the others are negative.
#[inline(always)]
fn places<S: Vectors>(s: S, idx: S::I, m: S::M) -> [i32; MAX_LANES] {
    const { assert!(S::LANES <= MAX_LANES) };
    let mut places = [-1; MAX_LANES];
    // SAFETY: `places` has `MAX_LANES` words, and a vector at most as many, as was asserted.
    unsafe { s.store_raw_i(places.as_mut_ptr(), s.select_i(m, idx, s.splat_i(-1))) };
    places
}

#[cfg(test)]
mod tests;
