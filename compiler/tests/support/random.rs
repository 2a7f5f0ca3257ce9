//! Random graphs of primitives: every step appends one that fits what is there, or nothing.

use super::support::{Numbers, builder};
use precast_compiler::ir::index::is_nonnegative;
use precast_compiler::ir::prim::{ArgOp, Border, Cut, MapOp, Prim, ReduceOp, Scalar, Window};
use precast_compiler::ir::{DType, Dim, Graph, Kind, Memory, Repeat, Type, Value};
use precast_compiler::ops::Builder;
use proc_macro2::Span;

/// A graph while it grows.
pub struct Growing<'n> {
    pub graph: Graph,
    pub values: Vec<Value>,
    pub inputs: usize,
    pub numbers: &'n mut Numbers,
    /// How many repeats are around.
    depth: usize,
    sites: u32,
}

/// The most elements of a value at the extents of the tests.
const LARGEST: i64 = 3000;

fn size(dim: &Dim) -> i64 {
    dim.eval(&|_| Some(5)).unwrap_or(i64::MAX)
}

impl Growing<'_> {
    pub fn new(numbers: &mut Numbers) -> Growing<'_> {
        Growing { graph: Graph::default(), values: vec![], inputs: 0, numbers, depth: 0, sites: 0 }
    }

    pub fn chance(&mut self, one_in: u32) -> bool {
        self.numbers.below(one_in) == 0
    }

    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.numbers.below(list.len() as u32) as usize].clone()
    }

    fn below(&mut self, n: usize) -> usize {
        self.numbers.below(n.max(1) as u32) as usize
    }

    pub fn ty(&self, value: Value) -> Type {
        self.graph.ty(value).clone()
    }

    pub fn extent(&mut self) -> Dim {
        let b = || Dim::name("B");
        let all = [1.into(), 2.into(), 3.into(), 4.into(), 5.into(), 6.into(), 7.into(), b(), b(), Dim::name("T")];
        self.pick(&all)
    }

    pub fn shape(&mut self, most: usize) -> Vec<Dim> {
        let rank = self.below(most + 1);
        (0..rank).map(|_| self.extent()).collect()
    }

    /// A new input of the graph. Regions get theirs from outside.
    pub fn input(&mut self, ty: Type) -> Option<Value> {
        if self.depth > 0 || ty.shape.iter().map(size).product::<i64>() > LARGEST {
            return None;
        }
        let value = self.graph.push(Kind::Input(self.inputs), vec![], Some(ty), Span::call_site());
        self.inputs += 1;
        Some(value)
    }

    pub fn any(&mut self) -> Option<Value> {
        if self.values.is_empty() {
            return None;
        }
        // Late values are taken more often, so that graphs become deep.
        let n = self.values.len();
        let at = if self.chance(2) { n - 1 - self.below(n.min(3)) } else { self.below(n) };
        Some(self.values[at])
    }

    pub fn float(&mut self) -> Option<Value> {
        let value = self.any()?;
        self.build(|b| b.convert(value, DType::F32).ok())
    }

    pub fn build<T>(&mut self, with: impl FnOnce(&mut Builder<'_>) -> Option<T>) -> Option<T> {
        let mut sites = self.sites;
        let made = with(&mut builder(&mut self.graph, &mut sites));
        self.sites = sites;
        made
    }

    fn prim(&mut self, prim: Prim, args: &[Value]) -> Option<Value> {
        let types: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
        let ty = prim.infer(&types.iter().collect::<Vec<_>>()).ok()?;
        let positive = ty.shape.iter().all(|d| is_nonnegative(&(d.clone() - Dim::from(1))));
        let small = ty.shape.iter().map(size).product::<i64>() <= LARGEST && ty.rank() <= 6;
        (positive && small).then(|| self.graph.push(Kind::Prim(prim), args.to_vec(), Some(ty), Span::call_site()))
    }

    /// Appends something.
    pub fn step(&mut self) {
        let made = match self.below(26) {
            0 | 1 => self.unary(),
            2..=5 => self.binary(),
            6 | 7 => self.reduce(),
            8 => self.arg_reduce(),
            9 => self.broadcast(),
            10 | 11 => self.reshape(),
            12 => self.transpose(),
            13 => self.slice(),
            14 => self.pad(),
            15 => self.flip(),
            16 => self.concat(),
            17 => self.gather(),
            18 => self.scatter(),
            19 | 20 => self.contract(),
            21 => self.conv(),
            22 | 23 => self.window(),
            24 => self.source(),
            _ => self.repeat(),
        };
        self.values.extend(made);
    }

    fn unary(&mut self) -> Option<Value> {
        use MapOp::*;
        let x = self.float()?;
        let op = self.pick(&[Neg, Abs, Tanh, Sin, Sigmoid, Exp]);
        match op {
            // A rectifier is what fuse rewrites; e to the power is kept small.
            Abs => self.build(|b| {
                let zero = b.full(DType::F32, &[], 0.0).ok()?;
                let test = b.map(Lt, &[zero, x]).ok()?;
                b.select(test, x, zero).ok()
            }),
            Exp => self.build(|b| {
                let tanh = b.unary(Tanh, x).ok()?;
                b.unary(Exp, tanh).ok()
            }),
            op => self.prim(Prim::Map(op), &[x]),
        }
    }

    fn binary(&mut self) -> Option<Value> {
        use MapOp::*;
        let (x, mut y) = (self.float()?, self.float()?);
        let (a, c) = (self.ty(x), self.ty(y));
        if a != c && self.chance(2) {
            // Joins values of different shapes through a row of one of them.
            y = self.build(|b| {
                let axes: Vec<usize> = (0..c.rank()).collect();
                b.reduce_keep(ReduceOp::Sum, y, &axes).ok()
            })?;
            y = self.prim(Prim::Reshape(vec![]), &[y])?;
        }
        let op = self.pick(&[Add, Sub, Mul, Max, Min, Lt, Div]);
        let made = self.build(|b| match op {
            Lt => {
                let test = b.map(Lt, &[x, y]).ok()?;
                b.select(test, y, x).ok()
            }
            Div => {
                let square = b.mul(y, y).ok()?;
                let positive = b.with(Add, square, 1.0).ok()?;
                b.div(x, positive).ok()
            }
            op => b.map(op, &[x, y]).ok(),
        })?;
        let small = self.ty(made).shape.iter().map(size).product::<i64>() <= LARGEST;
        small.then_some(made)
    }

    fn axes(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|_| self.numbers.below(2) == 0).collect()
    }

    fn reduce(&mut self) -> Option<Value> {
        let x = self.float()?;
        let axes = self.axes(self.ty(x).rank());
        let op = self.pick(&[ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min, ReduceOp::Prod]);
        match self.chance(2) {
            true => self.build(|b| {
                let row = b.reduce_keep(op, x, &axes).ok()?;
                b.sub(x, row).ok()
            }),
            false => self.prim(Prim::Reduce { op, axes }, &[x]).filter(|_| true),
        }
    }

    fn arg_reduce(&mut self) -> Option<Value> {
        let x = self.float()?;
        let axis = self.below(self.ty(x).rank());
        let op = self.pick(&[ArgOp::Max, ArgOp::Min]);
        (axis < self.ty(x).rank()).then_some(())?;
        self.prim(Prim::ArgReduce { op, axis }, &[x])
    }

    fn broadcast(&mut self) -> Option<Value> {
        let x = self.any()?;
        let (mut shape, mut axes) = (vec![], vec![]);
        for extent in self.ty(x).shape {
            if self.chance(3) {
                shape.push(self.extent());
            }
            axes.push(shape.len());
            shape.push(extent);
        }
        if self.chance(2) {
            shape.push(self.extent());
        }
        self.prim(Prim::Broadcast { shape, axes }, &[x])
    }

    fn reshape(&mut self) -> Option<Value> {
        let x = self.any()?;
        let mut shape: Vec<Dim> = vec![];
        for extent in self.ty(x).shape {
            if let Some(last) = shape.last_mut()
                && self.numbers.below(3) == 0
            {
                *last = last.clone() * extent;
                continue;
            }
            for by in [2, 3, 5] {
                let quotient = extent.exact_div(&Dim::from(by));
                if let Some(quotient) = quotient.filter(|_| self.numbers.below(3) == 0) {
                    let pair = if self.chance(2) { [by.into(), quotient] } else { [quotient, by.into()] };
                    shape.extend(pair);
                    return self.finish(x, shape);
                }
            }
            shape.push(extent);
        }
        self.finish(x, shape)
    }

    /// The reshape of `x` whose first extents are given; the others are what is left in one.
    fn finish(&mut self, x: Value, mut shape: Vec<Dim>) -> Option<Value> {
        if self.chance(6) {
            let at = self.below(shape.len() + 1);
            shape.insert(at, 1.into());
        }
        let made = precast_compiler::ir::dim::product(&shape);
        let count = self.ty(x).count();
        if made != count {
            shape.push(count.exact_div(&made)?);
        }
        self.prim(Prim::Reshape(shape), &[x])
    }

    fn transpose(&mut self) -> Option<Value> {
        let x = self.any()?;
        let mut rest: Vec<usize> = (0..self.ty(x).rank()).collect();
        let mut permutation = vec![];
        while !rest.is_empty() {
            let at = self.below(rest.len());
            permutation.push(rest.remove(at));
        }
        self.prim(Prim::Transpose(permutation), &[x])
    }

    fn slice(&mut self) -> Option<Value> {
        let x = self.any()?;
        let mut cuts = vec![];
        for extent in self.ty(x).shape {
            let whole = Cut { start: 0.into(), len: extent.clone(), step: 1 };
            cuts.push(match (self.below(3), extent.as_const()) {
                (0, _) => whole,
                (_, Some(n)) => {
                    let start = self.below(n as usize) as i64;
                    let step = 1 + self.below(3) as i64;
                    let most = (n - 1 - start) / step + 1;
                    let len = 1 + self.below(most as usize) as i64;
                    Cut { start: start.into(), len: len.into(), step }
                }
                (1, None) => Cut { start: extent - Dim::from(1), len: 1.into(), step: 1 },
                (_, None) if is_nonnegative(&(extent.clone() - Dim::from(2))) => {
                    Cut { start: 1.into(), len: extent - Dim::from(1), step: 1 }
                }
                (_, None) => Cut { start: 0.into(), len: 1.into(), step: 1 },
            });
        }
        self.prim(Prim::Slice(cuts), &[x])
    }

    fn pad(&mut self) -> Option<Value> {
        let x = self.any()?;
        let ty = self.ty(x);
        let mut borders = vec![];
        for _ in &ty.shape {
            let mut side = |most: u32| Dim::from(i64::from(self.numbers.below(most)) - i64::from(most == 4));
            let (low, high) = if self.depth == 0 { (side(4), side(4)) } else { (side(3), side(2)) };
            let interior = [0, 0, 0, 1, 2][self.below(5)];
            borders.push(match self.chance(2) {
                true => Border { low: 0.into(), high: 0.into(), interior: 0 },
                false => Border { low, high, interior },
            });
        }
        let value = Scalar::of(ty.dtype, if self.chance(2) { 0.0 } else { 1.5 });
        self.prim(Prim::Pad { borders, value }, &[x])
    }

    fn flip(&mut self) -> Option<Value> {
        let x = self.any()?;
        let axes = self.axes(self.ty(x).rank());
        self.prim(Prim::Flip(axes), &[x])
    }

    fn concat(&mut self) -> Option<Value> {
        let x = self.any()?;
        let ty = self.ty(x);
        let axis = self.below(ty.rank());
        let fits = |v: &&Value| {
            let other = self.graph.ty(**v);
            let same = |a: usize| a == axis || other.shape[a] == ty.shape[a];
            other.dtype == ty.dtype && other.rank() == ty.rank() && (0..ty.rank()).all(same)
        };
        let others: Vec<Value> = self.values.iter().filter(fits).copied().collect();
        let mut args = vec![x];
        for _ in 0..1 + self.below(2) {
            args.push(self.pick(&others));
        }
        (axis < ty.rank()).then_some(())?;
        self.prim(Prim::Concat { axis }, &args)
    }

    /// Indices, most of them below the extent.
    fn indices(&mut self, shape: Vec<Dim>) -> Option<Value> {
        match self.chance(3) && !shape.is_empty() {
            true => {
                let axis = self.below(shape.len());
                self.prim(Prim::Iota { shape, axis }, &[])
            }
            false => self.input(Type::new(DType::U32, shape)),
        }
    }

    fn gather(&mut self) -> Option<Value> {
        let x = self.any()?;
        let axis = self.below(self.ty(x).rank());
        (axis < self.ty(x).rank()).then_some(())?;
        let shape = self.shape(2);
        let index = self.indices(shape)?;
        self.prim(Prim::Gather { axis }, &[x, index])
    }

    fn scatter(&mut self) -> Option<Value> {
        let x = self.float()?;
        let rank = self.ty(x).rank();
        let axis = self.below(rank + 1);
        let count = self.below(rank - axis + 1);
        let index = self.indices(self.ty(x).shape[axis..axis + count].to_vec())?;
        let extent = self.extent();
        self.prim(Prim::ScatterAdd { axis, extent }, &[x, index])
    }

    fn contract(&mut self) -> Option<Value> {
        let (x, y) = (self.float()?, self.float()?);
        let (a, b) = (self.ty(x), self.ty(y));
        let lhs: Vec<u8> = (0..a.rank()).map(|i| b'a' + i as u8).collect();
        let mut rhs: Vec<u8> = vec![];
        for (i, extent) in b.shape.iter().enumerate() {
            let free = |j: &usize| a.shape[*j] == *extent && !rhs.contains(&lhs[*j]);
            let shared: Vec<usize> = (0..a.rank()).filter(free).collect();
            let shares = !shared.is_empty() && !self.chance(4);
            rhs.push(if shares { lhs[self.pick(&shared)] } else { b'm' + i as u8 });
        }
        let mut all = lhs.clone();
        all.extend(rhs.iter().filter(|l| !lhs.contains(l)));
        let mut out = vec![];
        while !all.is_empty() {
            let at = self.below(all.len());
            let label = all.remove(at);
            if self.numbers.below(5) < 3 {
                out.push(label);
            }
        }
        if self.chance(2) {
            out.sort_unstable();
        }
        self.prim(Prim::Contract { lhs, rhs, out }, &[x, y])
    }

    fn sliding(&mut self) -> Window {
        let size = 1 + self.below(3) as i64;
        let dilation = self.pick(&[1, 1, 2]);
        let reach = (size - 1) * dilation;
        let low = self.below(reach as usize + 1) as i64;
        // Enough padding for one output, so that every extent has one; sometimes more.
        let more = self.below(2) as i64;
        let base = self.pick(&[1, 1, 1, 2]);
        Window {
            size: size.into(),
            stride: self.pick(&[1, 1, 2, 3]),
            dilation,
            low: low.into(),
            high: (reach - low + more).into(),
            base,
        }
    }

    fn conv(&mut self) -> Option<Value> {
        let x = self.float()?;
        let ty = self.ty(x);
        let spatial = 1 + self.below(2);
        let mut shape = ty.shape.clone();
        while shape.len() < spatial {
            shape.push(1.into());
        }
        let from = shape.len() - spatial;
        let mut head = shape[..from].to_vec();
        // Batch, groups and channels: the first three axes, made by adding some of extent 1 or by joining.
        while head.len() < 3 {
            let at = self.below(head.len() + 1);
            head.insert(at, 1.into());
        }
        while head.len() > 3 {
            let last = head.pop()?;
            let next = head.pop()?;
            head.push(next * last);
        }
        head[1].as_const().and(head[2].as_const())?;
        let windows: Vec<Window> = (0..spatial).map(|_| self.sliding()).collect();
        let shape: Vec<Dim> = head.iter().chain(&shape[from..]).cloned().collect();
        let x = self.prim(Prim::Reshape(shape.clone()), &[x])?;
        let outputs = 1 + self.below(3) as i64;
        let mut weights = vec![shape[1].clone(), outputs.into(), shape[2].clone()];
        weights.extend(windows.iter().map(|w| w.size.clone()));
        let w = self.input(Type::new(DType::F32, weights))?;
        self.prim(Prim::Conv { windows }, &[x, w])
    }

    fn window(&mut self) -> Option<Value> {
        let x = self.float()?;
        let ty = self.ty(x);
        let count = 1 + self.below(2);
        let extents = ty.shape.get(ty.rank().checked_sub(count)?..)?.to_vec();
        let windows: Vec<Window> = (0..count).map(|_| self.sliding()).collect();
        match self.below(4) {
            0 => self.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows }, &[x]),
            1 => {
                // Of nothing but padding the largest would be infinite.
                let y = self.prim(Prim::WindowReduce { op: ReduceOp::Max, windows }, &[x])?;
                self.build(|b| b.with(MapOp::Max, y, -10.0).ok())
            }
            n => {
                let at = self.prim(Prim::WindowArgMax { windows: windows.clone() }, &[x])?;
                let y = self.prim(Prim::WindowTake { windows: windows.clone() }, &[x, at])?;
                if n == 2 {
                    return Some(y);
                }
                let square = self.build(|b| b.mul(y, y).ok())?;
                self.prim(Prim::WindowPut { windows, extents }, &[square, at])
            }
        }
    }

    fn source(&mut self) -> Option<Value> {
        let shape = self.shape(3);
        match self.below(5) {
            0 => self.build(|b| {
                let x = b.uniform(&shape).ok()?;
                b.with(MapOp::Sub, x, 0.5).ok()
            }),
            1 => {
                let extent = self.extent();
                self.build(|b| {
                    let n = b.extent_u32(&extent).ok()?;
                    b.convert(n, DType::F32).ok()
                })
            }
            2 => {
                let axis = self.below(shape.len());
                (axis < shape.len()).then_some(())?;
                self.prim(Prim::Iota { shape, axis }, &[])
            }
            3 if self.depth > 0 => {
                let kind = Kind::Counter(self.below(self.depth));
                Some(self.graph.push(kind, vec![], Some(Type::scalar(DType::U32)), Span::call_site()))
            }
            _ => self.build(|b| b.full(DType::F32, &shape, 0.5).ok()),
        }
    }

    /// A region over some of the values, with a random body.
    fn repeat(&mut self) -> Option<Value> {
        if self.depth > 1 {
            return None;
        }
        let count = match self.below(4) {
            0 => Dim::name("T"),
            n => Dim::from(n),
        };
        let reverse = self.chance(2);
        let carried: Vec<Value> = (0..1 + self.below(2)).filter_map(|_| self.float()).collect();
        let mut stacked: Vec<Value> = vec![];
        for _ in 0..self.below(3) {
            let x = self.float()?;
            let mut shape = vec![count.clone()];
            shape.extend(self.ty(x).shape);
            let axes = (1..shape.len()).collect();
            stacked.extend(self.prim(Prim::Broadcast { shape: shape.clone(), axes }, &[x]).and_then(|wide| {
                let iota = self.prim(Prim::Iota { shape, axis: 0 }, &[])?;
                self.build(|b| {
                    let slice = b.convert(iota, DType::F32).ok()?;
                    b.add(wide, slice).ok()
                })
            }));
        }
        let fits = |v: &Value| self.graph.ty(*v).shape.first().is_some_and(|d| *d == count);
        stacked.extend(self.values.iter().copied().filter(fits).take(1));
        let invariant: Vec<Value> = (0..self.below(3)).filter_map(|_| self.any()).collect();
        let args = [carried.clone(), stacked.clone(), invariant].concat();
        let types: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
        let body = self.body(&types, carried.len(), stacked.len())?;
        let repeat =
            Repeat { count, reverse, carried: carried.len(), stacked: stacked.len(), memory: Memory::default(), body };
        let results = self.graph.repeat(repeat, args, Span::call_site());
        self.values.extend(&results);
        results.first().copied()
    }

    fn body(&mut self, types: &[Type], carried: usize, stacked: usize) -> Option<Graph> {
        let sites = self.sites;
        let mut inner = Growing {
            graph: Graph::default(),
            values: vec![],
            inputs: 0,
            numbers: self.numbers,
            depth: self.depth + 1,
            sites,
        };
        for (k, ty) in types.iter().enumerate() {
            let is_slice = (carried..carried + stacked).contains(&k);
            let ty = if is_slice { Type::new(ty.dtype, &ty.shape[1..]) } else { ty.clone() };
            let value = inner.graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site());
            inner.values.push(value);
        }
        for _ in 0..2 + inner.below(5) {
            inner.step();
        }
        let mut outputs = vec![];
        for (k, ty) in types[..carried].iter().enumerate() {
            let same: Vec<Value> = inner.values.iter().copied().filter(|v| inner.ty(*v) == *ty).collect();
            let next = inner.pick(&same);
            outputs.push(match inner.chance(3) {
                // Another carried value, or an input as it is.
                true => next,
                false => inner.build(|b| {
                    let half = b.with(MapOp::Mul, next, 0.5).ok()?;
                    let sum = b.add(half, Value(k as u32)).ok()?;
                    b.unary(MapOp::Tanh, sum).ok()
                })?,
            });
        }
        for _ in 0..inner.below(3) {
            outputs.extend(inner.any());
        }
        inner.graph.outputs = outputs;
        let (graph, sites) = (inner.graph, inner.sites);
        self.sites = sites;
        Some(graph)
    }
}
