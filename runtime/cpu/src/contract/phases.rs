//! A copy of an image, padded with zeros and split into the phases of a stride, so that its columns are contiguous.
//!
//! In: an operand with windows, each of which at most one column axis moves. Out: how large the copy is, its rows as one long
//! row, where each index of K starts in it, and the copying. Always: the coordinate `c` of a window with stride `s` lies in
//! plane `c mod s` at `c div s`, so a step of a column axis is a step of one in each plane; what is outside is zero. Zeros
//! after a row are those before the next one as well, so that less lies between the rows.

use super::layout::{Group, MAX_AXES, MAX_WINDOWS, Side, Walk, span};
use super::long_row::LongRow;
use super::pack::{Lines, copy_lines};
use super::{Axis, Role};
use crate::Simd;

/// A dimension of the image.
#[derive(Clone, Copy)]
struct Dimension {
    /// Which window.
    window: usize,
    /// The least coordinate that occurs, and how many from there on.
    low: isize,
    count: usize,
    /// The elements that exist, counted from `low`.
    from: usize,
    to: usize,
    stride: usize,
    /// Words from plane to plane, and from element to element of a plane.
    plane: usize,
    step: usize,
}

const NOTHING: Dimension = Dimension { window: 0, low: 0, count: 1, from: 0, to: 1, stride: 1, plane: 0, step: 0 };

/// What is copied at a time.
#[derive(Clone, Copy)]
struct Line {
    /// Words from element to element.
    step: isize,
    count: usize,
}

/// How to make the copy for one batch index.
pub(super) struct Phases<'a> {
    /// Words that it takes.
    pub(super) words: usize,
    pub(super) row: LongRow,
    /// Indices of the axes outside of windows: channels.
    pub(super) channels: usize,
    /// Words of a channel, and zeros after the last one.
    channel: usize,
    beyond: usize,
    /// The dimensions of a channel, inner before outer.
    dimensions: [Dimension; MAX_WINDOWS],
    count: usize,
    /// The axes of the channels, which step by the copy's words.
    outer: Group,
    image: Side<'a>,
}

impl Dimension {
    /// Where a coordinate, counted from `low`, lies in the copy.
    fn place(&self, at: usize) -> usize {
        if self.stride == 1 {
            return at * self.step;
        }
        at % self.stride * self.plane + at / self.stride * self.step
    }

    /// Elements of a plane.
    fn length(&self) -> usize {
        self.count.div_ceil(self.stride)
    }

    /// Zeros in every plane before the first and after the last element that exists, but what is left has `least` elements.
    fn spare(&self, least: usize) -> usize {
        let zeros = self.from.min(self.count.saturating_sub(self.to)) / self.stride;
        zeros.min(self.length().saturating_sub(least))
    }
}

impl<'a> Phases<'a> {
    /// Nothing if the image has no windows, is dilated by a divisor, or has columns that are not its rows.
    pub(super) fn new(side: &Side<'a>, axes: &[Axis]) -> Option<Self> {
        let columns = Group::merged(axes, Role::N, &[side]);
        if side.bounded().is_empty() || side.bounded().iter().any(|window| window.divisor != 1) {
            return None;
        }
        let (count, dimensions) = dimensions(side, axes, &columns)?;
        let mut phases = Phases {
            words: 1,
            row: LongRow { rows: 1, inner: columns.extent[columns.count - 1], pitch: 0 },
            channels: 1,
            channel: 0,
            beyond: 0,
            dimensions,
            count,
            outer: Group::EMPTY,
            image: Side { strides: [0; MAX_AXES], base: 0, ..*side },
        };
        phases.beyond = phases.dimensions[0].spare(phases.row.inner);
        for (number, dimension) in phases.dimensions[..count].iter_mut().enumerate() {
            dimension.step = phases.words;
            let shared = if number == 0 { phases.beyond } else { 0 };
            phases.words = phases.words.checked_mul(dimension.length() - shared)?;
        }
        for dimension in &mut phases.dimensions[..count] {
            dimension.plane = phases.words;
            phases.words = phases.words.checked_mul(dimension.stride)?;
        }
        phases.channel = phases.words;
        for (number, axis) in axes.iter().enumerate().rev().filter(|(_, axis)| axis.role == Role::K && axis.extent > 1)
        {
            let moved = side.bounded().iter().any(|window| window.strides[number] != 0);
            if moved && side.strides[number] != 0 {
                return None;
            }
            if !moved {
                phases.image.strides[number] = phases.words.cast_signed();
                phases.words = phases.words.checked_mul(axis.extent)?;
            }
        }
        for (number, axis) in axes.iter().enumerate() {
            if phases.image.strides[number] != 0 {
                let at = phases.outer.count;
                (phases.outer.extent[at], phases.outer.axis[at]) = (axis.extent, number as u8);
                phases.outer.count += 1;
                phases.channels *= axis.extent;
            }
        }
        phases.outer.total = phases.channels;
        phases.words += phases.beyond;
        let pitch = if columns.count == 2 { phases.dimensions[1].step } else { phases.row.inner };
        let rows = if columns.count == 2 { columns.extent[0] } else { 1 };
        phases.row = LongRow { rows, inner: phases.row.inner, pitch };
        // What lies between the rows is computed too.
        (pitch >= phases.row.inner && rows * phases.row.inner * 8 >= phases.row.length() * 5).then_some(phases)
    }

