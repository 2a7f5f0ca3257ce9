//! The buffers and bind groups of one session or trainer, and the recording of plans over them.
//!
//! Comes in: a plan and values of the named dimensions. Goes out: dispatches in a compute pass. Always holds: a buffer
//! only grows, bind groups are made again only after a buffer grew, and recording creates nothing.

use super::device::{Gpu, Kind};
use super::mapping::Request;
use super::pipelines::{Layout, Pipelines};
use super::program::{Launch, Plan, Pool, Program};
use super::table::{CallTable, Dispatch, Foreign};
use crate::error::{Error, Result};
use std::sync::Arc;

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
    dims: Vec<usize>,
    words: Vec<u32>,
    dispatches: Vec<Dispatch>,
    /// The foreign calls among them.
    foreign: Vec<Foreign>,
    /// What the host reads the arguments of foreign calls from.
    staging: Option<wgpu::Buffer>,
    /// The first contents of the pool of dispatches.
    records: Vec<u32>,
    launch: Launch,
}

impl Arena {
    /// An arena for plans of one program.
    pub(super) fn new(gpu: &Gpu, program: &'static Program) -> Result<Self> {
        let pipelines = gpu.pipelines(program)?;
        let groups = vec![None; pipelines.layouts.len()];
        Ok(Self {
            gpu: gpu.clone(),
            program,
            pipelines,
            pools: [const { None }; Pool::COUNT],
            call: None,
            groups,
            bound: None,
            dims: Vec::new(),
            words: Vec::new(),
            dispatches: Vec::new(),
            foreign: Vec::new(),
            staging: None,
            records: Vec::new(),
            launch: Launch::default(),
        })
    }

    /// Whether this is an arena for that program.
    pub(super) fn is_for(&self, program: &'static Program) -> bool {
        core::ptr::eq(self.program, program)
    }

    /// Makes everything ready for `plan` at `dims`, all pools being there. Creates only what was never needed before or
    /// has become too small.
    pub(super) fn prepare(&mut self, plan: &'static Plan, dims: &[usize]) -> Result<()> {
        self.gpu.alive()?;
        if !self.bound.is_some_and(|bound| core::ptr::eq(bound, plan)) || self.dims != dims {
            self.bound = None;
            self.bind(plan, dims)?;
            self.pipelines.compile(&self.gpu, self.dispatches.iter().map(|dispatch| dispatch.entry))?;
            self.bound = Some(plan);
            self.dims.clear();
            self.dims.extend_from_slice(dims);
        }
        if self.lacks_group() {
            let gpu = self.gpu.clone();
            gpu.scoped(|| self.create_groups())?;
        }
        Ok(())
    }

    /// Uses a buffer that somebody else owns.
    pub(super) fn share(&mut self, pool: Pool, buffer: &wgpu::Buffer) {
        if self.pools[pool.index()].as_ref() != Some(buffer) {
            self.replace(pool, buffer.clone());
        }
    }

    /// Gives `pool` room for `words` words.
    pub(super) fn reserve(&mut self, pool: Pool, words: usize) -> Result<()> {
        if self.pools[pool.index()].as_ref().is_some_and(|buffer| buffer.size() >= 4 * words as u64) {
            return Ok(());
        }
        let buffer = create_storage(&self.gpu, pool.name(), words)?;
        self.replace(pool, buffer);
        Ok(())
    }

    fn replace(&mut self, pool: Pool, buffer: wgpu::Buffer) {
        self.pools[pool.index()] = Some(buffer);
        let layouts = &self.pipelines.layouts;
        for (group, layout) in self.groups.iter_mut().zip(layouts) {
            if layout.bindings.iter().any(|&(_, bound)| bound == pool) {
                *group = None;
            }
        }
    }

    /// The buffer of a pool that was shared or reserved.
    pub(super) fn buffer(&self, pool: Pool) -> Result<&wgpu::Buffer> {
        let missing = || Error::Device { reason: format!("a plan uses {} that it did not ask for", pool.name()) };
        self.pools[pool.index()].as_ref().ok_or_else(missing)
    }

    /// Writes words into a pool; they arrive before the next submission runs.
    pub(super) fn write(&self, pool: Pool, offset: usize, words: &[f32]) -> Result<()> {
        if !words.is_empty() {
            self.gpu.queue().write_buffer(self.buffer(pool)?, 4 * offset as u64, bytemuck::cast_slice(words));
        }
        Ok(())
    }

    /// The foreign calls of the prepared plan.
    pub(super) fn foreign(&self) -> &[Foreign] {
        &self.foreign
    }

    /// A buffer that the host can read, of at least that many bytes.
    pub(super) fn staging(&mut self, bytes: u64) -> Result<wgpu::Buffer> {
        match &self.staging {
            Some(staging) if staging.size() >= bytes => Ok(staging.clone()),
            _ => Ok(self.staging.insert(create_staging(&self.gpu, bytes)?).clone()),
        }
    }

