//! A copy of an operand in which windows have become plain strides.
//!
//! In: an operand with windows. Out: how large a copy is whose window dimensions are padded with zeros and dilated by their
//! divisors, the strides in it, and the copying. Always: an element that lies outside a window is a zero of the copy.

use super::layout::{Bounded, MAX_AXES, MAX_WINDOWS, Side, span};
use super::pack::copy;
use super::{Axis, Role};
use crate::Simd;
use crate::machine::machine;

/// Most words of a copy. A cache of the second level need not hold it: it is read in the order of the image, and in parts.
fn most_words() -> usize {
    machine().l3
}

/// How to make the copy for one batch index: rows of elements, along a few dimensions.
pub(super) struct Padded {
    /// Words that it takes.
    pub(super) words: usize,
    /// The dimensions around the rows, inner before outer: all axes outside of windows, and all windows but the row's.
    count: usize,
    extent: [usize; DIMENSIONS],
    /// Words from one to the next, in the operand and in the copy.
    from: [isize; DIMENSIONS],
    to: [usize; DIMENSIONS],
    /// The first element that occurs, in the operand and in the copy.
    first: (isize, usize),
    /// The elements of a row, and their distances.
    row: (usize, isize, usize),
    /// Whether no element occurs.
    empty: bool,
}

/// An operand as an image without windows: itself, or the copy to make of it. Nothing if there is no such copy.
pub(super) fn image<'a>(operand: &Side<'a>, axes: &[Axis]) -> Option<(Option<Padded>, Side<'a>)> {
    if operand.bounded().is_empty() {
        return Some((None, Side { data: operand.data, ..*operand }));
    }
    let (padded, image) = padded(operand, axes)?;
    Some((Some(padded), image))
}

const DIMENSIONS: usize = MAX_AXES + MAX_WINDOWS;

/// The operand as it lies in its copy, and how to make that. Nothing if an axis moves both a window and the operand, if a
/// batch axis moves a window, or if the copy would be large.
fn padded(side: &Side<'_>, axes: &[Axis]) -> Option<(Padded, Side<'static>)> {
    let mut padded = Padded {
        words: 1,
        count: 0,
        extent: [1; DIMENSIONS],
        from: [0; DIMENSIONS],
        to: [0; DIMENSIONS],
        first: (0, 0),
        row: (1, 1, 1),
        empty: false,
    };
    let mut copy = Side::plain();
    // The window along the columns is the innermost, and so the row that is copied at once.
    let columns = axes.iter().rposition(|axis| axis.role == Role::N && axis.extent > 1);
    let moved = |window: &Bounded<'_>| columns.is_some_and(|axis| window.strides[axis] != 0);
    let last = side.bounded().len().checked_sub(1)?;
    let inner = side.bounded().iter().rposition(moved).unwrap_or(last);
    for number in core::iter::once(inner).chain((0..=last).rev().filter(|&number| number != inner)) {
        let window = &side.bounded()[number];
        let moves = |(axis, stride): (&Axis, &isize)| axis.extent > 1 && *stride != 0;
        let mut batch = axes.iter().zip(window.strides).filter(|(axis, _)| axis.role == Role::Batch);
        if batch.any(moves) {
            return None;
        }
        padded.window(axes, window, &mut copy, number == inner)?;
    }
    for (number, axis) in axes.iter().enumerate().rev() {
        let step = side.strides[number];
        if axis.role == Role::Batch || step == 0 || axis.extent == 1 {
            continue;
        }
        if side.bounded().iter().any(|window| window.strides[number] != 0) {
            return None;
        }
        copy.strides[number] = padded.words.cast_signed();
        padded.dimension(axis.extent, step, padded.words);
        padded.words = padded.words.checked_mul(axis.extent)?;
    }
    (padded.words <= most_words()).then_some((padded, copy))
}

impl Padded {
    fn dimension(&mut self, extent: usize, from: isize, to: usize) {
        (self.extent[self.count], self.from[self.count], self.to[self.count]) = (extent, from, to);
        self.count += 1;
    }

    /// Adds a window outside of those that are there; the first one is the row.
    fn window(&mut self, axes: &[Axis], window: &Bounded<'_>, copy: &mut Side<'_>, row: bool) -> Option<()> {
        let (low, high) = span(axes, window.base, window.strides);
        copy.base += (window.base - low) * self.words.cast_signed();
        for (stride, &pace) in copy.strides.iter_mut().zip(window.strides) {
            *stride += pace * self.words.cast_signed();
        }
        // Elements whose coordinates occur: low ≤ element · divisor ≤ high.
        let first = (low + window.divisor - 1).div_euclid(window.divisor).max(0);
        let end = (high.div_euclid(window.divisor) + 1).min(window.extent);
        let count = usize::try_from(end - first).unwrap_or(0);
        self.empty |= count == 0;
        if count > 0 {
            self.first.0 += first * window.stride;
            self.first.1 += (first * window.divisor - low).cast_unsigned() * self.words;
        }
        let pace = window.divisor.cast_unsigned() * self.words;
        if row {
            self.row = (count, window.stride, pace);
        } else {
            self.dimension(count, window.stride, pace);
        }
        self.words = self.words.checked_mul((high - low + 1).cast_unsigned())?;
        Some(())
    }

    /// Copies the elements of the batch index at `base`.
    ///
    /// # Safety
    /// `to` must be valid for writing `words` words, zeros where elements do not occur; `base` must be a batch index's
    /// place in `side`, the operand that this was made for.
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(&self, s: S, side: &Side<'_>, base: isize, to: *mut f32) {
        if self.empty {
            return;
        }
        let (count, step, pace) = self.row;
        let mut index = [0usize; DIMENSIONS];
        let mut from = side.data.as_ptr().wrapping_offset(base + self.first.0);
        let mut to = to.wrapping_add(self.first.1);
        loop {
            // SAFETY: elements that occur are of the windows' extents, so they lie within the operand, whose reach `Side`
            // has checked; `to` has `words` words by this function's contract, one for each coordinate from the least to
            // the greatest.
            unsafe {
                if step == 1 && pace == 1 {
                    copy(s, from, 1, count, to);
                } else {
                    for element in 0..count {
                        let word = *from.wrapping_offset(element.cast_signed() * step);
                        to.wrapping_add(element * pace).write(word);
                    }
                }
            }
            let mut dim = 0;
            loop {
                if dim == self.count {
                    return;
                }
                index[dim] += 1;
                from = from.wrapping_offset(self.from[dim]);
                to = to.wrapping_add(self.to[dim]);
                if index[dim] < self.extent[dim] {
                    break;
                }
                from = from.wrapping_offset(-self.from[dim] * self.extent[dim].cast_signed());
                to = to.wrapping_sub(self.to[dim] * self.extent[dim]);
                index[dim] = 0;
                dim += 1;
            }
        }
    }
}
