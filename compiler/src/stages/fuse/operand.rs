//! Reads an operand of a contraction through the movement around it: one load through an affine map with
//! windows, or the verdict that the operand must be put into memory first.

use super::inline::{Body, Inliner};
use super::scope::Scope;
use crate::ir::Value;
use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index, is_nonnegative};
use crate::ir::kernel::{Expr, Guard, Reach};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// An operand before its slot is numbered.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// What is read.
    pub(super) value: Value,
    /// Where, affinely.
    pub(super) index: Index,
    /// Coordinates that may leave the data.
    pub(super) windows: Vec<Reach>,
}

/// The operand `value` at an index over `axes`; `None` if it is not one affine load.
pub(super) fn read(
    scope: &Scope<'_>,
    roots: &BTreeSet<Value>,
    axes: &[Dim],
    value: Value,
    at: &[Index],
    guards: &[Guard],
) -> Option<Reading> {
    let mut body = Body::over(axes.to_vec());
    let id = Inliner::new(scope, roots, &mut body).value(value, at, guards).ok()?;
    let Expr::Load { slot, index, guards, fill } = &body.exprs[id] else { return None };
    if fill.as_f64() != 0.0 {
        return None;
    }
    let mut empty = Body::over(axes.to_vec());
    let inliner = Inliner::new(scope, roots, &mut empty);
    let (index, windows) = windows(&inliner, index, guards)?;
    let source = body.slots[*slot];
    let moved = source != scope.canon(value);
    if !index.is_affine() || moved && !stays_inside(&inliner, &index, &windows, &scope.graph.ty(source).count()) {
        return None;
    }
    Some(Reading { value: source, index, windows })
}

/// Whether no choice of an index and of a coordinate for each window, each within its own range, leaves the `count`
/// elements. The driver takes nothing else for granted; of windows that share axes it can be wrong although every
/// address is right. Without windows every choice is read.
fn stays_inside(inliner: &Inliner<'_>, index: &Index, windows: &[Reach], count: &Dim) -> bool {
    if windows.is_empty() {
        return true;
    }
    // The turn of a loop, and what an index is computed from, choose the part that is read.
    let mut walked = index.clone();
    walked.terms.retain(|(atom, _)| matches!(atom, Atom::Axis(_)));
    let Some((mut low, mut high)) = inliner.bounds(&walked) else { return false };
    for window in windows {
        let reach = window.stride.clone() * (window.extent.clone() - Dim::from(1));
        if is_nonnegative(&window.stride) {
            high = high + reach;
        } else if is_nonnegative(&-window.stride.clone()) {
            low = low + reach;
        } else {
            return false;
        }
    }
    is_nonnegative(&low) && is_nonnegative(&(count.clone() - Dim::from(1) - high))
}

/// Splits the guarded coordinates off a flat index. Whatever the stride of a coordinate, the rest makes up for
/// it, so that the address is that of the flat index; a coordinate of stride 0 is a condition only.
fn windows(inliner: &Inliner<'_>, flat: &Index, guards: &[Guard]) -> Option<(Index, Vec<Reach>)> {
    let mut rest = flat.clone();
    let mut windows = vec![];
    let mut open: Vec<(&Index, &Dim)> = guards
        .iter()
        .filter_map(|guard| match guard {
            Guard::Within(coordinate, extent) => Some((coordinate, extent)),
            Guard::Multiple(..) => None,
        })
        .collect();
    for guard in guards {
        let Guard::Multiple(numerator, divisor) = guard else { continue };
        let (coordinate, _) = inliner.divide(numerator, &(*divisor).into());
        let extent = match open.iter().position(|(c, _)| **c == coordinate) {
            Some(known) => open.remove(known).1.clone(),
            None => inliner.above(&coordinate),
        };
        let stride = split_off(&mut rest, &coordinate);
        windows.push(Reach { index: numerator.clone(), divisor: *divisor, extent, stride });
    }
    // Of coordinates over the same axes the one over most of them bounds the others.
    open.sort_by_key(|(coordinate, _)| Reverse(coordinate.terms.len()));
    for (coordinate, extent) in open {
        let stride = split_off(&mut rest, coordinate);
        windows.push(Reach { index: coordinate.clone(), divisor: 1, extent: extent.clone(), stride });
    }
    windows.iter().all(|w| w.index.is_affine()).then_some((rest, windows))
}

/// Takes a coordinate out of an index as often as it is in there, judged by its first division or axis; how often.
fn split_off(index: &mut Index, coordinate: &Index) -> Dim {
    let found = coordinate.terms.iter().find_map(|(atom, own)| match atom {
        Atom::Axis(_) | Atom::Div(..) => {
            let (_, factor) = index.terms.iter().find(|(other, _)| other == atom)?;
            factor.exact_div(own)
        }
        Atom::Loop(_) | Atom::Value(_) | Atom::Mod(..) => None,
    });
    let stride = found.unwrap_or_default();
    *index = index.plus(&coordinate.times(&-stride.clone()));
    stride
}
