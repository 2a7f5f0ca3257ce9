//! The order of the kernels of a graph: each after what it reads, and updates in place after everything that
//! reads the old values.

use super::group::{Form, Group, Grouping};
use super::lower::{Destination, is_updated};
use super::scope::Scope;
use crate::ir::graph::Source;
use crate::ir::index::Index;
use crate::ir::kernel::{Buffer, Expr, Role};
use crate::ir::{Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// An order of groups.
pub(super) struct Order {
    /// First to last.
    pub(super) groups: Vec<usize>,
    /// Updates that cannot wait for all readers of the old values, because a reader needs them: what they
    /// compute has to be kept aside until the end.
    pub(super) deferred: BTreeSet<usize>,
}

/// The order of the groups.
pub(super) fn order(grouping: &Grouping<'_>, destinations: &[Destination], buffers: &[Buffer]) -> Order {
    let count = grouping.groups.len();
    let needs: Vec<BTreeSet<usize>> = (0..count).map(|g| grouping.dependencies(g)).collect();
    let mut waits = readers(grouping, destinations, buffers);
    let unordered = destinations.iter().filter_map(|d| unordered(grouping, d, buffers[d.buffer.0].role));
    let mut order = Order { groups: vec![], deferred: unordered.collect() };
    waits.retain(|group, _| !order.deferred.contains(group));
    let mut done = BTreeSet::new();
    while order.groups.len() < count {
        let reads = |g: &usize| !done.contains(g) && needs[*g].is_subset(&done);
        let ready = |g: &usize| reads(g) && waits.get(g).is_none_or(|readers| readers.is_subset(&done));
        // What comes before the first update is the gradient alone.
        let early = (0..count).filter(|g| !waits.contains_key(g)).find(ready);
        let next = match early.or_else(|| (0..count).find(ready)) {
            Some(next) => next,
            None => {
                let Some(next) = (0..count).find(reads) else { unreachable!("groups need each other without cycles") };
                waits.remove(&next);
                order.deferred.insert(next);
                next
            }
        };
        done.insert(next);
        order.groups.push(next);
    }
    order
}

/// For each group that updates pools in place, the other groups that read what is there before.
fn readers(
    grouping: &Grouping<'_>,
    destinations: &[Destination],
    buffers: &[Buffer],
) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for destination in destinations {
        let role = buffers[destination.buffer.0].role;
        let group = grouping.group_of.get(&grouping.scope.canon(destination.value));
        let Some(&group) = group.filter(|_| is_updated(role)) else { continue };
        let readers = (0..grouping.groups.len()).filter(|&g| g != group && reads(grouping, g, role));
        waits.entry(group).or_default().extend(readers);
    }
    waits
}

/// The group of an update that reads old values at other positions than the one that it writes, or in several
/// passes: in place it would depend on the order of its positions.
fn unordered(grouping: &Grouping<'_>, destination: &Destination, role: Role) -> Option<usize> {
    let scope = grouping.scope;
    let value = scope.canon(destination.value);
    let group = *grouping.group_of.get(&value).filter(|_| is_updated(role))?;
    let Group { form, body, .. } = &grouping.groups[group];
    let is_map = match form {
        Form::Row { accumulators, .. } => accumulators.iter().all(|a| a.pass == 0),
        Form::Contract { .. } | Form::Scatter { .. } | Form::Repeat(_) => false,
    };
    let strides = scope.graph.ty(value).strides();
    let position = body.inside.get(&value)?.0.iter().zip(&strides);
    let written = position.fold(Index::default(), |sum, (i, s)| sum.plus(&i.times(s)));
    let elsewhere = |expr: &Expr| match expr {
        Expr::Load { slot, index, .. } => is_of_pool(scope, body.slots[*slot], role) && *index != written,
        Expr::Const(_)
        | Expr::Extent(_)
        | Expr::Index(_)
        | Expr::Inside(_)
        | Expr::Map(..)
        | Expr::Convert(..)
        | Expr::Accumulated { .. } => false,
    };
    (reads(grouping, group, role) && (!is_map || body.exprs.iter().any(elsewhere))).then_some(group)
}

/// Whether a group reads the pool of a role.
fn reads(grouping: &Grouping<'_>, group: usize, role: Role) -> bool {
    let scope = grouping.scope;
    match &grouping.groups[group].form {
        Form::Repeat(region) => scope.graph.node(*region).args.iter().any(|&a| is_of_pool(scope, a, role)),
        Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } => {
            grouping.groups[group].body.slots.iter().any(|&v| is_of_pool(scope, v, role))
        }
    }
}

fn is_of_pool(scope: &Scope<'_>, value: Value, role: Role) -> bool {
    match scope.graph.node(scope.canon(value)).kind {
        Kind::Param(id) => role == Role::Source(Source::Weights) || role == Role::Param(id),
        Kind::Source(source) => role == Role::Source(source),
        Kind::Input(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Repeat(_)
        | Kind::StopGradient
        | Kind::Written(_) => false,
    }
}
