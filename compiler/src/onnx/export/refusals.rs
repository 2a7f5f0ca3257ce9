//! What ONNX has no words for: a function in, why it cannot be exported out.

use crate::ir::model::{Binder, Mode};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Function, Graph, Kind};

const STATE: &str = "it reads or changes the state of a session";
const RANDOM: &str = "it draws random numbers";
const FOREIGN: &str = "it calls a foreign function";
const TRAINING: &str = "it is a step of training";
const UNBOUND: &str = "no argument has one of its dimensions as an extent";

/// Why a function cannot be exported, as a clause.
pub(super) fn refusal(function: &Function) -> Option<&'static str> {
    if !matches!(function.mode, Mode::Evaluate) {
        return Some(TRAINING);
    }
    if function.in_session || !function.effects.is_empty() {
        return Some(STATE);
    }
    let is_bound =
        |name: &str| function.args.iter().flat_map(|arg| &arg.ty.shape).any(|dim| dim.affine(name).is_some());
    let unbound = || {
        let mut dims = function.dims.iter().filter(|dim| !matches!(dim.binder, Binder::Argument(_)));
        dims.any(|dim| !is_bound(&dim.name)).then_some(UNBOUND)
    };
    inside(&function.graph).or_else(unbound)
}

fn inside(graph: &Graph) -> Option<&'static str> {
    graph.nodes.iter().find_map(|node| match &node.kind {
        Kind::State(_) => Some(STATE),
        Kind::Source(_) => Some(TRAINING),
        Kind::Foreign(_) => Some(FOREIGN),
        Kind::Prim(Prim::Map(MapOp::Threefry)) => Some(RANDOM),
        kind => kind.bodies().iter().find_map(inside),
    })
}
