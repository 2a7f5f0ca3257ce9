//! Ours and the work of others in turns.
//!
//! In: workloads and a list of commands ([`peers`]). Out: for each row the medians, the best of the others and the ratio, as
//! a Markdown table on standard output, and in a page if one is named. Always: every program is a process of its own, and the
//! programs take turns workload by workload, because a machine that others use is another one a minute later; ours is the
//! first and the last of each turn, and how far the two are apart is shown, because a ratio means nothing beyond that.

mod machine;
mod peers;
mod table;

use crate::command::{Peers, Rows};
use peers::Peer;
use std::error::Error;
use std::process::Command;

/// One line that a program printed.
pub(super) struct Sample {
    pub(super) row: String,
    pub(super) backend: String,
    pub(super) threads: usize,
    pub(super) median: f64,
}

/// The name of our second run in each round.
pub(super) const AGAIN: &str = "precast again";
/// The name of our first run.
pub(super) const OURS: &str = "precast";

/// Runs and compares.
pub(crate) fn run(rows: &Rows, wanted: &Peers) -> Result<(), Box<dyn Error>> {
    let peers = peers::read(&wanted.file)?;
    let mut samples = vec![];
    for round in 0..wanted.rounds {
        for &workload in &rows.workloads {
            eprintln!("# round {} of {}: {}", round + 1, wanted.rounds, workload.name);
            let one = Rows { workloads: vec![workload], ..*rows };
            ours(&one, OURS, &mut samples)?;
            for peer in &peers {
                // A peer may be faster on one thread; it is judged by its better choice.
                for threads in if rows.threads > 1 { vec![1, rows.threads] } else { vec![1] } {
                    theirs(peer, &one, threads, &mut samples);
                }
            }
            ours(&one, AGAIN, &mut samples)?;
        }
    }
    let text = format!("{}\n{}", machine::describe(&peers, rows.threads), table::of(&samples));
    print!("{text}");
    wanted.page.as_deref().map_or(Ok(()), |page| table::replace(page, &text))
}

fn ours(rows: &Rows, name: &str, samples: &mut Vec<Sample>) -> Result<(), Box<dyn Error>> {
    let names: Vec<&str> = rows.workloads.iter().map(|workload| workload.name).collect();
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(names.join(",")).args(["--threads", &rows.threads.to_string()]);
    command.args(["--seconds", &rows.seconds.to_string()]);
    for sample in collect(&mut command)? {
        samples.push(Sample { backend: name.into(), ..sample });
    }
    Ok(())
}

/// A peer that fails is told of and left out.
fn theirs(peer: &Peer, rows: &Rows, threads: usize, samples: &mut Vec<Sample>) {
    let names: Vec<&str> = rows.workloads.iter().filter_map(|workload| peer.name_of(workload.name)).collect();
    if names.is_empty() {
        return;
    }
    let text = peer.command.replace("{threads}", &threads.to_string()).replace("{rows}", &names.join(","));
    let mut command = Command::new("sh");
    command.args(["-c", &text]).env("SEC", rows.seconds.to_string());
    for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"] {
        command.env(variable, threads.to_string());
    }
    match collect(&mut command) {
        Ok(found) => samples.extend(found),
        Err(why) => eprintln!("# {} fails: {why}", peer.name),
    }
}

/// Runs a program and reads `workload,backend,threads,median_us,min_us` from what it prints.
fn collect(command: &mut Command) -> Result<Vec<Sample>, Box<dyn Error>> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    for line in said.lines().filter(|line| line.starts_with("# FAIL") || line.contains("allocates")) {
        eprintln!("{line}");
    }
    if !output.status.success() {
        return Err(said.lines().last().unwrap_or("no word").to_owned().into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(sample).collect())
}

fn sample(line: &str) -> Option<Sample> {
    let [row, backend, threads, median, _] = line.split(',').collect::<Vec<_>>()[..] else { return None };
    Some(Sample {
        row: row.into(),
        backend: backend.into(),
        threads: threads.parse().ok()?,
        median: median.parse().ok()?,
    })
}