    /// Writes where each index of K starts.
    ///
    /// # Safety
    /// `list` must be valid for writing an offset for each index of K.
    pub(super) unsafe fn list(&self, axes: &[Axis], list: *mut isize) {
        let k = Group::merged(axes, Role::K, &[&self.image]);
        let moved = |at: usize| self.image.bounded().iter().any(|window| window.strides[k.number(at)] != 0);
        // The axes outside of those that move windows move all that is inside.
        let count = (0..k.count).position(moved).unwrap_or(k.count);
        let inside = k.extent[count..k.count].iter().product();
        let outside = Group { count, total: k.total / inside, ..k };
        let mut walk = Walk::new(&self.image, &k, 0);
        for at in 0..inside {
            let mut offset = walk.place.offset;
            for dimension in &self.dimensions[..self.count] {
                let bounds = &self.image.windows[dimension.window];
                let coordinate = bounds.base + walk.place.at[dimension.window] - dimension.low;
                offset += dimension.place(coordinate.cast_unsigned()).cast_signed();
            }
            // SAFETY: the list has an offset for each index of K, by this function's contract, and `at` is one of them.
            unsafe { list.add(at).write(offset) };
            walk.advance(1);
        }
        let mut walk = Walk::new(&self.image, &outside, 0);
        for turn in 1..outside.total {
            walk.advance(1);
            for at in 0..inside {
                // SAFETY: the list has an offset for each of the `inside · outside.total` indices of K, by this function's
                // contract, and the first `inside` of them are written.
                unsafe { list.add(turn * inside + at).write(*list.add(at) + walk.place.offset) };
            }
        }
    }

    /// Makes zeros of some channels, and of what is beyond the last one.
    ///
    /// # Safety
    /// `to` must have `words` writable words, and `channels` be some of the copy's.
    pub(super) unsafe fn clear(&self, channels: core::ops::Range<usize>, to: *mut f32) {
        let beyond = if channels.end == self.channels { self.beyond } else { 0 };
        // SAFETY: `to` has the words of all channels and those beyond the last, by this function's contract.
        unsafe { to.wrapping_add(channels.start * self.channel).write_bytes(0, channels.len() * self.channel + beyond) }
    }

    /// Copies some channels of the batch index at `base` to their places in `to`, where they have been cleared.
    ///
    /// # Safety
    /// `to` must have `words` writable words, `base` must be the place of a batch index, and `channels` some of the copy's.
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(
        &self,
        s: S,
        side: &Side<'_>,
        base: isize,
        channels: core::ops::Range<usize>,
        to: *mut f32,
    ) {
        for channel in channels {
            let from = side.distance(&self.outer, channel) + base;
            let to = to.wrapping_add(channel * self.channel);
            // SAFETY: `to` has the words of all channels, by this function's contract; elements that exist lie within the
            // operand, whose reach `Side` has checked.
            unsafe { self.channel(s, side, side.data.as_ptr().wrapping_offset(from), to) }
        }
    }

    /// Copies the elements of a channel that exist.
    ///
    /// # Safety
    /// `from` must be where the channel has element 0 of each window in `side`, and `to` have the words of a channel.
    #[inline(always)]
    unsafe fn channel<S: Simd>(&self, s: S, side: &Side<'_>, from: *const f32, to: *mut f32) {
        let dimensions = &self.dimensions[..self.count];
        if dimensions.iter().any(|dimension| dimension.from >= dimension.to) {
            return;
        }
        let row = &dimensions[0];
        let step = side.windows[row.window].stride;
        for first in row.from..(row.from + row.stride).min(row.to) {
            let count = if row.stride == 1 { row.to - first } else { (row.to - first).div_ceil(row.stride) };
            let source = from.wrapping_offset((row.low + first.cast_signed()) * step);
            let line = Line { step: step.wrapping_mul(row.stride.cast_signed()), count };
            // SAFETY: by this function's contract `to` has the words of a channel, in which the line has places of its own;
            // its elements are from `row.from` to `row.to`, which exist.
            unsafe { self.lines(s, side, line, source, to.wrapping_add(row.place(first))) }
        }
    }

