//! Drives the fuzzer: `PRECAST_FUZZ` programs from `PRECAST_SEED` on are drawn, checked, lowered aside so that a panic
//! of the compiler is its program's alone, compiled in batches and compared. `PRECAST_SEED` alone prints one program.

use precast_compiler::dump::Dumps;
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::process::Command;

/// How many programs rustc compiles at once.
const BATCH: usize = 20;

/// Characters of a program's code from which on it is passed over, because rustc would take minutes for it.
const LONGEST: usize = 300_000;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn main() {
    let first = number("PRECAST_SEED").unwrap_or(1);
    let Some(count) = number("PRECAST_FUZZ") else {
        println!("{}", whole::generate::program(first).text());
        return;
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut batch = vec![];
    for seed in first..first + count {
        *counts.entry("drawn").or_default() += 1;
        match catch_unwind(|| ready(seed)) {
            Err(_) => {
                println!("program {seed} PANICKED in the compiler");
                *counts.entry("panicked in the compiler").or_default() += 1;
            }
            Ok(Err(why)) => {
                if std::env::var_os("PRECAST_WHY").is_some() {
                    println!("program {seed} rejected: {why}");
                }
                *counts.entry("rejected").or_default() += 1;
            }
            Ok(Ok(length)) if length > LONGEST => {
                println!("program {seed} passed over: {length} characters of code");
                *counts.entry("passed over").or_default() += 1;
            }
            Ok(Ok(_)) => batch.push(seed),
        }
        if batch.len() == BATCH || seed + 1 == first + count {
            compiled(&std::mem::take(&mut batch), (seed / BATCH as u64) as usize, &mut counts);
            println!("{counts:?}");
        }
    }
}

/// Draws a program and runs it through all stages; how long its code is.
fn ready(seed: u64) -> Result<usize, String> {
    let program = whole::generate::program(seed);
    drop(whole::judge::checked(&program.text())?);
    let tokens = format!("{{ ::precast }} {}", program.text()).parse().map_err(|why| format!("no tokens: {why}"))?;
    let code = precast_compiler::pipeline::compile(tokens, 0, &mut Dumps::default());
    if std::env::var_os("PRECAST_DRY").is_some() {
        whole::told::told(&program)?;
    }
    Ok(code.to_string().len())
}

/// Compiles and runs a batch; where rustc or a crash takes all along, each program alone.
fn compiled(seeds: &[u64], turn: usize, counts: &mut BTreeMap<&str, usize>) {
    if seeds.is_empty() || std::env::var_os("PRECAST_DRY").is_some() {
        return;
    }
    let list: Vec<String> = seeds.iter().map(ToString::to_string).collect();
    let on_the_gpu = whole::run::on_the_gpu();
    // A tenth as a debug build and a tenth at opt-level 3; of the others most without optimising, which compiles soonest,
    // and so do those of which none of the compiled kernels runs.
    let (is_debug, level) = match turn % 10 {
        _ if on_the_gpu => (false, 0),
        3 => (true, 0),
        7 => (false, 3),
        1 | 5 | 9 => (false, 1),
        _ => (false, 0),
    };
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "-q", "-p", "whole-batch", "--test", "batch"]);
    if cfg!(feature = "gpu") {
        cargo.args(["--features", "gpu"]);
    }
    if !is_debug {
        cargo.arg("--release").arg(format!("--config=profile.release.package.whole-batch.opt-level={level}"));
        cargo.args(["--config=profile.release.debug=false", "--config=profile.release.lto='off'"]);
        if level == 0 {
            // What is not optimised keeps its frames small, as in a debug build.
            cargo.arg("--config=profile.release.package.precast-cpu.debug-assertions=true");
        }
    }
    let Ok(output) = cargo.env("PRECAST_SEEDS", list.join(",")).output() else {
        return println!("cargo does not start");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut running = None;
    let mut seen = 0;
    for line in text.lines().filter(|l| l.starts_with("program") || l.starts_with("    ")) {
        let kind = ["PANICKED", "FAILED", "WRONG", "chaotic", "compared"].into_iter().find(|k| line.contains(k));
        if let Some(kind) = kind.filter(|_| line.starts_with("program")) {
            *counts.entry(kind).or_default() += 1;
            *counts.entry("compiled").or_default() += 1;
            (running, seen) = (None, seen + 1);
        } else if line.ends_with("runs") {
            running = Some(line.to_owned());
        }
        if !line.ends_with("runs") && !line.contains("compared") {
            println!("{line}");
        }
    }
    if let Some(crashed) = running {
        println!("CRASHED: {crashed}");
        *counts.entry("CRASHED").or_default() += 1;
    }
    if seen == 0 && seeds.len() > 1 {
        println!("the batch {seeds:?} does not build or crashes; each alone");
        seeds.iter().for_each(|seed| compiled(&[*seed], turn, counts));
    } else if seen == 0 {
        *counts.entry("does not build").or_default() += 1;
        println!("program {} does not build: {}", seeds[0], String::from_utf8_lossy(&output.stderr));
    }
}
