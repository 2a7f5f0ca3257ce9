//! Which elementwise values are kept in memory because computing them again costs more.
//!
//! In: the groups as they are, and what is kept already. Out: what should be kept too. Always: what is computed once is not
//! among it.

use super::Kept;
use super::group::Grouping;
use super::scope::Scope;
use crate::ir::prim::MapOp;
use crate::ir::{Kind, Prim, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Recomputing a value that costs more than this is dearer than storing and loading it.
const WORTH_KEEPING: usize = 12;

/// Elementwise values that several kernels compute, or one for several windows, at a price above that of keeping them.
pub(super) fn worth_keeping(grouping: &Grouping<'_>, kept: &Kept) -> Kept {
    let graph = grouping.scope.graph;
    let mut users: BTreeMap<Value, usize> = BTreeMap::new();
    for value in grouping.groups.iter().flat_map(|group| group.body.visited()) {
        *users.entry(*value).or_default() += 1;
    }
    let overlapping = overlapping(grouping.scope);
    let mut more = Kept::new();
    let mut covered: BTreeSet<Value> = BTreeSet::new();
    for value in graph.values().rev() {
        let Kind::Prim(Prim::Map(_)) = graph.node(value).kind else { continue };
        let canon = grouping.scope.canon(value);
        if grouping.group_of.contains_key(&canon) || kept.contains(&value) || covered.contains(&value) {
            continue;
        }
        let often = users.get(&value).is_some_and(|users| *users >= 2) || overlapping.contains(&value);
        if often && cost(grouping, value) > WORTH_KEEPING {
            more.insert(value);
            // What it is made of, down to what is in memory, is no longer recomputed for these users.
            let mut todo = vec![value];
            while let Some(v) = todo.pop() {
                if !in_memory(grouping, v) && covered.insert(v) {
                    todo.extend(&graph.node(v).args);
                }
            }
        }
    }
    more
}

/// What is reduced over windows that overlap, so that an element is read by several.
fn overlapping(scope: &Scope<'_>) -> BTreeSet<Value> {
    let reduced = |value: Value| match scope.prim(value) {
        Some(Prim::WindowReduce { windows, .. } | Prim::WindowArgMax { windows }) => {
            let overlap = windows.iter().any(|w| w.size.as_const().is_none_or(|size| size > w.stride));
            overlap.then(|| scope.canon(scope.graph.node(value).args[0]))
        }
        _ => None,
    };
    scope.graph.values().filter_map(reduced).collect()
}

/// Whether a value is read from memory.
fn in_memory(grouping: &Grouping<'_>, value: Value) -> bool {
    let canon = grouping.scope.canon(value);
    grouping.scope.homes.contains_key(&canon) || grouping.group_of.contains_key(&canon)
}

/// What computing an element takes, in rough units of one addition.
fn cost(grouping: &Grouping<'_>, value: Value) -> usize {
    let (mut seen, mut todo, mut cost) = (BTreeSet::new(), vec![value], 0);
    while let Some(v) = todo.pop() {
        if !seen.insert(v) {
            continue;
        }
        if in_memory(grouping, v) {
            cost += 2;
            continue;
        }
        let node = grouping.scope.graph.node(v);
        if let Kind::Prim(Prim::Map(op)) = node.kind {
            cost += price(op);
        }
        // Scalars and other small values are computed once for many elements.
        if !node.ty.as_ref().is_some_and(|t| t.shape.is_empty()) {
            todo.extend(&node.args);
        }
    }
    cost
}

fn price(op: MapOp) -> usize {
    use MapOp::*;
    match op {
        Neg | Abs | Sign | Floor | Ceil | Round | Not | Add | Sub | Mul | Max | Min | And | Or | Xor | Shl | Shr
        | Eq | Ne | Lt | Le | MulAdd | Select => 1,
        Div | Rem | Sqrt | Rsqrt => 4,
        Exp | Expm1 | Log | Log1p | Sin | Cos | Tanh | Sigmoid | Erf | Pow => 10,
        Threefry => 40,
    }
}
