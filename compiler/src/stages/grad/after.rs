//! Sums over the iterations of a backward region that are made once, after it: which ones, and how.
//!
//! In: the graph of an iteration and the gradients that every iteration would add to. Out: those that are linear in sums of
//! products or in reductions, whose arguments are kept as stacks instead: `Σ_t a_tᵀ·b_t` is one product that sums over `t`
//! as well, and no iteration reads and writes the sum. Always: stacks that exist anyway are used; new ones hold less for
//! each iteration than the sum that they replace, and are made only where the memory policy is not to keep little.

use super::keep::words;
use crate::ir::pattern::Pattern;
use crate::ir::prim::{Prim, ReduceOp};
use crate::ir::{Graph, Kind, Value};
use crate::ops::{Builder, OpError};
use std::collections::{BTreeMap, BTreeSet};

/// How an iteration's value is found after the region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stack {
    /// In a stack that exists.
    Known,
    /// In one that the region would have to give.
    New,
    /// It is the same in every iteration.
    Invariant,
}

/// The gradients whose sums are made after the region, and the values that it has to stack for them.
#[derive(Default)]
pub(super) struct After {
    /// By their keys.
    pub(super) sums: BTreeSet<usize>,
    /// What is not in a stack yet.
    pub(super) stacked: Vec<Value>,
}

impl After {
    /// Chooses among `gradients`; `frugal` allows no further stacks.
    pub(super) fn of(
        graph: &Graph,
        gradients: &BTreeMap<usize, Value>,
        stack: &dyn Fn(Value) -> Stack,
        frugal: bool,
    ) -> After {
        let mut after = After::default();
        // A stack that one sum is worth serves the others too.
        while let Some((key, new)) = gradients.iter().filter(|(k, _)| !after.sums.contains(k)).find_map(|(&k, &sum)| {
            let mut leaves = BTreeSet::new();
            let fits = leaves_of(graph, sum, stack, &mut leaves);
            leaves.retain(|v| stack(*v) == Stack::New && !after.stacked.contains(v));
            let more: u64 = leaves.iter().map(|v| words(graph, *v)).fold(0, u64::saturating_add);
            (fits && (leaves.is_empty() || !frugal && more < words(graph, sum))).then_some((k, leaves))
        }) {
            after.sums.insert(key);
            after.stacked.extend(new);
        }
        after
    }
}

/// Collects what has to be in stacks for the sum over all iterations of a value; whether it can be made from them.
fn leaves_of(graph: &Graph, value: Value, stack: &dyn Fn(Value) -> Stack, leaves: &mut BTreeSet<Value>) -> bool {
    let node = graph.node(value);
    if stack(value) == Stack::Invariant {
        return false;
    }
    let Kind::Prim(prim) = &node.kind else {
        leaves.insert(value);
        return stack(value) == Stack::Known;
    };
    if matches!(prim, Prim::Contract { .. } | Prim::Reduce { op: ReduceOp::Sum, .. }) {
        leaves.extend(&node.args);
        node.args.iter().all(|v| stack(*v) != Stack::Invariant)
    } else if is_linear(prim) {
        node.args.iter().all(|v| leaves_of(graph, *v, stack, leaves))
    } else {
        leaves.insert(value);
        stack(value) == Stack::Known
    }
}

/// Whether a primitive of sums is the sum of the primitive's values.
fn is_linear(prim: &Prim) -> bool {
    match prim.pattern() {
        Pattern::Movement => true,
        Pattern::Elementwise { .. } => matches!(prim, Prim::Map(op) if op.is_linear()),
        Pattern::Constant
        | Pattern::Barrier
        | Pattern::Selection
        | Pattern::Indexed
        | Pattern::Reduction
        | Pattern::Product => false,
    }
}

/// The sum over all iterations of a value of `graph`, from the stacks of its leaves.
pub(super) fn total(
    b: &mut Builder<'_>,
    graph: &Graph,
    value: Value,
    stacks: &dyn Fn(Value) -> Value,
) -> Result<Value, OpError> {
    let node = graph.node(value);
    match &node.kind {
        Kind::Prim(Prim::Contract { lhs, rhs, out }) => {
            let Some(turn) = (0..=u8::MAX).find(|l| !lhs.contains(l) && !rhs.contains(l)) else {
                unreachable!("a contraction has few labels")
            };
            let first = |labels: &[u8]| [&[turn], labels].concat();
            let prim = Prim::Contract { lhs: first(lhs), rhs: first(rhs), out: out.clone() };
            b.prim(prim, &[stacks(node.args[0]), stacks(node.args[1])])
        }
        Kind::Prim(Prim::Reduce { op: ReduceOp::Sum, axes }) => {
            let axes = [0].into_iter().chain(axes.iter().map(|a| a + 1)).collect();
            b.prim(Prim::Reduce { op: ReduceOp::Sum, axes }, &[stacks(node.args[0])])
        }
        Kind::Prim(prim) if is_linear(prim) => {
            let args = node.args.iter().map(|v| total(b, graph, *v, stacks)).collect::<Result<Vec<_>, _>>()?;
            b.prim(prim.clone(), &args)
        }
        Kind::Prim(_)
        | Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Counter(_)
        | Kind::Repeat(_)
        | Kind::Branch(_)
        | Kind::Transform(_)
        | Kind::Foreign(_)
        | Kind::StopGradient
        | Kind::Written(_) => b.prim(Prim::Reduce { op: ReduceOp::Sum, axes: vec![0] }, &[stacks(value)]),
    }
}
