//! Repeats against the same steps written out: values, gradients, gradients of gradients, nested.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

mod support;

use precast_compiler::ir::prim::{MapOp, Prim, ReduceOp};
use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::{DType, Graph, Kind, Memory, Repeat, Type, Value};
use precast_compiler::ops::{Builder, OpError};
use precast_compiler::oracle::run_graph;
use precast_compiler::stages::grad::differentiate;
use proc_macro2::Span;
use support::{BATCH, Fill, Numbers, builder, check, compare, dims, random, weighted};

/// `(carried, slices, invariants)` give the next carried values and the slices of the stacked outputs.
type Step<'f> = &'f dyn Fn(&mut Builder<'_>, &[Value], &[Value], &[Value]) -> Result<(Vec<Value>, Vec<Value>), OpError>;

struct Loop {
    count: i64,
    reverse: bool,
}

impl Loop {
    /// As a region.
    fn region(
        &self,
        b: &mut Builder<'_>,
        carried: &[Value],
        stacked: &[Value],
        invariant: &[Value],
        step: Step<'_>,
    ) -> Result<Vec<Value>, OpError> {
        let args = [carried, stacked, invariant].concat();
        let mut body = Graph::default();
        let slice = |k: usize, ty: &Type| match (carried.len()..carried.len() + stacked.len()).contains(&k) {
            true => Type::new(ty.dtype, &ty.shape[1..]),
            false => ty.clone(),
        };
        let inputs: Vec<Value> = args
            .iter()
            .enumerate()
            .map(|(k, v)| body.push(Kind::Input(k), vec![], Some(slice(k, b.ty(*v))), Span::call_site()))
            .collect();
        let (c, rest) = inputs.split_at(carried.len());
        let (s, i) = rest.split_at(stacked.len());
        let (next, outs) = step(&mut builder(&mut body, &mut 0), c, s, i)?;
        body.outputs = [next, outs].concat();
        let region = Repeat {
            count: self.count.into(),
            reverse: self.reverse,
            carried: carried.len(),
            stacked: stacked.len(),
            memory: Memory::default(),
            body,
        };
        Ok(b.graph.repeat(region, args, Span::call_site()))
    }

    /// Written out.
    fn unrolled(
        &self,
        b: &mut Builder<'_>,
        carried: &[Value],
        stacked: &[Value],
        invariant: &[Value],
        step: Step<'_>,
    ) -> Result<Vec<Value>, OpError> {
        let mut carried = carried.to_vec();
        let mut outs: Vec<Vec<Value>> = vec![];
        for n in 0..self.count {
            let at = if self.reverse { self.count - 1 - n } else { n };
            let mut slices = vec![];
            for &stack in stacked {
                let part = b.slice(stack, 0, at.into(), 1.into())?;
                let shape = b.shape(stack)[1..].to_vec();
                slices.push(b.reshape(part, &shape)?);
            }
            let (next, out) = step(b, &carried, &slices, invariant)?;
            carried = next;
            outs.push(out);
        }
        if self.reverse {
            outs.reverse();
        }
        let stacks = outs.first().map_or(0, Vec::len);
        for k in 0..stacks {
            let mut parts = vec![];
            for out in &outs {
                let shape = [vec![1.into()], b.shape(out[k])].concat();
                parts.push(b.reshape(out[k], &shape)?);
            }
            carried.push(b.prim(Prim::Concat { axis: 0 }, &parts)?);
        }
        Ok(carried)
    }
}

/// A sum of everything that is float, so that one scalar depends on every result.
fn total(b: &mut Builder<'_>, values: &[Value]) -> Result<Value, OpError> {
    let mut sum = b.full(DType::F32, &[], 0.0)?;
    for (n, &value) in values.iter().enumerate() {
        if b.dtype(value) != DType::F32 {
            continue;
        }
        let scaled = b.with(MapOp::Mul, value, 1.0 + n as f64)?;
        let wave = b.unary(MapOp::Sin, scaled)?;
        let all: Vec<usize> = (0..b.rank(wave)).collect();
        let term = b.sum(wave, &all)?;
        sum = b.add(sum, term)?;
    }
    Ok(sum)
}

/// One residual step with a weight slice, an invariant and a stacked output.
fn residual(b: &mut Builder<'_>, c: &[Value], s: &[Value], i: &[Value]) -> Result<(Vec<Value>, Vec<Value>), OpError> {
    let h = b.contract("bk,nk->bn", c[0], s[0])?;
    let h = b.add(h, s[1])?;
    let h = b.unary(MapOp::Tanh, h)?;
    let scaled = b.mul(h, i[0])?;
    let mask = b.map(MapOp::Lt, &[h, i[0]])?;
    let kept = b.select(mask, scaled, h)?;
    let next = b.add(c[0], kept)?;
    let norm = b.reduce(ReduceOp::Max, h, &[1])?;
    Ok((vec![next], vec![norm]))
}

fn inputs() -> Vec<(Vec<precast_compiler::ir::Dim>, Fill)> {
    vec![
        (dims(&["B", "4"]), Fill::Any),
        (dims(&["3", "4", "4"]), Fill::Any),
        (dims(&["3", "4"]), Fill::Any),
        (dims(&["B", "4"]), Fill::Any),
    ]
}

/// The value and all gradients of `body`, in both forms of the loop.
fn agree(what: &str, inputs: &[(Vec<precast_compiler::ir::Dim>, Fill)], forms: [support::Body<'_>; 2]) {
    let mut results = vec![];
    for body in forms {
        let (mut graph, nodes, shape) = weighted(inputs, body);
        let floats: Vec<Value> = nodes.iter().copied().filter(|v| graph.ty(*v).dtype == DType::F32).collect();
        let output = graph.outputs[0];
        let gradients = differentiate(&mut graph, output, &floats);
        graph.outputs.extend(gradients);
        support::sound(&graph);
        let small = simplify(graph.clone(), &mut []);
        support::sound(&small);
        let mut numbers = Numbers::new(5);
        let mut tensors: Vec<_> = inputs.iter().map(|(s, fill)| random(s, *fill, &mut numbers)).collect();
        tensors.push(random(&shape, Fill::Any, &mut numbers));
        let got = run_graph(&small, &tensors, &[("B", BATCH)]);
        assert_eq!(got, run_graph(&graph, &tensors, &[("B", BATCH)]), "{what}: simplified");
        results.push(got);
    }
    for (a, b) in results[0].iter().zip(&results[1]) {
        assert_eq!(a.shape, b.shape);
        for (x, y) in a.f64s().iter().zip(b.f64s()) {
            assert!((x - y).abs() <= 1e-12 * (1.0 + x.abs()), "{what}: {x} and {y}");
        }
    }
}

#[test]
fn a_repeat_is_its_steps_written_out() {
    for (count, reverse) in [(3, false), (3, true), (1, false)] {
        let run = Loop { count, reverse };
        let mut inputs = inputs();
        inputs[1..3].iter_mut().for_each(|(shape, _)| shape[0] = count.into());
        agree(
            "residual",
            &inputs,
            [
                &|b, a| {
                    let results = run.region(b, &a[..1], &a[1..3], &a[3..], &residual)?;
                    total(b, &results)
                },
                &|b, a| {
                    let results = run.unrolled(b, &a[..1], &a[1..3], &a[3..], &residual)?;
                    total(b, &results)
                },
            ],
        );
    }
}

#[test]
fn its_derivatives_are_right_to_order_two() {
    let run = Loop { count: 3, reverse: false };
    let inputs = vec![
        (dims(&["2", "2"]), Fill::Any),
        (dims(&["3", "2", "2"]), Fill::Any),
        (dims(&["3", "2"]), Fill::Any),
        (dims(&["2", "2"]), Fill::Any),
    ];
    check("repeat", &inputs, 2, &|b, a| {
        let results = run.region(b, &a[..1], &a[1..3], &a[3..], &residual)?;
        total(b, &results)
    });
}

/// Two carried values that swap roles, one of which the loss sees only through the other.
fn swapped(b: &mut Builder<'_>, c: &[Value], _: &[Value], i: &[Value]) -> Result<(Vec<Value>, Vec<Value>), OpError> {
    let product = b.mul(c[1], i[0])?;
    Ok((vec![product, c[0]], vec![]))
}

#[test]
fn cotangents_pass_between_carried_values() {
    let run = Loop { count: 4, reverse: false };
    let inputs = [(dims(&["B"]), Fill::Any), (dims(&["B"]), Fill::Any), (dims(&["B"]), Fill::Any)];
    agree(
        "swapped",
        &inputs,
        [&|b, a| Ok(run.region(b, &a[..2], &[], &a[2..], &swapped)?[0]), &|b, a| {
            Ok(run.unrolled(b, &a[..2], &[], &a[2..], &swapped)?[0])
        }],
    );
    check("swapped", &inputs, 2, &|b, a| Ok(run.region(b, &a[..2], &[], &a[2..], &swapped)?[1]));
}

#[test]
fn nested_repeats() {
    let (outer, inner) = (Loop { count: 2, reverse: false }, Loop { count: 3, reverse: true });
    let inputs = vec![
        (dims(&["B", "2"]), Fill::Any),
        (dims(&["2", "3", "2", "2"]), Fill::Any),
        (dims(&["2", "3", "2"]), Fill::Any),
        (dims(&["B", "2"]), Fill::Any),
    ];
    fn step<'f>(
        inner: &'f Loop,
        region: bool,
    ) -> impl Fn(&mut Builder<'_>, &[Value], &[Value], &[Value]) -> Result<(Vec<Value>, Vec<Value>), OpError> + 'f {
        move |b, c, s, i| {
            let results = match region {
                true => inner.region(b, c, s, i, &residual)?,
                false => inner.unrolled(b, c, s, i, &residual)?,
            };
            let scaled = b.mul(results[0], i[0])?;
            Ok((vec![scaled], vec![results[1]]))
        }
    }
    agree(
        "nested",
        &inputs,
        [
            &|b, a| {
                let results = outer.region(b, &a[..1], &a[1..3], &a[3..], &step(&inner, true))?;
                total(b, &results)
            },
            &|b, a| {
                let results = outer.unrolled(b, &a[..1], &a[1..3], &a[3..], &step(&inner, false))?;
                total(b, &results)
            },
        ],
    );
}

#[test]
fn nested_repeats_to_order_two() {
    let (outer, inner) = (Loop { count: 2, reverse: true }, Loop { count: 2, reverse: false });
    let inputs = vec![(dims(&["2"]), Fill::Any), (dims(&["2", "2", "2"]), Fill::Any), (dims(&["2"]), Fill::Any)];
    check("nested", &inputs, 2, &|b, a| {
        let deep: Step<'_> = &|b, c, s, i| {
            let x = b.mul(c[0], s[0])?;
            let x = b.add(x, i[0])?;
            let x = b.unary(MapOp::Sin, x)?;
            Ok((vec![x], vec![]))
        };
        let step: Step<'_> = &|b, c, s, i| Ok((inner.region(b, c, s, i, deep)?, vec![]));
        Ok(outer.region(b, &a[..1], &a[1..2], &a[2..], step)?[0])
    });
}

#[test]
fn an_unused_stack_and_carried_value_are_pruned() {
    let run = Loop { count: 3, reverse: false };
    let (mut graph, _, _) = weighted(&inputs(), &|b, a| {
        let results = run.region(b, &[a[0], a[3]], &a[1..3], &a[3..], &|b, c, s, i| {
            let (next, outs) = residual(b, &c[..1], s, i)?;
            let idle = b.mul(c[1], i[0])?;
            Ok((vec![next[0], idle], outs))
        })?;
        Ok(results[0])
    });
    graph = simplify(graph, &mut []);
    support::sound(&graph);
    let repeat = graph.nodes.iter().find_map(|n| match &n.kind {
        Kind::Repeat(repeat) => Some(repeat),
        _ => None,
    });
    let repeat = repeat.unwrap();
    assert_eq!((repeat.carried, repeat.stacked, repeat.body.outputs.len()), (1, 2, 1));
}

#[test]
fn a_counter_is_the_index_of_the_slice() {
    let run = Loop { count: 3, reverse: true };
    let (graph, _, _) = weighted(&[(dims(&["2"]), Fill::Any)], &|b, a| {
        let results = run.region(b, &a[..1], &[], &[], &|b, c, _, _| {
            let n = b.graph.push(Kind::Counter(0), vec![], Some(Type::scalar(DType::U32)), Span::call_site());
            let n = b.convert(n, DType::F32)?;
            Ok((vec![b.add(c[0], n)?], vec![n]))
        })?;
        Ok(results[1])
    });
    let tensors =
        [vec![1.0, 2.0], vec![1.0, 10.0, 100.0]].map(|x| precast_compiler::oracle::Tensor::floats([x.len()], x));
    assert_eq!(run_graph(&graph, &tensors, &[])[0].f64s(), [210.0]);
    compare("counter", graph.clone(), tensors.to_vec(), &[Value(0)], 1);
}
