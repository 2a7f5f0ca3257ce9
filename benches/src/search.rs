//! What drivers had better suppose of this machine.
//!
//! In: workloads. Out: the numbers of [`Machine`] with which they take the least time here, as the line that stands in
//! `runtime/cpu/src/machine.rs`. Always: one number is changed at a time, by factors of two; a candidate is measured in turns
//! with the best one so far, each in a process of its own, and is taken if it gains twice: what noise has made better once is
//! not likely to be better again.

use crate::command::{Rows, Search};
use crate::compare::process;
use precast::__rt::machine::{Machine, suppose};
use std::collections::BTreeMap;
use std::error::Error;

/// The part of the time that a candidate must save.
const GAIN: f64 = 0.01;

/// A number of a machine.
struct Number {
    name: &'static str,
    of: fn(&mut Machine) -> &mut usize,
}

/// All of them.
const NUMBERS: [Number; 7] = [
    Number { name: "l1", of: |machine| &mut machine.l1 },
    Number { name: "l2", of: |machine| &mut machine.l2 },
    Number { name: "l3", of: |machine| &mut machine.l3 },
    Number { name: "thread", of: |machine| &mut machine.thread },
    Number { name: "barrier", of: |machine| &mut machine.barrier },
    Number { name: "pack", of: |machine| &mut machine.pack },
    Number { name: "read", of: |machine| &mut machine.read },
];

/// Searches, and prints each step.
pub(crate) fn run(rows: &Rows, wanted: &Search) -> Result<(), Box<dyn Error>> {
    if let Some(stranger) = wanted.only.iter().find(|name| NUMBERS.iter().all(|number| number.name != **name)) {
        return Err(no_number(stranger).into());
    }
    let mut best = wanted.from;
    // A second round sees what the numbers that were found in the first one change for the others.
    for round in 1..=2 {
        let before = best;
        let is_wanted = |number: &&Number| wanted.only.is_empty() || wanted.only.iter().any(|name| name == number.name);
        for number in NUMBERS.iter().filter(is_wanted) {
            // Up until nothing is gained; down only where that was so at once.
            let start = best;
            while let Some(better) = step(rows, wanted, best, number, |n| n.checked_mul(2))? {
                best = better;
            }
            while best == start || (number.of)(&mut best.clone()) < (number.of)(&mut start.clone()) {
                let Some(better) = step(rows, wanted, best, number, |n| Some(n / 2).filter(|&n| n > 0))? else { break };
                best = better;
            }
        }
        println!("# round {round}: {}", text(&best));
        if best == before {
            break;
        }
    }
    println!("{best:?}");
    Ok(())
}

/// The machine with one number changed, if that is better.
fn step(
    rows: &Rows,
    wanted: &Search,
    best: Machine,
    number: &Number,
    change: impl Fn(usize) -> Option<usize>,
) -> Result<Option<Machine>, Box<dyn Error>> {
    let mut candidate = best;
    let place = (number.of)(&mut candidate);
    let Some(changed) = change(*place) else { return Ok(None) };
    *place = changed;
    for _ in 0..2 {
        let ratios = ratios(rows, wanted.turns, best, candidate)?;
        let mean = (ratios.values().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        let each: Vec<String> = ratios.iter().map(|(row, ratio)| format!("{row} {ratio:.3}")).collect();
        println!("{} = {changed}: {mean:.3} ({})", number.name, each.join(", "));
        if mean >= 1.0 - GAIN {
            return Ok(None);
        }
    }
    println!("{} = {changed} is taken", number.name);
    Ok(Some(candidate))
}

/// For each row the median, over so many turns, of the candidate's time by that of the best.
fn ratios(
    rows: &Rows,
    turns: usize,
    best: Machine,
    candidate: Machine,
) -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for turn in 0..turns {
        let order = if turn % 2 == 0 { [best, candidate] } else { [candidate, best] };
        let mut times = vec![];
        for machine in order {
            let samples = process(rows, &["--machine", &text(&machine)], turn)?;
            times.push(samples.into_iter().map(|sample| (sample.row, sample.median)).collect::<BTreeMap<_, _>>());
        }
        let [old, new] = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
        for (row, time) in &times[new] {
            let before = times[old].get(row).copied().unwrap_or(f64::NAN);
            all.entry(row.clone()).or_default().push(time / before);
        }
    }
    Ok(all.into_iter().map(|(row, mut list)| (row, median(&mut list))).collect())
}

fn median(list: &mut [f64]) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// A machine as a word of the command line.
fn text(machine: &Machine) -> String {
    let mut machine = *machine;
    let each: Vec<String> =
        NUMBERS.iter().map(|number| format!("{}={}", number.name, (number.of)(&mut machine))).collect();
    each.join(",")
}

/// The machine that a word of the command line is, with what is supposed of the rest.
pub(crate) fn read(word: &str) -> Result<Machine, Box<dyn Error>> {
    let mut machine = Machine::SUPPOSED;
    for part in word.split(',') {
        let (name, value) = part.split_once('=').ok_or_else(|| format!("`{part}` is not `NAME=WORDS`"))?;
        let number = NUMBERS.iter().find(|number| number.name == name).ok_or_else(|| no_number(name))?;
        *(number.of)(&mut machine) = value.parse()?;
    }
    Ok(machine)
}

fn no_number(name: &str) -> String {
    format!("a machine has no `{name}`; it has {}", NUMBERS.map(|number| number.name).join(", "))
}

/// Lets drivers suppose `machine` from now on.
pub(crate) fn set(machine: Machine) -> Result<(), Box<dyn Error>> {
    if suppose(machine) { Ok(()) } else { Err(format!("no driver can suppose {machine:?}").into()) }
}
