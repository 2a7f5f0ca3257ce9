//! Lines of the table, and the kernels below them.
//!
//! In: what was measured. Out: `row,backend,median_us,min_us,gpu_us,rate,unit,of_peak` on standard output, one line for each,
//! and comments from `#` on. Always: what the device did not tell is `-`.

use super::Bench;
use super::measure::Measured;
use super::peak::Peak;
use precast::Gpu;

/// Kernels that are listed, unless another number is asked for.
const KERNELS: usize = 12;

/// The work of a step: what its peak is of.
#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Floating-point operations.
    Operations(u64),
    /// Bytes that must be read and written.
    Bytes(u64),
    /// Nothing that a peak is of.
    Latency,
}

/// What stands above the table.
pub(super) fn head(gpu: &Gpu, peak: &Peak) {
    let info = gpu.device().adapter_info();
    println!("# {}, {:?}, {} {}", info.name, info.backend, info.driver, info.driver_info);
    println!("# peak: copies {:.1} GB/s, multiply-adds {:.2} TFLOP/s", peak.bytes / 1e9, peak.operations / 1e12);
    if !gpu.device().features().contains(wgpu::Features::TIMESTAMP_QUERY) {
        println!("# no timestamp queries: wall time alone, of which rates are");
    }
    println!("row,backend,median_us,min_us,gpu_us,rate,unit,of_peak");
}

/// Prints a line and its kernels.
pub(super) fn print(bench: &Bench<'_>, name: &str, work: Work, measured: &Measured) {
    let Measured { median, least, device, kernels } = measured;
    let on_device = device.map_or("-".into(), |seconds| format!("{:.3}", seconds * 1e6));
    let per_second = |amount: u64| amount as f64 / device.unwrap_or(*median);
    let rate = match work {
        Work::Operations(count) => {
            let rate = per_second(count);
            format!("{},TFLOP/s,{:.3}", four_digits(rate / 1e12), rate / bench.peak.operations)
        }
        Work::Bytes(count) => {
            let rate = per_second(count);
            format!("{},GB/s,{:.3}", four_digits(rate / 1e9), rate / bench.peak.bytes)
        }
        Work::Latency => "-,-,-".into(),
    };
    println!("{name},precast,{:.3},{:.3},{on_device},{rate}", median * 1e6, least * 1e6);
    let most = bench.wanted.options.kernels.unwrap_or(KERNELS);
    let all: f64 = kernels.iter().map(|kernel| kernel.seconds).sum();
    let line = |what: &str, calls: usize, seconds: f64| {
        println!("#   {what:<40} {calls:>5} × {:>12.3} µs {:>6.1} %", seconds * 1e6, 100.0 * seconds / all);
    };
    for kernel in kernels.iter().take(most) {
        line(kernel.name, kernel.calls, kernel.seconds);
    }
    if let Some(others) = kernels.get(most..).filter(|others| !others.is_empty() && most > 0) {
        let calls = others.iter().map(|kernel| kernel.calls).sum();
        line(&format!("{} others", others.len()), calls, others.iter().map(|kernel| kernel.seconds).sum());
    }
}

/// A number with four digits that count.
fn four_digits(x: f64) -> String {
    let before = x.abs().log10().floor();
    format!("{x:.*}", (3.0 - before).clamp(0.0, 9.0) as usize)
}