    /// Copies the elements of a channel that are in one plane of the rows.
    ///
    /// # Safety
    /// `from` must be where `side` has element 0 of each window but the first, of which the elements of `line` must exist,
    /// and `to` where they are in a channel of the copy, which must be valid for writing.
    #[inline(always)]
    unsafe fn lines<S: Simd>(&self, s: S, side: &Side<'_>, line: Line, from: *const f32, to: *mut f32) {
        // The second dimension is that of the rows; outside of it there are seldom others.
        let (rows, outer) = match &self.dimensions[1..self.count] {
            [] => (&NOTHING, &[][..]),
            [rows, outer @ ..] => (rows, outer),
        };
        let pitch = side.windows[rows.window].stride;
        let mut index = [0; MAX_WINDOWS];
        for (index, dimension) in index.iter_mut().zip(outer) {
            *index = dimension.from;
        }
        loop {
            let (mut source, mut target) = (from, to);
            for (&at, dimension) in index.iter().zip(outer) {
                let element = dimension.low + at.cast_signed();
                source = source.wrapping_offset(element * side.windows[dimension.window].stride);
                target = target.wrapping_add(dimension.place(at));
            }
            for first in rows.from..(rows.from + rows.stride).min(rows.to) {
                let source = source.wrapping_offset((rows.low + first.cast_signed()) * pitch);
                let lines = Lines {
                    rows: (rows.to - first).div_ceil(rows.stride),
                    count: line.count,
                    step: line.step,
                    // Of one row nothing is a step away.
                    from: pitch.wrapping_mul(rows.stride.cast_signed()),
                    to: rows.step,
                };
                // SAFETY: all indices are from `from` to `to` of their dimensions, and those of the line exist by this
                // function's contract, so `Side` has checked the elements, and the channel has a word for each.
                unsafe { copy_lines(s, source, target.wrapping_add(rows.place(first)), lines) }
            }
            let mut next = 0;
            loop {
                if next >= outer.len() {
                    return;
                }
                index[next] += 1;
                if index[next] < outer[next].to {
                    break;
                }
                index[next] = outer[next].from;
                next += 1;
            }
        }
    }
}

/// The windows, those of inner columns first. Nothing if one is moved by a batch axis or by two column axes, or if a column
/// axis moves none, or several.
fn dimensions(side: &Side<'_>, axes: &[Axis], columns: &Group) -> Option<(usize, [Dimension; MAX_WINDOWS])> {
    let bounded = side.bounded();
    let mut found = [NOTHING; MAX_WINDOWS];
    let mut count = 0;
    let mut seen = [false; MAX_WINDOWS];
    let batch = |axis: &Axis| axis.role == Role::Batch && axis.extent > 1;
    let moved = |number: usize| bounded.iter().any(|window| window.strides[number] != 0);
    if !(1..=2).contains(&columns.count) || axes.iter().enumerate().any(|(number, axis)| batch(axis) && moved(number)) {
        return None;
    }
    for position in (0..columns.count).rev() {
        let number = columns.number(position);
        let mut movers = (0..bounded.len()).filter(|&window| bounded[window].strides[number] != 0);
        let (window, none) = (movers.next()?, movers.next());
        let stride = usize::try_from(bounded[window].strides[number]).ok()?;
        if none.is_some() || seen[window] || side.strides[number] != 0 {
            return None;
        }
        seen[window] = true;
        found[count] = Dimension { window, stride, ..NOTHING };
        count += 1;
    }
    for window in (0..bounded.len()).filter(|&window| !seen[window]) {
        found[count] = Dimension { window, ..NOTHING };
        count += 1;
    }
    for dimension in &mut found[..count] {
        let bounds = &bounded[dimension.window];
        let (low, high) = span(axes, bounds.base, bounds.strides);
        dimension.low = low;
        dimension.count = usize::try_from(high - low + 1).ok()?;
        dimension.from = (-low).max(0).cast_unsigned();
        dimension.to = (bounds.extent.min(high + 1) - low).max(0).cast_unsigned();
    }
    Some((count, found))
}
