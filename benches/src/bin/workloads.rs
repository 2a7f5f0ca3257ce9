//! The workloads that peers are compared on: `workloads THREADS w1,w2f,w2t,w3f,w3t,w5,w6t,w8`.
//!
//! In: a number of threads and the names of workloads. Out: `workload,peer,threads,median_us,min_us`, one line each.
//! Always: each is an ordinary program of the model language through the public API with default settings; inputs vary
//! from call to call and results are consumed.

#[path = "../workloads/mod.rs"]
mod workloads;

use std::hint::black_box;
use std::time::{Duration, Instant};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let threads: usize = arguments.next().and_then(|t| t.parse().ok()).unwrap_or(1);
    let wanted = arguments.next().unwrap_or_else(|| "w1,w2f,w2t,w3f,w3t,w5,w6t,w8".into());
    precast::set_threads(threads);
    for name in wanted.split(',') {
        if let Err(why) = workloads::run(name, &mut |label, inner, call| measure(label, threads, inner, call)) {
            eprintln!("# FAIL {name} {why}");
        }
    }
}

/// Runs a call for about a second after a warm-up and prints the median and the least time of one.
fn measure(label: &str, threads: usize, inner: u32, call: &mut dyn FnMut() -> f32) {
    let seconds = std::env::var("SEC").ok().and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let warm = Instant::now();
    while warm.elapsed() < Duration::from_secs_f64(0.3 * seconds) {
        black_box(call());
    }
    let (mut times, end) = (vec![], Instant::now() + Duration::from_secs_f64(seconds));
    while times.len() < 7 || Instant::now() < end {
        let start = Instant::now();
        for _ in 0..inner {
            black_box(call());
        }
        times.push(start.elapsed().as_secs_f64() / f64::from(inner) * 1e6);
    }
    times.sort_by(f64::total_cmp);
    println!("{label},precast,{threads},{:.3},{:.3}", times[times.len() / 2], times[0]);
}
