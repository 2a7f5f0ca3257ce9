//! Where the elements of an operand lie.
//!
//! In: an operand as the caller describes it, and the axes. Out: a [`Side`] whose windows that never leave the operand have
//! become plain strides, [`Group`]s of merged axes, and a [`Walk`] along a group. Always: every address that a `Side` can
//! produce lies within its slice, checked once when it is made.

use super::element::Element;
use super::{Axis, COUNTABLE, Operand, Role};

pub(super) const MAX_AXES: usize = 16;
pub(super) const MAX_WINDOWS: usize = 4;

/// A window that must be looked through for every element.
#[derive(Clone, Copy)]
pub(super) struct Bounded<'a> {
    pub(super) base: isize,
    pub(super) strides: &'a [isize],
    pub(super) divisor: isize,
    pub(super) extent: isize,
    pub(super) stride: isize,
}

const NONE: Bounded<'static> = Bounded { base: 0, strides: &[], divisor: 1, extent: 0, stride: 0 };

/// A checked operand.
#[derive(Clone, Copy)]
pub(super) struct Side<'a, T = f32> {
    pub(super) data: &'a [T],
    pub(super) base: isize,
    pub(super) strides: [isize; MAX_AXES],
    pub(super) windows: [Bounded<'a>; MAX_WINDOWS],
    pub(super) count: usize,
}

/// The linear parts of an address, for some of the axes: an offset in words and a coordinate per window.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: isize,
    pub(super) at: [isize; MAX_WINDOWS],
}

impl Place {
    pub(super) const NOWHERE: Place = Place { offset: 0, at: [0; MAX_WINDOWS] };

    #[inline(always)]
    pub(super) fn plus(mut self, other: &Place) -> Place {
        self.offset += other.offset;
        for (at, other) in self.at.iter_mut().zip(other.at) {
            *at += other;
        }
        self
    }
}

impl Side<'static> {
    /// An operand without strides, windows or data.
    pub(super) fn plain() -> Self {
        Side { data: &[], base: 0, strides: [0; MAX_AXES], windows: [NONE; MAX_WINDOWS], count: 0 }
    }
}

impl<'a, T: Element> Side<'a, T> {
    /// Checks the operand and folds the windows that need no check per element.
    pub(super) fn new(axes: &[Axis], operand: &Operand<'a, T>) -> Self {
        assert!(
            operand.windows.len() <= MAX_WINDOWS
                && operand.strides.len() == axes.len()
                && operand.windows.iter().all(|window| window.strides.len() == axes.len()),
            "contract: a malformed operand"
        );
        let mut side = Side {
            data: operand.data,
            base: operand.base,
            strides: [0; MAX_AXES],
            windows: [NONE; MAX_WINDOWS],
            count: 0,
        };
        side.strides[..axes.len()].copy_from_slice(operand.strides);
        // Of an image without elements nothing is read, and its other extents, which no slice bounds, mean nothing.
        let is_empty = operand.windows.iter().any(|window| window.extent == 0);
        for window in operand.windows {
            let (low, high) = span(axes, window.base, window.strides);
            let most = COUNTABLE.cast_signed();
            let countable = window.divisor <= COUNTABLE && window.extent <= COUNTABLE && -most <= low && high <= most;
            assert!(countable, "contract: a malformed window");
            let extent = if is_empty { 0 } else { window.extent.cast_signed() };
            if window.divisor == 1 && low >= 0 && high < extent {
                side.base = side.base.saturating_add(window.base.saturating_mul(window.stride));
                for (stride, step) in side.strides.iter_mut().zip(window.strides) {
                    *stride = stride.saturating_add(step.saturating_mul(window.stride));
                }
                continue;
            }
            side.windows[side.count] = Bounded {
                base: window.base,
                strides: window.strides,
                divisor: window.divisor.max(1).cast_signed(),
                extent,
                stride: window.stride,
            };
            side.count += 1;
        }
        side.check(axes);
        side
    }

    /// Panics unless every element that can be read lies within the slice.
    fn check(&self, axes: &[Axis]) {
        if axes.iter().any(|axis| axis.extent == 0) {
            return;
        }
        let (mut low, mut high) = span(axes, self.base, &self.strides[..axes.len()]);
        for window in self.bounded() {
            if window.extent == 0 {
                return;
            }
            let reach = (window.extent - 1).saturating_mul(window.stride);
            low = low.saturating_add(reach.min(0));
            high = high.saturating_add(reach.max(0));
        }
        assert!(low >= 0 && high < self.data.len().cast_signed(), "contract: an operand reaches outside its slice");
    }

