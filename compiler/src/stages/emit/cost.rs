//! What a function costs: its floating-point operations. In: a graph of primitives. Out: a polynomial of the named
//! dimensions. Always: a multiply-add is two operations, every other arithmetic of an element one, and what only moves,
//! compares or chooses is none; a repeated block counts as often as it runs.

use crate::ir::attend::Part;
use crate::ir::dim::product;
use crate::ir::prim::{Prim, Window};
use crate::ir::{Dim, Graph, Kind, Node, Type};

/// The floating-point operations of a graph.
pub(super) fn flops(graph: &Graph) -> Dim {
    graph.nodes.iter().fold(0.into(), |sum, node| sum + of_node(graph, node))
}

fn of_node(graph: &Graph, node: &Node) -> Dim {
    match &node.kind {
        Kind::Prim(prim) => {
            let args: Vec<&Type> = node.args.iter().map(|&arg| graph.ty(arg)).collect();
            node.ty.as_ref().map_or(0.into(), |ty| of_prim(prim, &args, ty))
        }
        Kind::Repeat(repeat) => repeat.count.clone() * flops(&repeat.body),
        // The case that runs is known at run time.
        Kind::Branch(branch) => branch.cases.iter().map(flops).fold(0.into(), |most: Dim, case| most.larger(&case)),
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Transform(_)
        // What the program does there is its own.
        | Kind::Foreign(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Counter(_)
        | Kind::StopGradient
        | Kind::Written(_) => 0.into(),
    }
}

fn of_prim(prim: &Prim, args: &[&Type], ty: &Type) -> Dim {
    let floats = |ty: &Type| if ty.dtype.is_float() { ty.count() } else { 0.into() };
    match prim {
        Prim::Map(op) if op.is_flop() => floats(ty),
        Prim::Contract { lhs, rhs, .. } => {
            let mut extents: Vec<(u8, &Dim)> = vec![];
            for (&label, dim) in lhs.iter().zip(&args[0].shape).chain(rhs.iter().zip(&args[1].shape)) {
                if !extents.iter().any(|(known, _)| *known == label) {
                    extents.push((label, dim));
                }
            }
            Dim::from(2) * product(extents.into_iter().map(|(_, dim)| dim))
        }
        // The weight is `[G, O, I, K…]`; each result sums over I and the taps.
        Prim::Conv { .. } => Dim::from(2) * ty.count() * product(&args[1].shape[2..]),
        Prim::Reduce { .. } => floats(args[0]),
        Prim::WindowReduce { windows, .. } => floats(ty) * taps(windows),
        Prim::WindowPut { .. } | Prim::ScatterAdd { .. } => floats(args[0]),
        Prim::Attend(attend) => of_attention(attend.part, args),
        Prim::Map(_)
        | Prim::Const(_)
        | Prim::Extent(_)
        | Prim::Iota { .. }
        | Prim::Convert(_)
        | Prim::ArgReduce { .. }
        | Prim::WindowArgMax { .. }
        | Prim::WindowTake { .. }
        | Prim::Reshape(_)
        | Prim::Transpose(_)
        | Prim::Broadcast { .. }
        | Prim::Slice(_)
        | Prim::SetSlice(_)
        | Prim::Barrier
        | Prim::Flip(_)
        | Prim::Pad { .. }
        | Prim::Concat { .. }
        | Prim::Gather { .. } => 0.into(),
    }
}

/// Every pair of a query and a key counts, also those that a causal kernel leaves out.
fn of_attention(part: Part, args: &[&Type]) -> Dim {
    let (q, k, v) = (&args[0].shape, &args[1].shape, &args[2].shape);
    let rank = q.len();
    let pairs = product(&q[..rank - 1]) * k[rank - 2].clone();
    let (d, e) = (q[rank - 1].clone(), v[rank - 1].clone());
    // Products with keys and values, and for each pair the factor, the exponential and what becomes of it.
    let (keys, values, others) = match part {
        Part::Max => (1, 0, 2),
        Part::Reciprocal => (1, 0, 3),
        Part::Output => (1, 1, 3),
        Part::Query | Part::Key => (2, 1, 4),
        Part::Value => (1, 1, 2),
    };
    pairs * (Dim::from(2 * keys) * d + Dim::from(2 * values) * e + others.into())
}

fn taps(windows: &[Window]) -> Dim {
    product(windows.iter().map(|window| &window.size))
}
