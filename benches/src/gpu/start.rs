//! Start-up: from the start of a process to the end of its first step of training.
//!
//! In: networks. Out: a line for each, with no cache of pipelines and with that of an earlier start, and where the time
//! went. Always: each start is a process of its own, and the clock is that of the process that starts it; the caches of
//! drivers are off, so that what is found is ours.

use super::measure::{Kernel, Measured, median};
use super::networks::{CONTEXT, Gpt, WINDOWS, finite};
use super::report::Work;
use super::{Bench, Done, Options};
use crate::workloads::w2::{self, W2};
use crate::workloads::{classes, w6};
use precast::View;
use precast::gpu::Gpu;
use precast::prelude::*;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Makes the first step of a network.
type Network = fn(&Start) -> Done<()>;

/// What starts, by the name of the row.
const NETWORKS: [(&str, Network); 2] = [("mlp", mlp), ("gpt", gpt)];

/// What a start consists of, in order.
const PARTS: [&str; 4] = ["device", "parameters drawn", "parameters uploaded", "first step"];

/// Starts of each kind that are measured.
const STARTS: usize = 5;

/// What switches the caches of drivers off.
const DRIVERS: [(&str, &str); 2] = [("__GL_SHADER_DISK_CACHE", "0"), ("MESA_SHADER_CACHE_DISABLE", "true")];

/// A start of this process.
pub(crate) struct Start {
    network: Network,
    options: Options,
}

impl Start {
    /// The start of the network of this name.
    pub(crate) fn new(name: &str, options: Options) -> Done<Start> {
        let found = NETWORKS.iter().find(|network| network.0 == name);
        let (_, network) = *found.ok_or_else(|| format!("`{name}` is not started"))?;
        Ok(Start { network, options })
    }

    /// Makes a step, and prints a line when each part is done.
    pub(crate) fn run(&self) -> Done<()> {
        (self.network)(self)
    }

    fn gpu(&self) -> Done<Gpu> {
        let options = Gpu::options().adapter(self.options.adapter.as_str().into());
        let options = match &self.options.cache {
            Some(directory) => options.cache(directory),
            None => options.without_cache(),
        };
        Ok(options.open()?)
    }
}

/// Says that a part is done.
fn done(part: usize) -> Done<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{}", PARTS[part])?;
    Ok(out.flush()?)
}

fn mlp(start: &Start) -> Done<()> {
    let gpu = start.gpu()?;
    done(0)?;
    let model = W2::init(0);
    done(1)?;
    let mut model = model.on(&gpu)?;
    done(2)?;
    let batch = start.options.batch.unwrap_or(w2::BATCH);
    let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
    finite(trainer.loss(&w2::rows(batch), &classes(batch, 10))?.value()?)?;
    done(3)
}

fn gpt(start: &Start) -> Done<()> {
    let gpu = start.gpu()?;
    done(0)?;
    let model = Gpt::init(0);
    done(1)?;
    let mut model = model.on(&gpu)?;
    done(2)?;
    let batch = start.options.batch.unwrap_or(WINDOWS);
    let mut trainer = model.trainer(AdamW { rate: 1e-3, ..default() });
    let (id, next) = w6::characters((batch * CONTEXT) as u32);
    let (id, next) = (View::new(&id, [batch, CONTEXT])?, View::new(&next, [batch, CONTEXT])?);
    finite(trainer.loss(id, next)?.value()?)?;
    done(3)
}

pub(super) fn all(bench: &Bench<'_>) {
    for (name, _) in NETWORKS {
        let cache = Cache::new();
        bench.line(&format!("start_{name}_cold"), || {
            measure(STARTS, || {
                cache.remove();
                start(bench, name, &cache.0)
            })
        });
        bench.line(&format!("start_{name}_warm"), || {
            // One start fills the cache, if none has.
            start(bench, name, &cache.0)?;
            measure(STARTS, || start(bench, name, &cache.0))
        });
    }
}

/// A directory of pipelines, which is removed with what is in it.
struct Cache(PathBuf);

impl Cache {
    fn new() -> Self {
        Cache(std::env::temp_dir().join(format!("precast-start-{}", std::process::id())))
    }

    fn remove(&self) {
        // There is none before the first start.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Starts a process and gives the seconds until each part was done.
fn start(bench: &Bench<'_>, name: &str, cache: &Path) -> Done<Vec<f64>> {
    let Options { adapter, batch, .. } = &bench.wanted.options;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["start", name, "--adapter", adapter]).arg("--cache").arg(cache);
    command.envs(DRIVERS).stdout(Stdio::piped());
    if let Some(batch) = batch {
        command.args(["--batch", &batch.to_string()]);
    }
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let mut ends = vec![];
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        line?;
        ends.push(begin.elapsed().as_secs_f64());
    }
    match child.wait()?.success() && ends.len() == PARTS.len() {
        true => Ok(ends),
        false => Err("it did not come to its first step".into()),
    }
}

/// The median of several starts, and of each part.
fn measure(starts: usize, mut start: impl FnMut() -> Done<Vec<f64>>) -> Done<(Work, Measured)> {
    let ends = (0..starts).map(|_| start()).collect::<Done<Vec<_>>>()?;
    let all: Vec<f64> = ends.iter().filter_map(|ends| ends.last()).copied().collect();
    let kernels = PARTS.iter().enumerate().map(|(part, name)| {
        let took = |ends: &Vec<f64>| ends[part] - part.checked_sub(1).map_or(0.0, |before| ends[before]);
        Kernel { name, calls: 1, seconds: median(ends.iter().map(took).collect()) }
    });
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((Work::Latency, Measured { median: median(all), least, device: None, kernels: kernels.collect() }))
}
