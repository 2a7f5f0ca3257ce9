//! The buffers and bind groups of one session or trainer, and the recording of plans over them.
//!
//! Comes in: a plan and values of the named dimensions. Goes out: dispatches in a compute pass. Always holds: a buffer
//! of its own only grows, bind groups are made again only where another buffer is bound, and recording creates nothing.

use super::bindings::{Bindings, Group, Room};
use super::device::{Gpu, Kind};
use super::losses::RECORD;
use super::mapping::Request;
use super::pipelines::Pipelines;
use super::program::{Launch, Plan, Pool, Program};
use super::table::{CallTable, Dispatch, Foreign};
use super::workspace::ALIGN;
use crate::error::{Error, Result};
use core::ops::Range;
use std::sync::Arc;

/// Steps of one submission, each of which has numbers and an outcome of its own, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    /// How many there are.
    pub(super) count: usize,
    /// How many words of numbers each has.
    pub(super) numbers: usize,
}

impl Steps {
    /// A call: one step without numbers.
    pub(super) const ONE: Steps = Steps { count: 1, numbers: 0 };

    /// How many words of a pool each step has for itself.
    pub(super) fn words(self, pool: Pool) -> usize {
        match pool {
            Pool::Numbers => self.numbers.next_multiple_of(ALIGN),
            Pool::Outcome => RECORD,
            _ => 0,
        }
    }
}

/// Some bytes of a buffer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Piece {
    pub(super) buffer: wgpu::Buffer,
    pub(super) bytes: Range<u64>,
}

impl Piece {
    /// All of them.
    fn of(buffer: &wgpu::Buffer) -> Self {
        Self { buffer: buffer.clone(), bytes: 0..buffer.size() }
    }

