//! Elements of 8 and 16 bits of two vectors that are worked on in turns.
//!
//! In and out: as [`Fewer`] says. Always: each operation is two of the other set's.

use super::{Twice, halves};
use crate::{Fewer, Simd};

macro_rules! memory {
    ($($e:ty: $load:ident $load_first:ident $store:ident $store_first:ident $gather:ident $scatter:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const $e) -> Self::U {
            // SAFETY: by contract `p` is valid for reading `2 · S::LANES` elements, `S::LANES` for each half.
            unsafe { (self.0.$load(p), self.0.$load(p.add(S::LANES))) }
        }
        #[inline(always)]
        unsafe fn $load_first(self, p: *const $e, count: usize) -> Self::U {
            let (low, high) = (count.min(S::LANES), count.saturating_sub(S::LANES));
            // SAFETY: by contract `p` is valid for reading `count` elements, of which the half reads `low`.
            let first = unsafe { self.0.$load_first(p, low) };
            // SAFETY: the other half reads those from `S::LANES` on, if there are any.
            (first, unsafe { self.0.$load_first(p.wrapping_add(S::LANES), high) })
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut $e, v: Self::U) {
            // SAFETY: by contract `p` is valid for writing `2 · S::LANES` elements, `S::LANES` for each half.
            unsafe {
                self.0.$store(p, v.0);
                self.0.$store(p.add(S::LANES), v.1);
            }
        }
        #[inline(always)]
        unsafe fn $store_first(self, p: *mut $e, count: usize, v: Self::U) {
            // SAFETY: by contract `p` is valid for writing `count` elements; the other half writes those from `S::LANES` on,
            // if there are any.
            unsafe {
                self.0.$store_first(p, count.min(S::LANES), v.0);
                self.0.$store_first(p.wrapping_add(S::LANES), count.saturating_sub(S::LANES), v.1);
            }
        }
        #[inline(always)]
        unsafe fn $gather(self, p: *const $e, idx: Self::I, m: Self::M) -> Self::U {
            // SAFETY: by contract `p` is valid for reading at the index of each lane in `m`, be it in `m.0` or in `m.1`.
            unsafe { (self.0.$gather(p, idx.0, m.0), self.0.$gather(p, idx.1, m.1)) }
        }
        #[inline(always)]
        unsafe fn $scatter(self, p: *mut $e, idx: Self::I, m: Self::M, v: Self::U) {
            // SAFETY: by contract `p` is valid for writing at the index of each lane in `m`, be it in `m.0` or in
            // `m.1`; the later half is written later.
            unsafe {
                self.0.$scatter(p, idx.0, m.0, v.0);
                self.0.$scatter(p, idx.1, m.1, v.1);
            }
        }
    )*};
}

impl<S: Simd, const STRICT: bool> Fewer for Twice<S, STRICT> {
    memory! {
        u8: load_raw_b load_first_raw_b store_raw_b store_first_raw_b gather_raw_b scatter_raw_b;
        u16: load_raw_h load_first_raw_h store_raw_h store_first_raw_h gather_raw_h scatter_raw_h;
    }

    #[inline(always)]
    unsafe fn load_raw_f16(self, p: *const u16) -> Self::F {
        // SAFETY: by contract `p` is valid for reading `2 · S::LANES` elements, `S::LANES` for each half.
        unsafe { (self.0.load_raw_f16(p), self.0.load_raw_f16(p.add(S::LANES))) }
    }

    halves! {
        f_from_f16(x: U) -> F;
        f16_from_f(x: F) -> U;
        round_f16(x: F) -> F;
    }
}
