//! Reads an operand of a contraction through the movement around it: one load through an affine map with
//! windows, or the verdict that the operand must be put into memory first.

use super::inline::{Body, Inliner};
use super::scope::Scope;
use crate::ir::Value;
use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Guard, Reach};
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
    let id = Inliner { scope, roots, body: &mut body }.value(value, at, guards).ok()?;
    let Expr::Load { slot, index, guards, fill } = &body.exprs[id] else { return None };
    if fill.as_f64() != 0.0 {
        return None;
    }
    let (index, windows) = windows(axes, index, guards)?;
    index.is_affine().then(|| Reading { value: body.slots[*slot], index, windows })
}

/// Splits the guarded coordinates off a flat index.
fn windows(axes: &[Dim], flat: &Index, guards: &[Guard]) -> Option<(Index, Vec<Reach>)> {
    let mut rest = flat.clone();
    let mut windows = vec![];
    for guard in guards {
        let Guard::Within(coordinate, extent) = guard else { continue };
        let (numerator, divisor, stride) = match division(coordinate) {
            Some((atom, inner, by)) => {
                let whole = coordinate.plus(&Index::atom(atom.clone()).times(&(-1).into()));
                (whole.times(&by.into()).plus(inner), by, coefficient(flat, atom)?)
            }
            None => {
                let (atom, c) = coordinate.terms.iter().find(|(atom, _)| matches!(atom, Atom::Axis(_)))?;
                (coordinate.clone(), 1, coefficient(flat, atom)?.exact_div(c)?)
            }
        };
        rest = rest.plus(&coordinate.times(&-stride.clone()));
        // Each coordinate has axes of its own; otherwise the split is not unique.
        if coordinate.terms.iter().any(|(atom, _)| matches!(atom, Atom::Axis(a) if rest.mentions(*a))) {
            return None;
        }
        windows.push(Reach { index: numerator, divisor, extent: extent.clone(), stride });
    }
    // A quotient that is always inside of the data has lost its bound, but is still a window: as far as it goes.
    for guard in guards {
        let Guard::Multiple(index, by) = guard else { continue };
        let Some((coordinate, stride)) = quotient(&rest, index, *by) else { continue };
        rest = rest.plus(&coordinate.times(&-stride.clone()));
        if coordinate.terms.iter().any(|(atom, _)| matches!(atom, Atom::Axis(a) if rest.mentions(*a))) {
            return None;
        }
        let extent = largest(axes, index)?.floor_div(&Dim::from(*by)) + Dim::from(1);
        windows.push(Reach { index: index.clone(), divisor: *by, extent, stride });
    }
    let explained = |guard: &Guard| match guard {
        Guard::Within(..) => true,
        Guard::Multiple(index, by) => windows.iter().any(|w| w.index == *index && w.divisor == *by),
    };
    (guards.iter().all(explained) && windows.iter().all(|w| w.index.is_affine())).then_some((rest, windows))
}

/// The largest value of an index over axes of these extents.
fn largest(axes: &[Dim], index: &Index) -> Option<Dim> {
    let mut largest = index.base.clone();
    for (atom, c) in &index.terms {
        let Atom::Axis(axis) = atom else { return None };
        if c.as_const()? > 0 {
            largest = largest + c.clone() * (axes.get(*axis)?.clone() - Dim::from(1));
        }
    }
    Some(largest)
}

/// Where a flat index holds `numerator / by`: the quotient, and elements from one of its values to the next.
fn quotient(flat: &Index, numerator: &Index, by: i64) -> Option<(Index, Dim)> {
    let by = Dim::from(by);
    flat.terms.iter().find_map(|(atom, stride)| {
        let Atom::Div(inner, divisor) = atom else { return None };
        let rest = numerator.plus(&inner.times(&(-1).into()));
        let mut whole = Index::constant(rest.base.exact_div(&by)?);
        for (term, c) in &rest.terms {
            whole = whole.plus(&Index::atom(term.clone()).times(&c.exact_div(&by)?));
        }
        (*divisor == by).then(|| (whole.plus(&Index::atom(atom.clone())), stride.clone()))
    })
}

fn coefficient(index: &Index, atom: &Atom) -> Option<Dim> {
    index.terms.iter().find(|(a, _)| a == atom).map(|(_, c)| c.clone())
}

/// The only division in a coordinate.
fn division(coordinate: &Index) -> Option<(&Atom, &Index, i64)> {
    coordinate.terms.iter().find_map(|(atom, c)| match atom {
        Atom::Div(inner, by) if c.is(1) => Some((atom, &**inner, by.as_const()?)),
        Atom::Div(..) | Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Mod(..) => None,
    })
}
