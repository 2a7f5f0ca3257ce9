//! Merges neighbouring axes that every index map walks as one, and renumbers what is left.

use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Guard, Kernel, Skeleton};

/// Merges what can be merged and drops axes of extent 1.
pub(super) fn merge(kernel: &mut Kernel) {
    drop_ones(kernel);
    while let Some((outer, inner)) = pair(kernel) {
        fold(kernel, outer, inner);
    }
    renumber(kernel);
}

/// Every index map of a kernel.
pub(super) fn for_each_index(kernel: &mut Kernel, see: &mut dyn FnMut(&mut Index)) {
    for scalar in &mut kernel.scalars {
        match scalar {
            Expr::Load { index, guards, .. } => {
                see(index);
                guards.iter_mut().for_each(|g| see(guarded(g)));
            }
            Expr::Inside(guards) => guards.iter_mut().for_each(|g| see(guarded(g))),
            Expr::Index(index) => see(index),
            Expr::Const(_) | Expr::Extent(_) | Expr::Map(..) | Expr::Convert(..) | Expr::Accumulated { .. } => {}
        }
    }
    match &mut kernel.skeleton {
        Skeleton::Row { passes, stores, .. } => {
            let inner = passes.iter_mut().flat_map(|p| &mut p.stores);
            inner.chain(stores).for_each(|s| see(&mut s.index));
        }
        Skeleton::Contract { lhs, rhs, stores, .. } => {
            for operand in [lhs, rhs] {
                see(&mut operand.index);
                operand.windows.iter_mut().for_each(|w| see(&mut w.index));
            }
            stores.iter_mut().for_each(|s| see(&mut s.index));
        }
        Skeleton::Scatter { store, .. } => see(&mut store.index),
    }
}

fn guarded(guard: &mut Guard) -> &mut Index {
    match guard {
        Guard::Within(index, _) | Guard::Multiple(index, _) => index,
    }
}

/// The lists of axes, each in loop order; axes merge only within a list.
pub(super) fn lists(skeleton: &mut Skeleton) -> Vec<&mut Vec<usize>> {
    match skeleton {
        Skeleton::Row { parallel, reduced, .. } => vec![parallel, reduced],
        Skeleton::Contract { batch, m, n, k, .. } => vec![batch, m, n, k],
        Skeleton::Scatter { outer, source, inner, .. } => vec![outer, source, inner],
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
    for_each_index(kernel, &mut |index| {
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
        for_each_index(kernel, &mut |index| fits &= walks_as_one(index, outer, inner, &extent));
        fits
    })
}

fn walks_as_one(index: &Index, outer: usize, inner: usize, extent: &crate::ir::Dim) -> bool {
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
    for_each_index(kernel, &mut |index| {
        *index = index.map(&mut |atom| match atom {
            Atom::Axis(a) if *a == outer => Index::default(),
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
    });
}

/// Numbers the remaining axes in loop order.
fn renumber(kernel: &mut Kernel) {
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
    for_each_index(kernel, &mut |index| {
        *index = index.map(&mut |atom| match atom {
            Atom::Axis(a) => Index::axis(new(*a)),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
    });
    kernel.axes = order.iter().map(|&a| kernel.axes[a].clone()).collect();
}
