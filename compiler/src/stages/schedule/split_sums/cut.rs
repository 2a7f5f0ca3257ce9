//! How the terms of a sum become parts.
//!
//! In: a kernel, its summed axes, and how many parts there should be. Out: the same axes, which count within a part, and axes
//! of parts. Always: the outermost axes are cut, so that a part is what lies together; where an axis is no multiple of its
//! parts, positions go beyond its extent, and there is no term at these.

use super::super::workgroups::typical;
use crate::ir::dim::Dim;
use crate::ir::index::Index;
use crate::ir::kernel::{Guard, Kernel};

/// An axis that was cut.
pub(super) struct Cut {
    /// The axis, which now counts within a part.
    pub(super) axis: usize,
    /// The axis of the parts.
    pub(super) part: usize,
    /// What the axis counted before.
    pub(super) position: Index,
    /// How far that goes.
    pub(super) extent: Dim,
    /// Whether it goes beyond at no position.
    pub(super) is_exact: bool,
}

impl Cut {
    /// An index over the axis as one over the part and what the axis counts now.
    pub(super) fn applied(&self, index: &Index) -> Index {
        index.with_axis(self.axis, &self.position)
    }

    /// That there is a term, where that is not certain.
    pub(super) fn guard(&self) -> Option<Guard> {
        (!self.is_exact).then(|| Guard::Within(self.position.clone(), self.extent.clone()))
    }
}

/// Cuts axes into some `wanted` parts together. Indices are left as they are.
pub(super) fn cut(kernel: &mut Kernel, summed: &[usize], mut wanted: i64) -> Vec<Cut> {
    let mut cuts = vec![];
    for &axis in summed {
        if wanted < 2 {
            break;
        }
        let parts = parts(&kernel.axes[axis], wanted);
        cuts.push(cut_axis(kernel, axis, &parts.into()));
        wanted = ceil_div(wanted, parts);
    }
    cuts
}

/// Cuts one axis into so many parts.
pub(super) fn cut_axis(kernel: &mut Kernel, axis: usize, parts: &Dim) -> Cut {
    let (extent, part) = (kernel.axes[axis].clone(), kernel.axes.len());
    let length = (extent.clone() + parts.clone() - Dim::from(1)).floor_div(parts);
    let exact = extent.exact_div(parts);
    let (length, is_exact) = (exact.clone().unwrap_or(length), exact.is_some());
    let position = Index::axis(part).times(&length).plus(&Index::axis(axis));
    kernel.axes[axis] = length;
    kernel.axes.push(parts.clone());
    Cut { axis, part, position, extent, is_exact }
}

/// How many parts an axis is cut into, of which there should be some `wanted` at least: if it can be, so many that none goes
/// beyond its end.
fn parts(extent: &Dim, wanted: i64) -> i64 {
    let most = typical(extent);
    let wanted = wanted.min(most);
    let exact = (wanted..=most.min(2 * wanted)).find(|&parts| extent.exact_div(&parts.into()).is_some());
    match (exact, extent.as_const()) {
        (Some(parts), _) => parts,
        (None, Some(extent)) => ceil_div(extent, ceil_div(extent, wanted)),
        // Sizes of batches mostly are powers of two, or multiples of some.
        (None, None) => wanted.max(1).unsigned_abs().next_power_of_two() as i64,
    }
}

fn ceil_div(a: i64, b: i64) -> i64 {
    (a + b - 1) / b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_known_extents_are_never_empty() {
        for extent in 1..200 {
            for wanted in 2..40 {
                let parts = parts(&Dim::from(extent), wanted);
                let length = ceil_div(extent, parts);
                assert!(parts >= wanted.min(extent) / 2 && parts <= 2 * wanted, "{extent} in {parts}");
                assert!((parts - 1) * length < extent && parts * length >= extent, "{extent} in {parts}");
            }
        }
    }

    #[test]
    fn factors_of_named_extents_are_used() {
        let b = Dim::name("B");
        assert_eq!(parts(&(Dim::from(48) * b.clone()), 5), 6);
        assert_eq!(parts(&b, 5), 8);
        assert_eq!(parts(&b, 1000), 64);
    }
}
