//! Merges neighbouring axes that every index map walks as one, and renumbers what is left.

use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Skeleton};
use crate::ir::parametric;
use crate::ir::rows::Row;

/// Merges what can be merged and drops axes of extent 1.
pub(super) fn merge(kernel: &mut Kernel) {
    drop_ones(kernel);
    while let Some((outer, inner)) = pair(kernel) {
        fold(kernel, outer, inner);
    }
    renumber(kernel);
}

/// Merges the outermost axis of a row kernel, which may have a single position when it runs, with the next one, so that threads
/// have something to share. What walks both as one stays so, as all that is written does; other indices divide the new axis,
/// once for each of its positions.
pub(super) fn merge_outermost(kernel: &mut Kernel) {
    let Some((outer, inner)) = outermost(kernel) else { return };
    let extent = kernel.axes[inner].clone();
    let [quotient, remainder] =
        [Atom::Div, Atom::Mod].map(|part| Index::atom(part(Box::new(Index::axis(inner)), extent.clone())));
    kernel.for_each_index(&mut |index| {
        if !walks_as_one(index, outer, inner, &extent) {
            *index = index.with_axis(inner, &remainder).with_axis(outer, &quotient);
        }
    });
    fold(kernel, outer, inner);
    let new = renumber(kernel);
    kernel.schedule.vector = kernel.schedule.vector.and_then(|axis| new.iter().position(|&a| a == axis));
}

/// The two outermost axes of a row kernel, if the first is one of a batch whose size is not known and the second is short, as
/// that of heads is (a long one may be a parameter of the kernel, and what divides may not); if vectors run along neither, and a
/// position of both is a part of whatever is written.
fn outermost(kernel: &Kernel) -> Option<(usize, usize)> {
    let row = Row::of(kernel)?;
    let &[outer, inner, ..] = row.parallel else { return None };
    let has_loops = kernel.schedule.vector.is_some_and(|axis| axis != outer && axis != inner);
    let is_few = |extent: i64| (2..parametric::LEAST).contains(&extent);
    let sizes = kernel.axes[outer].as_const().is_none() && kernel.axes[inner].as_const().is_some_and(is_few);
    let stores = row.passes.iter().flat_map(|pass| &pass.stores).chain(row.stores).map(|store| &store.index);
    let loads = kernel.scalars.iter().filter_map(Expr::load).filter(|load| kernel.slots[load.slot].write);
    let as_one = |index: &Index| walks_as_one(index, outer, inner, &kernel.axes[inner]);
    let has_parts = row.parts(outer).is_some() && stores.chain(loads.map(|load| load.index)).all(as_one);
    (has_loops && sizes && has_parts).then_some((outer, inner))
}

/// The lists of axes, each in loop order; axes merge only within a list.
pub(super) fn lists(skeleton: &mut Skeleton) -> Vec<&mut Vec<usize>> {
    match skeleton {
        Skeleton::Row { parallel, reduced, .. } => vec![parallel, reduced],
        Skeleton::Contract { batch, m, n, k, .. } => vec![batch, m, n, k],
        Skeleton::Scatter { outer, source, inner, .. } => vec![outer, source, inner],
        Skeleton::Attend(attention) => attention.lists_mut().into(),
        // Axes are merged before loops become recurrences.
        Skeleton::Recur(_) => vec![],
    }
}

fn drop_ones(kernel: &mut Kernel) {
    let ones: Vec<usize> = (0..kernel.axes.len()).filter(|&a| kernel.axes[a].is(1)).collect();
    if let Skeleton::Scatter { target, .. } = kernel.skeleton
        && ones.contains(&target)
    {
        return;
    }
    for list in lists(&mut kernel.skeleton) {
        list.retain(|a| !ones.contains(a));
    }
    kernel.for_each_index(&mut |index| {
        *index = index.map(&mut |atom| match atom {
            Atom::Axis(a) if ones.contains(a) => Index::default(),
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
    });
}

/// Two neighbouring axes of a list whose strides fit in every index map.
fn pair(kernel: &mut Kernel) -> Option<(usize, usize)> {
    let pairs: Vec<(usize, usize)> = lists(&mut kernel.skeleton)
        .iter()
        .flat_map(|l| l.windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>())
        .collect();
    pairs.into_iter().find(|&(outer, inner)| {
        let extent = kernel.axes[inner].clone();
        let mut fits = true;
        kernel.for_each_index(&mut |index| fits &= walks_as_one(index, outer, inner, &extent));
        fits
    })
}

fn walks_as_one(index: &Index, outer: usize, inner: usize, extent: &Dim) -> bool {
    let of = |axis: usize| {
        let term = index.terms.iter().find(|(atom, _)| *atom == Atom::Axis(axis));
        term.map(|(_, c)| c.clone()).unwrap_or_default()
    };
    let nested = index.terms.iter().all(|(atom, _)| match atom {
        Atom::Div(i, _) | Atom::Mod(i, _) => walks_as_one(i, outer, inner, extent),
        Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => true,
    });
    nested && of(outer) == of(inner) * extent.clone()
}

/// Lets the inner axis stand for both.
fn fold(kernel: &mut Kernel, outer: usize, inner: usize) {
    kernel.axes[inner] = kernel.axes[outer].clone() * kernel.axes[inner].clone();
    for list in lists(&mut kernel.skeleton) {
        list.retain(|&a| a != outer);
    }
    kernel.for_each_index(&mut |index| *index = index.with_axis(outer, &Index::default()));
}

/// Numbers the remaining axes in loop order, and says which number each had.
fn renumber(kernel: &mut Kernel) -> Vec<usize> {
    let mut order: Vec<usize> = lists(&mut kernel.skeleton).iter().flat_map(|l| l.iter().copied()).collect();
    if let Skeleton::Scatter { target, .. } = kernel.skeleton {
        order.push(target);
    }
    let new = |axis: usize| order.iter().position(|&a| a == axis).unwrap_or_default();
    for list in lists(&mut kernel.skeleton) {
        list.iter_mut().for_each(|a| *a = new(*a));
    }
    if let Skeleton::Scatter { target, .. } = &mut kernel.skeleton {
        *target = new(*target);
    }
    kernel.for_each_index(&mut |index| {
        *index = index.map(&mut |atom| match atom {
            Atom::Axis(a) => Index::axis(new(*a)),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
    });
    kernel.axes = order.iter().map(|&a| kernel.axes[a].clone()).collect();
    order
}
