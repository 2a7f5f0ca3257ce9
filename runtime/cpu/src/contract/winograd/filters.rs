//! Convolutions of an image with filters of 3 × 3 whose windows move by one.
//!
//! In: a plan and its axes. Out: where filters and images lie, if it is such a convolution, and copies of rows of the image
//! in which the channels of a vector lie side by side. Always: a gradient by input, whose filters are flipped, is one as
//! well, whether its windows or its filters run backward.

use core::ops::Range;

use super::transforms::TAPS;
use crate::Simd;
use crate::contract::layout::{Bounded, Place, Side};
use crate::contract::pack::{copy, zero};
use crate::contract::plan::Plan;
use crate::contract::{Axis, Role};
use crate::vectors::MAX_LANES;

/// Words that copying a row goes by way of.
pub(super) const TEMP: usize = MAX_LANES * MAX_LANES;

/// A side of the image.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    /// Sums along it.
    pub(super) sums: usize,
    /// Whether the last weight meets the first element.
    flipped: bool,
    /// The element of position 0, and those that exist.
    low: isize,
    exist: (isize, isize),
    /// Words from element to element.
    step: isize,
}

/// Where everything lies.
pub(super) struct Filters {
    pub(super) channels: usize,
    pub(super) y: Edge,
    pub(super) x: Edge,
    /// Words from channel to channel in the image and in the filters, and from filter to filter.
    image: isize,
    pub(super) filter: isize,
    pub(super) row: isize,
    /// Words from the weight of the first taps to the first of nine.
    first: isize,
}

impl Edge {
    /// Those of some positions whose elements exist.
    fn inside(&self, positions: &Range<usize>) -> Range<usize> {
        let position = |element: isize| (element - self.low).max(0).cast_unsigned();
        let from = position(self.exist.0).clamp(positions.start, positions.end);
        from..position(self.exist.1).clamp(from, positions.end)
    }

    /// Words from element 0 to the element of a position.
    fn at(&self, position: usize) -> isize {
        (self.low + position.cast_signed()) * self.step
    }
}

impl Filters {
    /// Nothing if it is another contraction.
    pub(super) fn new(plan: &Plan<'_>, axes: &[Axis]) -> Option<Self> {
        let of = |role: Role| {
            axes.iter().enumerate().filter(move |(_, axis)| axis.role == role && axis.extent > 1).map(|found| found.0)
        };
        let (lhs, rhs) = (&plan.lhs, &plan.rhs);
        let mut columns = of(Role::N);
        let (outer, inner, more) = (columns.next()?, columns.next()?, columns.next());
        let moved = |axis: usize| rhs.bounded().iter().any(|window| window.strides[axis] != 0);
        let windows = rhs.bounded().iter().all(|window| window.strides[outer] != 0 || window.strides[inner] != 0);
        if more.is_some() || !windows || of(Role::Batch).any(moved) || plan.m.count > 1 || !lhs.bounded().is_empty() {
            return None;
        }
        let (mut y, down) = edge(rhs, axes, outer)?;
        let (mut x, across) = edge(rhs, axes, inner)?;
        let mut others = of(Role::K).filter(|&axis| axis != down && axis != across);
        let (channel, none) = (others.next()?, others.next());
        let (line, tap) = (lhs.strides[down], lhs.strides[across]);
        if none.is_some() || moved(channel) || tap.abs() != 1 || line.abs() != TAPS.cast_signed() {
            return None;
        }
        y.flipped ^= line < 0;
        x.flipped ^= tap < 0;
        Some(Filters {
            channels: axes[channel].extent,
            y,
            x,
            image: rhs.strides[channel],
            filter: lhs.strides[channel],
            row: if plan.m.count == 0 { 0 } else { lhs.strides[plan.m.number(0)] },
            first: (TAPS.cast_signed() - 1) * (line.min(0) + tap.min(0)),
        })
    }

    /// The nine weights of a row and a channel.
    #[inline(always)]
    pub(super) fn weights(&self, side: &Side<'_>, row: usize, channel: usize) -> *const f32 {
        let offset = side.base + self.first + row.cast_signed() * self.row + channel.cast_signed() * self.filter;
        side.data.as_ptr().wrapping_offset(offset)
    }

    /// The number of the weight that meets a position of the patch.
    #[inline(always)]
    pub(super) fn tap(&self, y: usize, x: usize) -> usize {
        let at = |edge: &Edge, position: usize| if edge.flipped { TAPS - 1 - position } else { position };
        TAPS * at(&self.y, y) + at(&self.x, x)
    }

