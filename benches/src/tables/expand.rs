//! What the macro takes: the time of each stage of the compiler for networks written as straight lines.
//!
//! In: the networks of [`networks`]. Out: milliseconds for each stage, medians of three runs. Always: the compiler is
//! optimised here. In a debug build of a program it is not, and takes some twelve times as long.

mod networks;

use crate::command::Part;
use precast_compiler::dump::Dumps;
use precast_compiler::pipeline::{self, STAGES};
use proc_macro2::TokenStream;
use std::time::Duration;

/// Runs of which the median counts.
const RUNS: usize = 3;

pub(super) fn stages(part: &Part) {
    print!("{:<24}", "ms");
    STAGES.iter().for_each(|stage| print!("{stage:>9}"));
    println!("{:>9}", "all");
    for (name, text) in networks::all() {
        if !name.contains(&part.only) {
            continue;
        }
        match times(&text) {
            Ok(times) => {
                print!("{name:<24}");
                let all = times.iter().sum();
                times.iter().chain([&all]).for_each(|time| print!("{:>9.1}", time.as_secs_f64() * 1e3));
                println!();
            }
            Err(why) => eprintln!("{name}: {why}"),
        }
    }
}

/// The time of each stage.
fn times(text: &str) -> Result<Vec<Duration>, String> {
    let tokens: TokenStream = text.parse().map_err(|why| format!("{why}"))?;
    let (_, diags) = pipeline::check(tokens.clone());
    if let Some(first) = diags.list().first() {
        return Err(format!("line {}: {}", first.place.line(), first.text()));
    }
    let tokens = TokenStream::from_iter(["{ ::precast }".parse().map_err(|why| format!("{why}"))?, tokens]);
    let mut runs: Vec<Vec<Duration>> = vec![vec![]; STAGES.len()];
    for _ in 0..RUNS {
        let mut dumps = Dumps::default();
        pipeline::compile(tokens.clone(), 0, &mut dumps);
        for (stage, runs) in STAGES.iter().zip(&mut runs) {
            runs.extend(dumps.times.iter().find(|(name, _)| name == stage).map(|(_, time)| *time));
        }
    }
    let median = |mut runs: Vec<Duration>| {
        runs.sort_unstable();
        runs.get(runs.len() / 2).copied().unwrap_or_default()
    };
    Ok(runs.into_iter().map(median).collect())
}
