//! The kernels of sums, products and scatters: which loops they need, and which of them share the loops of others.

use super::group::{Accumulating, Form, Group, Grouping, levels, positions};
use super::inline::{Body, Inliner, Stop, slide};
use super::operand::{self, Reading};
use crate::ir::Value;
use crate::ir::dim::Dim;
use crate::ir::index::Index;
use crate::ir::kernel::{AccumulatorOp, Expr, ExprId, Guard};
use crate::ir::limits::AXES_OF_A_PRODUCT;
use crate::ir::prim::{ArgOp, MapOp, Prim, ReduceOp, Scalar, Window};
use std::collections::BTreeSet;

impl Grouping<'_> {
    /// Starts a kernel for a sum, product or scatter, or adds it to one that walks the same positions.
    pub(super) fn heavy(&mut self, value: Value, prim: &Prim) {
        let args = self.scope.graph.node(value).args.clone();
        match prim {
            Prim::Contract { lhs, rhs, out } => self.contract(value, &args, lhs, rhs, out),
            Prim::Conv { windows } => self.conv(value, &args, windows),
            Prim::ScatterAdd { axis, .. } => self.scatter(value, &args, *axis),
            Prim::Attend(attend) => self.attend(value, &args, attend),
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
                self.window(value, &args, windows, AccumulatorOp::Arg(ArgOp::Max));
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
            | Prim::SetSlice(_)
            | Prim::Barrier
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
        let neutral = op.neutral(x.dtype);
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
        let (alone, id) = self.alone(extents.clone(), &build);
        let large = rank > 0 || extents.iter().all(|d| d.as_const().is_some_and(|n| n <= 1024));
        let shares = self.reads(&alone).union(&self.beside(&alone)).copied().collect::<BTreeSet<_>>();
        for group in shares.into_iter().rev().filter(|_| large) {
            let Group { form: Form::Row { parallel, windows, reduced, .. }, body, spaces: own, .. } =
                &self.groups[group]
            else {
                continue;
            };
            let same = parallel.len() == rank
                && !reduced.is_empty()
                && body.axes == extents
                && *windows == taps
                && *own == spaces;
            if !same {
                continue;
            }
            let fits = |own: &Self, joined: &Body, _: &ExprId| !own.cyclic(joined, group, value);
            if let Some(id) = self.within(group, &build, fits) {
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
        let id = body.scalar(Expr::Accumulated { pass, slot, dtype });
        body.inside.insert(value, (position, id));
        self.assign(value, group);
    }

    /// An operand as one load; puts it into memory where it is more than that.
    pub(super) fn operand(&mut self, axes: &[Dim], value: Value, at: &[Index], guards: &[Guard]) -> Reading {
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
        if axes.iter().filter(|extent| !extent.is(1)).count() > AXES_OF_A_PRODUCT {
            return self.products(value, args, axes, [at(lhs), at(rhs)]);
        }
        let (left, right) = (self.operand(&axes, args[0], &at(lhs), &[]), self.operand(&axes, args[1], &at(rhs), &[]));
        let form = Form::Contract { batch, m, n, k, lhs: left, rhs: right };
        self.push_contract(value, form, axes, at(out));
    }

    /// A product of more axes than its driver walks: rows that multiply and add.
    fn products(&mut self, value: Value, args: &[Value], mut axes: Vec<Dim>, at: [Vec<Index>; 2]) {
        let shape = self.scope.graph.ty(value).shape.clone();
        if axes.len() == shape.len() {
            axes.push(1.into());
        }
        let spaces = vec![(shape.clone(), positions(&shape))];
        let op = AccumulatorOp::Reduce(ReduceOp::Sum);
        self.accumulate(value, axes, shape.len(), vec![], spaces, op, |inliner| {
            let factors = [inliner.value(args[0], &at[0], &[])?, inliner.value(args[1], &at[1], &[])?];
            Ok(inliner.expr(Expr::Map(MapOp::Mul, factors.to_vec())))
        });
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
        let inliner = Inliner::new(self.scope, &self.roots, &mut scratch);
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
            body.slot(lhs.value);
            body.slot(rhs.value);
        }
        let dtype = self.scope.graph.ty(value).dtype;
        let id = body.scalar(Expr::Accumulated { pass: 0, slot: 0, dtype });
        body.inside.insert(value, (position, id));
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
        let (mut body, (index, addend)) = self.alone(axes, |inliner| {
            Ok((inliner.value(args[1], &at[axis..axis + rank], &[])?, inliner.value(args[0], &at, &[])?))
        });
        let (outer, source, inner) =
            ((0..axis).collect(), (axis..axis + rank).collect(), (axis + rank..target).collect());
        let position = (0..axis).chain([target]).chain(axis + rank..target).map(|a| walked[a].clone()).collect();
        body.inside.insert(value, (position, addend));
        let form = Form::Scatter { outer, target, source, inner, index, result: value, addend };
        let group = self.push(form, body, vec![]);
        self.assign(value, group);
    }
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