    #[inline(always)]
    pub(super) fn bounded(&self) -> &[Bounded<'a>] {
        &self.windows[..self.count.min(MAX_WINDOWS)]
    }

    /// The place where all indices are 0.
    #[inline(always)]
    pub(super) fn origin(&self) -> Place {
        let mut place = Place { offset: self.base, at: [0; MAX_WINDOWS] };
        for (at, window) in place.at.iter_mut().zip(self.bounded()) {
            *at = window.base;
        }
        place
    }

    /// Moves `place` by `steps` of `axis`.
    #[inline(always)]
    pub(super) fn step(&self, place: &mut Place, axis: usize, steps: isize) {
        place.offset += self.strides[axis] * steps;
        for (at, window) in place.at.iter_mut().zip(self.bounded()) {
            *at += window.strides[axis] * steps;
        }
    }

    /// How far index `number` of `group` is from index 0, but for windows.
    #[inline(always)]
    pub(super) fn distance(&self, group: &Group, number: usize) -> isize {
        let (mut offset, mut rest) = (0, number);
        for dim in (0..group.count).rev() {
            let index;
            (rest, index) = group.cut(dim, rest);
            offset += self.strides[group.number(dim)] * index.cast_signed();
        }
        offset
    }

    /// Whether the operand varies with none of `axes`, by their numbers.
    pub(super) fn ignores(&self, mut axes: impl Iterator<Item = usize>) -> bool {
        axes.all(|axis| self.strides[axis] == 0 && self.bounded().iter().all(|window| window.strides[axis] == 0))
    }

    /// Whether a step of the outer axis equals `extent` steps of the inner one.
    fn continues(&self, outer: usize, inner: usize, extent: usize) -> bool {
        let extent = extent.cast_signed();
        self.strides[outer] == self.strides[inner] * extent
            && self.bounded().iter().all(|window| window.strides[outer] == window.strides[inner] * extent)
    }

    /// Whether a step of `axis` is a step of one word wherever the element exists.
    pub(super) fn contiguous(&self, axis: usize) -> bool {
        let mut step = self.strides[axis];
        for window in self.bounded() {
            if window.strides[axis] != 0 && window.divisor != 1 {
                return false;
            }
            step += window.strides[axis] * window.stride;
        }
        step == 1
    }

    /// How many of the innermost indices of `group` are evenly spaced and free of windows, and their distance.
    pub(super) fn even_run(&self, group: &Group) -> (usize, isize) {
        let Some(last) = group.count.checked_sub(1) else {
            return (1, 0);
        };
        let inner = group.number(last);
        let free = |axis: usize| self.bounded().iter().all(|window| window.strides[axis] == 0);
        if !free(inner) {
            return (1, 0);
        }
        let mut run = group.extent[last];
        for dim in (0..last).rev() {
            if !free(group.number(dim)) || self.strides[group.number(dim)] != self.strides[inner] * run.cast_signed() {
                break;
            }
            run *= group.extent[dim];
        }
        (run, self.strides[inner])
    }
}

/// The least and the greatest value of `base + Σ strides·index`, saturating.
pub(super) fn span(axes: &[Axis], base: isize, strides: &[isize]) -> (isize, isize) {
    reach(base, axes.iter().map(|axis| axis.extent).zip(strides.iter().copied()))
}

/// The least and the greatest position from `base` on along walks of an extent and a stride each, saturating.
pub(crate) fn reach(base: isize, walks: impl Iterator<Item = (usize, isize)>) -> (isize, isize) {
    walks.fold((base, base), |(low, high), (extent, stride)| {
        let last = isize::try_from(extent.saturating_sub(1)).unwrap_or(isize::MAX);
        let reach = stride.saturating_mul(last);
        (low.saturating_add(reach.min(0)), high.saturating_add(reach.max(0)))
    })
}

/// Whether no two positions along walks of an extent and a stride each meet: each stride is beyond everything that the
/// smaller ones reach. There are at most two more than a product has axes.
pub(crate) fn apart(walks: impl Iterator<Item = (usize, isize)>) -> bool {
    let mut by_stride = [(0usize, 1usize); MAX_AXES + 2];
    let mut count = 0;
    for (extent, stride) in walks.filter(|(extent, _)| *extent > 1) {
        by_stride[count] = (stride.unsigned_abs(), extent);
        count += 1;
    }
    by_stride[..count].sort_unstable();
    let mut reach = 0usize;
    by_stride[..count].iter().all(|&(stride, extent)| {
        let clear = stride > reach;
        reach = reach.saturating_add(stride.saturating_mul(extent - 1));
        clear
    })
}

