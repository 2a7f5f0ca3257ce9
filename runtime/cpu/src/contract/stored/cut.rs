//! How a stored operand is cut into strips.
//!
//! In: axes, the strides of the operand, and how many words a strip should have. Out: strips: boxes of indices, which together
//! are all. Always: which they are depends on shapes alone, and sums are whole in each.

use crate::contract::layout::MAX_AXES;
use crate::contract::plan::share;
use crate::contract::{Axis, Role};

/// Columns of a panel: strips end with one where they can.
const PANEL: usize = 32;

/// The strips.
pub(super) struct Cut<'a> {
    axes: &'a [Axis],
    /// The axes that are cut: of the last one a strip has a part, of the others an index.
    numbers: [usize; MAX_AXES],
    count: usize,
    /// Parts of the last one, which are of so many indices each or a multiple.
    parts: usize,
    unit: usize,
    /// How many strips there are.
    pub(super) total: usize,
}

/// A box of indices.
pub(super) struct Strip {
    /// The first index on each axis.
    pub(super) start: [usize; MAX_AXES],
    /// The axes with the indices that there are in the strip.
    pub(super) axes: [Axis; MAX_AXES],
}

impl<'a> Cut<'a> {
    /// Cuts the axes that an operand of these strides varies with, first those of Batch and then those of `role`, outermost
    /// first, until a strip has at most `words` elements, or one index of each.
    pub(super) fn new(axes: &'a [Axis], strides: &[isize], role: Role, words: usize) -> Self {
        let varies = |number: &usize| strides[*number] != 0 && axes[*number].extent > 1;
        let of = |role: Role| (0..axes.len()).filter(varies).filter(move |number| axes[*number].role == role);
        let mut inner = (0..axes.len()).filter(varies).map(|number| axes[number].extent).product::<usize>();
        let mut cut = Cut { axes, numbers: [0; MAX_AXES], count: 0, parts: 1, unit: 1, total: 1 };
        if inner <= words {
            return cut;
        }
        for number in of(Role::Batch).chain(of(role)) {
            let extent = axes[number].extent;
            inner /= extent;
            cut.numbers[cut.count] = number;
            cut.count += 1;
            let width = (words / inner).max(1);
            cut.unit = if width >= PANEL { PANEL } else { 1 };
            cut.parts = extent.div_ceil(width / cut.unit * cut.unit);
            if inner <= words {
                break;
            }
        }
        let outer = cut.numbers[..cut.count.saturating_sub(1)].iter().map(|number| axes[*number].extent);
        cut.total = outer.product::<usize>() * cut.parts;
        cut
    }

    /// Strip number `number`.
    pub(super) fn strip(&self, number: usize) -> Strip {
        let mut strip = Strip { start: [0; MAX_AXES], axes: [Axis { extent: 1, role: Role::Batch }; MAX_AXES] };
        strip.axes[..self.axes.len()].copy_from_slice(self.axes);
        let Some((last, outer)) = self.numbers[..self.count].split_last() else {
            return strip;
        };
        let (part, mut rest) = (number % self.parts, number / self.parts);
        let extent = self.axes[*last].extent;
        let at = |part| (share(extent.div_ceil(self.unit), self.parts, part) * self.unit).min(extent);
        (strip.start[*last], strip.axes[*last].extent) = (at(part), at(part + 1) - at(part));
        for &number in outer.iter().rev() {
            let extent = self.axes[number].extent;
            (strip.start[number], strip.axes[number].extent) = (rest % extent, 1);
            rest /= extent;
        }
        strip
    }

    /// The number of the first index of `strip` among all of `role`, in their order.
    pub(super) fn first(&self, strip: &Strip, role: Role) -> usize {
        let of = self.axes.iter().zip(strip.start).filter(|(axis, _)| axis.role == role);
        of.fold(0, |first, (axis, at)| first * axis.extent + at)
    }
}
