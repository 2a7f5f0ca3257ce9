//! Splits axes that index maps take apart by division, such as the features of several heads side by side.
//!
//! In: a row kernel. Out: the same with an axis of `c·n` positions as two of `c` and of `n` where indices divide by `n`;
//! what was a quotient and a remainder is then affine, so whole vectors are moved instead of single elements. Always: a
//! load's index is changed only where its guards hold, because elsewhere it is not read.

use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index, Ranges};
use crate::ir::kernel::{Expr, Guard, Kernel, Skeleton};

/// Splits what can be split, and simplifies divisions and guards.
pub(super) fn split(kernel: &mut Kernel) {
    let before = kernel.axes.len();
    while let Some((axis, inner)) = wanted(kernel) {
        part(kernel, axis, inner);
        let axes = kernel.axes.clone();
        kernel.for_each_index(&mut |index| *index = simplified(index, &axes));
    }
    if kernel.axes.len() > before {
        guards(kernel);
    }
}

/// A parallel axis, and the inner extent at which some index divides it.
fn wanted(kernel: &Kernel) -> Option<(usize, i64)> {
    let Skeleton::Row { parallel, .. } = &kernel.skeleton else { return None };
    let indices = kernel.indices();
    parallel.iter().find_map(|&axis| {
        let extent = kernel.axes[axis].as_const()?;
        let fits = |inner: &i64| *inner > 1 && *inner < extent && extent % *inner == 0;
        indices.iter().find_map(|index| divided(index, axis)).filter(fits).map(|inner| (axis, inner))
    })
}

/// How many steps of an axis an index divides by, where that is a whole number.
fn divided(index: &Index, axis: usize) -> Option<i64> {
    index.terms.iter().find_map(|(atom, _)| match atom {
        Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => None,
        Atom::Div(inner, by) | Atom::Mod(inner, by) => divided(inner, axis).or_else(|| {
            let own = inner.terms.iter().find(|(atom, _)| *atom == Atom::Axis(axis));
            let (by, step) = (by.as_const()?, own?.1.as_const()?);
            (step > 0 && by % step == 0).then(|| by / step)
        }),
    })
}

/// Lets an axis count runs of `inner` positions, and a new one behind it the positions of a run.
fn part(kernel: &mut Kernel, axis: usize, inner: i64) {
    let new = kernel.axes.len();
    kernel.axes[axis] = kernel.axes[axis].floor_div(&Dim::from(inner));
    kernel.axes.push(Dim::from(inner));
    if let Skeleton::Row { parallel, .. } = &mut kernel.skeleton
        && let Some(at) = parallel.iter().position(|&a| a == axis)
    {
        parallel.insert(at + 1, new);
    }
    let position = Index::axis(axis).times(&Dim::from(inner)).plus(&Index::axis(new));
    kernel.for_each_index(&mut |index| *index = index.with_axis(axis, &position));
}

/// An index without the divisions that the extents of axes decide.
fn simplified(index: &Index, axes: &[Dim]) -> Index {
    let extent = |atom: &Atom| match atom {
        Atom::Axis(a) => Some(axes[*a].clone()),
        Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
    };
    let mut sum = Index::constant(index.base.clone());
    for (atom, c) in &index.terms {
        let new = match atom {
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => Index::atom(atom.clone()),
            Atom::Div(inner, by) => Ranges(&extent).divide(&simplified(inner, axes), by).0,
            Atom::Mod(inner, by) => Ranges(&extent).divide(&simplified(inner, axes), by).1,
        };
        sum = sum.plus(&new.times(c));
    }
    sum
}

/// Leaves out of guards what does not decide them, and puts positions that they leave no choice into the loads' indices.
fn guards(kernel: &mut Kernel) {
    let axes = kernel.axes.clone();
    for scalar in &mut kernel.scalars {
        match scalar {
            Expr::Load { index, guards, .. } => {
                guards.iter_mut().for_each(|guard| coarser(guard, &axes));
                for (axis, position) in guards.iter().filter_map(only) {
                    *index = simplified(&index.with_axis(axis, &Index::constant(position.clone())), &axes);
                }
            }
            Expr::Inside(guards) => guards.iter_mut().for_each(|guard| coarser(guard, &axes)),
            Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Index(_)
            | Expr::Map(..)
            | Expr::Convert(..)
            | Expr::Accumulated { .. } => {}
        }
    }
}

/// The axis that a guard holds at one position of, and that position.
fn only(guard: &Guard) -> Option<(usize, Dim)> {
    match guard {
        Guard::Within(index, extent) => match index.terms.as_slice() {
            [(Atom::Axis(axis), step)] if step.is(1) && extent.is(1) => Some((*axis, -index.base.clone())),
            _ => None,
        },
        Guard::Multiple(..) => None,
    }
}

/// Divides a guard whose bounds are multiples of a step by that step, where the finer terms stay below it.
fn coarser(guard: &mut Guard, axes: &[Dim]) {
    let Guard::Within(index, extent) = guard else { return };
    let (Some(base), Some(reach)) = (index.base.as_const(), extent.as_const()) else { return };
    let mut steps: Vec<i64> = index.terms.iter().filter_map(|(_, c)| c.as_const()).filter(|c| *c > 1).collect();
    steps.sort_unstable_by(|a, b| b.cmp(a));
    for step in steps.into_iter().filter(|step| base % step == 0 && reach % step == 0) {
        let coarse = |c: &Dim| c.as_const().is_some_and(|c| c % step == 0);
        let fine =
            Index { base: Dim::default(), terms: index.terms.iter().filter(|t| !coarse(&t.1)).cloned().collect() };
        let extent_of = |atom: &Atom| match atom {
            Atom::Axis(a) => Some(axes[*a].clone()),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
        };
        if Ranges(&extent_of).within(&fine, &Dim::from(step)) {
            let terms = index.terms.iter().filter(|t| coarse(&t.1));
            let terms = terms.map(|(atom, c)| (atom.clone(), c.floor_div(&Dim::from(step)))).collect();
            *guard = Guard::Within(Index { base: Dim::from(base / step), terms }, Dim::from(reach / step));
            return;
        }
    }
}
