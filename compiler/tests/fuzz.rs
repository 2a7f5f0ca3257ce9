//! Random graphs with regions: they keep the invariants through text, simplification and differentiation,
//! and their derivatives agree with finite differences.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

mod support;

use precast_compiler::ir::prim::{Border, Cut, MapOp, Prim, ReduceOp, Scalar, Window};
use precast_compiler::ir::{DType, Dim, Graph, Kind, Memory, Repeat, Value};
use precast_compiler::ops::{Builder, OpError};
use proc_macro2::Span;
use support::{Fill, Numbers, builder, check, dims};

/// Grows a graph by random smooth operations; every value stays within about ±10.
struct Grower<'n> {
    numbers: &'n mut Numbers,
    /// How many regions may still be nested.
    depth: usize,
}

impl Grower<'_> {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.numbers.below(from.len() as u32) as usize]
    }

    /// Some steps from the given float values; the last value that came.
    fn grow(&mut self, b: &mut Builder<'_>, from: &[Value], steps: u32) -> Result<Value, OpError> {
        let mut pool = from.to_vec();
        for _ in 0..steps {
            let x = self.pick(&pool[pool.len().saturating_sub(4)..]);
            let new = self.step(b, x, &pool)?;
            pool.push(new);
        }
        Ok(pool[pool.len() - 1])
    }

    fn step(&mut self, b: &mut Builder<'_>, x: Value, pool: &[Value]) -> Result<Value, OpError> {
        let rank = b.rank(x);
        let axis = if rank == 0 { 0 } else { self.numbers.below(rank as u32) as usize };
        match self.numbers.below(15) {
            0 => b.unary(MapOp::Tanh, x),
            1 => b.unary(MapOp::Sin, x),
            2 => b.unary(MapOp::Sigmoid, x),
            3 => {
                let square = b.mul(x, x)?;
                let one = b.with(MapOp::Add, square, 1.0)?;
                b.unary(MapOp::Rsqrt, one)
            }
            4 | 5 => {
                let same: Vec<Value> = pool.iter().copied().filter(|v| b.ty(*v) == b.ty(x)).collect();
                let y = self.pick(&same);
                let op = self.pick(&[MapOp::Add, MapOp::Sub, MapOp::Mul]);
                let z = b.map(op, &[x, y])?;
                let third = b.with(MapOp::Mul, z, 0.3)?;
                b.unary(MapOp::Sin, third)
            }
            6 if rank > 0 => {
                let mean = b.mean(x, &[axis])?;
                b.unary(MapOp::Sin, mean)
            }
            7 if rank > 0 => b.reduce_keep(ReduceOp::Max, x, &[axis]).and_then(|max| b.sub(x, max)),
            8 if rank > 1 => {
                let permutation: Vec<usize> = (0..rank).map(|a| (a + 1) % rank).collect();
                b.transpose(x, &permutation)
            }
            9 if rank > 0 => {
                let cut = |(a, d): (usize, &Dim)| match a == axis && d.as_const().is_some_and(|n| n > 2) {
                    true => Cut { start: 1.into(), len: d.clone() - Dim::from(1), step: 1 },
                    false => Cut { start: 0.into(), len: d.clone(), step: 1 },
                };
                let cuts = b.shape(x).iter().enumerate().map(cut).collect();
                b.prim(Prim::Slice(cuts), &[x])
            }
            10 if rank > 0 => {
                let border = |a: usize| Border { low: i64::from(a == axis).into(), high: 0.into(), interior: 0 };
                b.prim(Prim::Pad { borders: (0..rank).map(border).collect(), value: Scalar::f32(0.5) }, &[x])
            }
            11 if rank > 0 => b.prim(Prim::Flip(vec![axis]), &[x]),
            12 if rank == 2 => {
                let gram = b.contract("ik,jk->ij", x, x)?;
                let small = b.with(MapOp::Mul, gram, 0.1)?;
                b.unary(MapOp::Tanh, small)
            }
            13 if rank > 0 => {
                let window = Window { size: 2.into(), stride: 1, dilation: 1, low: 1.into(), high: 0.into(), base: 1 };
                let op = self.pick(&[ReduceOp::Sum, ReduceOp::Max]);
                let y = b.prim(Prim::WindowReduce { op, windows: vec![window] }, &[x])?;
                b.with(MapOp::Mul, y, 0.5)
            }
            14 if self.depth > 0 => self.region(b, x, pool),
            _ => b.with(MapOp::Add, x, 0.25),
        }
    }

    /// A repeat that carries `x`, sees another value as an invariant and stacks a slice.
    fn region(&mut self, b: &mut Builder<'_>, x: Value, pool: &[Value]) -> Result<Value, OpError> {
        let count = [Dim::from(2), Dim::from(3), Dim::name("B")][self.numbers.below(3) as usize].clone();
        let ty = b.ty(x).clone();
        let invariant = self.pick(pool);
        let stack: Vec<Dim> = [vec![count.clone()], ty.shape.clone()].concat();
        let along = b.iota(&stack, 0)?;
        let along = b.convert(along, DType::F32)?;
        let spread = b.broadcast_to(x, &stack)?;
        let stacked = b.map(MapOp::Mul, &[spread, along])?;
        let stacked = b.unary(MapOp::Sin, stacked)?;
        let mut body = Graph::default();
        let types = [ty.clone(), ty.clone(), b.ty(invariant).clone()];
        let inputs: Vec<Value> =
            (0..3).map(|k| body.push(Kind::Input(k), vec![], Some(types[k].clone()), Span::call_site())).collect();
        let mut sites = 0;
        let mut inner = builder(&mut body, &mut sites);
        let product = inner.mul(inputs[0], inputs[1])?;
        let summed = inner.add(product, inputs[0])?;
        let steps = 1 + self.numbers.below(4);
        let grown =
            Grower { numbers: self.numbers, depth: self.depth - 1 }.grow(&mut inner, &[inputs[2], summed], steps)?;
        let mean = match inner.rank(grown) {
            0 => grown,
            rank => inner.mean(grown, &(0..rank).collect::<Vec<_>>())?,
        };
        let mixed = inner.mul(summed, mean)?;
        let next = inner.unary(MapOp::Sin, mixed)?;
        let out = inner.unary(MapOp::Tanh, mixed)?;
        body.outputs = vec![next, out];
        let reverse = self.numbers.below(2) == 0;
        let region = Repeat { count, reverse, carried: 1, stacked: 1, memory: Memory::default(), body };
        let results = b.graph.repeat(region, vec![x, stacked, invariant], Span::call_site());
        match self.numbers.below(3) {
            0 => Ok(results[0]),
            1 => b.sum(results[1], &[0]),
            _ => {
                let total = b.sum(results[1], &[0])?;
                b.mul(total, results[0])
            }
        }
    }
}

#[test]
fn random_graphs_have_right_derivatives() {
    let shapes: [&[&str]; 3] = [&["B", "4"], &["3", "5"], &["2", "B", "3"]];
    for seed in 0..120 {
        let shape = shapes[seed % shapes.len()];
        let order = if seed % 6 == 0 { 2 } else { 1 };
        check(&format!("seed {seed}"), &[(dims(shape), Fill::Any), (dims(shape), Fill::Any)], order, &|b, args| {
            let mut numbers = Numbers::new(1000 + seed as u32);
            let steps = 3 + numbers.below(7);
            Grower { numbers: &mut numbers, depth: 2 }.grow(b, args, steps)
        });
    }
}
