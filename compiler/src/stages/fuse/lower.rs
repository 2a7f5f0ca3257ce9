//! Lowers a graph, and the bodies of its regions, to steps: groups become kernels in an order that respects
//! what they read, and every value that is read gets a buffer.

use super::Kept;
use super::group::{Form, Group, Grouping, levels};
use super::in_place::{self, Versions};
use super::order::{self, Order};
use super::scope::{Home, Scope};
use crate::ir::attend::Attention;
use crate::ir::graph::Source;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Accumulator, Expr, Kernel, Operand, Pass, Skeleton, Slot, Store};
use crate::ir::model::Effect;
use crate::ir::pattern::Pattern;
use crate::ir::program::{Buffer, BufferId, Role, Step};
use crate::ir::schedule::Schedule;
use crate::ir::{Graph, Kind, Repeat, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The buffers of a program while it is made.
#[derive(Default)]
pub(super) struct Lowering {
    pub(super) buffers: Vec<Buffer>,
    /// Those whose memory is not the plan's.
    pub(super) known: HashMap<Role, BufferId>,
}

/// Where a result of a graph has to be written.
#[derive(Clone)]
pub(super) struct Destination {
    pub(super) value: Value,
    pub(super) buffer: BufferId,
    pub(super) base: Index,
}

impl Destination {
    pub(super) fn home(&self) -> Home {
        Home { buffer: self.buffer, base: self.base.clone() }
    }
}

/// Whether a buffer is a pool that holds old values until it is updated in place.
pub(super) fn is_updated(role: Role) -> bool {
    matches!(role, Role::Source(Source::Weights | Source::State(_)) | Role::State(_) | Role::Param(_))
}

impl Lowering {
    /// The steps that compute the destinations from the homes.
    pub(super) fn region(
        &mut self,
        graph: &Graph,
        homes: BTreeMap<Value, Home>,
        destinations: &[Destination],
    ) -> Vec<Step> {
        let mut scope = Scope { graph, homes };
        let mut refused = BTreeSet::new();
        let (mut grouping, Order { groups: order, deferred }, versions) = loop {
            let versions = in_place::find(&scope, destinations, &self.buffers, &refused);
            let grouping = super::grouped(&scope, destinations, &self.buffers, &versions);
            match order::order(&grouping, destinations, &self.buffers, &versions) {
                Ok(order) => break (grouping, order, versions),
                Err(destination) => _ = refused.insert(destination),
            }
        };
        let (mut steps, mut last) = self.copies(&scope, destinations);
        let stores = self.stores(&grouping, destinations, &deferred, &versions);
        let groups = std::mem::take(&mut grouping.groups);
        let group_of = std::mem::take(&mut grouping.group_of);
        for (value, places) in &stores {
            let home = Home { buffer: places[0].buffer, base: places[0].base.clone() };
            scope.homes.insert(*value, home);
        }
        let mut own: Vec<Vec<(Value, Vec<Home>)>> = vec![vec![]; groups.len()];
        for (value, places) in &stores {
            own[group_of[value]].push((*value, places.clone()));
        }
        for index in order {
            match &groups[index].form {
                Form::Region(region) => match &graph.node(*region).kind {
                    Kind::Branch(branch) => self.branch(&scope, *region, branch, &stores, &mut steps),
                    Kind::Foreign(foreign) => self.foreign(&scope, *region, foreign, &stores, &mut steps),
                    Kind::Repeat(_) => self.repeat(&scope, *region, &stores, &mut steps),
                    other => unreachable!("{other:?} is no region"),
                },
                form @ (Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. }) => {
                    let own = &mut own[index];
                    let more = beyond(own, form.places());
                    steps.push(self.kernel(&scope, &groups[index], own));
                    for (value, from, to) in &more {
                        steps.push(self.copy(from, to, graph.ty(*value).count()));
                    }
                }
            }
        }
        for destination in destinations {
            let canon = scope.canon(destination.value);
            let waits = stores.get(&canon).is_some_and(|p| p.iter().all(|home| home.buffer != destination.buffer));
            if waits {
                last.push(self.copy(&scope.homes[&canon], &destination.home(), graph.ty(canon).count()));
            }
        }
        steps.extend(last);
        steps
    }

    /// Copies of values that are in memory before any kernel runs: what comes first, and what comes last. What
    /// is copied to a pool that is updated in place waits until nothing reads the pool any more, aside if it may change meanwhile.
    fn copies(&mut self, scope: &Scope<'_>, destinations: &[Destination]) -> (Vec<Step>, Vec<Step>) {
        let (mut first, mut last) = (vec![], vec![]);
        for destination in destinations {
            let Some(home) = scope.homes.get(&scope.canon(destination.value)).cloned() else { continue };
            let (to, ty) = (destination.home(), scope.graph.ty(destination.value));
            if home == to {
                continue;
            }
            let of = home.buffer;
            let changes = is_updated(self.buffers[of.0].role) || destinations.iter().any(|other| other.buffer == of);
            let waits = is_updated(self.buffers[to.buffer.0].role);
            if waits && !changes {
                last.push(self.copy(&home, &to, ty.count()));
            } else if waits {
                let buffer = self.buffer(Role::Scratch, ty.dtype, ty.count());
                let aside = Home { buffer, base: Index::default() };
                first.push(self.copy(&home, &aside, ty.count()));
                last.push(self.copy(&aside, &to, ty.count()));
            } else {
                first.push(self.copy(&home, &to, ty.count()));
            }
        }
        (first, last)
    }

    /// Where each computed value that something reads is written; the first place is its home.
    fn stores(
        &mut self,
        grouping: &Grouping<'_>,
        destinations: &[Destination],
        deferred: &BTreeSet<usize>,
        versions: &[Versions],
    ) -> BTreeMap<Value, Vec<Home>> {
        let scope = grouping.scope;
        let mut stores: BTreeMap<Value, Vec<Home>> = BTreeMap::new();
        let in_place = versions.iter().flat_map(|v| v.values.iter().map(|value| (*value, vec![v.home.clone()])));
        stores.extend(in_place);
        let made: BTreeSet<Value> = stores.keys().copied().collect();
        let mut read: BTreeSet<Value> = BTreeSet::new();
        for destination in destinations {
            let canon = scope.canon(destination.value);
            let Some(group) = grouping.group_of.get(&canon).filter(|_| !made.contains(&canon)) else { continue };
            let is_region = matches!(scope.graph.node(canon).kind, Kind::Result(_));
            if is_updated(self.buffers[destination.buffer.0].role) && (is_region || deferred.contains(group)) {
                read.insert(canon);
            } else {
                stores.entry(canon).or_default().push(destination.home());
            }
        }
        for group in &grouping.groups {
            match &group.form {
                Form::Region(region) => read.extend(scope.graph.node(*region).args.iter().map(|&a| scope.canon(a))),
                Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. } => {
                    read.extend(&group.body.slots)
                }
            }
        }
        read.extend(grouping.group_of.keys().filter(|v| matches!(scope.graph.node(**v).kind, Kind::Result(_))));
        for value in read {
            if grouping.group_of.contains_key(&value) && !stores.contains_key(&value) {
                let ty = scope.graph.ty(value);
                let buffer = self.buffer(Role::Scratch, ty.dtype, ty.count());
                stores.insert(value, vec![Home { buffer, base: Index::default() }]);
            }
        }
        stores
    }

    /// A kernel that copies elements.
    pub(super) fn copy(&self, from: &Home, to: &Home, len: crate::ir::Dim) -> Step {
        let dtype = self.buffers[to.buffer.0].dtype;
        let at = |home: &Home| home.base.plus(&Index::axis(0));
        let fill = crate::ir::prim::Scalar::of(dtype, 0.0);
        let load = Expr::Load { slot: 0, index: at(from), guards: vec![], fill };
        let slot =
            |buffer: BufferId, read: bool| Slot { dtype, len: self.buffers[buffer.0].len.clone(), read, write: !read };
        let kernel = Kernel {
            name: "copy".into(),
            slots: vec![slot(from.buffer, true), slot(to.buffer, false)],
            axes: vec![len],
            scalars: vec![load],
            skeleton: Skeleton::Row {
                parallel: vec![0],
                reduced: vec![],
                passes: vec![],
                stores: vec![Store { slot: 1, index: at(to), value: 0 }],
            },
            schedule: Schedule::default(),
        };
        Step::Launch { kernel, buffers: vec![from.buffer, to.buffer] }
    }

    fn repeat(&mut self, scope: &Scope<'_>, region: Value, stores: &BTreeMap<Value, Vec<Home>>, steps: &mut Vec<Step>) {
        let node = scope.graph.node(region);
        let Kind::Repeat(repeat) = &node.kind else { unreachable!("a region group holds a region") };
        let Repeat { count, reverse, carried, stacked, memory: _, body } = &**repeat;
        let results: BTreeMap<usize, Value> = scope
            .graph
            .values()
            .filter_map(|v| match scope.graph.node(v).kind {
                Kind::Result(k) if scope.graph.node(v).args == [region] => Some((k, v)),
                _ => None,
            })
            .collect();
        let slice = |len: &crate::ir::Dim| Index::atom(Atom::Loop(0)).times(len);
        let deeper = |index: &Index| {
            index.map(&mut |atom| match atom {
                Atom::Loop(depth) => Index::atom(Atom::Loop(depth + 1)),
                Atom::Axis(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
            })
        };
        // Carried values live in a buffer of their own, from which the first iteration starts.
        let mut homes = Vec::new();
        for (k, &arg) in node.args.iter().enumerate() {
            let outer = scope.homes[&scope.canon(arg)].clone();
            let base = deeper(&outer.base);
            homes.push(if k < *carried {
                let ty = scope.graph.ty(arg);
                let known = results.get(&k).and_then(|v| stores.get(v)).map(|places| places[0].clone());
                let own = known.unwrap_or_else(|| Home {
                    buffer: self.buffer(Role::Scratch, ty.dtype, ty.count()),
                    base: Index::default(),
                });
                steps.push(self.copy(&outer, &own, ty.count()));
                Home { buffer: own.buffer, base: deeper(&own.base) }
            } else if k < carried + stacked {
                let ty = scope.graph.ty(arg);
                let len = crate::ir::dim::product(&ty.shape[1..]);
                Home { buffer: outer.buffer, base: base.plus(&slice(&len)) }
            } else {
                Home { buffer: outer.buffer, base }
            });
        }
        let mut inner: BTreeMap<Value, Home> = body.inputs().map(|(k, v)| (v, homes[k].clone())).collect();
        for value in body.values() {
            if let Kind::Source(source) = body.node(value).kind {
                let ty = body.ty(value);
                let buffer = self.buffer(Role::Source(source), ty.dtype, ty.count());
                inner.insert(value, Home { buffer, base: Index::default() });
            }
        }
        let mut destinations = vec![];
        let mut copies = vec![];
        for (k, &value) in body.outputs.iter().enumerate() {
            let ty = body.ty(value);
            if k < *carried {
                let next = self.buffer(Role::Scratch, ty.dtype, ty.count());
                destinations.push(Destination { value, buffer: next, base: Index::default() });
                copies.push(self.copy(&Home { buffer: next, base: Index::default() }, &homes[k], ty.count()));
            } else if let Some(places) = results.get(&k).and_then(|v| stores.get(v)) {
                let base = deeper(&places[0].base).plus(&slice(&ty.count()));
                destinations.push(Destination { value, buffer: places[0].buffer, base });
            }
        }
        let mut inside = self.region(body, inner, &destinations);
        inside.extend(copies);
        steps.push(Step::Loop { count: count.clone(), reverse: *reverse, body: inside });
        for places in results.values().filter_map(|v| Some((*v, stores.get(v)?))) {
            let (value, [home, others @ ..]) = (places.0, places.1.as_slice()) else { continue };
            steps.extend(others.iter().map(|other| self.copy(home, other, scope.graph.ty(value).count())));
        }
    }

    /// The kernel of a group that writes values to places.
    fn kernel(&self, scope: &Scope<'_>, group: &Group, own: &[(Value, Vec<Home>)]) -> Step {
        let mut slots: Vec<(BufferId, bool, bool)> = vec![];
        let mut slot = |buffer: BufferId, write: bool| -> usize {
            let at = slots.iter().position(|s| s.0 == buffer).unwrap_or_else(|| {
                slots.push((buffer, false, false));
                slots.len() - 1
            });
            slots[at].1 |= !write;
            slots[at].2 |= write;
            at
        };
        let body = &group.body;
        let homes: Vec<&Home> = body.slots.iter().map(|v| &scope.homes[v]).collect();
        let reads: Vec<usize> = homes.iter().map(|h| slot(h.buffer, false)).collect();
        let mut scalars = body.exprs.clone();
        for scalar in &mut scalars {
            if let Expr::Load { slot, index, .. } = scalar {
                *index = index.plus(&homes[*slot].base);
                *slot = reads[*slot];
            }
        }
        let mut stores = vec![];
        for (value, places) in own {
            let strides = scope.graph.ty(*value).strides();
            let parts = group.parts.get(value).map(Vec::as_slice);
            for (position, id) in parts.unwrap_or_else(|| std::slice::from_ref(&body.inside[value])) {
                let flat = position.iter().zip(&strides).fold(Index::default(), |sum, (i, s)| sum.plus(&i.times(s)));
                for place in places {
                    stores.push(Store { slot: slot(place.buffer, true), index: flat.plus(&place.base), value: *id });
                }
            }
        }
        let operand = |reading: &super::operand::Reading, slot: &mut dyn FnMut(BufferId, bool) -> usize| {
            let home = &scope.homes[&reading.value];
            let windows = reading.windows.clone();
            Operand { slot: slot(home.buffer, false), index: reading.index.plus(&home.base), windows }
        };
        let (name, skeleton) = match &group.form {
            Form::Row { parallel, reduced, accumulators, .. } => {
                let skeleton = row(parallel, reduced, accumulators, &scalars, stores);
                (if reduced.is_empty() { "map" } else { "row" }, skeleton)
            }
            Form::Contract { batch, m, n, k, lhs, rhs } => {
                let (lhs, rhs) = (operand(lhs, &mut slot), operand(rhs, &mut slot));
                let (batch, m, n, k) = (batch.clone(), m.clone(), n.clone(), k.clone());
                ("contract", Skeleton::Contract { batch, m, n, k, lhs, rhs, stores })
            }
            Form::Scatter { outer, target, source, inner, index, result, addend } => {
                let Some(mut store) = stores.pop() else { unreachable!("the result {result:?} of a scatter is read") };
                store.value = *addend;
                let (outer, source, inner) = (outer.clone(), source.clone(), inner.clone());
                ("scatter", Skeleton::Scatter { outer, target: *target, source, inner, index: *index, store })
            }
            Form::Attend { attention, .. } => {
                let attention = Attention { stores, ..attention.clone() };
                ("attend", Skeleton::Attend(Box::new(attention)))
            }
            Form::Region(_) => unreachable!("regions are lowered to loops"),
        };
        let slot_of = |&(buffer, read, write): &(BufferId, bool, bool)| {
            let Buffer { dtype, len, .. } = &self.buffers[buffer.0];
            Slot { dtype: *dtype, len: len.clone(), read, write }
        };
        let mut kernel = Kernel {
            name: name.into(),
            slots: slots.iter().map(slot_of).collect(),
            axes: body.axes.clone(),
            scalars,
            skeleton,
            schedule: Schedule::default(),
        };
        kernel.prune();
        Step::Launch { kernel, buffers: slots.iter().map(|s| s.0).collect() }
    }
}

