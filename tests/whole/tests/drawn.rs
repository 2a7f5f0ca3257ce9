//! A fuzzer finds nothing in what it never draws: every op and layer has a template that gives a call, and programs are the same
//! from one seed.

use whole::generate::{declares, drawn, layers, program, reaches};

#[test]
fn every_op_and_every_layer_is_drawn() {
    let ops = drawn().into_iter().filter(|op| !reaches(op)).map(|op| op.name);
    let layers = layers().into_iter().filter(|layer| !declares(layer)).map(|layer| layer.name);
    assert_eq!(ops.chain(layers).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_seed_is_a_program() {
    for seed in 1..20 {
        assert_eq!(program(seed).text(), program(seed).text());
    }
}
