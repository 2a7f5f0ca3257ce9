//! The order of the kernels of a graph: each after what it reads, and updates in place after everything that
//! reads the old values.

use super::group::{Form, Group, Grouping};
use super::in_place::{self, Versions};
use super::lower::{Destination, is_updated};
use super::scope::Scope;
use crate::ir::graph::Source;
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, Load};
use crate::ir::program::{Buffer, Role};
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
///
/// # Errors
/// The number of a destination whose versions cannot be made in place.
pub(super) fn order(
    grouping: &Grouping<'_>,
    destinations: &[Destination],
    buffers: &[Buffer],
    versions: &[Versions],
) -> Result<Order, usize> {
    let count = grouping.groups.len();
    let needs: Vec<&BTreeSet<usize>> = (0..count).map(|g| grouping.dependencies(g)).collect();
    let in_place = in_place::waits(grouping, versions, buffers)?;
    let others: Vec<&Destination> = destinations
        .iter()
        .enumerate()
        .filter(|(number, _)| !versions.iter().any(|v| v.destination == *number))
        .map(|(_, destination)| destination)
        .collect();
    let mut waits = readers(grouping, &others, buffers);
    let unordered = others.iter().filter_map(|d| unordered(grouping, d, buffers));
    let mut order = Order { groups: vec![], deferred: unordered.collect() };
    waits.retain(|group, _| !order.deferred.contains(group));
    for (group, before) in &in_place {
        waits.entry(*group).or_default().extend(before);
    }
    let mut done = BTreeSet::new();
    let mut missing: Vec<usize> = needs.iter().map(|needs| needs.len()).collect();
    let mut readers_of: Vec<Vec<usize>> = vec![vec![]; count];
    (0..count).for_each(|g| needs[g].iter().for_each(|other| readers_of[*other].push(g)));
    // Groups all of whose reads are done: those that wait for nothing else, and updates.
    let all_done = (0..count).filter(|g| missing[*g] == 0);
    let (mut updates, mut free): (BTreeSet<usize>, BTreeSet<usize>) = all_done.partition(|g| waits.contains_key(g));
    while order.groups.len() < count {
        // What comes before the first update is the gradient alone.
        let ready = |g: &&usize| waits.get(g).is_none_or(|readers| readers.is_subset(&done));
        let next = match free.first().or_else(|| updates.iter().find(ready)).copied() {
            Some(next) => next,
            None => {
                let Some(&next) = updates.first() else { unreachable!("groups need each other without cycles") };
                if in_place.contains_key(&next) {
                    let is_made = |v: &&Versions| v.values.iter().any(|v| grouping.group_of.get(v) == Some(&next));
                    let Some(stuck) = versions.iter().find(is_made) else {
                        unreachable!("only groups that make versions wait so")
                    };
                    return Err(stuck.destination);
                }
                waits.remove(&next);
                order.deferred.insert(next);
                next
            }
        };
        done.insert(next);
        order.groups.push(next);
        _ = free.remove(&next) || updates.remove(&next);
        for &reader in &readers_of[next] {
            missing[reader] -= 1;
            if missing[reader] == 0 {
                let waiting = if waits.contains_key(&reader) { &mut updates } else { &mut free };
                waiting.insert(reader);
            }
        }
    }
    Ok(order)
}

/// For each group that updates pools in place, the other groups that read what is there before.
fn readers(
    grouping: &Grouping<'_>,
    destinations: &[&Destination],
    buffers: &[Buffer],
) -> BTreeMap<usize, BTreeSet<usize>> {
    let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for destination in destinations {
        let role = buffers[destination.buffer.0].role;
        let group = grouping.group_of.get(&grouping.scope.canon(destination.value));
        let Some(&group) = group.filter(|_| is_updated(role)) else { continue };
        let readers = (0..grouping.groups.len()).filter(|&g| g != group && reads(grouping, g, role, buffers));
        waits.entry(group).or_default().extend(readers);
    }
    waits
}

/// The group of an update that reads old values at other positions than the one that it writes, or in several
/// passes: in place it would depend on the order of its positions.
fn unordered(grouping: &Grouping<'_>, destination: &Destination, buffers: &[Buffer]) -> Option<usize> {
    let role = buffers[destination.buffer.0].role;
    let scope = grouping.scope;
    let value = scope.canon(destination.value);
    let group = *grouping.group_of.get(&value).filter(|_| is_updated(role))?;
    let Group { form, body, parts, .. } = &grouping.groups[group];
    if parts.contains_key(&value) {
        return reads(grouping, group, role, buffers).then_some(group);
    }
    let is_map = match form {
        Form::Row { accumulators, .. } => accumulators.iter().all(|a| a.pass == 0),
        Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. } | Form::Region(_) => false,
    };
    let strides = scope.graph.ty(value).strides();
    let position = body.inside.get(&value)?.0.iter().zip(&strides);
    let written = position.fold(Index::default(), |sum, (i, s)| sum.plus(&i.times(s)));
    let elsewhere = |load: Load<'_>| is_of_pool(scope, body.slots[load.slot], role, buffers) && *load.index != written;
    let mut loads = body.exprs.iter().filter_map(Expr::load);
    (reads(grouping, group, role, buffers) && (!is_map || loads.any(elsewhere))).then_some(group)
}

/// Whether a group reads the pool of a role.
fn reads(grouping: &Grouping<'_>, group: usize, role: Role, buffers: &[Buffer]) -> bool {
    let scope = grouping.scope;
    let of_pool = |&v: &Value| is_of_pool(scope, v, role, buffers);
    match &grouping.groups[group].form {
        Form::Region(region) => scope.graph.node(*region).args.iter().any(of_pool),
        Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. } => {
            grouping.groups[group].body.slots.iter().any(of_pool)
        }
    }
}

/// Whether a value lies in the pool of a role before any kernel runs.
pub(super) fn is_of_pool(scope: &Scope<'_>, value: Value, role: Role, buffers: &[Buffer]) -> bool {
    let canon = scope.canon(value);
    if let Kind::Param(id) = scope.graph.node(canon).kind {
        return role == Role::Source(Source::Weights) || role == Role::Param(id);
    }
    scope.homes.get(&canon).is_some_and(|home| buffers[home.buffer.0].role == role)
}
