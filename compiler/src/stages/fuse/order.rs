//! The order of the kernels of a graph: each after what it reads, and updates in place after everything that
//! reads the old values.

use super::group::{Form, Grouping};
use super::lower::{Destination, is_updated};
use crate::ir::graph::Source;
use crate::ir::kernel::{Buffer, Role};
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
    let mut order = Order { groups: vec![], deferred: BTreeSet::new() };
    let mut done = BTreeSet::new();
    while order.groups.len() < count {
        let reads = |g: &usize| !done.contains(g) && needs[*g].is_subset(&done);
        let ready = |g: &usize| reads(g) && waits.get(g).is_none_or(|readers| readers.is_subset(&done));
        let next = match (0..count).find(ready) {
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

/// Whether a group reads the pool of a role.
fn reads(grouping: &Grouping<'_>, group: usize, role: Role) -> bool {
    let scope = grouping.scope;
    let is_of_pool = |value: Value| match scope.graph.node(scope.canon(value)).kind {
        Kind::Param(_) => role == Role::Source(Source::Weights),
        Kind::Source(source) => role == Role::Source(source),
        Kind::Input(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Repeat(_)
        | Kind::StopGradient
        | Kind::Written(_) => false,
    };
    match &grouping.groups[group].form {
        Form::Repeat(region) => scope.graph.node(*region).args.iter().any(|&a| is_of_pool(a)),
        Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } => {
            grouping.groups[group].body.slots.iter().any(|&v| is_of_pool(v))
        }
    }
}
