//! Random graphs through fuse, schedule and memory against the oracle. `PRECAST_FUZZ=5000` runs more of them,
//! `PRECAST_SEED=17` one.

#![allow(unreachable_pub, dead_code, reason = "the shared modules are public to all tests")]

#[path = "support/judge.rs"]
mod judge;
#[path = "support/random.rs"]
mod random;
mod support;

use judge::{check_memory, judge, model};
use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::{DType, Graph, Mode, Type, Value};
use precast_compiler::pipeline::{Compiled, lower};
use precast_compiler::stages::grad::differentiate;
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

fn one(seed: u32) {
    let mut numbers = Numbers::new(seed);
    let graph = random(&mut numbers);
    if number("PRECAST_SEED").is_some() {
        eprintln!("{graph}");
    }
    let compiled: Compiled = lower(model(graph, vec![], Mode::Evaluate));
    check_memory("random", &compiled, &mut numbers);
    for (b, t) in [(1, 1), (3, 2), (1 + i64::from(numbers.below(6)), 1 + i64::from(numbers.below(6)))] {
        judge(&format!("seed {seed}"), &compiled, &[("B", b), ("T", t)], &|_, ty, count, numbers| {
            let most = if numbers.below(4) == 0 { 9 } else { 2 };
            (ty.dtype == DType::U32).then(|| (0..count).map(|_| f64::from(numbers.below(most))).collect())
        });
    }
}

fn random(numbers: &mut Numbers) -> Graph {
    let mut growing = Growing::new(numbers);
    let mut inputs = vec![];
    for _ in 0..1 + growing.numbers.below(3) {
        let shape = growing.shape(4);
        inputs.extend(growing.input(Type::new(DType::F32, shape)));
    }
    growing.values.extend(&inputs);
    for _ in 0..3 + growing.numbers.below(14) {
        growing.step();
    }
    let mut outputs: Vec<Value> = growing.values.last().copied().into_iter().collect();
    for _ in 0..growing.numbers.below(4) {
        outputs.extend(growing.any());
    }
    if growing.chance(2) {
        let loss = growing.build(|b| {
            let mut total = b.f32(0.0).ok()?;
            for &output in &outputs {
                let float = b.convert(output, DType::F32).ok()?;
                let bounded = b.unary(precast_compiler::ir::prim::MapOp::Tanh, float).ok()?;
                let all: Vec<usize> = (0..b.rank(bounded)).collect();
                let sum = b.sum(bounded, &all).ok()?;
                total = b.add(total, sum).ok()?;
            }
            Some(total)
        });
        if let Some(loss) = loss {
            outputs.push(loss);
            outputs.extend(differentiate(&mut growing.graph, loss, &inputs));
        }
    }
    let mut graph = growing.graph;
    graph.outputs = outputs;
    // Inputs stay, whether or not something uses them.
    let mut keep: Vec<Value> = graph.inputs().map(|(_, v)| v).collect();
    simplify(graph, &mut keep)
}