/// The axes of one role, outer before inner. A merged axis goes by the number of its innermost part.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) count: usize,
    pub(super) extent: [usize; MAX_AXES],
    /// The number of each.
    pub(super) axis: [u8; MAX_AXES],
    pub(super) total: usize,
}

impl Group {
    pub(super) const EMPTY: Group = Group { count: 0, extent: [1; MAX_AXES], axis: [0; MAX_AXES], total: 1 };

    /// The number of the axis at `position`.
    #[inline(always)]
    pub(super) fn number(&self, position: usize) -> usize {
        usize::from(self.axis[position])
    }

    /// What is left of a number of indices outside of axis `dim`, and the index on that axis.
    #[inline(always)]
    pub(super) fn cut(&self, dim: usize, rest: usize) -> (usize, usize) {
        // The outermost axis has all that is left: mostly there is no other, and divisions take long.
        if dim == 0 {
            return (0, rest);
        }
        let extent = self.extent[dim].max(1);
        (rest / extent, rest % extent)
    }

    /// The axes of `role`, as they are.
    pub(super) fn all(axes: &[Axis], role: Role) -> Group {
        let mut group = Group::EMPTY;
        for (number, axis) in axes.iter().enumerate().filter(|(_, axis)| axis.role == role) {
            group.extent[group.count] = axis.extent;
            group.axis[group.count] = number as u8;
            group.count += 1;
            group.total *= axis.extent;
        }
        group
    }

    /// The axes of `role`, merged wherever all of `sides` allow, without axes of one index.
    pub(super) fn merged<T: Element>(axes: &[Axis], role: Role, sides: &[&Side<'_, T>]) -> Group {
        let mut group = Group::EMPTY;
        for (number, axis) in axes.iter().enumerate().filter(|(_, axis)| axis.role == role && axis.extent != 1) {
            group.total *= axis.extent;
            if let Some(last) = group.count.checked_sub(1)
                && sides.iter().all(|side| side.continues(group.number(last), number, axis.extent))
            {
                group.extent[last] *= axis.extent;
                group.axis[last] = number as u8;
            } else {
                group.extent[group.count] = axis.extent;
                group.axis[group.count] = number as u8;
                group.count += 1;
            }
        }
        group
    }
}

/// A position in a group, and where that is in an operand.
#[derive(Clone, Copy)]
pub(super) struct Walk<'p, T = f32> {
    side: &'p Side<'p, T>,
    group: &'p Group,
    index: [usize; MAX_AXES],
    pub(super) place: Place,
}

impl<'p, T: Element> Walk<'p, T> {
    /// Index `start` of `group`; the place counts from 0.
    #[inline]
    pub(super) fn new(side: &'p Side<'p, T>, group: &'p Group, start: usize) -> Self {
        let mut walk = Walk { side, group, index: [0; MAX_AXES], place: Place { offset: 0, at: [0; MAX_WINDOWS] } };
        let mut rest = start;
        for dim in (0..group.count).rev() {
            (rest, walk.index[dim]) = group.cut(dim, rest);
            side.step(&mut walk.place, group.number(dim), walk.index[dim].cast_signed());
        }
        walk
    }

    /// The innermost axis.
    #[inline(always)]
    pub(super) fn axis(&self) -> usize {
        self.group.number(self.group.count.max(1) - 1)
    }

    /// How many indices are left on the innermost axis.
    #[inline(always)]
    pub(super) fn run(&self) -> usize {
        let last = self.group.count.max(1) - 1;
        self.group.extent[last] - self.index[last]
    }

    /// Moves on by `count` indices, not beyond the run.
    #[inline(always)]
    pub(super) fn advance(&mut self, count: usize) {
        if self.group.count == 0 {
            return;
        }
        let mut dim = self.group.count - 1;
        self.index[dim] += count;
        self.side.step(&mut self.place, self.group.number(dim), count.cast_signed());
        while dim > 0 && self.index[dim] == self.group.extent[dim] {
            self.side.step(&mut self.place, self.group.number(dim), -self.group.extent[dim].cast_signed());
            self.index[dim] = 0;
            dim -= 1;
            self.index[dim] += 1;
            self.side.step(&mut self.place, self.group.number(dim), 1);
        }
    }
}
