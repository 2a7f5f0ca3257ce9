//! Convolutions of an image with filters of 3 × 3 whose windows move by one.
//!
//! In: a plan and its axes. Out: where filters and images lie, if it is such a convolution, and a copy of the image whose
//! patches lie within it. Always: a gradient by input, whose filters are turned round, is one as well.

use core::ops::Range;

use super::super::super::Simd;
use super::super::pack::copy;
use super::super::place::{Place, Side, Sight};
use super::super::plan::Plan;
use super::super::{Axis, Role};
use super::transforms::{PATCH, STEP, TAPS};

/// A side of the image.
#[derive(Clone, Copy)]
pub(super) struct Edge {
    /// Sums along it.
    pub(super) sums: usize,
    /// Patches along it.
    pub(super) patches: usize,
    /// Whether the last tap meets the first element.
    turned: bool,
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
    /// Of the copy: words of a row, and of a channel.
    pub(super) pitch: usize,
    pub(super) channel: usize,
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
        let moved = |axis: usize| rhs.sights().iter().any(|sight| sight.strides[axis] != 0);
        let windows = rhs.sights().iter().all(|sight| sight.strides[outer] != 0 || sight.strides[inner] != 0);
        if more.is_some() || !windows || of(Role::Batch).any(moved) || plan.m.count > 1 || !lhs.sights().is_empty() {
            return None;
        }
        let (y, down) = edge(rhs, axes, outer)?;
        let (x, across) = edge(rhs, axes, inner)?;
        let mut others = of(Role::K).filter(|&axis| axis != down && axis != across);
        let (channel, none) = (others.next()?, others.next());
        if none.is_some() || moved(channel) || lhs.strides[across] != 1 || lhs.strides[down] != TAPS.cast_signed() {
            return None;
        }
        let pitch = STEP * x.patches + STEP;
        Some(Filters {
            channels: axes[channel].extent,
            y,
            x,
            image: rhs.strides[channel],
            filter: lhs.strides[channel],
            row: if plan.m.count == 0 { 0 } else { lhs.strides[plan.m.number(0)] },
            pitch,
            channel: pitch * (STEP * y.patches + PATCH - STEP),
        })
    }

    /// The nine weights of a row and a channel.
    #[inline(always)]
    pub(super) fn weights(&self, side: &Side<'_>, row: usize, channel: usize) -> *const f32 {
        let offset = side.base + row.cast_signed() * self.row + channel.cast_signed() * self.filter;
        side.data.as_ptr().wrapping_offset(offset)
    }

    /// The number of the weight that meets a position of the patch.
    #[inline(always)]
    pub(super) fn tap(&self, y: usize, x: usize) -> usize {
        let at = |edge: &Edge, position: usize| if edge.turned { TAPS - 1 - position } else { position };
        TAPS * at(&self.y, y) + at(&self.x, x)
    }

    /// Copies some channels of the batch index at `base`, with zeros around them.
    ///
    /// # Safety
    /// `to` must have `channel` words for each channel.
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(
        &self,
        s: S,
        side: &Side<'_>,
        base: Place,
        channels: Range<usize>,
        to: *mut f32,
    ) {
        let inside = |edge: &Edge| {
            let (from, to) = (edge.exist.0.max(edge.low), edge.exist.1.min(edge.low + (edge.sums + 2).cast_signed()));
            from..to.max(from)
        };
        let (rows, columns) = (inside(&self.y), inside(&self.x));
        let count = (columns.end - columns.start).cast_unsigned();
        for channel in channels {
            let from = base.offset + channel.cast_signed() * self.image + columns.start * self.x.step;
            let to = to.wrapping_add(channel * self.channel);
            // SAFETY: the caller's; elements that exist lie within the operand, whose reach `Side` has checked.
            unsafe { to.write_bytes(0, self.channel) };
            let to = to.wrapping_offset(columns.start - self.x.low);
            for row in rows.clone() {
                let from = side.data.as_ptr().wrapping_offset(from + row * self.y.step);
                let to = to.wrapping_add((row - self.y.low).cast_unsigned() * self.pitch);
                // SAFETY: as above.
                unsafe { copy(s, from, self.x.step, count, to) }
            }
        }
    }
}

/// The side of the image that the column axis `axis` runs along, and the axis of its taps.
fn edge(side: &Side<'_>, axes: &[Axis], axis: usize) -> Option<(Edge, usize)> {
    let sums = axes[axis].extent;
    let mut sights = side.sights().iter().filter(|sight| sight.strides[axis] != 0);
    let edge = |turned: bool, low: isize, exist: (isize, isize), step: isize| Edge {
        sums,
        patches: sums.div_ceil(STEP),
        turned,
        low,
        exist,
        step,
    };
    let taps = |of: &dyn Fn(usize) -> isize, unit: isize| {
        let mut found = (0..axes.len()).filter(|&k| axes[k].role == Role::K && axes[k].extent > 1 && of(k) != 0);
        let same = |k: &usize| of(*k).abs() == unit && axes[*k].extent == TAPS;
        let first = found.find(same)?;
        Some((first, of(first) < 0))
    };
    let Some(sight) = sights.next() else {
        let step = side.strides[axis];
        let plain =
            |k: usize| if side.sights().iter().all(|sight| sight.strides[k] == 0) { side.strides[k] } else { 0 };
        let (tap, turned) = taps(&plain, step)?;
        let low = if turned { 1 - TAPS.cast_signed() } else { 0 };
        return Some((edge(turned, low, (low, low + (sums + TAPS - 1).cast_signed()), step), tap));
    };
    let (tap, turned) = taps(&|k| sight.strides[k], 1)?;
    let alone = |sight: &Sight<'_>| {
        let movers = |number: usize| axes[number].extent > 1 && sight.strides[number] != 0;
        (0..axes.len()).filter(|&number| movers(number)).all(|number| number == axis || number == tap)
    };
    let unit = sight.strides[axis] == 1 && sight.divisor == 1 && side.strides[axis] == 0 && side.strides[tap] == 0;
    if sights.next().is_some() || !unit || !alone(sight) {
        return None;
    }
    let low = sight.base - if turned { TAPS.cast_signed() - 1 } else { 0 };
    Some((edge(turned, low, (0, sight.extent), sight.stride), tap))
}
