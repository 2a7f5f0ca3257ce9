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
    let inliner = Inliner { scope, roots, body: &mut Body::over(axes.to_vec()) };
    let (index, windows) = windows(&inliner, index, guards)?;
    index.is_affine().then(|| Reading { value: body.slots[*slot], index, windows })
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
        let stride = division(&coordinate).and_then(|atom| coefficient(&rest, atom)).unwrap_or_default();
        rest = rest.plus(&coordinate.times(&-stride.clone()));
        windows.push(Reach { index: numerator.clone(), divisor: *divisor, extent, stride });
    }
    for (coordinate, extent) in open {
        let stride = coordinate.terms.iter().find_map(|(atom, c)| match atom {
            Atom::Axis(_) => coefficient(&rest, atom)?.exact_div(c),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
        });
        let stride = stride.unwrap_or_default();
        rest = rest.plus(&coordinate.times(&-stride.clone()));
        windows.push(Reach { index: coordinate.clone(), divisor: 1, extent: extent.clone(), stride });
    }
    windows.iter().all(|w| w.index.is_affine()).then_some((rest, windows))
}

fn coefficient(index: &Index, atom: &Atom) -> Option<Dim> {
    index.terms.iter().find(|(a, _)| a == atom).map(|(_, c)| c.clone())
}

/// The division that is left in a coordinate.
fn division(coordinate: &Index) -> Option<&Atom> {
    coordinate.terms.iter().map(|(atom, _)| atom).find(|atom| match atom {
        Atom::Div(..) => true,
        Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Mod(..) => false,
    })
}
