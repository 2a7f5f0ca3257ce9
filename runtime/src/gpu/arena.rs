//! The buffers and bind groups of one session or trainer, and the recording of plans over them.
//!
//! Comes in: a plan and values of the named dimensions. Goes out: dispatches in a compute pass. Always holds: a buffer
//! only grows, bind groups are made again only after a buffer grew, and recording creates nothing.

use super::device::{Gpu, Kind};
use super::error::{Result, too_large, wrong_length};
use super::pipelines::{Layout, Pipelines};
use super::program::{Command, Launch, Plan, Pool, Program};
use std::sync::Arc;

/// Nesting of repeats whose indices a kernel sees, innermost first.
const DEPTH: usize = 4;

/// Buffers by pool, the uniform of loop indices and dimensions, and a bind group per layout.
#[derive(Debug)]
pub(super) struct Arena {
    gpu: Gpu,
    program: &'static Program,
    pipelines: Arc<Pipelines>,
    pools: [Option<wgpu::Buffer>; Pool::COUNT],
    call: Option<wgpu::Buffer>,
    groups: Vec<Option<wgpu::BindGroup>>,
    /// The plan and the dimensions for which the `call` uniform and the list of dispatches are.
    bound: Option<&'static Plan>,
    dims: Vec<u32>,
    words: Vec<u32>,
    dispatches: Vec<(u16, [u32; 2])>,
    launch: Launch,
}

impl Arena {
    /// An arena over the parameters of one model.
    pub(super) fn new(
        gpu: &Gpu,
        program: &'static Program,
        pipelines: Arc<Pipelines>,
        parameters: &wgpu::Buffer,
    ) -> Self {
        let mut pools = [const { None }; Pool::COUNT];
        pools[Pool::Weights.index()] = Some(parameters.clone());
        let groups = vec![None; pipelines.layouts.len()];
        Self {
            gpu: gpu.clone(),
            program,
            pipelines,
            pools,
            call: None,
            groups,
            bound: None,
            dims: Vec::new(),
            words: Vec::new(),
            dispatches: Vec::new(),
            launch: Launch::default(),
        }
    }

    /// Makes everything ready for `plan` at `dims`. Creates only what was never needed before or has become too small.
    pub(super) async fn prepare(&mut self, plan: &'static Plan, dims: &[u32]) -> Result<()> {
        self.gpu.alive()?;
        for size in plan.pools {
            self.reserve(size.pool, (size.words)(dims)).await?;
        }
        if !self.bound.is_some_and(|bound| core::ptr::eq(bound, plan)) || self.dims != dims {
            self.bound = None;
            self.bind(plan, dims).await?;
            self.bound = Some(plan);
            self.dims.clear();
            self.dims.extend_from_slice(dims);
        }
        let gpu = self.gpu.clone();
        if self.lacks_group(plan.commands) {
            gpu.scoped(|| self.create_groups(plan.commands)).await?;
        }
        Ok(())
    }

    /// Gives `pool` room for `words` words.
    pub(super) async fn reserve(&mut self, pool: Pool, words: u64) -> Result<()> {
        // An empty binding is not allowed, and kernels may read whole groups of four words.
        let bytes = (4 * words).next_multiple_of(16).max(16);
        if self.pools[pool.index()].as_ref().is_some_and(|buffer| buffer.size() >= bytes) {
            return Ok(());
        }
        let buffer = create_storage(&self.gpu, pool.name(), bytes).await?;
        self.pools[pool.index()] = Some(buffer);
        let layouts = &self.pipelines.layouts;
        for (group, layout) in self.groups.iter_mut().zip(layouts) {
            if layout.bindings.iter().any(|&(_, bound)| bound == pool) {
                *group = None;
            }
        }
        Ok(())
    }

    /// The buffer of a pool that [`Arena::reserve`] or [`Arena::prepare`] has made.
    pub(super) fn buffer(&self, pool: Pool) -> Result<&wgpu::Buffer> {
        self.pools[pool.index()].as_ref().ok_or(wrong_length(pool.name(), 0, 1))
    }

    /// Writes words at the head of a pool; they arrive before the next submission runs.
    pub(super) fn write(&self, pool: Pool, offset: u64, bytes: &[u8]) -> Result<()> {
        if !bytes.is_empty() {
            self.gpu.queue().write_buffer(self.buffer(pool)?, 4 * offset, bytes);
        }
        Ok(())
    }