    /// Copies rows of the image of the batch index at `base`, positions with the vector of channels from `first` on, with
    /// zeros around them. Lanes beyond the last channel repeat it.
    ///
    /// # Safety
    /// `temp` must have [`TEMP`] words, `to` a vector for each of `width` positions of each row, `side` must be the image,
    /// `base` one of its batch indices, and channel `first` one of its channels.
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(
        &self,
        s: S,
        (side, base): (&Side<'_>, Place),
        first: usize,
        (rows, width): (Range<usize>, usize),
        temp: *mut f32,
        to: *mut f32,
    ) {
        let (down, across) = (self.y.inside(&rows), self.x.inside(&(0..width)));
        let last = (self.channels - first).min(S::LANES) - 1;
        let mut lines = [temp.cast_const(); MAX_LANES];
        for (lane, line) in lines.iter_mut().enumerate() {
            *line = temp.wrapping_add(lane.min(last) * MAX_LANES);
        }
        let mut channels = [side.data.as_ptr(); MAX_LANES];
        for row in rows.clone() {
            let to = to.wrapping_add((row - rows.start) * width * S::LANES);
            // SAFETY: `to` has a vector for each of `width` positions and `temp` a line of `MAX_LANES` words for each lane,
            // by this function's contract; positions in `down` and `across` are of elements that exist, and these lie
            // within the operand, whose reach `Side` has checked.
            unsafe {
                if !down.contains(&row) || across.is_empty() {
                    zero(s, to, width * S::LANES);
                    continue;
                }
                zero(s, to, across.start * S::LANES);
                zero(s, to.wrapping_add(across.end * S::LANES), (width - across.end) * S::LANES);
                let from = base.offset + self.y.at(row) + self.x.at(across.start);
                for (lane, channel) in channels.iter_mut().enumerate() {
                    let offset = from + (first + lane.min(last)).cast_signed() * self.image;
                    *channel = side.data.as_ptr().wrapping_offset(offset);
                }
                let mut x = 0;
                while x < across.len() {
                    let to = to.wrapping_add((across.start + x) * S::LANES);
                    let count = S::LANES.min(across.len() - x);
                    if self.x.step == 1 && count == S::LANES {
                        s.transpose_raw_f(channels.as_ptr(), x, to, S::LANES, count);
                    } else {
                        for (lane, channel) in channels.iter().enumerate().take(last + 1) {
                            let from = channel.wrapping_offset(x.cast_signed() * self.x.step);
                            copy(s, from, self.x.step, count, temp.wrapping_add(lane * MAX_LANES));
                        }
                        s.transpose_raw_f(lines.as_ptr(), 0, to, S::LANES, count);
                    }
                    x += S::LANES;
                }
            }
        }
    }
}

/// The side of the image that the column axis `axis` runs along, and the axis of its taps.
fn edge(side: &Side<'_>, axes: &[Axis], axis: usize) -> Option<(Edge, usize)> {
    let sums = axes[axis].extent;
    let mut bounded = side.bounded().iter().filter(|window| window.strides[axis] != 0);
    let edge = |flipped: bool, low: isize, exist: (isize, isize), step: isize| Edge { sums, flipped, low, exist, step };
    let taps = |of: &dyn Fn(usize) -> isize, unit: isize| {
        let mut found = (0..axes.len()).filter(|&k| axes[k].role == Role::K && axes[k].extent > 1 && of(k) != 0);
        let same = |k: &usize| of(*k).abs() == unit && axes[*k].extent == TAPS;
        let first = found.find(same)?;
        Some((first, of(first) < 0))
    };
    let Some(window) = bounded.next() else {
        let step = side.strides[axis];
        let plain =
            |k: usize| if side.bounded().iter().all(|window| window.strides[k] == 0) { side.strides[k] } else { 0 };
        let (tap, flipped) = taps(&plain, step)?;
        let low = if flipped { 1 - TAPS.cast_signed() } else { 0 };
        return Some((edge(flipped, low, (low, low + (sums + TAPS - 1).cast_signed()), step), tap));
    };
    let (tap, flipped) = taps(&|k| window.strides[k], 1)?;
    let alone = |window: &Bounded<'_>| {
        let movers = |number: usize| axes[number].extent > 1 && window.strides[number] != 0;
        (0..axes.len()).filter(|&number| movers(number)).all(|number| number == axis || number == tap)
    };
    let unit = window.strides[axis] == 1 && window.divisor == 1 && side.strides[axis] == 0 && side.strides[tap] == 0;
    if bounded.next().is_some() || !unit || !alone(window) {
        return None;
    }
    let low = window.base - if flipped { TAPS.cast_signed() - 1 } else { 0 };
    Some((edge(flipped, low, (0, window.extent), window.stride), tap))
}