/// Takes away what a kernel of so many places cannot write: each value keeps its first place, from which the others are
/// copied.
fn beyond(own: &mut [(Value, Vec<Home>)], most: usize) -> Vec<(Value, Home, Home)> {
    let mut left = most.saturating_sub(own.len());
    let mut more = vec![];
    for (value, places) in own {
        let kept = places.len().min(left + 1);
        left -= kept - 1;
        let dropped = places.split_off(kept);
        more.extend(dropped.into_iter().map(|to| (*value, places[0].clone(), to)));
    }
    more
}

/// Distributes accumulators and stores over the passes of a row.
fn row(
    parallel: &[usize],
    reduced: &[usize],
    accumulators: &[super::group::Accumulating],
    scalars: &[Expr],
    stores: Vec<Store>,
) -> Skeleton {
    let levels = levels(scalars);
    let count = accumulators.iter().map(|a| a.pass + 1).max().unwrap_or(0);
    let mut passes = vec![Pass { accumulators: vec![], stores: vec![] }; count];
    for a in accumulators {
        passes[a.pass].accumulators.push(Accumulator { op: a.op, value: a.value });
    }
    let mut last = vec![];
    for store in stores {
        if !reduced.iter().any(|&a| store.index.mentions(a)) {
            last.push(store);
            continue;
        }
        let level = levels[store.value];
        if level == passes.len() {
            passes.push(Pass { accumulators: vec![], stores: vec![] });
        }
        passes[level].stores.push(store);
    }
    Skeleton::Row { parallel: parallel.to_vec(), reduced: reduced.to_vec(), passes, stores: last }
}

