//! Workloads, measured in this process.
//!
//! In: the workloads, threads and seconds. Out: `workload,backend,threads,median_us,min_us`, one line for each, on standard
//! output. Always: inputs vary from call to call and results are consumed; a call that asks for memory is told of on
//! standard error.

use crate::allocations;
use crate::command::Rows;
use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Most samples of one workload.
const SAMPLES: usize = 100_000;

/// Measures and prints the rows.
pub(crate) fn run(rows: &Rows) -> Result<(), Box<dyn Error>> {
    precast::set_threads(rows.threads);
    let mut failed = vec![];
    for workload in &rows.workloads {
        let print = &mut |label: &str, inner: u32, call: &mut dyn FnMut() -> f32| {
            let (median, least) = measure(label, rows.seconds, inner, call);
            println!("{label},precast,{},{median:.3},{least:.3}", rows.threads);
        };
        if let Err(why) = (workload.run)(print) {
            failed.push(format!("{}: {why}", workload.name));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

/// The median and the least microseconds of a call, of samples of `inner` calls each.
fn measure(label: &str, seconds: f64, inner: u32, call: &mut dyn FnMut() -> f32) -> (f64, f64) {
    let warm = Instant::now();
    for turn in 0.. {
        if turn > 2 && warm.elapsed() >= Duration::from_secs_f64(0.3 * seconds) {
            break;
        }
        black_box(call());
    }
    let mut times = Vec::with_capacity(SAMPLES);
    let (asked, end) = (allocations::count(), Instant::now() + Duration::from_secs_f64(seconds));
    while times.len() < 7 || (times.len() < SAMPLES && Instant::now() < end) {
        let start = Instant::now();
        for _ in 0..inner {
            black_box(call());
        }
        times.push(start.elapsed().as_secs_f64() / f64::from(inner) * 1e6);
    }
    let asked = allocations::count() - asked;
    if asked > 0 {
        eprintln!("# {label} allocates: {asked} times in {} calls", times.len() * inner as usize);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}
