//! fuse: graphs of primitives become programs of kernels.
//!
//! In: models after grad. Out: one program for each function; each group of primitives fits one skeleton.
//! Always: a value that is read by a kernel is in memory before it, and nothing is computed that no result
//! or effect needs.

mod attend;
mod branch;
mod concat;
mod edges;
mod foreign;
mod group;
mod heavy;
mod in_place;
mod inline;
mod keep;
mod lower;
mod operand;
mod order;
mod rewrite;
mod scales;
mod scope;
mod stored;
mod sums;

use crate::ir::index::Index;
use crate::ir::program::{Buffer, BufferId, Program, Role};
use crate::ir::{Dim, Function, Kind, Mode, Model, Value};
use group::Grouping;
use in_place::Versions;
use lower::{Destination, Lowering};
use scope::{Home, Scope};
use std::collections::{BTreeMap, BTreeSet};

/// The programs of a model's functions, in order.
pub fn fuse(model: &Model) -> Vec<Program> {
    let rewritten = |function: &Function| rewrite::rewrite(stored::stored(model, function.clone()));
    model.functions.iter().map(|function| program(model, &rewritten(function))).collect()
}

fn program(model: &Model, function: &Function) -> Program {
    let mut lowering = Lowering::default();
    let graph = &function.graph;
    let mut homes = BTreeMap::new();
    for value in graph.values() {
        let role = match graph.node(value).kind {
            Kind::Input(k) => Role::Argument(k),
            Kind::Param(p) => Role::Param(p),
            Kind::State(id) => Role::State(id),
            Kind::Source(source) => Role::Source(source),
            Kind::Prim(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Counter(_)
            | Kind::Repeat(_)
            | Kind::Branch(_)
            | Kind::Transform(_)
            | Kind::Foreign(_)
            | Kind::StopGradient
            | Kind::Written(_) => continue,
        };
        let len = match role {
            Role::Param(p) => model.param(p).stacked().count(),
            _ => graph.ty(value).count(),
        };
        let buffer = lowering.buffer(role, graph.ty(value).dtype, len);
        homes.insert(value, Home { buffer, base: Index::default() });
    }
    let results = graph.outputs.iter().enumerate().map(|(k, &v)| (Role::Result(k), v));
    let effects = function.effects.iter().map(|&(effect, v)| (Role::Effect(effect).shared(), v));
    let destinations: Vec<Destination> = results
        .chain(effects)
        .map(|(role, value)| {
            let ty = graph.ty(value);
            let buffer = lowering.buffer(role, ty.dtype, ty.count());
            Destination { value, buffer, base: Index::default() }
        })
        .collect();
    let steps = lowering.region(graph, homes, &destinations);
    let precision = match function.mode {
        Mode::Evaluate => model.precision,
        Mode::Train(_) => model.precision.in_training(),
    };
    Program { name: function.name.to_string(), precision, buffers: lowering.buffers, steps }
}

impl Lowering {
    /// The buffer of a role; scratch is a new one each time.
    fn buffer(&mut self, role: Role, dtype: crate::ir::DType, len: Dim) -> BufferId {
        if let Some(known) = self.known.get(&role) {
            return *known;
        }
        let new = BufferId(self.buffers.len());
        self.buffers.push(Buffer { role, dtype, len });
        if role != Role::Scratch {
            self.known.insert(role, new);
        }
        new
    }
}

/// Groups everything that the destinations need, and keeps what several kernels would compute.
fn grouped<'a>(
    scope: &'a Scope<'a>,
    destinations: &[Destination],
    buffers: &[Buffer],
    versions: &[Versions],
) -> Grouping<'a> {
    let roots = lower::roots(scope, destinations, versions);
    let cuts = keep::cuts(scope, &roots);
    let mut kept = keep::likely(scope, &roots);
    kept.extend(&cuts);
    let group = |kept: &Kept| lower::group(scope, destinations, (&roots, kept), buffers, versions);
    let mut grouping = group(&kept);
    let likely = kept.len();
    kept.retain(|value| cuts.contains(value) || grouping.is_shared(*value));
    if kept.len() < likely {
        grouping = group(&kept);
    }
    loop {
        let more = keep::worth_keeping(&grouping, &kept);
        if more.is_empty() {
            return grouping;
        }
        kept.extend(more);
        grouping = group(&kept);
    }
}

/// Values that more than one kernel would compute, and that are worth keeping instead.
type Kept = BTreeSet<Value>;
