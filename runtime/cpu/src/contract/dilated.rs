//! Copying along an axis where coordinates of windows must be divisible, as in the gradient of a convolution with strides.
//!
//! In: an operand, a place in it, an axis. Out: its elements, with zeros between them. Always: the indices at which there is an
//! element are as far apart as divisors and steps say, so they are stepped through, and no coordinate is divided on the way.

use super::COUNTABLE;
use super::element::Element;
use super::layout::{Place, Side};
use super::pack::inside;

/// Copies `length` elements along `axis` from `place` on, zeros where a window has none, and zeros up to `padded`.
///
/// # Safety
/// `to` must have `padded` words, at least `length`, and the operand `length` indices of `axis` from `place` on.
#[inline(never)]
pub(super) unsafe fn dilated<T: Element>(
    side: &Side<'_, T>,
    place: &Place,
    axis: usize,
    length: usize,
    padded: usize,
    to: *mut T,
) {
    // SAFETY: `to` has `padded` words, by this function's contract, and a number of zero bytes is 0.
    unsafe { to.write_bytes(0, padded) };
    let length = length.cast_signed();
    // The indices that all windows let through: from the first on, so many apart.
    let (mut first, mut every, mut low, mut high) = (0isize, 1isize, 0isize, length);
    for (window, &at) in side.bounded().iter().zip(&place.at) {
        let pace = window.strides[axis];
        if pace == 0 && at % window.divisor != 0 {
            return;
        }
        let mut index = first;
        while index < length && (at + pace * index) % window.divisor != 0 {
            index = index.saturating_add(every);
        }
        first = index;
        every = every.saturating_mul(window.divisor / common_divisor(pace.wrapping_mul(every), window.divisor));
        // Coordinates end with that of the last element, or before: none is larger than what can be counted.
        let end = (window.extent - 1).saturating_mul(window.divisor).min(COUNTABLE.cast_signed()) + 1;
        match pace {
            0 if (0..end).contains(&at) => {}
            0 => return,
            _ => {
                let (from, to) = inside(at, pace, end);
                (low, high) = (low.max(from), high.min(to));
            }
        }
    }
    if first < low {
        first = first.saturating_add(((low - first - 1) / every + 1).saturating_mul(every));
    }
    if first >= high {
        return;
    }
    let mut offset = place.offset + side.strides[axis] * first;
    let mut step = side.strides[axis].wrapping_mul(every);
    for (window, &at) in side.bounded().iter().zip(&place.at) {
        let pace = window.strides[axis];
        offset += (at + pace * first) / window.divisor * window.stride;
        step = step.wrapping_add((pace.wrapping_mul(every) / window.divisor).wrapping_mul(window.stride));
    }
    let mut from = side.data.as_ptr().wrapping_offset(offset);
    let mut index = first;
    while index < high {
        // SAFETY: `Side` has checked every address that its windows let through, and `to` has more words than `index`.
        unsafe { to.offset(index).write(*from) };
        from = from.wrapping_offset(step);
        index = index.saturating_add(every);
    }
}

/// The greatest common divisor with a positive number.
fn common_divisor(a: isize, b: isize) -> isize {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b.cast_signed()
}
