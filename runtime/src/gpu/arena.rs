//! The buffers and bind groups of one session or trainer, and the recording of plans over them.
//!
//! Comes in: a plan and values of the named dimensions. Goes out: dispatches in a compute pass. Always holds: a buffer
//! only grows, bind groups are made again only after a buffer grew, and recording creates nothing.

use super::device::{Gpu, Kind};
use super::error::{Result, too_large, wrong_length};
use super::pipelines::{Layout, Pipelines};
use super::program::{Command, Plan, Pool, Program};
use std::sync::Arc;

/// Deepest nesting of repeats; the shader sees one loop index per depth.
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
    /// The plan whose loop indices, and the dimensions that, the `call` uniform holds.
    bound: Option<&'static Plan>,
    dims: Vec<u32>,
    words: Vec<u32>,
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
        pools[Pool::Parameters.index()] = Some(parameters.clone());
        let groups = vec![None; pipelines.layouts.len()];
        let gpu = gpu.clone();
        Self { gpu, program, pipelines, pools, call: None, groups, bound: None, dims: Vec::new(), words: Vec::new() }
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
    pub(super) fn record(&self, plan: &Plan, pass: &mut wgpu::ComputePass<'_>) {
        let mut recorder = Recorder { arena: self, pass, next: 1, stride: self.stride(), set: None };
        recorder.walk(plan.commands, 0);
    }

    /// Bytes from one set of loop indices to the next in the `call` uniform.
    fn stride(&self) -> u32 {
        let words = DEPTH + self.program.dims;
        let alignment = self.gpu.device().limits().min_uniform_buffer_offset_alignment.max(16);
        (4 * words as u32).next_multiple_of(alignment)
    }

    async fn bind(&mut self, plan: &Plan, dims: &[u32]) -> Result<()> {
        let stride = self.stride() as usize / 4;
        self.words.clear();
        let mut table = CallTable { words: &mut self.words, stride, dims };
        table.push([0; DEPTH]);
        table.walk(plan.commands, [0; DEPTH], 0);
        let bytes = 4 * self.words.len() as u64;
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

/// Writes one entry of the `call` uniform per turn of every repeat, in the order in which [`Recorder`] meets them.
struct CallTable<'a> {
    words: &'a mut Vec<u32>,
    stride: usize,
    dims: &'a [u32],
}

impl CallTable<'_> {
    fn push(&mut self, loops: [u32; DEPTH]) {
        let end = self.words.len() + self.stride;
        self.words.extend_from_slice(&loops);
        self.words.extend_from_slice(self.dims);
        self.words.resize(end, 0);
    }

    fn walk(&mut self, commands: &[Command], loops: [u32; DEPTH], depth: usize) {
        for command in commands {
            match command {
                Command::Dispatch { .. } => {}
                Command::Repeat { count, reverse, body } => {
                    for turn in 0..*count {
                        let mut inner = loops;
                        if let Some(index) = inner.get_mut(depth) {
                            *index = if *reverse { count - 1 - turn } else { turn };
                        }
                        self.push(inner);
                        self.walk(body, inner, depth + 1);
                    }
                }
            }
        }
    }
}

struct Recorder<'a, 'p> {
    arena: &'a Arena,
    pass: &'a mut wgpu::ComputePass<'p>,
    next: u32,
    stride: u32,
    /// The pipeline, and the layout with its offset, that are set already.
    set: Option<(u16, usize, u32)>,
}

impl Recorder<'_, '_> {
    fn walk(&mut self, commands: &[Command], slot: u32) {
        for command in commands {
            match command {
                Command::Dispatch { entry, groups } => self.dispatch(*entry, groups(&self.arena.dims), slot),
                Command::Repeat { count, body, reverse: _ } => {
                    for _ in 0..*count {
                        let turn = self.next;
                        self.next += 1;
                        self.walk(body, turn);
                    }
                }
            }
        }
    }

    fn dispatch(&mut self, entry: u16, groups: [u32; 3], slot: u32) {
        if groups.contains(&0) {
            return;
        }
        let compiled = &self.arena.pipelines.entries[entry as usize];
        let now = (entry, compiled.layout, slot * self.stride);
        if self.set.is_none_or(|set| set.0 != now.0) {
            self.pass.set_pipeline(&compiled.pipeline);
        }
        if self.set.is_none_or(|set| (set.1, set.2) != (now.1, now.2)) {
            self.pass.set_bind_group(0, self.arena.groups[compiled.layout].as_ref(), &[now.2]);
        }
        self.set = Some(now);
        self.pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
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