    /// Records dispatches of the prepared plan from a number on, up to another one.
    pub(super) fn record(&self, pass: &mut wgpu::ComputePass<'_>, first: usize, end: Option<usize>) {
        let stride = self.stride();
        let mut set = None;
        let chosen = self.pools[Pool::Dispatch.index()].as_ref();
        let listed = self.dispatches.iter().enumerate().take(end.unwrap_or(usize::MAX)).skip(first);
        for (slot, &Dispatch { entry, groups, record }) in listed {
            let Some(pipeline) = self.pipelines.pipeline(entry) else {
                unreachable!("a prepared plan has its pipelines")
            };
            if set != Some(entry) {
                pass.set_pipeline(pipeline);
                set = Some(entry);
            }
            let group = &self.groups[self.pipelines.layout(entry)];
            pass.set_bind_group(0, group.as_ref(), &[slot as u32 * stride]);
            match record.zip(chosen) {
                Some((record, chosen)) => pass.dispatch_workgroups_indirect(chosen, 4 * u64::from(record)),
                None => pass.dispatch_workgroups(groups[0], groups[1], 1),
            }
        }
    }

    /// The entry point of each dispatch of the prepared plan.
    #[cfg(feature = "profile")]
    pub(super) fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.dispatches.iter().map(|dispatch| self.program.entries[usize::from(dispatch.entry)].name)
    }

    /// Bytes from one dispatch to the next in the `call` uniform.
    fn stride(&self) -> u32 {
        let alignment = self.gpu.device().limits().min_uniform_buffer_offset_alignment.max(16);
        (4 * self.program.call as u32).next_multiple_of(alignment)
    }

    fn bind(&mut self, plan: &Plan, dims: &[usize]) -> Result<()> {
        let stride = self.stride() as usize / 4;
        self.words.clear();
        self.dispatches.clear();
        self.records.clear();
        self.foreign.clear();
        let (words, dispatches, records) = (&mut self.words, &mut self.dispatches, &mut self.records);
        let (launch, foreign, turns) = (&mut self.launch, &mut self.foreign, Vec::new());
        let (loops, all) = (self.program.loops, self.program.dims);
        CallTable { words, dispatches, foreign, records, launch, stride, plan, dims, loops, all, turns }.list();
        if self.dispatches.iter().any(|dispatch| u64::from(dispatch.groups[1]) > Launch::SIDE) {
            let reason = format!("the model needs more workgroups than the {0} × {0} of a dispatch", Launch::SIDE);
            return Err(Error::Device { reason });
        }
        let bytes = (4 * self.words.len() as u64).max(4 * stride as u64);
        if self.call.as_ref().is_none_or(|buffer| buffer.size() < bytes) {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            self.call = Some(create_buffer(&self.gpu, "call", bytes, usage)?);
            self.groups.fill(None);
        }
        self.bind_records()?;
        let Some(call) = &self.call else { return Ok(()) };
        self.gpu.scoped(|| self.gpu.queue().write_buffer(call, 0, bytemuck::cast_slice(&self.words)))
    }

    /// Brings the records of the dispatches in branches to the device.
    fn bind_records(&mut self) -> Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let bytes = 4 * self.records.len() as u64;
        let at = Pool::Dispatch.index();
        if self.pools[at].as_ref().is_none_or(|buffer| buffer.size() < bytes) {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_DST;
            let usage = usage | wgpu::BufferUsages::COPY_SRC;
            let buffer = create_buffer(&self.gpu, Pool::Dispatch.name(), bytes, usage)?;
            self.replace(Pool::Dispatch, buffer);
        }
        let Some(buffer) = &self.pools[at] else { return Ok(()) };
        self.gpu.scoped(|| self.gpu.queue().write_buffer(buffer, 0, bytemuck::cast_slice(&self.records)))
    }

    fn lacks_group(&self) -> bool {
        self.dispatches.iter().any(|dispatch| self.groups[self.pipelines.layout(dispatch.entry)].is_none())
    }

    fn create_groups(&mut self) {
        for at in 0..self.dispatches.len() {
            let layout = self.pipelines.layout(self.dispatches[at].entry);
            if self.groups[layout].is_none() {
                self.groups[layout] = self.create_group(&self.pipelines.layouts[layout]);
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

/// Creates a buffer that kernels and copies may use.
pub(super) fn create_storage(gpu: &Gpu, label: &'static str, words: usize) -> Result<wgpu::Buffer> {
    // An empty binding is not allowed, and kernels see buffers as vectors of four words.
    let bytes = (4 * words as u64).next_multiple_of(16).max(16);
    let limits = gpu.device().limits();
    let available = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    if bytes > available {
        let reason = format!("the model needs {bytes} bytes of {label} in one buffer, this one offers {available}");
        return Err(Error::Device { reason });
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    create_buffer(gpu, label, bytes, usage)
}

/// Creates a buffer that the host can read.
pub(super) fn create_staging(gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer> {
    create_buffer(gpu, "read-back", bytes.max(16), wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)
}

fn create_buffer(gpu: &Gpu, label: &'static str, size: u64, usage: wgpu::BufferUsages) -> Result<wgpu::Buffer> {
    gpu.count(Kind::Buffer);
    let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    gpu.scoped(|| gpu.device().create_buffer(&descriptor))
}

/// Copies words of a buffer to the host.
pub(super) async fn read_back(gpu: &Gpu, source: &wgpu::Buffer, offset: usize, words: &mut [f32]) -> Result<()> {
    if words.is_empty() {
        return gpu.alive();
    }
    let bytes = 4 * words.len() as u64;
    let staging = create_staging(gpu, bytes)?;
    gpu.scoped(|| {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(source, 4 * offset as u64, &staging, 0, bytes);
        gpu.queue().submit([encoder.finish()]);
    })?;
    let mapped = Request::new(gpu, &staging, bytes)?.await?;
    mapped.with(|bytes| bytemuck::cast_slice_mut(words).copy_from_slice(bytes))
}
