//! Which elementwise values are kept in memory though nothing has to: computing them again costs more, or one kernel would
//! hold too much.
//!
//! In: the groups as they are, and what is kept already. Out: what should be kept too. Always: what is computed once is not
//! among it, but for what cuts long chains.

use super::Kept;
use super::group::Grouping;
use super::scope::Scope;
use crate::ir::map_op::Price;
use crate::ir::prim::MapOp;
use crate::ir::{Kind, Prim, Value};
use std::collections::BTreeSet;

/// Recomputing a value that costs more than this is dearer than storing and loading it.
const WORTH_KEEPING: usize = 12;

/// Elementwise values that several kernels compute, or one for several windows, at a price above that of keeping them.
pub(super) fn worth_keeping(grouping: &Grouping<'_>, kept: &Kept) -> Kept {
    let kernel = |value: Value| grouping.group_of.get(&value).map(|group| User::Group(*group));
    dear(grouping.scope, &kernel).into_iter().filter(|value| !kept.contains(value)).collect()
}

/// The same before there are kernels, as if each root had one of its own: a chain of sums through all layers would else be
/// computed anew in each of them.
pub(super) fn likely(scope: &Scope<'_>, roots: &BTreeSet<Value>) -> Kept {
    dear(scope, &|value| roots.contains(&value).then_some(User::Kept(value)))
}

/// Values that one kernel computes on the way to another, at most: the inliner goes down by calls.
const CHAIN: usize = 200;

/// Values at which long chains of elementwise operations are cut into kernels.
pub(super) fn cuts(scope: &Scope<'_>, roots: &BTreeSet<Value>) -> Kept {
    let mut lengths = vec![0; scope.graph.nodes.len()];
    let mut cuts = Kept::new();
    for value in scope.graph.values() {
        let canon = scope.canon(value);
        if scope.homes.contains_key(&canon) || roots.contains(&canon) || cuts.contains(&canon) {
            continue;
        }
        let args = scope.graph.node(value).args.iter();
        let length = 1 + args.map(|arg| lengths[arg.0 as usize]).max().unwrap_or(0);
        match length < CHAIN {
            true => lengths[value.0 as usize] = length,
            false => _ = cuts.insert(canon),
        }
    }
    cuts
}

/// What several of the kernels that `kernel` gives for what they put into memory compute, if it is dear.
fn dear(scope: &Scope<'_>, kernel: &dyn Fn(Value) -> Option<User>) -> Kept {
    let overlapping = overlapping(scope);
    let mut users: Vec<Users> = vec![Users::default(); scope.graph.nodes.len()];
    let mut more = Kept::new();
    for value in scope.graph.values().rev() {
        let node = scope.graph.node(value);
        let own = match kernel(scope.canon(value)) {
            Some(user) => Users::of(user),
            None => {
                let own = users[value.0 as usize];
                let is_map = matches!(node.kind, Kind::Prim(Prim::Map(_)));
                let often = own.are_several() || overlapping.contains(&value);
                if is_map && often && is_dear(scope, kernel, value) {
                    more.insert(value);
                    Users::of(User::Kept(value))
                } else {
                    own
                }
            }
        };
        // What this is made of is computed by those who compute this, or by the one that puts it into memory.
        node.args.iter().for_each(|arg| users[arg.0 as usize].extend(own));
    }
    more
}

/// A kernel that computes something on its way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    /// One that there is.
    Group(usize),
    /// The one of a value that will be kept.
    Kept(Value),
}

/// The kernels that compute something, as far as it matters whether they are several.
#[derive(Clone, Copy, Default)]
struct Users([Option<User>; 2]);

impl Users {
    fn of(user: User) -> Users {
        Users([Some(user), None])
    }

    fn extend(&mut self, others: Users) {
        for other in others.0.into_iter().flatten() {
            match self.0 {
                [None, _] => self.0[0] = Some(other),
                [Some(known), None] if known != other => self.0[1] = Some(other),
                [Some(_), _] => {}
            }
        }
    }

    fn are_several(self) -> bool {
        self.0[1].is_some()
    }
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

/// Whether computing an element takes more than keeping it, in rough units of one addition.
fn is_dear(scope: &Scope<'_>, kernel: &dyn Fn(Value) -> Option<User>, value: Value) -> bool {
    let (mut seen, mut todo, mut cost) = (BTreeSet::new(), vec![value], 0);
    while let Some(v) = todo.pop() {
        if !seen.insert(v) {
            continue;
        }
        let (node, canon) = (scope.graph.node(v), scope.canon(v));
        if scope.homes.contains_key(&canon) || kernel(canon).is_some() {
            cost += 2;
        } else {
            if let Kind::Prim(Prim::Map(op)) = node.kind {
                cost += price(op);
            }
            // Scalars and other small values are computed once for many elements.
            if !node.ty.as_ref().is_some_and(|t| t.shape.is_empty()) {
                todo.extend(&node.args);
            }
        }
        if cost > WORTH_KEEPING {
            return true;
        }
    }
    false
}

fn price(op: MapOp) -> usize {
    match op.price() {
        Price::Add => 1,
        Price::Divide => 4,
        Price::Function => 10,
        Price::Cipher => 40,
    }
}