    /// Records the dispatches of the prepared plan.
    pub(super) fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        let stride = self.stride();
        let mut set = None;
        for (slot, &(entry, groups)) in self.dispatches.iter().enumerate() {
            let compiled = &self.pipelines.entries[entry as usize];
            if set != Some(entry) {
                pass.set_pipeline(&compiled.pipeline);
                set = Some(entry);
            }
            pass.set_bind_group(0, self.groups[compiled.layout].as_ref(), &[slot as u32 * stride]);
            pass.dispatch_workgroups(groups[0], groups[1], 1);
        }
    }

    /// Bytes from one dispatch to the next in the `call` uniform.
    fn stride(&self) -> u32 {
        let alignment = self.gpu.device().limits().min_uniform_buffer_offset_alignment.max(16);
        (4 * self.program.call as u32).next_multiple_of(alignment)
    }

    async fn bind(&mut self, plan: &Plan, dims: &[u32]) -> Result<()> {
        let stride = self.stride() as usize / 4;
        self.words.clear();
        self.dispatches.clear();
        let (words, dispatches, launch) = (&mut self.words, &mut self.dispatches, &mut self.launch);
        CallTable { words, dispatches, launch, stride, dims }.walk(plan.commands, [0; DEPTH]);
        let bytes = (4 * self.words.len() as u64).max(4 * stride as u64);
        if self.call.as_ref().is_none_or(|buffer| buffer.size() < bytes) {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            self.call = Some(create_buffer(&self.gpu, "call", bytes, usage).await?);
            self.groups.fill(None);
        }
        if let Some(call) = &self.call {
            let write = || self.gpu.queue().write_buffer(call, 0, bytemuck::cast_slice(&self.words));
            self.gpu.scoped(write).await?;
        }
        Ok(())
    }

    fn lacks_group(&self, commands: &[Command]) -> bool {
        commands.iter().any(|command| match command {
            Command::Dispatch { entry, .. } => self.groups[self.layout_of(*entry)].is_none(),
            Command::Repeat { body, .. } => self.lacks_group(body),
        })
    }

    fn layout_of(&self, entry: u16) -> usize {
        self.pipelines.entries[entry as usize].layout
    }

    fn create_groups(&mut self, commands: &[Command]) {
        for command in commands {
            match command {
                Command::Dispatch { entry, .. } => {
                    let layout = self.layout_of(*entry);
                    if self.groups[layout].is_none() {
                        self.groups[layout] = self.create_group(&self.pipelines.layouts[layout]);
                    }
                }
                Command::Repeat { body, .. } => self.create_groups(body),
            }
        }
    }

    fn create_group(&self, layout: &Layout) -> Option<wgpu::BindGroup> {
        let size = core::num::NonZeroU64::new(u64::from(self.stride()));
        let call = wgpu::BufferBinding { buffer: self.call.as_ref()?, offset: 0, size };
        let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(call) }];
        for &(binding, pool) in &layout.bindings {
            let buffer = self.pools[pool.index()].as_ref()?;
            entries.push(wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
        }
        self.gpu.count(Kind::BindGroup);
        let group = wgpu::BindGroupDescriptor { label: None, layout: &layout.group, entries: &entries };
        Some(self.gpu.device().create_bind_group(&group))
    }
}

/// Lists the dispatches of a plan, repeats written out, and the `call` uniform of each.
struct CallTable<'a> {
    words: &'a mut Vec<u32>,
    dispatches: &'a mut Vec<(u16, [u32; 2])>,
    launch: &'a mut Launch,
    stride: usize,
    dims: &'a [u32],
}

impl CallTable<'_> {
    fn walk(&mut self, commands: &[Command], loops: [u32; DEPTH]) {
        for command in commands {
            match command {
                Command::Dispatch { entry, launch } => {
                    launch(self.dims, self.launch);
                    self.push(*entry, loops);
                }
                Command::Repeat { count, reverse, body } => {
                    for turn in 0..*count {
                        let mut inner = [if *reverse { count - 1 - turn } else { turn }; DEPTH];
                        inner[1..].copy_from_slice(&loops[..DEPTH - 1]);
                        self.walk(body, inner);
                    }
                }
            }
        }
    }

    fn push(&mut self, entry: u16, loops: [u32; DEPTH]) {
        let groups = self.launch.groups;
        if groups == 0 {
            return;
        }
        let across = groups.min(Launch::SIDE);
        self.dispatches.push((entry, [across as u32, groups.div_ceil(across) as u32]));
        let end = self.words.len() + self.stride;
        self.words.extend_from_slice(&loops);
        self.words.extend_from_slice(self.dims);
        self.words.extend_from_slice(&self.launch.offsets);
        self.words.resize(end, 0);
    }
}

/// Creates a buffer that kernels and copies may use.
pub(super) async fn create_storage(gpu: &Gpu, label: &'static str, bytes: u64) -> Result<wgpu::Buffer> {
    let available = gpu.device().limits().max_storage_buffer_binding_size;
    if bytes > available {
        return Err(too_large("bytes in one storage binding", bytes, available));
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    create_buffer(gpu, label, bytes, usage).await
}

/// Creates a buffer that the host can read.
pub(super) async fn create_staging(gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer> {
    create_buffer(gpu, "read-back", bytes, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST).await
}

async fn create_buffer(gpu: &Gpu, label: &'static str, bytes: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer> {
    gpu.alive()?;
    let available = gpu.device().limits().max_buffer_size;
    if bytes > available {
        return Err(too_large("bytes in one buffer", bytes, available));
    }
    gpu.count(Kind::Buffer);
    let descriptor = wgpu::BufferDescriptor { label: Some(label), size: bytes, usage, mapped_at_creation: false };
    gpu.scoped(|| gpu.device().create_buffer(&descriptor)).await
}
