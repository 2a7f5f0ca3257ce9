//! Measuring time.
//!
//! In: something to run. Out: seconds per run, the least of many. Always: enough runs to get past noise and warm-up.

use precast::__rt::{self as rt, Simd};
use std::hint::black_box;
use std::time::Instant;

/// Seconds per run of `work`: the least over about half a second.
pub(crate) fn seconds(work: impl FnMut()) -> f64 {
    seconds_in(0.5, work)
}

/// Seconds per run of `work`: the least over about `budget` seconds.
pub(crate) fn seconds_in(budget: f64, mut work: impl FnMut()) -> f64 {
    work();
    let start = Instant::now();
    work();
    let once = start.elapsed().as_secs_f64().max(1e-9);
    let runs = (budget / 250.0 / once).ceil().clamp(1.0, 1e6) as usize;
    let rounds = (budget / (once * runs as f64)).ceil().clamp(5.0, 200.0) as usize;
    let mut least = f64::INFINITY;
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..runs {
            work();
        }
        least = least.min(start.elapsed().as_secs_f64() / runs as f64);
    }
    least
}

/// Twelve independent chains of multiply-adds.
struct Chains(usize);

impl rt::Kernel for Chains {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let mut sums = [s.splat_f(black_box(1.0)); 12];
        let (a, b) = (s.splat_f(black_box(0.5)), s.splat_f(black_box(0.25)));
        for _ in 0..self.0 {
            for sum in &mut sums {
                *sum = s.mul_add_f(*sum, a, b);
            }
        }
        for sum in sums {
            black_box(s.reduce_add_f(sum));
        }
    }
}

/// The most multiply-adds of `isa` on one core, in GFLOP/s.
pub(crate) fn peak(isa: rt::Isa) -> f64 {
    let turns = 20_000;
    let lanes = match format!("{isa:?}").starts_with("Avx512") {
        true => 16.0,
        false => 8.0,
    };
    12.0 * 2.0 * lanes * turns as f64 / seconds(|| rt::run(isa, Chains(turns))) / 1e9
}
