//! Rows of a GPU: `gpu:mlp,gpu:cnn`.
//!
//! In: rows, an adapter and sizes. Out: for each row its wall time, its time on the device, what part of the device's
//! measured peak that is, and its kernels. Always: what is measured is an ordinary program of the model language; a row that
//! the adapter refuses says why, and the others go on.

mod bandwidth;
#[cfg(feature = "cpu")]
mod losses;
mod measure;
mod networks;
mod peak;
mod products;
mod report;
mod start;

use lexopt::ValueExt;
use measure::Measured;
use peak::Peak;
use precast::gpu::{Adapter, Gpu};
use report::{Work, print};
pub(crate) use start::Start;
use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;

/// What may go wrong in a row.
type Done<T> = Result<T, Box<dyn Error>>;

/// A row, or several of one kind.
pub(crate) struct Row {
    /// As the command line has it.
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    run: fn(&Bench),
    /// Whether it is one of `gpu:all`.
    in_all: bool,
}

const fn row(name: &'static str, what: &'static str, run: fn(&Bench)) -> Row {
    Row { name, what, run, in_all: true }
}

/// All of them.
pub(crate) const ROWS: &[Row] = &[
    row("gpu:mlp", "W2t on a GPU", networks::mlp),
    row("gpu:cnn", "W3t on a GPU", networks::cnn),
    row("gpu:gpt", "a GPT 6×384, 6 heads, 256 places: a step of AdamW on 64 windows", networks::gpt),
    row("gpu:resnet18", "ResNet-18: 32 images, and a step of SGD on them", networks::resnet18),
    row("gpu:lstm", "W7t on a GPU", networks::lstm),
    row("gpu:gemm", "products of 1024³ to 8192³, and one of 64×128×784", products::all),
    row("gpu:bandwidth", "a map, softmax, layer norm and sums of 65,536 rows of 1024", bandwidth::all),
    row("gpu:latency", "W2f on a GPU, arguments and results included", networks::latency),
    row(
        "gpu:start",
        "the first step of a process: gpu:mlp and gpu:gpt, without and with a cache of pipelines",
        start::all,
    ),
    // Most of it is made on the CPU, and takes minutes.
    #[cfg(feature = "cpu")]
    Row {
        in_all: false,
        ..row("gpu:losses", "losses of 200 steps of all networks, beside the CPU's; not in gpu:all", losses::all)
    },
];

/// What is asked for.
pub(crate) struct Wanted {
    pub(crate) rows: Vec<&'static Row>,
    /// Seconds of measuring for each line.
    pub(crate) seconds: f64,
    /// Only lines whose names contain this.
    pub(crate) only: String,
    pub(crate) options: Options,
}

/// What only rows of a GPU know.
#[derive(Default)]
pub(crate) struct Options {
    /// As [`Adapter`] reads it.
    adapter: String,
    /// Samples of a step of a network, for adapters that are small.
    batch: Option<usize>,
    /// Rows of what `gpu:bandwidth` reads.
    rows: Option<usize>,
    /// Most kernels that are listed for a line.
    kernels: Option<usize>,
    /// Where a start finds pipelines.
    cache: Option<PathBuf>,
}

impl Options {
    /// Reads one.
    pub(crate) fn read(&mut self, name: &str, value: OsString) -> Done<()> {
        let number = |value: OsString| value.parse().map(Some);
        match name {
            "adapter" => self.adapter = value.string()?,
            "batch" => self.batch = number(value)?,
            "rows" => self.rows = number(value)?,
            "kernels" => self.kernels = number(value)?,
            "cache" => self.cache = Some(value.into()),
            other => return Err(format!("rows of a GPU have no `{other}`").into()),
        }
        Ok(())
    }
}

/// What there is.
pub(crate) fn usage() -> String {
    let line = |row: &Row| format!("  {:<13} {}\n", row.name, row.what);
    let lines: String = ROWS.iter().map(line).collect();
    format!("\nGPU-ROWS are names with commas between, or gpu:all:\n{lines}")
}

/// The rows of these names.
pub(crate) fn named(names: &str) -> Done<Vec<&'static Row>> {
    if names == "gpu:all" {
        return Ok(ROWS.iter().filter(|row| row.in_all).collect());
    }
    let find = |name: &str| ROWS.iter().find(|row| row.name.eq_ignore_ascii_case(name));
    names.split(',').map(|name| find(name).ok_or_else(|| format!("no `{name}`\n{}", usage()).into())).collect()
}

/// A device, and what is asked of it.
struct Bench<'w> {
    gpu: Gpu,
    peak: Peak,
    wanted: &'w Wanted,
}

/// Measures and prints the rows.
pub(crate) fn run(wanted: &Wanted) -> Done<()> {
    let adapter = Adapter::from(wanted.options.adapter.as_str());
    let gpu = Gpu::with(&adapter)?;
    let peak = peak::measure(&gpu)?;
    report::head(&gpu, &peak);
    let mut bench = Bench { gpu, peak, wanted };
    for row in &wanted.rows {
        (row.run)(&bench);
        if bench.gpu.is_lost() {
            bench.gpu = Gpu::with(&adapter)?;
        }
    }
    Ok(())
}

impl Bench<'_> {
    /// One line, and the work of a step of it; or why there is none.
    fn line(&self, name: &str, measure: impl FnOnce() -> Done<(Work, Measured)>) {
        if name.contains(&self.wanted.only) {
            match measure() {
                Ok((work, measured)) => print(self, name, work, &measured),
                Err(why) => println!("# {name}: {why}"),
            }
        }
    }

    /// Measures a step, which is submitted or waited for.
    fn measure(&self, work: Work, mut step: impl FnMut() -> precast::Result<()>) -> Done<(Work, Measured)> {
        Ok((work, measure::measure(&self.gpu, self.wanted.seconds, &mut step)?))
    }
}
