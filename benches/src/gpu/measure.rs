//! The time of a step: on the wall, on the device, and of each of its kernels.
//!
//! In: what submits a step, or waits for it. Out: [`Measured`]. Always: the clocks are warm and every pipeline is compiled
//! before anything counts; wall time is that of a batch of steps, which ends when the device has finished; no timestamp is
//! written while it is taken.

use precast::gpu::profile::{Grain, Timing};
use precast::{Blocking, Gpu};
use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

/// What a step takes, in seconds.
pub(super) struct Measured {
    pub(super) median: f64,
    pub(super) least: f64,
    /// From the start of its first dispatch to the end of the last, without uploads.
    pub(super) device: Option<f64>,
    /// Its kernels, the longest first; of dispatches that are timed one by one.
    pub(super) kernels: Vec<Kernel>,
}

impl Measured {
    /// Of what had so many steps the times of one.
    pub(super) fn each(self, steps: usize) -> Measured {
        let of = |seconds: f64| seconds / steps as f64;
        let kernels = self.kernels.into_iter();
        let kernels = kernels.map(|k| Kernel { calls: k.calls / steps, seconds: of(k.seconds), ..k }).collect();
        Measured { median: of(self.median), least: of(self.least), device: self.device.map(of), kernels }
    }
}

/// The dispatches of one entry point in a step.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) calls: usize,
    /// Of all of them together.
    pub(super) seconds: f64,
}

type Step<'s> = &'s mut dyn FnMut() -> precast::Result<()>;

/// The part of the seconds in which the clocks get warm.
const WARM: f64 = 0.3;

/// Batches in the seconds.
const BATCHES: f64 = 20.0;

/// Fewest batches, however long they take.
const FEWEST: usize = 3;

/// Most steps that are timed on the device.
const TIMED: f64 = 20.0;

/// Measures for about so many seconds.
pub(super) fn measure(gpu: &Gpu, seconds: f64, step: Step<'_>) -> Result<Measured, Box<dyn Error>> {
    let mut batch = |steps: usize| -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        for _ in 0..steps {
            step()?;
        }
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok(start.elapsed().as_secs_f64() / steps as f64)
    };
    // The first one compiles pipelines.
    batch(1)?;
    let (warm, mut once) = (Instant::now(), batch(1)?);
    let fitting = |seconds: f64, once: f64| (seconds / once.max(1e-9)).clamp(1.0, 1000.0) as usize;
    while warm.elapsed().as_secs_f64() < WARM * seconds {
        once = batch(fitting(seconds / BATCHES, once))?;
    }
    let (steps, start, mut times) = (fitting(seconds / BATCHES, once), Instant::now(), vec![]);
    while times.len() < FEWEST || start.elapsed().as_secs_f64() < seconds {
        times.push(batch(steps)?);
    }
    let timed = fitting(seconds, once).min(TIMED as usize);
    let calls = timings(gpu, Grain::Calls, timed, step)?;
    let dispatches = timings(gpu, Grain::Dispatches, timed, step)?;
    let device = calls.map(|calls| median(each_step(&calls, timed).map(total).collect()));
    let kernels = dispatches.map_or(vec![], |dispatches| kernels(&dispatches, timed));
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Measured { median: median(times), least, device, kernels })
}

/// Times steps on the device, if it can.
fn timings(gpu: &Gpu, grain: Grain, steps: usize, step: Step<'_>) -> precast::Result<Option<Vec<Timing>>> {
    if !gpu.start_profile(grain) {
        return Ok(None);
    }
    let done = (0..steps).try_for_each(|_| step());
    let timings = gpu.wait(gpu.finish_profile());
    done.and(timings).map(Some)
}

/// The times of each step: all have the same dispatches.
fn each_step(timings: &[Timing], steps: usize) -> impl Iterator<Item = &[Timing]> {
    timings.chunks((timings.len() / steps).max(1))
}

fn total(timings: &[Timing]) -> f64 {
    timings.iter().map(|timing| timing.nanoseconds).sum::<f64>() / 1e9
}

/// The kernels of a step, of each of its dispatches the median of all steps.
fn kernels(timings: &[Timing], steps: usize) -> Vec<Kernel> {
    let mut by_name: BTreeMap<&'static str, (usize, f64)> = BTreeMap::new();
    for (at, dispatch) in timings[..timings.len() / steps].iter().enumerate() {
        let times = each_step(timings, steps).filter_map(|step| step.get(at)).map(|timing| timing.nanoseconds / 1e9);
        let (calls, seconds) = by_name.entry(dispatch.name).or_default();
        *calls += 1;
        *seconds += median(times.collect());
    }
    let mut kernels: Vec<Kernel> =
        by_name.into_iter().map(|(name, (calls, seconds))| Kernel { name, calls, seconds }).collect();
    kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    kernels
}

pub(super) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
