//! Large pages for large memory.
//!
//! In: memory that nobody has touched yet. Out: advice to the system. Always: the memory stays what it is. Kernels read
//! megabytes of parameters and activations in every call, and with pages of 4 KiB the processor forgets where most of them are
//! before it needs them again. Systems that give large pages only to those who ask are the common ones.

/// Bytes of a large page.
#[cfg(all(target_os = "linux", not(miri)))]
const LARGE: usize = 1 << 21;

/// Asks for large pages for as much of `memory` as fills some.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn large<T>(memory: &mut [core::mem::MaybeUninit<T>]) {
    use core::ffi::{c_int, c_void};
    // SAFETY: this is how the C library declares it.
    unsafe extern "C" {
        fn madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    let start = memory.as_mut_ptr().cast::<u8>();
    let before = start.addr().next_multiple_of(LARGE) - start.addr();
    let length = size_of_val(memory).saturating_sub(before) / LARGE * LARGE;
    if length > 0 {
        // SAFETY: `before + length` is at most the size of `memory`, so the range lies within memory that is lent here,
        // and the advice changes no byte of it. A system without large pages refuses, and nothing is lost.
        unsafe { madvise(start.wrapping_add(before).cast(), length, MADV_HUGEPAGE) };
    }
}

/// Other systems have no such advice.
#[cfg(any(not(target_os = "linux"), miri))]
pub(crate) fn large<T>(_: &mut [core::mem::MaybeUninit<T>]) {}
