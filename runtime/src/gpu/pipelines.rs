//! A program on one device: its bind group layouts and pipelines, each made once.
//!
//! Comes in: a [`Program`] and a device. Goes out: one pipeline per entry point that a plan needs. Always holds: entry
//! points that have as many views and write through the same share one layout, so that they can share one bind group; a module has
//! one entry point, because what a pipeline takes of a module grows with all of it.

use super::cache::{CacheFile, Kept};
use super::device::{Gpu, Kind};
use super::program::{Entry, Program};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::OnceLock;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::atomic::{AtomicUsize, Ordering};

/// The stack of a thread that compiles: as much as a program's main thread has, for compilers that nobody optimised.
#[cfg(not(target_arch = "wasm32"))]
const STACK: usize = 8 << 20;

/// The pipelines of a program on a device.
#[derive(Debug)]
pub(super) struct Pipelines {
    program: &'static Program,
    /// The module of entry points that run WGSL of the user.
    foreign: Option<wgpu::ShaderModule>,
    pub(super) layouts: Vec<Layout>,
    /// For each entry point its layout and, once a plan needed it, its pipeline.
    entries: Vec<(usize, OnceLock<wgpu::ComputePipeline>)>,
    /// What outlasts the process, and the file in which it does.
    cache: Option<(wgpu::PipelineCache, CacheFile)>,
}

/// One way of binding memory.
#[derive(Debug)]
pub(super) struct Layout {
    /// Whether each view is written through.
    writes: &'static [bool],
    pub(super) group: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

impl Pipelines {
    /// Brings the program to the device.
    pub(super) fn new(gpu: &Gpu, program: &'static Program) -> Result<Self> {
        check_needs(gpu, program)?;
        let has_foreign = !program.foreign.wgsl.is_empty();
        let foreign = has_foreign.then(|| gpu.scoped(|| create_foreign_module(gpu, program))).transpose()?;
        let (layouts, of_entry) = gpu.scoped(|| create_layouts(gpu, program))?;
        let entries = of_entry.into_iter().map(|layout| (layout, OnceLock::new())).collect();
        Ok(Self { program, foreign, layouts, entries, cache: open_cache(gpu, program) })
    }

    /// Compiles those of some entry points that nothing needed before; natively as many at once as there are cores. What the
    /// next process need not compile is kept before this one goes on.
    pub(super) fn compile(&self, gpu: &Gpu, entries: impl Iterator<Item = u16>) -> Result<()> {
        let mut missing: Vec<u16> = entries.filter(|&entry| self.pipeline(entry).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        // A thread that begins with the longest last would be waited for.
        let length = |entry: &Entry| entry.shared.len() + entry.wgsl.len();
        missing.sort_by_key(|&entry| Reverse(length(&self.program.entries[usize::from(entry)])));
        self.create_all(gpu, &missing)?;
        if let Some((cache, file)) = &self.cache
            && let Some(bytes) = cache.get_data()
        {
            file.write(&bytes);
        }
        Ok(())
    }

    #[cfg(target_arch = "wasm32")]
    fn create_all(&self, gpu: &Gpu, missing: &[u16]) -> Result<()> {
        missing.iter().try_for_each(|&entry| self.create(gpu, entry))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn create_all(&self, gpu: &Gpu, missing: &[u16]) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        // Some take a hundred times as long as others, so a thread takes one after the other.
        let create = || {
            while let Some(&entry) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.create(gpu, entry)?;
            }
            Ok(())
        };
        std::thread::scope(|threads| {
            let spawn = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(threads, create).ok();
            let running: Vec<_> = (0..cores.min(missing.len())).map_while(spawn).collect();
            let own = if running.is_empty() { create() } else { Ok(()) };
            let gone = || Err(Error::Device { reason: "a thread that compiled pipelines panicked".to_owned() });
            // All are joined, also after one that failed.
            let ends: Vec<_> = running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone())).collect();
            ends.into_iter().fold(own, Result::and)
        })
    }

    /// The layout of an entry point.
    pub(super) fn layout(&self, entry: u16) -> usize {
        self.entries[entry as usize].0
    }

    /// The pipeline of an entry point that was compiled.
    pub(super) fn pipeline(&self, entry: u16) -> Option<&wgpu::ComputePipeline> {
        self.entries[entry as usize].1.get()
    }

    /// Compiles an entry point. Error scopes belong to a thread, so every thread judges what it compiles.
    fn create(&self, gpu: &Gpu, entry: u16) -> Result<()> {
        let pipeline = gpu.scoped(|| self.compiled(gpu, entry))?;
        // A call on another thread may have been first.
        let _ = self.entries[usize::from(entry)].1.set(pipeline);
        Ok(())
    }

    fn compiled(&self, gpu: &Gpu, number: u16) -> wgpu::ComputePipeline {
        let number = usize::from(number);
        let (entry, layout) = (&self.program.entries[number], self.entries[number].0);
        let own;
        let module = match &self.foreign {
            Some(foreign) if number >= self.program.foreign.first => foreign,
            Some(_) | None => {
                own = create_module(gpu, self.program, entry);
                &own
            }
        };
        gpu.count(Kind::Pipeline);
        gpu.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry.name),
            layout: Some(&self.layouts[layout].pipeline),
            module,
            entry_point: Some(entry.name),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                // Kernels write their workgroup memory before they read it.
                zero_initialize_workgroup_memory: false,
            },
            cache: self.cache.as_ref().map(|(cache, _)| cache),
        })
    }
}