    fn size(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// Buffers by pool, the uniform of loop indices and dimensions, and the bind groups.
#[derive(Debug)]
pub(super) struct Arena {
    gpu: Gpu,
    program: &'static Program,
    pipelines: Arc<Pipelines>,
    /// What is bound: buffers of its own, or of somebody else.
    pools: [Option<Piece>; Pool::COUNT],
    /// Arguments that are pieces of other buffers each, and where in the pool of arguments each would be.
    arguments: Vec<(Piece, Range<u64>)>,
    /// Whether commands that see `call` and the pool of dispatches may be in an encoder of the caller's, who submits them at some time:
    /// these buffers are replaced then, not written.
    is_recorded: bool,
    /// Its own buffers, which only grow.
    own: [Option<wgpu::Buffer>; Pool::COUNT],
    call: Option<wgpu::Buffer>,
    bindings: Bindings,
    /// The plan and the dimensions for which the `call` uniform and the list of dispatches are.
    bound: Option<&'static Plan>,
    dims: Vec<usize>,
    /// The `call` uniforms of one step, one after the other, and the words that are of steps.
    words: Vec<u32>,
    of_steps: Vec<(usize, Pool)>,
    /// The steps that the device has them for.
    steps: usize,
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
        let halves = program.entries.iter().any(|entry| !entry.enables.is_empty()) && gpu.multiplies_halves()?;
        Ok(Self {
            gpu: gpu.clone(),
            program,
            pipelines,
            pools: [const { None }; Pool::COUNT],
            arguments: Vec::new(),
            is_recorded: false,
            own: [const { None }; Pool::COUNT],
            call: None,
            bindings: Bindings::default(),
            bound: None,
            dims: Vec::new(),
            words: Vec::new(),
            of_steps: Vec::new(),
            steps: 0,
            dispatches: Vec::new(),
            foreign: Vec::new(),
            staging: None,
            records: Vec::new(),
            launch: Launch { halves, ..Launch::default() },
        })
    }

    /// An arena for calls that are recorded into encoders of the caller's.
    pub(super) fn recorded(gpu: &Gpu, program: &'static Program) -> Result<Self> {
        Ok(Self { is_recorded: true, ..Self::new(gpu, program)? })
    }

    /// Bytes of the `call` uniforms of a step.
    pub(super) fn call_bytes(&self) -> u64 {
        4 * self.words.len() as u64
    }

    /// Whether this is an arena for that program.
    pub(super) fn is_for(&self, program: &'static Program) -> bool {
        core::ptr::eq(self.program, program)
    }

    /// Makes everything ready for steps of `plan` at `dims`, all pools being there. Creates only what was never needed before or
    /// has become too small.
    pub(super) fn prepare(&mut self, plan: &'static Plan, dims: &[usize], steps: Steps) -> Result<()> {
        self.gpu.alive()?;
        if !self.bound.is_some_and(|bound| core::ptr::eq(bound, plan)) || self.dims != dims {
            self.bound = None;
            self.bind(plan, dims)?;
            self.pipelines.compile(&self.gpu, self.dispatches.iter().map(|dispatch| dispatch.entry))?;
            self.bound = Some(plan);
            self.dims.clear();
            self.dims.extend_from_slice(dims);
        }
        if self.steps < steps.count {
            self.upload_calls(steps)?;
        }
        if self.dispatches.iter().all(|dispatch| self.is_made(dispatch)) {
            return Ok(());
        }
        let gpu = self.gpu.clone();
        let made = gpu.scoped(|| self.create_groups());
        let missing = || Error::Device { reason: "a plan uses memory that it did not ask for".to_owned() };
        let made =
            made.and_then(|()| self.dispatches.iter().all(|one| self.is_made(one)).then_some(()).ok_or_else(missing));
        if made.is_err() {
            // A group that the device refused is there all the same.
            self.bindings.forget_all();
        }
        made
    }

    fn is_made(&self, dispatch: &Dispatch) -> bool {
        self.bindings.group(dispatch.bound).made.is_some()
    }

    /// Uses a buffer that somebody else owns.
    pub(super) fn share(&mut self, pool: Pool, buffer: &wgpu::Buffer) {
        if pool == Pool::Inputs && !self.arguments.is_empty() {
            self.arguments.clear();
            self.bound = None;
        }
        self.share_piece(pool, Piece::of(buffer));
    }

    /// Uses a piece of a buffer that somebody else owns.
    pub(super) fn share_piece(&mut self, pool: Pool, piece: Piece) {
        let before = &mut self.pools[pool.index()];
        if before.as_ref() == Some(&piece) {
            return;
        }
        let size = piece.size();
        let before = before.replace(piece);
        self.bindings.forget(|part| part.pool == pool && part.argument.is_none());
        if before.map(|before| before.size()) != Some(size) {
            // What dispatches see depends on how large pools are.
            self.bound = None;
        }
    }

    /// Uses a piece of a buffer that somebody else owns for each argument, of which each has so many words.
    pub(super) fn share_arguments(&mut self, pieces: &[(Piece, usize)]) {
        let mut end = 0;
        let words = |&(_, words): &(Piece, usize)| {
            let start = end;
            end += words.next_multiple_of(ALIGN) as u64;
            start..start + words.next_multiple_of(4) as u64
        };
        let ranges: Vec<Range<u64>> = pieces.iter().map(words).collect();
        if !self.arguments.iter().map(|(_, words)| words).eq(&ranges) {
            self.bound = None;
            self.arguments.clear();
        }
        let before = core::mem::take(&mut self.arguments);
        self.bindings.forget(|part| {
            let is_same = |k: usize| before.get(k).is_some_and(|(piece, _)| *piece == pieces[k].0);
            part.argument.is_some_and(|k| k < pieces.len() && !is_same(k))
        });
        self.arguments = pieces.iter().map(|(piece, _)| piece.clone()).zip(ranges).collect();
    }

    /// Gives `pool` room for `words` words.
    pub(super) fn reserve(&mut self, pool: Pool, words: usize) -> Result<()> {
        let own = &mut self.own[pool.index()];
        let own = at_least(own, 4 * words as u64, || create_storage(&self.gpu, pool.name(), words))?.clone();
        self.share(pool, &own);
        Ok(())
    }

    /// Gives all banks of scratch memory the room that a plan needs.
    pub(super) fn reserve_banks(&mut self, plan: &Plan, dims: &[usize], function: &'static str) -> Result<()> {
        for (bank, words) in plan.banks.iter().enumerate() {
            let words = words(dims).ok_or(Error::Overflow { function })?;
            self.reserve(Pool::Bank(bank), words)?;
        }
        Ok(())
    }

    /// The buffer of a pool that was shared or reserved.
    pub(super) fn buffer(&self, pool: Pool) -> Result<&wgpu::Buffer> {
        let missing = || Error::Device { reason: format!("a plan uses {} that it did not ask for", pool.name()) };
        self.pools[pool.index()].as_ref().map(|piece| &piece.buffer).ok_or_else(missing)
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
        at_least(&mut self.staging, bytes, || create_staging(&self.gpu, bytes)).cloned()
    }

    /// Records dispatches of a step of the prepared plan from a number on, up to another one.
    pub(super) fn record(&self, pass: &mut wgpu::ComputePass<'_>, step: usize, first: usize, end: Option<usize>) {
        let stride = stride(&self.gpu, self.program);
        let start = 4 * (step * self.words.len()) as u32;
        let mut set = None;
        let chosen = self.pools[Pool::Dispatch.index()].as_ref();
        let listed = self.dispatches.iter().enumerate().take(end.unwrap_or(usize::MAX)).skip(first);
        for (slot, &Dispatch { entry, bound, groups, record }) in listed {
            let Some(pipeline) = self.pipelines.pipeline(entry) else {
                unreachable!("a prepared plan has its pipelines")
            };
            if set != Some(entry) {
                pass.set_pipeline(pipeline);
                set = Some(entry);
            }
            pass.set_bind_group(0, self.bindings.group(bound).made.as_ref(), &[start + slot as u32 * stride]);
            match record.zip(chosen) {
                Some((record, chosen)) => pass.dispatch_workgroups_indirect(&chosen.buffer, 4 * u64::from(record)),
                None => pass.dispatch_workgroups(groups[0], groups[1], 1),
            }
        }
    }

    /// The entry point of each dispatch of the prepared plan.
    #[cfg(feature = "profile")]
    pub(super) fn entries(&self) -> impl Iterator<Item = &'static str> {
        self.dispatches.iter().map(|dispatch| self.program.entries[usize::from(dispatch.entry)].name)
    }

