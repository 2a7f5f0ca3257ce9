//! What a function needs of its named dimensions besides their agreement. In: the graphs of all functions of one name.
//! Out: the dimensions that must not be negative, each once. Always: those that cannot be, because every name is at
//! least 1, are left out, so most functions need nothing.

use crate::ir::model::{Binder, NamedDim};
use crate::ir::prim::Cut;
use crate::ir::{Dim, Function, Graph, Kind};

/// The extents, and the starts and rests of slices, that small arguments make negative.
pub(super) fn needs<'f>(functions: impl Iterator<Item = &'f Function>) -> Vec<Dim> {
    let mut found = vec![];
    for function in functions {
        let positions: Vec<&str> = function.dims.iter().filter(|d| is_position(d)).map(|d| d.name.as_str()).collect();
        collect(&function.graph, &|name| i64::from(!positions.contains(&name)), &mut found);
    }
    found
}

fn is_position(dim: &NamedDim) -> bool {
    matches!(dim.binder, Binder::Argument(_))
}

/// The argument that a need says may not be larger than something, by its number among the dimensions, and that limit.
pub(super) fn position(function: &Function, need: &Dim) -> Option<(usize, Dim)> {
    function.dims.iter().enumerate().filter(|(_, dim)| is_position(dim)).find_map(|(at, dim)| {
        let limit = need.clone() + Dim::name(dim.name.clone());
        let mut left = false;
        limit.names(&mut |name| left |= name == dim.name);
        (!left).then_some((at, limit))
    })
}

/// A number of words at the largest positions: a position is another one in each call, and there is room for the largest from
/// the first call on.
pub(in crate::stages::emit) fn room(function: &Function, words: &Dim) -> Dim {
    words.substitute(&|name| Some(most(function, name)?.max(0).into()))
}

/// The largest value of an argument that is a position, where it is a number.
fn most(function: &Function, name: &str) -> Option<i64> {
    let limits = needs(std::iter::once(function)).into_iter().filter_map(|need| {
        let (at, limit) = position(function, &need)?;
        limit.as_const().filter(|_| function.dims[at].name == name)
    });
    limits.min()
}

/// Whether a name is at least 1 or 0.
type Lowest<'l> = &'l dyn Fn(&str) -> i64;

fn collect(graph: &Graph, lowest: Lowest<'_>, found: &mut Vec<Dim>) {
    let mut need = |dim: Dim| {
        if dim.least(lowest).is_none_or(|least| least < 0) && !found.contains(&dim) {
            found.push(dim);
        }
    };
    for value in graph.values() {
        let node = graph.node(value);
        node.ty.iter().flat_map(|ty| &ty.shape).cloned().for_each(&mut need);
        if let Kind::Prim(prim) = &node.kind {
            let whole = node.args.first().and_then(|&arg| graph.node(arg).ty.as_ref());
            for (Cut { start, len, step }, extent) in prim.cuts().iter().zip(whole.iter().flat_map(|ty| &ty.shape)) {
                need(start.clone());
                // A part that positions bound has an element: the least and the largest of nothing are nowhere.
                let mut bounded = false;
                len.names(&mut |name| bounded |= lowest(name) == 0);
                if bounded {
                    need(len.clone() - 1.into());
                }
                let last = start.clone() + (len.clone() - 1.into()) * (*step).into();
                need(extent.clone() - 1.into() - last);
            }
        }
    }
    for value in graph.values() {
        graph.node(value).kind.bodies().iter().for_each(|body| collect(body, lowest, found));
    }
}