/// Groups everything that the roots and what is kept beside them need.
pub(super) fn group<'a>(
    scope: &'a Scope<'a>,
    destinations: &[Destination],
    (roots, kept): (&BTreeSet<Value>, &Kept),
    buffers: &[Buffer],
    versions: &[Versions],
) -> Grouping<'a> {
    let is_gradient = |d: &&Destination| matches!(buffers[d.buffer.0].role, Role::Effect(Effect::Gradient(_)));
    let gradients = destinations.iter().filter(is_gradient).map(|d| d.value).collect();
    let made = versions.iter().flat_map(|v| v.values.iter().copied()).collect();
    let mut grouping = Grouping::new(scope, gradients, made);
    roots.union(kept).for_each(|value| grouping.materialise(*value));
    grouping
}

/// The values that have kernels whatever these are: what has to be in memory, and what has a loop of its own.
pub(super) fn roots(scope: &Scope<'_>, destinations: &[Destination], versions: &[Versions]) -> BTreeSet<Value> {
    let live = live(scope, destinations);
    let mut roots = forced(scope, destinations, &live);
    roots.extend(versions.iter().flat_map(|v| &v.values));
    roots.extend(live.iter().filter(|value| scope.is_heavy(**value)));
    roots.retain(|value| live.contains(value));
    roots
}

