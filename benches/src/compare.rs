//! Ours and the work of others in turns.
//!
//! In: workloads and a list of commands ([`peers`]). Out: for each row the medians, the best of the others and the ratio, as
//! a Markdown table on standard output, and in a page if one is named. Always: every program is a process of its own, and the
//! programs take turns workload by workload, because a machine that others use is another one a minute later. Ours is the
//! first and the last of each turn; where the two are further apart than [`APART`] their ratio to others means nothing, and the
//! workload has another turn, with those of the others that came near the best.

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
    /// Which turn of the workload it is from.
    pub(super) turn: usize,
}

/// The name of our second run in each turn.
pub(super) const AGAIN: &str = "precast again";
/// The name of our first run.
pub(super) const OURS: &str = "precast";
/// The largest part by which ours and ours again may differ.
pub(super) const APART: f64 = 0.02;
/// How many turns in which they do not are enough, because what runs between the two may have been disturbed alone.
pub(super) const ENOUGH: usize = 3;
/// How many times as long as the best another program may have taken for its next turn to be worth the time.
const NEAR: f64 = 1.5;

/// Runs and compares.
pub(crate) fn run(rows: &Rows, wanted: &Peers) -> Result<(), Box<dyn Error>> {
    let peers = peers::read(&wanted.file)?;
    let mut samples = vec![];
    for &workload in &rows.workloads {
        samples.extend(turns(&Rows { workloads: vec![workload], ..*rows }, &peers, wanted.turns)?);
    }
    let text = format!("{}\n{}", machine::describe(&peers, rows.threads), table::of(&samples));
    print!("{text}");
    wanted.page.as_deref().map_or(Ok(()), |page| table::replace(page, &text))
}

/// The turns of one workload: at most `most` of them.
fn turns(rows: &Rows, peers: &[Peer], most: usize) -> Result<Vec<Sample>, Box<dyn Error>> {
    // A peer may be faster on one thread; it is judged by its better choice.
    let choices = if rows.threads > 1 { vec![1, rows.threads] } else { vec![1] };
    let mut rivals: Vec<(&Peer, usize)> =
        peers.iter().flat_map(|peer| choices.iter().map(move |&threads| (peer, threads))).collect();
    let mut samples = vec![];
    for turn in 0..most {
        eprintln!("# {}: turn {} of at most {most}", rows.workloads[0].name, turn + 1);
        samples.extend(ours(rows, OURS, turn)?);
        let found: Vec<_> = rivals.iter().map(|&(peer, threads)| theirs(peer, rows, threads, turn)).collect();
        if turn == 0 {
            let all: Vec<&Sample> = found.iter().flatten().collect();
            let mut near = found.iter().map(|some| some.iter().any(|sample| is_near(sample, &all)));
            rivals.retain(|_| near.next() == Some(true));
        }
        samples.extend(found.into_iter().flatten());
        samples.extend(ours(rows, AGAIN, turn)?);
        if table::holds(&samples) {
            break;
        }
    }
    Ok(samples)
}

/// Whether a program came near the best of `all` in its row.
fn is_near(sample: &Sample, all: &[&Sample]) -> bool {
    all.iter().all(|other| other.row != sample.row || sample.median <= NEAR * other.median)
}

/// Runs our rows in a process of their own, with `options` more.
pub(super) fn process(rows: &Rows, options: &[&str], turn: usize) -> Result<Vec<Sample>, Box<dyn Error>> {
    let names: Vec<&str> = rows.workloads.iter().map(|workload| workload.name).collect();
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(names.join(",")).args(["--threads", &rows.threads.to_string()]);
    command.args(["--seconds", &rows.seconds.to_string()]).args(options);
    collect(&mut command, turn)
}

fn ours(rows: &Rows, name: &str, turn: usize) -> Result<Vec<Sample>, Box<dyn Error>> {
    let mut samples = process(rows, &[], turn)?;
    samples.iter_mut().for_each(|sample| sample.backend = name.into());
    Ok(samples)
}

/// A peer that fails is told of and left out.
fn theirs(peer: &Peer, rows: &Rows, threads: usize, turn: usize) -> Vec<Sample> {
    let names: Vec<&str> = rows.workloads.iter().filter_map(|workload| peer.name_of(workload.name)).collect();
    if names.is_empty() {
        return vec![];
    }
    let text = peer.command.replace("{threads}", &threads.to_string()).replace("{rows}", &names.join(","));
    let mut command = Command::new("sh");
    command.args(["-c", &text]).env("SEC", rows.seconds.to_string());
    for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"] {
        command.env(variable, threads.to_string());
    }
    let mut samples = collect(&mut command, turn).unwrap_or_else(|why| {
        eprintln!("# {} fails: {why}", peer.name);
        vec![]
    });
    // What a peer calls one row may be several of ours.
    samples.retain(|sample| rows.workloads.iter().any(|workload| workload.has(&sample.row)));
    samples
}

/// Runs a program and reads `workload,backend,threads,median_us,min_us` from what it prints.
fn collect(command: &mut Command, turn: usize) -> Result<Vec<Sample>, Box<dyn Error>> {
    let output = command.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    for line in said.lines().filter(|line| line.starts_with("# FAIL") || line.contains("allocates")) {
        eprintln!("{line}");
    }
    if !output.status.success() {
        return Err(said.lines().last().unwrap_or("no word").to_owned().into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| sample(line, turn)).collect())
}

fn sample(line: &str, turn: usize) -> Option<Sample> {
    let [row, backend, threads, median, _] = line.split(',').collect::<Vec<_>>()[..] else { return None };
    Some(Sample {
        row: row.into(),
        backend: backend.into(),
        threads: threads.parse().ok()?,
        median: median.parse().ok()?,
        turn,
    })
}
