//! A fuzzer finds nothing in what it never draws: every op and layer has a template that gives a call, and programs are the same
//! from one seed.

use std::collections::BTreeMap;
use whole::generate::{declares, drawn, layers, program, reaches};

#[test]
fn every_op_and_every_layer_is_drawn() {
    let ops = drawn().into_iter().filter(|op| !reaches(op)).map(|op| op.name);
    let layers = layers().into_iter().filter(|layer| !declares(layer)).map(|layer| layer.name);
    assert_eq!(ops.chain(layers).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn ops_are_drawn_evenly() {
    let mut counts: BTreeMap<&str, usize> = drawn().iter().map(|op| (op.name, 0)).collect();
    for seed in 0..2000 {
        program(seed).calls().iter().for_each(|call| *counts.entry(call.op).or_default() += 1);
    }
    let mut all: Vec<(usize, &str)> = counts.into_iter().map(|(op, count)| (count, op)).collect();
    all.sort_unstable();
    let median = all[all.len() / 2].0;
    println!("{median} {all:?}");
    let rare: Vec<_> = all.iter().filter(|(count, _)| 10 * count < median).collect();
    assert!(rare.is_empty(), "of {median} at the median: {rare:?}");
}

#[test]
fn a_seed_is_a_program() {
    for seed in 1..20 {
        assert_eq!(program(seed).text(), program(seed).text());
    }
}
