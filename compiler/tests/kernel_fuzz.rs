//! Random graphs through fuse, schedule and memory against the oracle. `PRECAST_FUZZ=5000` runs more of them,
//! `PRECAST_SEED=17` one.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and share public modules"
)]

#[path = "support/judge.rs"]
mod judge;
#[path = "support/random.rs"]
mod random;
mod support;

use judge::{check_memory, judge, model, params};
use precast_compiler::ir::kernel::Kernel;
use precast_compiler::ir::prim::MapOp;
use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::{DType, Dim, Graph, Kind, Mode, ParamId, Type, Value};
use precast_compiler::ops::{Item, Optimizer, items};
use precast_compiler::pipeline::{Compiled, lower};
use precast_compiler::stages::grad::differentiate;
use proc_macro2::Span;
use random::Growing;
use std::panic::{AssertUnwindSafe, catch_unwind};
use support::Numbers;

/// How many graphs are quick enough for every run.
const QUICK: u32 = 250;

fn number(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_graphs() {
    let seeds = match number("PRECAST_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("PRECAST_FUZZ").unwrap_or(QUICK),
    };
    let mut failed = vec![];
    for seed in seeds {
        if let Err(why) = catch_unwind(AssertUnwindSafe(|| one(seed))) {
            let text = why.downcast_ref::<String>().cloned();
            let text = text.or_else(|| why.downcast_ref::<&str>().map(|t| t.to_string())).unwrap_or_default();
            failed.push((seed, text.lines().next().unwrap_or_default().chars().take(160).collect::<String>()));
        }
    }
    let list: Vec<String> = failed.iter().map(|(seed, why)| format!("seed {seed}: {why}")).collect();
    assert!(failed.is_empty(), "{} graphs fail:\n{}", failed.len(), list.join("\n"));
}

fn optimizers() -> Vec<&'static Optimizer> {
    let found = |item| match item {
        Item::Optimizer(optimizer) => Some(optimizer),
        Item::Op(_) | Item::Layer(_) => None,
    };
    items().filter_map(found).collect()
}

fn one(seed: u32) {
    let mut numbers = Numbers::new(seed);
    let (graph, shapes, mode) = random(&mut numbers);
    if number("PRECAST_SEED").is_some() {
        eprintln!("{graph}");
    }
    let mut compiled: Compiled = lower(model(graph, params(&shapes), mode));
    check_memory("random", &compiled, &mut numbers);
    if seed % 2 == 1 {
        // As they are printed.
        compiled.plans.kernels.iter_mut().for_each(Kernel::share_divisions);
    }
    for (b, t) in [(1, 1), (3, 2), (1 + i64::from(numbers.below(6)), 1 + i64::from(numbers.below(6)))] {
        judge(&format!("seed {seed}"), &compiled, &[("B", b), ("T", t)], &|_, ty, count, numbers| {
            let most = if numbers.below(4) == 0 { 9 } else { 2 };
            (ty.dtype == DType::U32).then(|| (0..count).map(|_| f64::from(numbers.below(most))).collect())
        });
    }
}

/// A graph, the shapes of its parameters, and whether it is trained.
fn random(numbers: &mut Numbers) -> (Graph, Vec<Vec<Dim>>, Mode) {
    let mut growing = Growing::new(numbers);
    let (mut inputs, mut shapes) = (vec![], vec![]);
    for _ in 0..1 + growing.numbers.below(3) {
        let shape = growing.shape(4);
        inputs.extend(growing.input(Type::new(DType::F32, shape)));
    }
    growing.values.extend(&inputs);
    for k in 0..growing.numbers.below(3) {
        let mut shape = growing.shape(3);
        shape.retain(|d| d.as_const().is_some());
        if growing.chance(4) {
            // As the update sees the pool.
            shape = vec![2.into(), 64.into()];
        }
        let ty = Type::new(DType::F32, shape.clone());
        let param = growing.graph.push(Kind::Param(ParamId(k)), vec![], Some(ty), Span::call_site());
        growing.values.push(param);
        shapes.push(shape);
    }
    for _ in 0..3 + growing.numbers.below(14) {
        growing.step();
    }
    let mut outputs: Vec<Value> = growing.values.last().copied().into_iter().collect();
    for _ in 0..growing.numbers.below(4) {
        outputs.extend(growing.any());
    }
    let mut mode = Mode::Evaluate;
    if growing.chance(2) {
        let loss = loss(&mut growing, &outputs);
        if shapes.is_empty() {
            outputs.push(loss);
            outputs.extend(differentiate(&mut growing.graph, loss, &inputs));
        } else {
            outputs.insert(0, loss);
            mode = Mode::Train(growing.pick(&optimizers()).name.into());
        }
    }
    let mut graph = growing.graph;
    graph.outputs = outputs;
    // Inputs stay, whether or not something uses them.
    let mut keep: Vec<Value> = graph.inputs().map(|(_, v)| v).collect();
    (simplify(graph, &mut keep), shapes, mode)
}

/// A scalar that everything has a bounded part in.
fn loss(growing: &mut Growing<'_>, outputs: &[Value]) -> Value {
    let made = growing.build(|b| {
        let mut total = b.full(DType::F32, &[], 0.0).ok()?;
        for &output in outputs {
            let float = b.convert(output, DType::F32).ok()?;
            let bounded = b.unary(MapOp::Tanh, float).ok()?;
            let all: Vec<usize> = (0..b.rank(bounded)).collect();
            let sum = b.sum(bounded, &all).ok()?;
            total = b.add(total, sum).ok()?;
        }
        Some(total)
    });
    made.unwrap()
}