    fn bind(&mut self, plan: &Plan, dims: &[usize]) -> Result<()> {
        let (stride, room) = (stride(&self.gpu, self.program) as usize / 4, self.room());
        self.steps = 0;
        self.words.clear();
        self.of_steps.clear();
        self.dispatches.clear();
        self.records.clear();
        self.foreign.clear();
        let (words, of_steps) = (&mut self.words, &mut self.of_steps);
        let (dispatches, records) = (&mut self.dispatches, &mut self.records);
        let (launch, foreign, turns) = (&mut self.launch, &mut self.foreign, Vec::new());
        let (loops, all) = (self.program.loops, self.program.dims);
        self.bindings.begin();
        let layout: &dyn Fn(u16) -> usize = &|entry| self.pipelines.layout(entry);
        let of_device = (&mut self.bindings, &room, layout);
        CallTable {
            words,
            of_steps,
            dispatches,
            foreign,
            records,
            launch,
            stride,
            plan,
            dims,
            loops,
            all,
            turns,
            of_device,
        }
        .list()?;
        if self.dispatches.iter().any(|dispatch| u64::from(dispatch.groups[1]) > Launch::SIDE) {
            let reason = format!("the model needs more workgroups than the {0} × {0} of a dispatch", Launch::SIDE);
            return Err(Error::Device { reason });
        }
        self.bind_records()
    }

    /// Brings the `call` uniforms of so many steps to the device.
    fn upload_calls(&mut self, steps: Steps) -> Result<()> {
        let mut words = Vec::with_capacity(steps.count * self.words.len());
        for step in 0..steps.count {
            let start = words.len();
            words.extend_from_slice(&self.words);
            for &(word, pool) in &self.of_steps {
                words[start + word] += (step * steps.words(pool)) as u32;
            }
        }
        let bytes = (4 * words.len() as u64).max(stride(&self.gpu, self.program).into());
        if self.is_recorded || self.call.as_ref().is_none_or(|buffer| buffer.size() < bytes) {
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            self.call = Some(create_buffer(&self.gpu, "call", bytes, usage)?);
            self.bindings.forget_all();
        }
        let Some(call) = &self.call else { return Ok(()) };
        self.gpu.scoped(|| self.gpu.queue().write_buffer(call, 0, bytemuck::cast_slice(&words)))?;
        self.steps = steps.count;
        Ok(())
    }

