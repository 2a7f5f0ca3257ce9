//! What a graph's values are made of in memory while it is being fused: homes known beforehand, and roots.

use crate::ir::index::Index;
use crate::ir::pattern::Pattern;
use crate::ir::program::BufferId;
use crate::ir::{Graph, Kind, Prim, Value};
use std::collections::BTreeMap;

/// Where a value's elements lie: row-major from `base`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Home {
    /// In which buffer.
    pub(super) buffer: BufferId,
    /// From which element; varies with loop counters inside of regions.
    pub(super) base: Index,
}

/// A graph with the homes of its inputs.
pub(super) struct Scope<'a> {
    /// The graph.
    pub(super) graph: &'a Graph,
    /// Values that are in memory before any kernel runs.
    pub(super) homes: BTreeMap<Value, Home>,
}

impl Scope<'_> {
    /// The value whose memory serves for this one: reshapes, barriers and gradient stops are the same elements.
    pub(super) fn canon(&self, mut value: Value) -> Value {
        loop {
            let node = self.graph.node(value);
            match &node.kind {
                Kind::Prim(Prim::Reshape(_) | Prim::Barrier) | Kind::StopGradient => value = node.args[0],
                _ => return value,
            }
        }
    }

    /// What computes a value.
    pub(super) fn prim(&self, value: Value) -> Option<&Prim> {
        match &self.graph.node(value).kind {
            Kind::Prim(prim) => Some(prim),
            _ => None,
        }
    }

    /// Whether a value needs a loop of its own: sums, products and scatters.
    pub(super) fn is_heavy(&self, value: Value) -> bool {
        self.prim(value).is_some_and(|prim| match prim.pattern() {
            Pattern::Reduction | Pattern::Product => true,
            Pattern::Constant
            | Pattern::Elementwise { .. }
            | Pattern::Movement
            | Pattern::Barrier
            | Pattern::Selection
            | Pattern::Indexed => false,
        })
    }

    /// Whether a value only moves elements of its argument, so that an operand can be read through it.
    pub(super) fn is_movement(&self, value: Value) -> bool {
        let kind = &self.graph.node(value).kind;
        match kind.pattern() {
            Some(Pattern::Movement | Pattern::Barrier) => true,
            Some(
                Pattern::Constant
                | Pattern::Elementwise { .. }
                | Pattern::Selection
                | Pattern::Indexed
                | Pattern::Reduction
                | Pattern::Product,
            ) => false,
            None => matches!(kind, Kind::StopGradient),
        }
    }
}