/// The pipelines of this program that earlier processes have compiled, or a place for those that this one does; `None` where
/// none are kept.
fn open_cache(gpu: &Gpu, program: &Program) -> Option<(wgpu::PipelineCache, CacheFile)> {
    let can = gpu.device().features().contains(wgpu::Features::PIPELINE_CACHE);
    let file = CacheFile::new(gpu.cache().filter(|_| can)?, &gpu.device().adapter_info(), program)?;
    let cache = gpu.scoped(|| create_cache(gpu, file.read().as_ref())).ok()?;
    Some((cache, file))
}

fn create_cache(gpu: &Gpu, kept: Option<&Kept>) -> wgpu::PipelineCache {
    let data = kept.map(Kept::bytes);
    let descriptor = wgpu::PipelineCacheDescriptor { label: Some("precast"), data, fallback: true };
    // SAFETY: `Kept` is read from files that `CacheFile::write` wrote alone, which gets what `PipelineCache::get_data` has given;
    // a file that does not have its checksum, or is of another adapter or driver, gives no `Kept`, and wgpu and the driver
    // compare their own keys of the device as well.
    unsafe { gpu.device().create_pipeline_cache(&descriptor) }
}

/// What a device is opened with, so that pipelines of entry points with cooperative matrices can be made.
pub(super) fn experimental(is_wanted: bool) -> wgpu::ExperimentalFeatures {
    match is_wanted {
        // SAFETY: what wgpu warns of is undefined behaviour of programs that misuse such features. Cooperative matrices are used by
        // entry points of the compiler alone, whose accesses are in bounds and in uniform control flow, and by halves.wgsl.
        true => unsafe { wgpu::ExperimentalFeatures::enabled() },
        false => wgpu::ExperimentalFeatures::disabled(),
    }
}

fn check_needs(gpu: &Gpu, program: &Program) -> Result<()> {
    let limits = gpu.device().limits();
    let needs = &program.needs;
    let views = program.entries.iter().map(|entry| entry.writes.len()).max().unwrap_or(0) as u32;
    let checks = [
        (
            "buffers in one dispatch",
            "max_storage_buffers_per_shader_stage",
            views,
            limits.max_storage_buffers_per_shader_stage,
        ),
        (
            "bytes of workgroup memory",
            "max_compute_workgroup_storage_size",
            needs.workgroup_bytes,
            limits.max_compute_workgroup_storage_size,
        ),
        (
            "threads in one workgroup",
            "max_compute_invocations_per_workgroup",
            needs.workgroup_threads,
            limits.max_compute_invocations_per_workgroup,
        ),
    ];
    for (what, limit, needed, available) in checks {
        if needed > available {
            let reason = format!("the model needs {needed} {what} (`{limit}`), this one offers {available}");
            return Err(Error::Device { reason });
        }
    }
    Ok(())
}

/// The module of one entry point.
fn create_module(gpu: &Gpu, program: &Program, entry: &Entry) -> wgpu::ShaderModule {
    gpu.count(Kind::Module);
    let text = text(Cow::Owned([entry.enables, program.wgsl, entry.shared, entry.wgsl].concat()));
    // SAFETY: the compiler proved every static index, guards every index that depends on data, and emits only loops
    // whose bounds are known on entry; clamping indices again costs up to a third of a matrix product's time.
    unsafe { gpu.device().create_shader_module_trusted(text, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// Every index is checked and every loop ends in what the user wrote.
fn create_foreign_module(gpu: &Gpu, program: &Program) -> wgpu::ShaderModule {
    gpu.count(Kind::Module);
    gpu.device().create_shader_module(text(Cow::Borrowed(program.foreign.wgsl)))
}

fn text(wgsl: Cow<'static, str>) -> wgpu::ShaderModuleDescriptor<'static> {
    wgpu::ShaderModuleDescriptor { label: Some("precast"), source: wgpu::ShaderSource::Wgsl(wgsl) }
}

fn create_layouts(gpu: &Gpu, program: &Program) -> (Vec<Layout>, Vec<usize>) {
    let mut layouts: Vec<Layout> = Vec::new();
    let mut of_entry = Vec::with_capacity(program.entries.len());
    for entry in program.entries {
        let known = layouts.iter().position(|layout| layout.writes == entry.writes);
        of_entry.push(known.unwrap_or_else(|| {
            layouts.push(create_layout(gpu, entry.writes));
            layouts.len() - 1
        }));
    }
    (layouts, of_entry)
}

fn create_layout(gpu: &Gpu, writes: &'static [bool]) -> Layout {
    let entry = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, true)];
    entries.extend(
        (1..)
            .zip(writes)
            .map(|(binding, writes)| entry(binding, wgpu::BufferBindingType::Storage { read_only: !writes }, false)),
    );
    let group =
        gpu.device().create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
    let pipeline = gpu.device().create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&group)],
        immediate_size: 0,
    });
    Layout { writes, group, pipeline }
}
