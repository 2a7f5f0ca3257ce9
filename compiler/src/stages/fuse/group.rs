//! Decides which values share a kernel.
//!
//! Values are taken in order. A sum or product starts a kernel, or joins one with the same rows; an
//! elementwise value that has to be in memory joins the kernel that computes what it is made of, if it needs
//! it at the very position where it is computed and no cycle arises; otherwise it starts a map.

use super::inline::{Body, Inliner, Stop, slide};
use super::operand::{self, Reading};
use super::scope::Scope;
use crate::ir::dim::Dim;
use crate::ir::graph::Source;
use crate::ir::index::Index;
use crate::ir::kernel::{AccumulatorOp, Expr, ExprId, Guard};
use crate::ir::prim::{MapOp, Prim, ReduceOp, Scalar, Window};
use crate::ir::{DType, Kind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Values that share a kernel.
pub(super) struct Group {
    /// The loops.
    pub(super) form: Form,
    /// The scalars.
    pub(super) body: Body,
    /// Shapes whose elements are positions of this kernel: shape and index.
    spaces: Vec<(Vec<Dim>, Vec<Index>)>,
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
    /// A region.
    Repeat(Value),
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
    roots: BTreeSet<Value>,
    /// Gradients of parameters: reading the pool of gradients depends on them.
    gradients: BTreeSet<Value>,
}

impl<'a> Grouping<'a> {
    pub(super) fn new(scope: &'a Scope<'a>, gradients: BTreeSet<Value>) -> Grouping<'a> {
        Grouping { scope, groups: vec![], group_of: BTreeMap::new(), roots: BTreeSet::new(), gradients }
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
                self.repeat(region);
            }
            Kind::Prim(prim) if self.scope.is_heavy(value) => self.heavy(value, &prim.clone()),
            _ => self.elementwise(value),
        }
    }

    fn assign(&mut self, value: Value, group: usize) {
        self.group_of.insert(value, group);
        self.roots.insert(value);
    }

    fn push(&mut self, form: Form, body: Body, spaces: Vec<(Vec<Dim>, Vec<Index>)>) -> usize {
        self.groups.push(Group { form, body, spaces });
        self.groups.len() - 1
    }

    /// Runs `build` on a copy of a body until it succeeds, putting into memory what it asks for.
    fn attempt<T>(
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
            Form::Repeat(region) => {
                let args = &self.scope.graph.node(*region).args;
                args.iter().filter_map(|a| self.group_of.get(&self.scope.canon(*a)).copied()).collect()
            }
            Form::Row { .. } | Form::Contract { .. } | Form::Scatter { .. } => {
                let mut groups = self.reads(&self.groups[group].body);
                groups.remove(&group);
                groups
            }
        }
    }

    /// Whether a body that joins a group would make a cycle.
    ///
    /// A body that reads the pool of gradients does so from memory, so it can share no kernel with one of them.
    fn cyclic(&self, body: &Body, group: usize, value: Value) -> bool {
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

    /// Groups that a value with this stand-alone body may join: those that it reads, and maps over the same
    /// shape that read the same; the latest first.
    fn candidates(&self, body: &Body, shape: &[Dim]) -> Vec<usize> {
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
        match &self.groups[group].form {
            Form::Row { parallel, reduced, .. } if !reduced.is_empty() && parallel.is_empty() => {
                // One row over everything would run alone; only what is as small as the row's result joins.
                if !shape.is_empty() {
                    return false;
                }
            }
            // The tiles of a product hold floats.
            Form::Contract { .. } if !self.scope.graph.ty(value).dtype.is_float() => return false,
            Form::Row { .. } | Form::Contract { .. } => {}
            Form::Scatter { .. } | Form::Repeat(_) => return false,
        }
        let body = self.groups[group].body.clone();
        let forward = self.forward(value, &body, &mut BTreeMap::new());
        let spaces = self.groups[group].spaces.iter().filter(|(s, _)| *s == shape).map(|(_, at)| at.clone());
        for at in forward.into_iter().chain(spaces.collect::<Vec<_>>()) {
            if let Some((mut joined, id)) = self.attempt(&body, |inliner| inliner.value(value, &at, &[]))
                && !self.cyclic(&joined, group, value)
            {
                joined.inside.insert(value, (at, id));
                self.groups[group].body = joined;
                self.assign(value, group);
                return true;
            }
        }
        false
    }

    /// The position of a value in a kernel that computes something that it is made of elementwise.
    fn forward(&self, value: Value, body: &Body, memo: &mut BTreeMap<Value, Option<Vec<Index>>>) -> Option<Vec<Index>> {
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

    fn heavy(&mut self, value: Value, prim: &Prim) {
        let args = self.scope.graph.node(value).args.clone();
        match prim {
            Prim::Contract { lhs, rhs, out } => self.contract(value, &args, lhs, rhs, out),
            Prim::Conv { windows } => self.conv(value, &args, windows),
            Prim::ScatterAdd { axis, .. } => self.scatter(value, &args, *axis),
            Prim::Reduce { op, axes } => {
                let arg = self.scope.graph.ty(args[0]).shape.clone();
                let op = AccumulatorOp::Reduce(*op);
                self.reduce(value, args[0], &arg, axes, op);
            }
            Prim::ArgReduce { op, axis } => {
                let arg = self.scope.graph.ty(args[0]).shape.clone();
                self.reduce(value, args[0], &arg, &[*axis], AccumulatorOp::Arg(*op));
            }
            Prim::WindowReduce { op, windows } => {
                self.window(value, &args, windows, AccumulatorOp::Reduce(*op));
            }
            Prim::WindowArgMax { windows } => {
                self.window(value, &args, windows, AccumulatorOp::Arg(crate::ir::prim::ArgOp::Max));
            }
            Prim::WindowPut { windows, .. } => self.put(value, &args, windows),
            Prim::Const(_)
            | Prim::Extent(_)
            | Prim::Iota { .. }
            | Prim::Map(_)
            | Prim::Convert(_)
            | Prim::WindowTake { .. }
            | Prim::Reshape(_)
            | Prim::Transpose(_)
            | Prim::Broadcast { .. }
            | Prim::Slice(_)
            | Prim::Flip(_)
            | Prim::Pad { .. }
            | Prim::Concat { .. }
            | Prim::Gather { .. } => unreachable!("not a heavy primitive"),
        }
    }

    fn reduce(&mut self, value: Value, arg: Value, shape: &[Dim], axes: &[usize], op: AccumulatorOp) {
        let kept: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
        let extents: Vec<Dim> = kept.iter().chain(axes).map(|&a| shape[a].clone()).collect();
        let mut at = vec![Index::default(); shape.len()];
        let walked = positions(&extents);
        kept.iter().chain(axes).zip(&walked).for_each(|(&a, i)| at[a] = i.clone());
        let row = walked[..kept.len()].to_vec();
        let spaces = vec![(shape.to_vec(), at.clone()), (self.scope.graph.ty(value).shape.clone(), row)];
        self.accumulate(value, extents, kept.len(), vec![], spaces, op, |inliner| inliner.value(arg, &at, &[]));
    }

    fn window(&mut self, value: Value, args: &[Value], windows: &[Window], op: AccumulatorOp) {
        let (x, out) = (self.scope.graph.ty(args[0]).clone(), self.scope.graph.ty(value).shape.clone());
        let first = out.len() - windows.len();
        let extents: Vec<Dim> = out.iter().cloned().chain(windows.iter().map(|w| w.size.clone())).collect();
        let row = positions(&out);
        let neutral = neutral(op, x.dtype);
        let spaces = vec![(out.clone(), row.clone())];
        let (windows, arg) = (windows.to_vec(), args[0]);
        self.accumulate(value, extents, out.len(), windows.clone(), spaces, op, move |inliner| {
            let (mut at, mut guards) = (row[..first].to_vec(), vec![]);
            for (d, window) in windows.iter().enumerate() {
                let index = slide(window, &row[first + d], &Index::axis(out.len() + d));
                at.push(inliner.coordinate(index, window.base, &x.shape[first + d], &mut guards));
            }
            let id = inliner.value(arg, &at, &guards)?;
            Ok(or_else(inliner, guards, id, neutral))
        });
    }

    fn put(&mut self, value: Value, args: &[Value], windows: &[Window]) {
        let (y, out) = (self.scope.graph.ty(args[0]).clone(), self.scope.graph.ty(value).shape.clone());
        let first = out.len() - windows.len();
        let extents: Vec<Dim> = out.iter().cloned().chain(windows.iter().map(|w| w.size.clone())).collect();
        let row = positions(&out);
        let spaces = vec![(out.clone(), row.clone())];
        let (windows, args) = (windows.to_vec(), args.to_vec());
        let op = AccumulatorOp::Reduce(ReduceOp::Sum);
        self.accumulate(value, extents, out.len(), windows.clone(), spaces, op, move |inliner| {
            let (mut at, mut guards, mut tap) = (row[..first].to_vec(), vec![], Index::default());
            for (d, window) in windows.iter().enumerate() {
                let k = Index::axis(out.len() + d);
                // The output whose tap `k` read this element: o·stride = h·base + low − k·dilation.
                let moved = row[first + d].times(&window.base.into()).plus(&k.times(&(-window.dilation).into()));
                let moved = moved.offset(window.low.clone());
                at.push(inliner.coordinate(moved, window.stride, &y.shape[first + d], &mut guards));
                tap = tap.times(&window.size).plus(&k);
            }
            let (dy, position) = (inliner.value(args[0], &at, &guards)?, inliner.value(args[1], &at, &guards)?);
            let (tap, zero) = (inliner.expr(Expr::Index(tap)), inliner.expr(Expr::Const(Scalar::of(y.dtype, 0.0))));
            let taken = inliner.expr(Expr::Map(MapOp::Eq, vec![position, tap]));
            let id = inliner.expr(Expr::Map(MapOp::Select, vec![taken, dy, zero]));
            Ok(or_else(inliner, guards, id, Scalar::of(y.dtype, 0.0)))
        });
    }

    /// Adds an accumulator to a row group over the same rows, or starts one.
    #[expect(clippy::too_many_arguments, reason = "the parts of one row space")]
    fn accumulate(
        &mut self,
        value: Value,
        extents: Vec<Dim>,
        rank: usize,
        taps: Vec<Window>,
        spaces: Vec<(Vec<Dim>, Vec<Index>)>,
        op: AccumulatorOp,
        build: impl Fn(&mut Inliner<'_>) -> Result<ExprId, Stop>,
    ) {
        let fresh = Body::over(extents.clone());
        let Some((alone, id)) = self.attempt(&fresh, &build) else {
            unreachable!("a kernel of its own computes nothing elsewhere")
        };
        let reads = self.reads(&alone);
        let large = rank > 0 || extents.iter().all(|d| d.as_const().is_some_and(|n| n <= 1024));
        for group in (0..self.groups.len()).rev().filter(|_| large) {
            let Group { form: Form::Row { parallel, windows, reduced, .. }, body, spaces: own } = &self.groups[group]
            else {
                continue;
            };
            let shares = reads.contains(&group) || body.slots.iter().any(|s| alone.slots.contains(s));
            let same = parallel.len() == rank
                && !reduced.is_empty()
                && body.axes == extents
                && *windows == taps
                && *own == spaces;
            if !same || !shares {
                continue;
            }
            let body = body.clone();
            if let Some((joined, id)) = self.attempt(&body, &build)
                && !self.cyclic(&joined, group, value)
            {
                self.groups[group].body = joined;
                return self.add_accumulator(value, group, op, id);
            }
        }
        let form = Form::Row {
            parallel: (0..rank).collect(),
            reduced: (rank..extents.len()).collect(),
            windows: taps,
            accumulators: vec![],
        };
        let group = self.push(form, alone, spaces);
        self.add_accumulator(value, group, op, id);
    }

    fn add_accumulator(&mut self, value: Value, group: usize, op: AccumulatorOp, id: ExprId) {
        let dtype = self.scope.graph.ty(value).dtype;
        let position = positions(&self.scope.graph.ty(value).shape);
        let Group { form: Form::Row { accumulators, .. }, body, .. } = &mut self.groups[group] else {
            unreachable!("accumulators belong to row groups")
        };
        let pass = levels(&body.exprs)[id];
        let slot = accumulators.iter().filter(|a| a.pass == pass).count();
        accumulators.push(Accumulating { pass, op, value: id });
        body.exprs.push(Expr::Accumulated { pass, slot, dtype });
        body.inside.insert(value, (position, body.exprs.len() - 1));
        self.assign(value, group);
    }

    /// An operand as one load; puts it into memory where it is more than that.
    fn operand(&mut self, axes: &[Dim], value: Value, at: &[Index], guards: &[Guard]) -> Reading {
        let mut bottom = value;
        while !self.known(bottom) && self.scope.is_movement(bottom) {
            bottom = self.scope.graph.node(bottom).args[0];
        }
        self.materialise(bottom);
        if let Some(reading) = operand::read(self.scope, &self.roots, axes, value, at, guards) {
            return reading;
        }
        self.materialise(value);
        match operand::read(self.scope, &self.roots, axes, value, at, guards) {
            Some(reading) => reading,
            None => unreachable!("a value in memory is read affinely"),
        }
    }

    fn known(&self, value: Value) -> bool {
        let canon = self.scope.canon(value);
        self.scope.homes.contains_key(&canon) || self.group_of.contains_key(&canon)
    }

    fn contract(&mut self, value: Value, args: &[Value], lhs: &[u8], rhs: &[u8], out: &[u8]) {
        let mut labels: Vec<u8> = out.to_vec();
        labels.extend(lhs.iter().chain(rhs).filter(|l| !out.contains(l)));
        let mut seen = BTreeSet::new();
        labels.retain(|&l| seen.insert(l));
        let extent = |&l: &u8| {
            let find = |labels: &[u8], arg: usize| {
                let at = labels.iter().position(|&x| x == l)?;
                Some(self.scope.graph.ty(args[arg]).shape[at].clone())
            };
            find(lhs, 0).or_else(|| find(rhs, 1)).unwrap_or_default()
        };
        let axes: Vec<Dim> = labels.iter().map(extent).collect();
        let walked = positions(&axes);
        let at = |of: &[u8]| -> Vec<Index> {
            let axis = |l: &u8| labels.iter().position(|x| x == l).unwrap_or_default();
            of.iter().map(|l| walked[axis(l)].clone()).collect()
        };
        let role = |want: fn(bool, bool, bool) -> bool| -> Vec<usize> {
            let is = |&i: &usize| want(lhs.contains(&labels[i]), rhs.contains(&labels[i]), out.contains(&labels[i]));
            (0..labels.len()).filter(is).collect()
        };
        let (batch, m) = (role(|l, r, o| l && r && o), role(|l, r, o| l && !r && o));
        let (n, k) = (role(|l, r, o| !l && r && o), role(|_, _, o| !o));
        let (left, right) = (self.operand(&axes, args[0], &at(lhs), &[]), self.operand(&axes, args[1], &at(rhs), &[]));
        let form = Form::Contract { batch, m, n, k, lhs: left, rhs: right };
        self.push_contract(value, form, axes, at(out));
    }

    fn conv(&mut self, value: Value, args: &[Value], windows: &[Window]) {
        let (x, w) = (self.scope.graph.ty(args[0]).clone(), self.scope.graph.ty(args[1]).clone());
        let out = self.scope.graph.ty(value).shape.clone();
        let spatial = windows.len();
        // Axes: b, g, o, the outputs, then i and the taps.
        let mut axes = out.clone();
        axes.push(x.shape[2].clone());
        axes.extend(w.shape[3..].iter().cloned());
        let walked = positions(&axes);
        let channel = walked[3 + spatial].clone();
        let tap = |d: usize| walked[4 + spatial + d].clone();
        let mut at_w = vec![walked[1].clone(), walked[2].clone(), channel.clone()];
        at_w.extend((0..spatial).map(tap));
        let (mut at_x, mut guards) = (vec![walked[0].clone(), walked[1].clone(), channel], vec![]);
        let mut scratch = Body::over(axes.clone());
        let inliner = Inliner { scope: self.scope, roots: &self.roots, body: &mut scratch };
        for (d, window) in windows.iter().enumerate() {
            let index = slide(window, &walked[3 + d], &tap(d));
            at_x.push(inliner.coordinate(index, window.base, &x.shape[3 + d], &mut guards));
        }
        let lhs = self.operand(&axes, args[1], &at_w, &[]);
        let rhs = self.operand(&axes, args[0], &at_x, &guards);
        let n = [0].into_iter().chain(3..3 + spatial).collect();
        let k = (3 + spatial..axes.len()).collect();
        let form = Form::Contract { batch: vec![1], m: vec![2], n, k, lhs, rhs };
        self.push_contract(value, form, axes, walked[..out.len()].to_vec());
    }

    fn push_contract(&mut self, value: Value, form: Form, axes: Vec<Dim>, position: Vec<Index>) {
        let mut body = Body::over(axes);
        if let Form::Contract { lhs, rhs, .. } = &form {
            body.slots = vec![lhs.value];
            if lhs.value != rhs.value {
                body.slots.push(rhs.value);
            }
        }
        let dtype = self.scope.graph.ty(value).dtype;
        body.exprs.push(Expr::Accumulated { pass: 0, slot: 0, dtype });
        body.inside.insert(value, (position, 0));
        let group = self.push(form, body, vec![]);
        self.assign(value, group);
    }

    fn scatter(&mut self, value: Value, args: &[Value], axis: usize) {
        let (updates, out) = (self.scope.graph.ty(args[0]).clone(), self.scope.graph.ty(value).shape.clone());
        let rank = self.scope.graph.ty(args[1]).rank();
        // Axes: those of the updates, then the target.
        let mut axes = updates.shape.clone();
        axes.push(out[axis].clone());
        let target = updates.rank();
        let walked = positions(&axes);
        let at = walked[..target].to_vec();
        let fresh = Body::over(axes);
        let built = self.attempt(&fresh, |inliner| {
            Ok((inliner.value(args[1], &at[axis..axis + rank], &[])?, inliner.value(args[0], &at, &[])?))
        });
        let Some((mut body, (index, addend))) = built else {
            unreachable!("a kernel of its own computes nothing elsewhere")
        };
        let (outer, source, inner) =
            ((0..axis).collect(), (axis..axis + rank).collect(), (axis + rank..target).collect());
        let position = (0..axis).chain([target]).chain(axis + rank..target).map(|a| walked[a].clone()).collect();
        body.inside.insert(value, (position, addend));
        let form = Form::Scatter { outer, target, source, inner, index, result: value, addend };
        let group = self.push(form, body, vec![]);
        self.assign(value, group);
    }

    fn repeat(&mut self, region: Value) {
        for arg in self.scope.graph.node(region).args.clone() {
            self.materialise(arg);
        }
        let group = self.push(Form::Repeat(region), Body::default(), vec![]);
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
fn positions(extents: &[Dim]) -> Vec<Index> {
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

/// The scalar where the guards hold, the neutral element elsewhere.
fn or_else(inliner: &mut Inliner<'_>, guards: Vec<Guard>, id: ExprId, neutral: Scalar) -> ExprId {
    if guards.is_empty() {
        return id;
    }
    if let Expr::Load { slot, index, guards: own, .. } = &inliner.body.exprs[id]
        && *own == guards
    {
        let (slot, index) = (*slot, index.clone());
        return inliner.expr(Expr::Load { slot, index, guards, fill: neutral });
    }
    let (inside, neutral) = (inliner.expr(Expr::Inside(guards)), inliner.expr(Expr::Const(neutral)));
    inliner.expr(Expr::Map(MapOp::Select, vec![inside, id, neutral]))
}

/// What changes nothing when it is accumulated.
fn neutral(op: AccumulatorOp, dtype: DType) -> Scalar {
    use crate::ir::prim::ArgOp;
    let extreme = |sign: f64| match dtype {
        DType::F32 => Scalar::F32(sign * f64::INFINITY),
        DType::I32 => Scalar::I32(if sign < 0.0 { i32::MIN } else { i32::MAX }),
        DType::U32 | DType::Bool => Scalar::of(dtype, if sign < 0.0 { 0.0 } else { f64::from(u32::MAX) }),
    };
    match op {
        AccumulatorOp::Reduce(ReduceOp::Sum) => Scalar::of(dtype, 0.0),
        AccumulatorOp::Reduce(ReduceOp::Prod) => Scalar::of(dtype, 1.0),
        AccumulatorOp::Reduce(ReduceOp::Max) | AccumulatorOp::Arg(ArgOp::Max) => extreme(-1.0),
        AccumulatorOp::Reduce(ReduceOp::Min) | AccumulatorOp::Arg(ArgOp::Min) => extreme(1.0),
    }
}
