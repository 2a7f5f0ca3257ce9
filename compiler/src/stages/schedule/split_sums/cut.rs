//! How the terms of a sum become parts.
//!
//! In: a kernel, its summed axes, and how many parts there should be. Out: the same axes, which count within a part, and axes
//! of parts. Always: the outermost axes are cut, so that a part is what lies together; where an axis is no multiple of its
//! parts, positions go beyond its extent, and there is no term at these.

use super::super::workgroups::typical;
use crate::ir::dim::Dim;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, ExprId, Guard, Kernel};
use crate::ir::neighbours::FOUR;
use crate::ir::prim::{MapOp, Scalar};

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

/// Cuts axes into some `wanted` parts together, of which those along an axis of neighbours keep fours of them together. Indices
/// are left as they are.
pub(super) fn cut(kernel: &mut Kernel, summed: &[usize], mut wanted: i64, neighbours: Option<usize>) -> Vec<Cut> {
    let mut cuts = vec![];
    for &axis in summed {
        if wanted < 2 {
            break;
        }
        let parts = parts(&kernel.axes[axis], wanted);
        let length = ceil_div_dim(&kernel.axes[axis], &parts.into());
        let is_kept = neighbours == Some(axis) && kernel.axes[axis].is_multiple_of(FOUR);
        cuts.push(match is_kept && !length.is_multiple_of(FOUR) {
            true => {
                let length =
                    ceil_div_dim(&kernel.axes[axis], &(i64::from(FOUR) * parts).into()) * i64::from(FOUR).into();
                cut_into(kernel, axis, &parts.into(), length)
            }
            false => cut_axis(kernel, axis, &parts.into()),
        });
        wanted = ceil_div(wanted, parts);
    }
    cuts
}

/// Which axes are cut into how many parts each, so that there are exactly so many together: known extents first, into parts of the
/// same length, and what is left is made of one whose extent a call knows, if that is long enough or mostly a multiple of it.
pub(super) fn even_cuts(extents: &[Dim], summed: &[usize], mut parts: i64) -> Option<Vec<(usize, i64)>> {
    let mut cuts = vec![];
    let (known, named): (Vec<usize>, Vec<usize>) = summed.iter().partition(|&&axis| extents[axis].as_const().is_some());
    for axis in known {
        let factor = factors(parts).rev().find(|&factor| extents[axis].exact_div(&factor.into()).is_some());
        let factor = factor.unwrap_or(1);
        parts /= factor;
        cuts.extend((factor > 1).then_some((axis, factor)));
    }
    if parts > 1 {
        let &axis = named.first()?;
        let extent = typical(&extents[axis]);
        if extent < LONG * parts && !(parts.unsigned_abs().is_power_of_two() && parts <= extent) {
            return None;
        }
        cuts.push((axis, parts));
    }
    Some(cuts)
}

/// The factors of a number, in order.
fn factors(number: i64) -> impl DoubleEndedIterator<Item = i64> {
    (1..=number).filter(move |factor| number % factor == 0)
}

/// How many times as long as the number of parts an axis is where it hardly matters that the last part is shorter.
const LONG: i64 = 8;

/// Cuts one axis into so many parts.
pub(super) fn cut_axis(kernel: &mut Kernel, axis: usize, parts: &Dim) -> Cut {
    let extent = &kernel.axes[axis];
    let length = extent.exact_div(parts).unwrap_or_else(|| ceil_div_dim(extent, parts));
    cut_into(kernel, axis, parts, length)
}

/// Cuts one axis into parts of such a length, of which none is empty.
pub(super) fn cut_to(kernel: &mut Kernel, axis: usize, length: Dim) -> Cut {
    let parts = ceil_div_dim(&kernel.axes[axis], &length);
    cut_into(kernel, axis, &parts, length)
}

fn ceil_div_dim(a: &Dim, b: &Dim) -> Dim {
    (a.clone() + b.clone() - Dim::from(1)).floor_div(b)
}

/// Cuts one axis into so many parts of such a length.
fn cut_into(kernel: &mut Kernel, axis: usize, parts: &Dim, length: Dim) -> Cut {
    let (extent, part) = (kernel.axes[axis].clone(), kernel.axes.len());
    let is_exact = extent == parts.clone() * length.clone();
    let position = Index::axis(part).times(&length).plus(&Index::axis(axis));
    kernel.axes[axis] = length;
    kernel.axes.push(parts.clone());
    Cut { axis, part, position, extent, is_exact }
}

/// Puts the positions within parts into all indices, and guards loads that would be beyond the end of an axis.
pub(super) fn apply(kernel: &mut Kernel, cuts: &[Cut]) {
    for cut in cuts {
        kernel.for_each_index(&mut |index| *index = cut.applied(index));
    }
    for scalar in &mut kernel.scalars {
        if let Expr::Load { index, guards, .. } = scalar {
            let moves =
                |cut: &&Cut| index.mentions(cut.axis) || guards.iter().any(|guard| guard.index().mentions(cut.axis));
            let beyond: Vec<Guard> = cuts.iter().filter(moves).filter_map(Cut::guard).collect();
            guards.extend(beyond);
        }
    }
}

/// Scalars that beyond the end of a cut axis are something else.
pub(super) fn masked(kernel: &mut Kernel, cuts: &[Cut], values: Vec<(ExprId, Scalar)>) -> Vec<ExprId> {
    let guards: Vec<Guard> = cuts.iter().filter_map(Cut::guard).collect();
    if guards.is_empty() {
        return values.into_iter().map(|(value, _)| value).collect();
    }
    let scalars = &mut kernel.scalars;
    let mut add = |scalar: Expr| {
        scalars.push(scalar);
        scalars.len() - 1
    };
    let inside = add(Expr::Inside(guards));
    let masked = values.into_iter().map(|(value, beyond)| {
        let beyond = add(Expr::Const(beyond));
        add(Expr::Map(MapOp::Select, vec![inside, value, beyond]))
    });
    masked.collect()
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
    fn even_cuts_make_that_many_parts() {
        let mut extents = [Dim::name("B"), Dim::from(14), Dim::from(56)];
        assert_eq!(even_cuts(&extents, &[0, 1, 2], 49), Some(vec![(1, 7), (2, 7)]));
        assert_eq!(even_cuts(&extents, &[0, 1, 2], 28), Some(vec![(1, 14), (2, 2)]));
        assert_eq!(even_cuts(&extents, &[0, 1, 2], 32), Some(vec![(1, 2), (2, 8), (0, 2)]));
        assert_eq!(even_cuts(&extents, &[0, 1, 2], 9), None);
        extents[0] = Dim::from(16) * Dim::name("B");
        assert_eq!(even_cuts(&extents, &[0, 1, 2], 9), Some(vec![(0, 9)]));
    }

    #[test]
    fn factors_of_named_extents_are_used() {
        let b = Dim::name("B");
        assert_eq!(parts(&(Dim::from(48) * b.clone()), 5), 6);
        assert_eq!(parts(&b, 5), 8);
        assert_eq!(parts(&b, 1000), 64);
    }
}