/// Everything that the destinations are made of.
fn live(scope: &Scope<'_>, destinations: &[Destination]) -> BTreeSet<Value> {
    let mut live = BTreeSet::new();
    let mut todo: Vec<Value> = destinations.iter().map(|d| d.value).collect();
    while let Some(value) = todo.pop() {
        if live.insert(value) {
            todo.extend(&scope.graph.node(value).args);
        }
    }
    live
}

/// Values that have to be in memory whatever the kernels are: destinations, and what operands of products,
/// indexed reads, barriers and regions are made of.
fn forced(scope: &Scope<'_>, destinations: &[Destination], live: &BTreeSet<Value>) -> BTreeSet<Value> {
    let mut forced: BTreeSet<Value> = destinations.iter().map(|d| scope.canon(d.value)).collect();
    let bottom = |mut value: Value| {
        while scope.is_movement(value) {
            value = scope.graph.node(value).args[0];
        }
        value
    };
    for &value in live {
        let node = scope.graph.node(value);
        match &node.kind {
            Kind::Prim(prim) => match prim.pattern() {
                Pattern::Product => forced.extend(node.args.iter().map(|&a| bottom(a))),
                Pattern::Indexed => _ = forced.insert(scope.canon(node.args[0])),
                Pattern::Barrier => rounded(scope, node.args[0], &mut forced),
                Pattern::Constant
                | Pattern::Elementwise { .. }
                | Pattern::Movement
                | Pattern::Selection
                | Pattern::Reduction => {}
            },
            Kind::Repeat(_) | Kind::Branch(_) | Kind::Foreign(_) => {
                forced.extend(node.args.iter().map(|&a| scope.canon(a)))
            }
            Kind::Result(_) => _ = forced.insert(value),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Counter(_)
            | Kind::Transform(_)
            | Kind::StopGradient
            | Kind::Written(_) => {}
        }
    }
    forced
}

/// What has to be in memory so that a value has the same bits wherever it is computed: the rounded arithmetic that it is made
/// of by exact operations.
fn rounded(scope: &Scope<'_>, value: Value, forced: &mut BTreeSet<Value>) {
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        let canon = scope.canon(value);
        // Others are in memory: inputs, and results of regions.
        let Some(prim) = scope.prim(canon) else { continue };
        let args = &scope.graph.node(canon).args;
        match prim.pattern() {
            Pattern::Elementwise { exact: false } if scope.graph.ty(canon).dtype.is_float() => {
                forced.insert(canon);
            }
            // What comparisons of rounded numbers choose has to be the same choice.
            Pattern::Elementwise { .. }
            | Pattern::Selection
            | Pattern::Constant
            | Pattern::Movement
            | Pattern::Barrier => todo.extend(args),
            Pattern::Indexed => todo.push(args[1]),
            // What has a loop of its own is in memory.
            Pattern::Reduction | Pattern::Product => {}
        }
    }
}
