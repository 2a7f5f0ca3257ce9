//! How a GPU is opened: which adapter, and where its compiled pipelines are kept.
//!
//! Comes in: wishes of the program, and the environment. Goes out: an open [`Gpu`]. Always holds: what the program says counts
//! for more than what the environment says.

use super::device::Gpu;
use crate::error::Result;
use std::path::PathBuf;

/// Which adapter to take. The environment variable `PRECAST_GPU` overrides [`Adapter::Any`]: `hardware`, `software`,
/// or a part of the adapter's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Adapter {
    /// Discrete before integrated before virtual before software.
    #[default]
    Any,
    /// A real GPU only.
    Hardware,
    /// A software adapter only.
    Software,
    /// The first whose name contains this text, in any case.
    Named(String),
}

impl From<&str> for Adapter {
    /// As the environment variable says it; an empty text is [`Adapter::Any`].
    fn from(text: &str) -> Self {
        match text {
            "" => Self::Any,
            "hardware" => Self::Hardware,
            "software" => Self::Software,
            part => Self::Named(part.to_owned()),
        }
    }
}

impl Adapter {
    /// The choice, or what the environment makes of it.
    pub(super) fn or_environment(&self) -> Adapter {
        match self {
            Adapter::Any => std::env::var("PRECAST_GPU").unwrap_or_default().as_str().into(),
            Adapter::Hardware | Adapter::Software | Adapter::Named(_) => self.clone(),
        }
    }
}

/// Where compiled pipelines are kept.
#[derive(Clone, Debug, Default)]
enum Cache {
    /// Where the environment or the platform says.
    #[default]
    Usual,
    Directory(PathBuf),
    Nowhere,
}

/// How a GPU is opened; [`Gpu::options`] begins with what [`Gpu::new`] does.
///
/// # Examples
/// ```no_run
/// use precast::gpu::{Adapter, Gpu};
///
/// let gpu = Gpu::options().adapter(Adapter::Hardware).cache("target/pipelines").open()?;
/// # Ok::<(), precast::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    adapter: Adapter,
    cache: Cache,
    busy: bool,
}

impl Options {
    /// Which adapter to take: [`Adapter::Any`], if nothing is said.
    pub fn adapter(self, adapter: Adapter) -> Self {
        Self { adapter, ..self }
    }

    /// Keeps compiled pipelines in this directory, from which the next process that runs the same model takes them instead of
    /// compiling them. There is a file for each model, adapter and version of its driver; of more than 256 MiB in all, those
    /// that were used longest ago are removed. A file that is damaged or cannot be written is none.
    ///
    /// If nothing is said, the directory is what the environment variable `PRECAST_GPU_CACHE` says, in which `off` is none, or
    /// `precast` in the platform's directory of caches: `$XDG_CACHE_HOME` or `~/.cache`, `~/Library/Caches`, or
    /// `%LOCALAPPDATA%`. In a browser, and but for Vulkan, drivers and systems keep what they compile themselves.
    ///
    /// Whoever can write there can give the driver what it runs: choose a directory that belongs to the user.
    pub fn cache(self, directory: impl Into<PathBuf>) -> Self {
        Self { cache: Cache::Directory(directory.into()), ..self }
    }

    /// Keeps no compiled pipelines.
    pub fn without_cache(self) -> Self {
        Self { cache: Cache::Nowhere, ..self }
    }

    /// Has threads that wait for results ask the device again and again instead of sleeping: a result is there some 30 µs
    /// earlier, and a core does nothing else meanwhile.
    pub fn busy_poll(self) -> Self {
        Self { busy: true, ..self }
    }

    /// Opens the device and waits for it.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(self) -> Result<Gpu> {
        pollster::block_on(self.open_async())
    }

    /// Opens the device.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub async fn open_async(self) -> Result<Gpu> {
        let directory = match self.cache {
            Cache::Usual => usual(),
            Cache::Directory(directory) => Some(directory),
            Cache::Nowhere => None,
        };
        Gpu::open(&self.adapter.or_environment(), directory, self.busy).await
    }
}

/// The directory, if the program says nothing.
fn usual() -> Option<PathBuf> {
    match std::env::var_os("PRECAST_GPU_CACHE") {
        Some(off) if off == "off" => None,
        Some(directory) if !directory.is_empty() => Some(directory.into()),
        Some(_) | None => Some(of_platform()?.join("precast")),
    }
}

/// Where the platform keeps what can be made again.
fn of_platform() -> Option<PathBuf> {
    // Relative ones are not valid, says the specification of the first of these variables.
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_vendor = "apple") {
        Some(absolute("HOME")?.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))
    }
}
