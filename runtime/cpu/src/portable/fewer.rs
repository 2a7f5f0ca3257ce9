//! Elements of 8 and 16 bits of the portable set.
//!
//! In and out: as [`Fewer`] says. Always: plain Rust.

use super::{LANES, Lanes, Portable};
use crate::Fewer;
use crate::lanes::each_lane;

macro_rules! memory {
    ($($e:ty: $load:ident $store:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $load(self, p: *const $e) -> Self::U {
            // SAFETY: `p` is valid for reading `LANES` elements by this method's contract; no alignment is assumed.
            let all = unsafe { p.cast::<[$e; LANES]>().read_unaligned() };
            Lanes(each_lane!(lane [0 1 2 3 4 5 6 7] => u32::from(all[lane])))
        }
        #[inline(always)]
        unsafe fn $store(self, p: *mut $e, v: Self::U) {
            let all = each_lane!(lane [0 1 2 3 4 5 6 7] => v.0[lane] as $e);
            // SAFETY: `p` is valid for writing `LANES` elements by this method's contract; no alignment is assumed.
            unsafe { p.cast::<[$e; LANES]>().write_unaligned(all) }
        }
    )*};
}

impl Fewer for Portable {
    memory! {
        u8: load_raw_b store_raw_b;
        u16: load_raw_h store_raw_h;
    }
}