    /// Brings the records of the dispatches in branches to the device.
    fn bind_records(&mut self) -> Result<()> {
        if self.records.is_empty() {
            return Ok(());
        }
        let bytes = 4 * self.records.len() as u64;
        let at = Pool::Dispatch.index();
        if self.is_recorded || self.pools[at].as_ref().is_none_or(|piece| piece.size() < bytes) {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_DST;
            let usage = usage | wgpu::BufferUsages::COPY_SRC;
            let buffer = create_buffer(&self.gpu, Pool::Dispatch.name(), bytes, usage)?;
            self.share(Pool::Dispatch, &buffer);
        }
        let Some(piece) = &self.pools[at] else { return Ok(()) };
        self.gpu.scoped(|| self.gpu.queue().write_buffer(&piece.buffer, 0, bytemuck::cast_slice(&self.records)))
    }

    /// How large pools are, and what the device binds of them.
    fn room(&self) -> Room {
        let limits = self.gpu.device().limits();
        let bytes = |piece: &Option<Piece>| piece.as_ref().map_or(0, Piece::size);
        Room {
            pools: core::array::from_fn(|pool| bytes(&self.pools[pool])),
            arguments: self.arguments.iter().map(|(_, words)| words.clone()).collect(),
            binding: limits.max_storage_buffer_binding_size,
            alignment: limits.min_storage_buffer_offset_alignment.max(16).into(),
        }
    }

    fn create_groups(&mut self) {
        let Self { gpu, pipelines, pools, arguments, call, bindings, dispatches, .. } = self;
        let size = core::num::NonZeroU64::new(u64::from(stride(gpu, self.program)));
        bindings.make(dispatches.iter().map(|dispatch| dispatch.bound), |Group { layout, parts, .. }| {
            let call = wgpu::BufferBinding { buffer: call.as_ref()?, offset: 0, size };
            let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(call) }];
            for (view, part) in parts.iter().enumerate() {
                let Piece { buffer, bytes } = match part.argument {
                    Some(argument) => &arguments[argument].0,
                    None => pools[part.pool.index()].as_ref()?,
                };
                let seen = part.bytes.clone().unwrap_or(0..bytes.end - bytes.start);
                let (offset, size) = (bytes.start + seen.start, core::num::NonZeroU64::new(seen.end - seen.start));
                let resource = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
                entries.push(wgpu::BindGroupEntry { binding: 1 + view as u32, resource });
            }
            gpu.count(Kind::BindGroup);
            let layout = &pipelines.layouts[*layout].group;
            Some(gpu.device().create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries }))
        });
    }
}

/// The buffer, if it has so many bytes, or another one in its place.
pub(super) fn at_least(
    buffer: &mut Option<wgpu::Buffer>,
    bytes: u64,
    create: impl FnOnce() -> Result<wgpu::Buffer>,
) -> Result<&wgpu::Buffer> {
    match buffer.take().filter(|buffer| buffer.size() >= bytes) {
        Some(enough) => Ok(buffer.insert(enough)),
        None => Ok(buffer.insert(create()?)),
    }
}

/// Bytes from one dispatch to the next in the `call` uniform.
fn stride(gpu: &Gpu, program: &Program) -> u32 {
    let alignment = gpu.device().limits().min_uniform_buffer_offset_alignment.max(16);
    (4 * program.call as u32).next_multiple_of(alignment)
}

/// Creates a buffer that kernels and copies may use.
pub(super) fn create_storage(gpu: &Gpu, label: &'static str, words: usize) -> Result<wgpu::Buffer> {
    // An empty binding is not allowed, and kernels see buffers as vectors of four words.
    let bytes = (4 * words as u64).next_multiple_of(16).max(16);
    let limits = gpu.device().limits();
    if bytes > limits.max_buffer_size {
        return Err(pool_error(label, bytes, "buffer", limits.max_buffer_size));
    }
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    create_buffer(gpu, label, bytes, usage)
}

/// A model needs more bytes of a pool than a device has in one buffer or binding.
pub(super) fn pool_error(pool: &str, bytes: u64, of: &str, available: u64) -> Error {
    Error::Device {
        reason: format!("the model needs {bytes} bytes of {pool} in one {of}, this one offers {available}"),
    }
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
