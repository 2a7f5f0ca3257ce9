//! A program on one device: its module, bind group layouts and pipelines, each made once.
//!
//! Comes in: a [`Program`] and a device. Goes out: one pipeline per entry point that a plan needs. Always holds: entry
//! points that have as many views and write through the same share one layout, so that they can share one bind group.

use super::device::{Gpu, Kind};
use super::program::Program;
use crate::error::{Error, Result};
use std::sync::OnceLock;

/// The pipelines of a program on a device.
#[derive(Debug)]
pub(super) struct Pipelines {
    program: &'static Program,
    module: wgpu::ShaderModule,
    /// The module of entry points that run WGSL of the user.
    foreign: Option<wgpu::ShaderModule>,
    pub(super) layouts: Vec<Layout>,
    /// For each entry point its layout and, once a plan needed it, its pipeline.
    entries: Vec<(usize, OnceLock<wgpu::ComputePipeline>)>,
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
        let module = gpu.scoped(|| create_module(gpu, program))?;
        let has_foreign = !program.foreign.wgsl.is_empty();
        let foreign = has_foreign.then(|| gpu.scoped(|| create_foreign_module(gpu, program))).transpose()?;
        let (layouts, of_entry) = gpu.scoped(|| create_layouts(gpu, program))?;
        let entries = of_entry.into_iter().map(|layout| (layout, OnceLock::new())).collect();
        Ok(Self { program, module, foreign, layouts, entries })
    }

    /// Compiles those of some entry points that nothing needed before; natively as many at once as there are cores.
    pub(super) fn compile(&self, gpu: &Gpu, entries: impl Iterator<Item = u16>) -> Result<()> {
        let mut missing: Vec<u16> = entries.filter(|&entry| self.pipeline(entry).is_none()).collect();
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(());
        }
        self.create_all(gpu, &missing)
    }

    #[cfg(target_arch = "wasm32")]
    fn create_all(&self, gpu: &Gpu, missing: &[u16]) -> Result<()> {
        gpu.scoped(|| missing.iter().for_each(|&entry| self.create(gpu, entry)))
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn create_all(&self, gpu: &Gpu, missing: &[u16]) -> Result<()> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // Error scopes belong to a thread, so every thread judges its own share.
        let create = |share: &[u16]| gpu.scoped(|| share.iter().for_each(|&entry| self.create(gpu, entry)));
        std::thread::scope(|threads| {
            let shares = missing.chunks(missing.len().div_ceil(cores));
            let running: Vec<_> = shares.map(|share| threads.spawn(move || create(share))).collect();
            let gone = || Err(Error::Device { reason: "a thread that compiled pipelines panicked".to_owned() });
            // All are joined, also after one that failed.
            let ends: Vec<_> = running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone())).collect();
            ends.into_iter().collect()
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

    fn create(&self, gpu: &Gpu, entry: u16) {
        let (layout, pipeline) = &self.entries[entry as usize];
        let name = self.program.entries[entry as usize].name;
        let foreign = self.foreign.as_ref().filter(|_| usize::from(entry) >= self.program.foreign.first);
        pipeline.get_or_init(|| {
            gpu.count(Kind::Pipeline);
            gpu.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&self.layouts[*layout].pipeline),
                module: foreign.unwrap_or(&self.module),
                entry_point: Some(name),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &[],
                    // Kernels write their workgroup memory before they read it.
                    zero_initialize_workgroup_memory: false,
                },
                cache: None,
            })
        });
    }
}

fn check_needs(gpu: &Gpu, program: &Program) -> Result<()> {
    let limits = gpu.device().limits();
    let needs = &program.needs;
    let views = program.entries.iter().map(|entry| entry.writes.len()).max().unwrap_or(0) as u32;
    let checks = [
        ("buffers in one dispatch", views, limits.max_storage_buffers_per_shader_stage),
        ("bytes of workgroup memory", needs.workgroup_bytes, limits.max_compute_workgroup_storage_size),
        ("threads in one workgroup", needs.workgroup_threads, limits.max_compute_invocations_per_workgroup),
    ];
    for (what, needed, available) in checks {
        if needed > available {
            let reason = format!("the model needs {needed} {what}, this one offers {available}");
            return Err(Error::Device { reason });
        }
    }
    Ok(())
}

fn create_module(gpu: &Gpu, program: &Program) -> wgpu::ShaderModule {
    gpu.count(Kind::Module);
    let text = text(program.wgsl);
    // SAFETY: the compiler proved every static index, guards every index that depends on data, and emits only loops
    // whose bounds are known on entry; clamping indices again costs up to a third of a matrix product's time.
    unsafe { gpu.device().create_shader_module_trusted(text, wgpu::ShaderRuntimeChecks::unchecked()) }
}

/// Every index is checked and every loop ends in what the user wrote.
fn create_foreign_module(gpu: &Gpu, program: &Program) -> wgpu::ShaderModule {
    gpu.count(Kind::Module);
    gpu.device().create_shader_module(text(program.foreign.wgsl))
}

fn text(wgsl: &'static str) -> wgpu::ShaderModuleDescriptor<'static> {
    wgpu::ShaderModuleDescriptor { label: Some("precast"), source: wgpu::ShaderSource::Wgsl(wgsl.into()) }
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
