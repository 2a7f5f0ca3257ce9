//! A copy of an operand in which windows have become plain strides.
//!
//! In: an operand with windows. Out: how large a copy is whose window dimensions are padded with zeros and spread by their
//! divisors, the strides in it, and the copying. Always: an element that lies outside a window is a zero of the copy.

use super::super::Simd;
use super::place::{Group, MAX_AXES, MAX_WINDOWS, Place, Side, Sight};
use super::{Axis, Role};

/// Most words of a copy: what still lies in a second-level cache, nearly.
const MOST: usize = 1 << 19;

/// How to make the copy for one batch index.
pub(super) struct Stage {
    /// Words that it takes.
    pub(super) words: usize,
    /// The axes that are not in windows.
    plain: Group,
    pitch: [usize; MAX_AXES],
    /// For each window: its lowest coordinate, how many, and words from one to the next.
    low: [isize; MAX_WINDOWS],
    span: [usize; MAX_WINDOWS],
    step: [usize; MAX_WINDOWS],
}

/// The operand as it lies in its copy, and how to make that. Nothing if an axis moves both a window and the operand, if a
/// batch axis moves a window, or if the copy would be large.
pub(super) fn stage(side: &Side<'_>, axes: &[Axis]) -> Option<(Stage, Side<'static>)> {
    let sights = side.sights();
    let mut stage = Stage {
        words: 1,
        plain: Group::EMPTY,
        pitch: [0; MAX_AXES],
        low: [0; MAX_WINDOWS],
        span: [1; MAX_WINDOWS],
        step: [0; MAX_WINDOWS],
    };
    let mut copy = Side::plain();
    for (window, sight) in sights.iter().enumerate().rev() {
        let (mut low, mut high) = (sight.base, sight.base);
        for (axis, &stride) in axes.iter().zip(&sight.strides) {
            let reach = stride * axis.extent.saturating_sub(1).cast_signed();
            if axis.role == Role::Batch && reach != 0 {
                return None;
            }
            low += reach.min(0);
            high += reach.max(0);
        }
        stage.low[window] = low;
        stage.span[window] = (high - low + 1).cast_unsigned();
        stage.step[window] = stage.words;
        copy.base += (sight.base - low) * stage.words.cast_signed();
        for (stride, &pace) in copy.strides.iter_mut().zip(&sight.strides) {
            *stride += pace * stage.words.cast_signed();
        }
        stage.words = stage.words.checked_mul(stage.span[window])?;
    }
    for (number, axis) in axes.iter().enumerate().rev() {
        if axis.role == Role::Batch || side.strides[number] == 0 || axis.extent == 1 {
            continue;
        }
        if sights.iter().any(|sight| sight.strides[number] != 0) {
            return None;
        }
        stage.plain.extent[stage.plain.count] = axis.extent;
        stage.plain.axis[stage.plain.count] = number;
        stage.pitch[stage.plain.count] = stage.words;
        stage.plain.count += 1;
        copy.strides[number] = stage.words.cast_signed();
        stage.words = stage.words.checked_mul(axis.extent)?;
    }
    (stage.words <= MOST).then_some((stage, copy))
}

impl Stage {
    /// Makes the copy of the batch index at `base`. Unless `fresh`, zeros are where an earlier copy had them.
    ///
    /// # Safety
    /// `to` must have `words` words.
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(&self, s: S, side: &Side<'_>, base: Place, to: *mut f32, fresh: bool) {
        if fresh {
            // SAFETY: the caller's.
            unsafe { to.write_bytes(0, self.words) };
        }
        let sights = side.sights();
        let Some(last) = sights.len().checked_sub(1) else {
            return;
        };
        let mut index = [0usize; MAX_AXES];
        loop {
            let (mut from, mut target) = (base.offset, to);
            let axes = self
                .plain
                .axis
                .iter()
                .zip(self.pitch)
                .take(self.plain.count);
            for (&index, (&axis, pitch)) in index.iter().zip(axes) {
                from += index.cast_signed() * side.strides[axis];
                target = target.wrapping_add(index * pitch);
            }
            // SAFETY: the indices are within the operand, whose reach `Side` has checked, and within the copy.
            unsafe { self.images(s, side, from, target, 0, last) };
            let mut dim = 0;
            while dim < self.plain.count {
                index[dim] += 1;
                if index[dim] < self.plain.extent[dim] {
                    break;
                }
                index[dim] = 0;
                dim += 1;
            }
            if dim == self.plain.count {
                return;
            }
        }
    }

    /// Copies the elements of the windows from `window` on.
    unsafe fn images<S: Simd>(&self, s: S, side: &Side<'_>, from: isize, to: *mut f32, window: usize, last: usize) {
        let sight: &Sight = &side.windows[window];
        // Elements whose coordinates occur: low ≤ element · divisor < low + span.
        let end = self.low[window] + self.span[window].cast_signed();
        let first = (self.low[window] + sight.divisor - 1).div_euclid(sight.divisor).max(0);
        let end = (end + sight.divisor - 1).div_euclid(sight.divisor).min(sight.extent);
        if first >= end {
            return;
        }
        let at = (first * sight.divisor - self.low[window]).cast_unsigned() * self.step[window];
        let to = to.wrapping_add(at);
        let from = from + first * sight.stride;
        let count = (end - first).cast_unsigned();
        let pace = sight.divisor.cast_unsigned() * self.step[window];
        if window < last {
            for element in 0..count {
                let from = from + element.cast_signed() * sight.stride;
                // SAFETY: the caller's.
                unsafe {
                    self.images(s, side, from, to.wrapping_add(element * pace), window + 1, last);
                }
            }
            return;
        }
        let from = side.data.as_ptr().wrapping_offset(from);
        let mut element = 0;
        // SAFETY: the elements lie within the operand, and their places within the copy.
        unsafe {
            if sight.stride == 1 && pace == 1 {
                super::pack::copy(s, from, 1, count, to);
                element = count;
            }
            while element < count {
                let word = *from.wrapping_offset(element.cast_signed() * sight.stride);
                to.wrapping_add(element * pace).write(word);
                element += 1;
            }
        }
    }
}
