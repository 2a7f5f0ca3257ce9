//! States that are changed in place: a part that is assigned is all that is written.
//!
//! In: where the results of a graph go. Out: for each pool that can be updated step by step the values that it holds one
//! after the other. Always: whatever reads one of them runs before the next one is written; where that cannot be, the
//! whole new value is computed aside.

use super::group::{Form, Group, Grouping};
use super::lower::{Destination, is_updated};
use super::order::is_of_pool;
use super::scope::{Home, Scope};
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, Load};
use crate::ir::prim::Prim;
use crate::ir::program::{Buffer, Role};
use crate::ir::{Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What a place in memory holds one after the other.
pub(super) struct Versions {
    /// The number of the destination that the last one is for.
    pub(super) destination: usize,
    /// Where they lie.
    pub(super) home: Home,
    /// First to last, without the one that is there before.
    pub(super) values: Vec<Value>,
}

/// The versions of every updated place, without those that turned out to be impossible.
pub(super) fn find(
    scope: &Scope<'_>,
    destinations: &[Destination],
    buffers: &[Buffer],
    refused: &BTreeSet<usize>,
) -> Vec<Versions> {
    let mut all = vec![];
    for (number, destination) in destinations.iter().enumerate() {
        if !is_updated(buffers[destination.buffer.0].role) || refused.contains(&number) {
            continue;
        }
        let home = Home { buffer: destination.buffer, base: destination.base.clone() };
        let Some(values) = versions(scope, destination.value, &home) else { continue };
        // Nobody else may want what is there only for a while.
        let fleeting = values.split_last().map_or(&[][..], |(_, before)| before);
        let wanted = destinations.iter().any(|d| fleeting.contains(&scope.canon(d.value)));
        if !values.is_empty() && !wanted {
            all.push(Versions { destination: number, home, values });
        }
    }
    all
}

/// The values that lead from what a place holds before to `value`; `None` where they are not made there.
fn versions(scope: &Scope<'_>, value: Value, home: &Home) -> Option<Vec<Value>> {
    let value = scope.canon(value);
    if scope.homes.get(&value) == Some(home) {
        return Some(vec![]);
    }
    let node = scope.graph.node(value);
    let base = match &node.kind {
        Kind::Prim(Prim::SetSlice(_)) => Some(node.args[0]),
        Kind::Result(k) => base_of_region(scope, node.args[0], *k, home)?,
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Repeat(_)
        | Kind::Branch(_)
        | Kind::Transform(_)
        | Kind::Foreign(_)
        | Kind::StopGradient
        | Kind::Written(_) => return None,
    };
    let mut list = base.map_or(Some(vec![]), |base| versions(scope, base, home))?;
    list.push(value);
    Some(list)
}

/// The argument of a region that lies where its k-th result is to be, if it has one: what a branch passes on or sets, or
/// the stack of which each turn of a loop changes its slice. `None` if the region sees that place in another way, too.
fn base_of_region(scope: &Scope<'_>, region: Value, k: usize, home: &Home) -> Option<Option<Value>> {
    let node = scope.graph.node(region);
    let fitting = match &node.kind {
        // Carried values begin in memory of their own.
        Kind::Repeat(repeat) if k >= repeat.carried => repeat.carried..repeat.carried + repeat.stacked,
        Kind::Branch(_) => 1..node.args.len(),
        Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Op(_)
        | Kind::Result(_)
        | Kind::Prim(_)
        | Kind::Counter(_)
        | Kind::Repeat(_)
        | Kind::Transform(_)
        | Kind::Foreign(_)
        | Kind::StopGradient
        | Kind::Written(_) => return None,
    };
    let carried = if let Kind::Repeat(repeat) = &node.kind { repeat.carried } else { 0 };
    let mut base = None;
    for (number, &arg) in node.args.iter().enumerate().skip(carried) {
        let same = scope.homes.get(&scope.canon(arg)).is_some_and(|h| h.buffer == home.buffer);
        let made_there = versions(scope, arg, home).is_some();
        if !same && !made_there {
            continue;
        }
        if base.is_some() || !fitting.contains(&number) || !made_there {
            return None;
        }
        base = Some(arg);
    }
    Some(base)
}

/// For each group that makes a version the groups that have to run before; or the destination for which that version
/// cannot be made in place, because it reads elsewhere what it overwrites.
pub(super) fn waits(
    grouping: &Grouping<'_>,
    versions: &[Versions],
    buffers: &[Buffer],
) -> Result<BTreeMap<usize, BTreeSet<usize>>, usize> {
    let mut waits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for Versions { destination, home, values } in versions {
        let role = buffers[home.buffer.0].role;
        for (number, value) in values.iter().enumerate() {
            let Some(&group) = grouping.group_of.get(value) else { continue };
            let before = number.checked_sub(1).map(|n| values[n]);
            let made = before.and_then(|v| grouping.group_of.get(&v));
            let old = |slot: Value| is_old(grouping.scope, slot, before, role, buffers);
            let readers = (0..grouping.groups.len()).filter(|&g| g != group && reads(grouping, g, &old));
            let all = waits.entry(group).or_default();
            all.extend(readers.chain(made.copied()));
            let any = |slot: Value| {
                is_of_pool(grouping.scope, slot, role, buffers)
                    || values[..number].contains(&grouping.scope.canon(slot))
            };
            if elsewhere(grouping, group, *value, home, &any) {
                return Err(*destination);
            }
        }
    }
    Ok(waits)
}

/// Whether a value is the version before, or what is there before the first.
fn is_old(scope: &Scope<'_>, slot: Value, before: Option<Value>, role: Role, buffers: &[Buffer]) -> bool {
    match before {
        Some(before) => scope.canon(slot) == before,
        None => is_of_pool(scope, slot, role, buffers),
    }
}

fn reads(grouping: &Grouping<'_>, group: usize, old: &dyn Fn(Value) -> bool) -> bool {
    match &grouping.groups[group].form {
        Form::Region(region) => grouping.scope.graph.node(*region).args.iter().any(|&a| old(a)),
        Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. } => {
            grouping.groups[group].body.slots.iter().any(|&v| old(v))
        }
    }
}

/// Whether a kernel that sets a part reads another position of the place than the one that it writes.
fn elsewhere(
    grouping: &Grouping<'_>,
    group: usize,
    value: Value,
    home: &Home,
    of_place: &dyn Fn(Value) -> bool,
) -> bool {
    let scope = grouping.scope;
    let Group { form: Form::Row { .. }, body, .. } = &grouping.groups[group] else { return false };
    let Some((position, _)) = body.inside.get(&value) else { return false };
    let strides = scope.graph.ty(value).strides();
    let written = position.iter().zip(&strides).fold(Index::default(), |sum, (i, s)| sum.plus(&i.times(s)));
    body.exprs.iter().filter_map(Expr::load).any(|Load { slot, index, .. }| {
        let from = body.slots[slot];
        let same = scope.homes.get(&scope.canon(from)).is_none_or(|h| h == home);
        of_place(from) && (!same || *index != written)
    })
}
