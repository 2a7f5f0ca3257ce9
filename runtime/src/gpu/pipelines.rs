//! A program compiled for one device: its module, bind group layouts and pipelines, made once at upload.
//!
//! Comes in: a [`Program`] and a device. Goes out: one pipeline per entry point. Always holds: entry points that touch
//! the same pools in the same way share one layout, so that they can share one bind group.

use super::device::{Gpu, Kind};
use super::error::{Error, Result, too_large};
use super::program::{Entry, Pool, Program};

/// The pipelines of a program on a device.
#[derive(Debug)]
pub(super) struct Pipelines {
    pub(super) layouts: Vec<Layout>,
    pub(super) entries: Vec<Compiled>,
}

/// One way of binding pools.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) bindings: Vec<(u32, Pool)>,
    pub(super) group: wgpu::BindGroupLayout,
    pipeline: wgpu::PipelineLayout,
}

/// One entry point, ready to dispatch.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) pipeline: wgpu::ComputePipeline,
    pub(super) layout: usize,
}

impl Pipelines {
    /// Compiles every entry point; on native targets as many at once as there are cores.
    pub(super) async fn new(gpu: &Gpu, program: &Program) -> Result<Self> {
        gpu.alive()?;
        check_needs(gpu, program)?;
        let module = gpu.scoped(|| create_module(gpu, program)).await?;
        let (layouts, of_entry) = gpu.scoped(|| create_layouts(gpu, program)).await?;
        let jobs: Vec<(&Entry, usize)> = program.entries.iter().zip(of_entry).collect();
        let entries = compile(gpu, &module, &layouts, &jobs).await?;
        Ok(Self { layouts, entries })
    }
}

fn check_needs(gpu: &Gpu, program: &Program) -> Result<()> {
    let limits = gpu.device().limits();
    let needs = &program.needs;
    let checks = [
        ("bytes of workgroup memory", needs.workgroup_bytes, limits.max_compute_workgroup_storage_size),
        ("threads in one workgroup", needs.workgroup_threads, limits.max_compute_invocations_per_workgroup),
    ];
    for (what, needed, available) in checks {
        if needed > available {
            return Err(too_large(what, needed.into(), available.into()));
        }
    }
    Ok(())
}

fn create_module(gpu: &Gpu, program: &Program) -> wgpu::ShaderModule {
    gpu.count(Kind::Module);
    let text =
        wgpu::ShaderModuleDescriptor { label: Some("precast"), source: wgpu::ShaderSource::Wgsl(program.wgsl.into()) };
    // SAFETY: the compiler proved every static index, guards every index that depends on data, and emits only loops
    // whose bounds are known on entry; clamping indices again costs up to a third of a matrix product's time.
    unsafe { gpu.device().create_shader_module_trusted(text, wgpu::ShaderRuntimeChecks::unchecked()) }
}

fn create_layouts(gpu: &Gpu, program: &Program) -> (Vec<Layout>, Vec<usize>) {
    let mut layouts: Vec<Layout> = Vec::new();
    let mut of_entry = Vec::with_capacity(program.entries.len());
    for entry in program.entries {
        let bindings = bindings(entry);
        let known = layouts.iter().position(|layout| layout.bindings == bindings);
        of_entry.push(known.unwrap_or_else(|| {
            layouts.push(create_layout(gpu, bindings));
            layouts.len() - 1
        }));
    }
    (layouts, of_entry)
}

fn bindings(entry: &Entry) -> Vec<(u32, Pool)> {
    let reads = entry.reads.iter().map(|&pool| (1 + 2 * pool.index() as u32, pool));
    let writes = entry.writes.iter().map(|&pool| (2 + 2 * pool.index() as u32, pool));
    let mut all: Vec<_> = reads.chain(writes).collect();
    all.sort_unstable();
    all
}

fn create_layout(gpu: &Gpu, bindings: Vec<(u32, Pool)>) -> Layout {
    let entry = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let mut entries = vec![entry(0, wgpu::BufferBindingType::Uniform, true)];
    entries.extend(bindings.iter().map(|&(binding, _)| {
        let read_only = binding % 2 == 1;
        entry(binding, wgpu::BufferBindingType::Storage { read_only }, false)
    }));
    let group =
        gpu.device().create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries });
    let pipeline = gpu.device().create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(&group)],
        immediate_size: 0,
    });
    Layout { bindings, group, pipeline }
}

fn create_pipeline(gpu: &Gpu, module: &wgpu::ShaderModule, layouts: &[Layout], job: &(&Entry, usize)) -> Compiled {
    gpu.count(Kind::Pipeline);
    let pipeline = gpu.device().create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(job.0.name),
        layout: Some(&layouts[job.1].pipeline),
        module,
        entry_point: Some(job.0.name),
        compilation_options: wgpu::PipelineCompilationOptions {
            constants: &[],
            // Kernels write their workgroup memory before they read it.
            zero_initialize_workgroup_memory: false,
        },
        cache: None,
    });
    Compiled { pipeline, layout: job.1 }
}

#[cfg(target_arch = "wasm32")]
async fn compile(
    gpu: &Gpu,
    module: &wgpu::ShaderModule,
    layouts: &[Layout],
    jobs: &[(&Entry, usize)],
) -> Result<Vec<Compiled>> {
    gpu.scoped(|| jobs.iter().map(|job| create_pipeline(gpu, module, layouts, job)).collect()).await
}

#[cfg(not(target_arch = "wasm32"))]
async fn compile(
    gpu: &Gpu,
    module: &wgpu::ShaderModule,
    layouts: &[Layout],
    jobs: &[(&Entry, usize)],
) -> Result<Vec<Compiled>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let share = jobs.len().div_ceil(cores).max(1);
    // Error scopes belong to a thread, so every thread judges its own share; native scopes resolve at once.
    let shares: Vec<Result<Vec<Compiled>>> = std::thread::scope(|threads| {
        let running: Vec<_> = jobs
            .chunks(share)
            .map(|jobs| {
                threads.spawn(move || {
                    let create = || jobs.iter().map(|job| create_pipeline(gpu, module, layouts, job)).collect();
                    pollster::block_on(gpu.scoped(create))
                })
            })
            .collect();
        let gone = || Err(Error::Device { reason: "a thread that compiled pipelines panicked".to_owned() });
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| gone())).collect()
    });
    let mut all = Vec::with_capacity(jobs.len());
    for share in shares {
        all.extend(share?);
    }
    Ok(all)
}
