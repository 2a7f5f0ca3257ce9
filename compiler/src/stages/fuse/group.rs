//! Decides which values share a kernel.
//!
//! Values are taken in order. A sum or product starts a kernel, or joins one with the same rows; an
//! elementwise value that has to be in memory joins the kernel that computes what it is made of, if it needs
//! it at the very position where it is computed and no cycle arises; otherwise it starts a map.

use super::inline::{Body, Inliner, Stop, is_intricate};
use super::operand::Reading;
use super::scope::Scope;
use crate::ir::attend::Attention;
use crate::ir::dim::Dim;
use crate::ir::graph::Source;
use crate::ir::index::Index;
use crate::ir::kernel::{AccumulatorOp, Expr, ExprId};
use crate::ir::limits::{PLACES_OF_A_PRODUCT, PLACES_OF_ATTENTION};
use crate::ir::prim::{Cut, Prim, Window};
use crate::ir::{Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Values that share a kernel.
pub(super) struct Group {
    /// The loops.
    pub(super) form: Form,
    /// The scalars.
    pub(super) body: Body,
    /// Shapes whose elements are positions of this kernel: shape and index.
    pub(super) spaces: Vec<(Vec<Dim>, Vec<Index>)>,
    /// Whether it computes a part of its value only: nothing else can be computed from that beside it.
    pub(super) partial: bool,
    /// Concatenations whose parts it computes: for each part the position of its elements in the whole.
    pub(super) parts: BTreeMap<Value, Vec<(Vec<Index>, ExprId)>>,
}

/// The loops of a group.
pub(super) enum Form {
    /// A map or row kernel; accumulators with their pass.
    Row { parallel: Vec<usize>, reduced: Vec<usize>, windows: Vec<Window>, accumulators: Vec<Accumulating> },
    /// A contraction.
    Contract { batch: Vec<usize>, m: Vec<usize>, n: Vec<usize>, k: Vec<usize>, lhs: Reading, rhs: Reading },
    /// A scatter of a value.
    Scatter {
        outer: Vec<usize>,
        target: usize,
        source: Vec<usize>,
        inner: Vec<usize>,
        index: ExprId,
        result: Value,
        addend: ExprId,
    },
    /// Attention, without its stores, and the arguments of the parts that share it.
    Attend { attention: Attention, args: Vec<Value> },
    /// A region.
    Region(Value),
}

impl Form {
    /// How many places its kernel writes at most.
    pub(super) fn places(&self) -> usize {
        match self {
            Form::Contract { .. } => PLACES_OF_A_PRODUCT,
            Form::Attend { .. } => PLACES_OF_ATTENTION,
            // A scatter adds up in one place.
            Form::Scatter { .. } => 1,
            Form::Row { .. } | Form::Region(_) => usize::MAX,
        }
    }
}

/// An accumulator of a row group.
pub(super) struct Accumulating {
    /// In which pass it is filled.
    pub(super) pass: usize,
    /// How.
    pub(super) op: AccumulatorOp,
    /// With what.
    pub(super) value: ExprId,
}

/// The groups of a graph.
pub(super) struct Grouping<'a> {
    pub(super) scope: &'a Scope<'a>,
    pub(super) groups: Vec<Group>,
    /// The group of every value that a kernel computes.
    pub(super) group_of: BTreeMap<Value, usize>,
    /// The same values as a set, for the inliner.
    pub(super) roots: BTreeSet<Value>,
    /// Gradients of parameters: reading the pool of gradients depends on them.
    gradients: BTreeSet<Value>,
    /// Values of which only the part that is set is written.
    in_place: BTreeSet<Value>,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(scope: &'a Scope<'a>, gradients: BTreeSet<Value>, in_place: BTreeSet<Value>) -> Grouping<'a> {
        Grouping { scope, groups: vec![], group_of: BTreeMap::new(), roots: BTreeSet::new(), gradients, in_place }
    }

    /// Makes sure that a kernel puts the value into memory.
    pub(super) fn materialise(&mut self, value: Value) {
        let value = self.scope.canon(value);
        if self.scope.homes.contains_key(&value) || self.group_of.contains_key(&value) {
            return;
        }
        match &self.scope.graph.node(value).kind {
            Kind::Result(_) => {
                let region = self.scope.graph.node(value).args[0];
                self.region(region);
            }
            Kind::Prim(Prim::SetSlice(cuts)) if self.in_place.contains(&value) => self.set(value, &cuts.clone()),
            Kind::Prim(prim) if self.scope.is_heavy(value) => self.heavy(value, &prim.clone()),
            Kind::Prim(Prim::Concat { axis }) if self.is_even(value) => self.concat(value, *axis),
            _ => self.elementwise(value),
        }
    }

    pub(super) fn assign(&mut self, value: Value, group: usize) {
        self.group_of.insert(value, group);
        self.roots.insert(value);
    }

    pub(super) fn push(&mut self, form: Form, body: Body, spaces: Vec<(Vec<Dim>, Vec<Index>)>) -> usize {
        self.groups.push(Group { form, body, spaces, partial: false, parts: BTreeMap::new() });
        self.groups.len() - 1
    }

    /// Runs `build` on a copy of a body until it succeeds, putting into memory what it asks for.
    pub(super) fn attempt<T>(
        &mut self,
        body: &Body,
        mut build: impl FnMut(&mut Inliner<'_>) -> Result<T, Stop>,
    ) -> Option<(Body, T)> {
        loop {
            let mut copy = body.clone();
            let built = build(&mut Inliner { scope: self.scope, roots: &self.roots, body: &mut copy });
            match built {
                Ok(result) => return Some((copy, result)),
                Err(Stop::Elsewhere) => return None,
                Err(Stop::Materialise(other)) => self.materialise(other),
            }
        }
    }

    /// The groups that a body reads from.
    pub(super) fn reads(&self, body: &Body) -> BTreeSet<usize> {
        let mut groups = BTreeSet::new();
        for slot in &body.slots {
            groups.extend(self.group_of.get(slot));
            if matches!(self.scope.graph.node(*slot).kind, Kind::Source(Source::Gradients)) {
                groups.extend(self.gradients.iter().filter_map(|g| self.group_of.get(&self.scope.canon(*g))));
            }
        }
        groups
    }

    /// Whether group `from` needs group `to`, directly or not.
    fn needs(&self, from: usize, to: usize) -> bool {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
        while let Some(group) = todo.pop() {
            if group == to {
                return true;
            }
            if seen.insert(group) {
                todo.extend(self.dependencies(group));
            }
        }
        false
    }

    /// The groups that a group reads from.
    pub(super) fn dependencies(&self, group: usize) -> BTreeSet<usize> {
        match &self.groups[group].form {
            Form::Region(region) => {
                let args = &self.scope.graph.node(*region).args;
                args.iter().filter_map(|a| self.group_of.get(&self.scope.canon(*a)).copied()).collect()
            }
            Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Attend { .. } => {
                let mut groups = self.reads(&self.groups[group].body);
                groups.remove(&group);
                groups
            }
        }
    }

    /// Whether a body that joins a group would make a cycle.
    ///
    /// A body that reads the pool of gradients does so from memory, so it can share no kernel with one of them.
    pub(super) fn cyclic(&self, body: &Body, group: usize, value: Value) -> bool {
        let is_pool = |v: &Value| matches!(self.scope.graph.node(*v).kind, Kind::Source(Source::Gradients));
        let is_gradient = self.gradients.iter().any(|g| self.scope.canon(*g) == value);
        (is_gradient && body.slots.iter().any(is_pool)) || self.reads(body).into_iter().any(|g| self.needs(g, group))
    }

    fn elementwise(&mut self, value: Value) {
        let shape = self.scope.graph.ty(value).shape.clone();
        let at = positions(&shape);
        let map = Body::over(shape.clone());
        let Some((mut body, id)) = self.attempt(&map, |inliner| inliner.value(value, &at, &[])) else {
            unreachable!("a map of its own computes nothing elsewhere")
        };
        for group in self.candidates(&body, &shape) {
            if self.join(value, group) {
                return;
            }
        }
        body.inside.insert(value, (at.clone(), id));
        let form =
            Form::Row { parallel: (0..shape.len()).collect(), reduced: vec![], windows: vec![], accumulators: vec![] };
        let group = self.push(form, body, vec![(shape, at)]);
        self.assign(value, group);
    }

    /// A kernel that writes the part that is set into the place of the whole.
    fn set(&mut self, value: Value, cuts: &[Cut]) {
        let part = self.scope.graph.node(value).args[1];
        let shape = self.scope.graph.ty(part).shape.clone();
        let at = positions(&shape);
        let map = Body::over(shape.clone());
        let Some((mut body, id)) = self.attempt(&map, |inliner| inliner.value(part, &at, &[])) else {
            unreachable!("a map of its own computes nothing elsewhere")
        };
        let whole = at.iter().zip(cuts).map(|(i, cut)| i.times(&cut.step.into()).offset(cut.start.clone())).collect();
        body.inside.insert(value, (whole, id));
        let form =
            Form::Row { parallel: (0..shape.len()).collect(), reduced: vec![], windows: vec![], accumulators: vec![] };
        let group = self.push(form, body, vec![]);
        self.groups[group].partial = true;
        self.assign(value, group);
    }

    /// Groups that a value with this stand-alone body may join: those that it reads, and maps over the same
    /// shape that read the same; the latest first.
    pub(super) fn candidates(&self, body: &Body, shape: &[Dim]) -> Vec<usize> {
        let reads = self.reads(body);
        let kin = |g: &usize| {
            let group = &self.groups[*g];
            let is_map = matches!(&group.form, Form::Row { reduced, .. } if reduced.is_empty());
            is_map && group.body.axes == shape && group.body.slots.iter().any(|s| body.slots.contains(s))
        };
        (0..self.groups.len()).rev().filter(|g| reads.contains(g) || kin(g)).collect()
    }

    /// Tries to compute an elementwise value in a group.
    fn join(&mut self, value: Value, group: usize) -> bool {
        let shape = self.scope.graph.ty(value).shape.clone();
        if self.groups[group].partial || self.is_full(group) {
            return false;
        }
        match &self.groups[group].form {
            Form::Row { parallel, reduced, .. } if !reduced.is_empty() && parallel.is_empty() => {
                // One row over everything would run alone; only what is as small as the row's result joins.
                if !shape.is_empty() {
                    return false;
                }
            }
            // The tiles of a product hold floats.
            Form::Contract { .. } if !self.scope.graph.ty(value).dtype.is_float() => return false,
            Form::Row { .. } | Form::Contract { .. } | Form::Attend { .. } => {}
            Form::Scatter { .. } | Form::Region(_) => return false,
        }
        let body = self.groups[group].body.clone();
        let forward = self.forward(value, &body, &mut BTreeMap::new());
        let spaces = self.groups[group].spaces.iter().filter(|(s, _)| *s == shape).map(|(_, at)| at.clone());
        for at in forward.into_iter().chain(spaces.collect::<Vec<_>>()).filter(|at| !is_intricate(at)) {
            if let Some((mut joined, id)) = self.attempt(&body, |inliner| inliner.value(value, &at, &[]))
                && !self.cyclic(&joined, group, value)
                && self.holds(group, &joined.exprs[id], &at)
            {
                joined.inside.insert(value, (at, id));
                self.groups[group].body = joined;
                self.assign(value, group);
                return true;
            }
        }
        false
    }

    /// Whether a group computes as many values as its kernel has places for.
    fn is_full(&self, group: usize) -> bool {
        self.group_of.values().filter(|own| **own == group).count() >= self.groups[group].form.places()
    }

    /// Whether a group can store a scalar at a position: drivers of attention move results and do no arithmetic.
    fn holds(&self, group: usize, scalar: &Expr, at: &[Index]) -> bool {
        match &self.groups[group].form {
            Form::Attend { .. } => matches!(scalar, Expr::Accumulated { .. }) && at.iter().all(Index::is_affine),
            Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } | Form::Region(_) => true,
        }
    }

    /// The position of a value in a kernel that computes something that it is made of elementwise.
    pub(super) fn forward(
        &self,
        value: Value,
        body: &Body,
        memo: &mut BTreeMap<Value, Option<Vec<Index>>>,
    ) -> Option<Vec<Index>> {
        if let Some(known) = memo.get(&value) {
            return known.clone();
        }
        let node = self.scope.graph.node(value);
        let mut copy = body.clone();
        let inliner = Inliner { scope: self.scope, roots: &self.roots, body: &mut copy };
        let position = match body.inside.get(&value) {
            Some((position, _)) => Some(position.clone()),
            None => match &node.kind {
                Kind::Prim(Prim::Map(_) | Prim::Convert(_)) | Kind::StopGradient => {
                    node.args.iter().find_map(|&a| self.forward(a, body, memo))
                }
                Kind::Prim(Prim::Reshape(shape)) => self
                    .forward(node.args[0], body, memo)
                    .map(|at| inliner.unflatten(&inliner.flatten(node.args[0], &at), shape)),
                Kind::Prim(Prim::Transpose(permutation)) => self
                    .forward(node.args[0], body, memo)
                    .map(|at| permutation.iter().map(|&p| at[p].clone()).collect()),
                _ => None,
            },
        };
        memo.insert(value, position.clone());
        position
    }

    fn region(&mut self, region: Value) {
        for arg in self.scope.graph.node(region).args.clone() {
            self.materialise(arg);
        }
        let group = self.push(Form::Region(region), Body::default(), vec![]);
        let results = self.scope.graph.values().filter(|&v| {
            let node = self.scope.graph.node(v);
            matches!(node.kind, Kind::Result(_)) && node.args == [region]
        });
        for result in results.collect::<Vec<_>>() {
            self.assign(result, group);
        }
    }
}

/// The position along each axis. An axis of extent 1 is not walked, so that an index that went through a reshape is
/// still recognised.
pub(super) fn positions(extents: &[Dim]) -> Vec<Index> {
    let position = |(axis, extent): (usize, &Dim)| if extent.is(1) { Index::default() } else { Index::axis(axis) };
    extents.iter().enumerate().map(position).collect()
}

/// For every scalar the pass from which on it is known: one after the last accumulator that it uses.
pub(super) fn levels(exprs: &[Expr]) -> Vec<usize> {
    let mut levels: Vec<usize> = Vec::with_capacity(exprs.len());
    for expr in exprs {
        let mut level = 0;
        expr.operands(&mut |id| level = level.max(levels[id]));
        levels.push(match expr {
            Expr::Accumulated { pass, .. } => pass + 1,
            _ => level,
        });
    }
    levels
}
