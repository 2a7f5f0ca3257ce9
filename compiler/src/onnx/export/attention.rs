//! Attention in ordinary primitives: its specification, which graphs have in its place here.

use crate::ir::prim::Prim;
use crate::ir::simplify::simplify;
use crate::ir::{DType, Graph, Kind};
use crate::ops::{self, Builder};

/// The graph without the primitive of attention.
pub(super) fn written_out(graph: &Graph) -> Graph {
    let mut made = graph.rebuilt(|made, value, new| {
        let node = graph.node(value);
        let Kind::Prim(Prim::Attend(attend)) = &node.kind else { return None };
        let args: Vec<_> = node.args.iter().map(|arg| new[arg.0 as usize]).collect();
        let (span, sites) = (node.span, &mut 0);
        let mut b = Builder { graph: made, span, training: false, float: DType::F32, sites, loops: vec![] };
        match ops::attention(&mut b, attend, &args) {
            Ok(value) => Some(value),
            Err(error) => unreachable!("its arguments fit the primitive: {}", error.message),
        }
    });
    for body in made.nodes.iter_mut().flat_map(|node| node.kind.bodies_mut()) {
        *body = written_out(body);
    }
    simplify(made, &mut [])
}
