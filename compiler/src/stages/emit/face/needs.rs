//! What a function needs of its named dimensions besides their agreement. In: the graphs of all functions of one name.
//! Out: the dimensions that must not be negative, each once. Always: those that cannot be, because every name is at
//! least 1, are left out, so most functions need nothing.

use crate::ir::dim::{Atom, Dim};
use crate::ir::prim::{Cut, Prim};
use crate::ir::{Graph, Kind};

/// The extents, and the starts and rests of slices, that small arguments make negative.
pub(super) fn needs<'g>(graphs: impl Iterator<Item = &'g Graph>) -> Vec<Dim> {
    let mut found = vec![];
    graphs.for_each(|graph| collect(graph, &mut found));
    found
}

fn collect(graph: &Graph, found: &mut Vec<Dim>) {
    let mut need = |dim: Dim| {
        if least(&dim).is_none_or(|least| least < 0) && !found.contains(&dim) {
            found.push(dim);
        }
    };
    for value in graph.values() {
        let node = graph.node(value);
        node.ty.iter().flat_map(|ty| &ty.shape).cloned().for_each(&mut need);
        if let Kind::Prim(Prim::Slice(cuts)) = &node.kind {
            let whole = node.args.first().and_then(|&arg| graph.node(arg).ty.as_ref());
            for (Cut { start, len, step }, extent) in cuts.iter().zip(whole.iter().flat_map(|ty| &ty.shape)) {
                need(start.clone());
                let last = start.clone() + (len.clone() - 1.into()) * (*step).into();
                need(extent.clone() - 1.into() - last);
            }
        }
    }
    for value in graph.values() {
        match &graph.node(value).kind {
            Kind::Repeat(repeat) => collect(&repeat.body, found),
            Kind::Branch(branch) => branch.cases.iter().for_each(|case| collect(case, found)),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::Transform(_)
            | Kind::StopGradient
            | Kind::Written(_) => {}
        }
    }
}

/// A lower bound of a dimension whose names are at least 1, where one is plain to see.
fn least(dim: &Dim) -> Option<i64> {
    let term = |(atoms, c): &(Vec<Atom>, i64)| {
        if *c < 0 && !atoms.is_empty() {
            return None;
        }
        atoms.iter().try_fold(*c, |product, atom| Some(product * factor(atom)?))
    };
    dim.terms().iter().try_fold(0i64, |sum, t| Some(sum + term(t)?))
}

/// The same of a factor; none where it may be negative, which would turn the bound of a product around.
fn factor(atom: &Atom) -> Option<i64> {
    let least = match atom {
        Atom::Name(_) => 1,
        Atom::FloorDiv(a, by) => least(a)?.div_euclid(by.as_const().filter(|&by| by > 0)?),
        Atom::Max(a, b) => least(a).into_iter().chain(least(b)).max()?,
    };
    (least >= 0).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_follow_from_names() {
        let t = || Dim::name("T");
        assert_eq!(least(&(t() * 3.into())), Some(3));
        assert_eq!(least(&(t() - 1.into())), Some(0));
        assert_eq!(least(&(t() - 5.into())), Some(-4));
        assert_eq!(least(&(Dim::name("B") - t())), None);
        assert_eq!(least(&(t() + 3.into()).floor_div(&2.into())), Some(2));
    }
}
