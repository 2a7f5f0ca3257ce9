//! A call: arguments in, one submit, results out.
//!
//! Comes in: a function, its dimensions and the arguments' words. Goes out: the results' words, kept until the next
//! call. Always holds: a call at dimensions no larger than earlier ones creates nothing on the device.

use super::arena::{Arena, at_least, create_staging, create_storage};
use super::calls;
use super::device::Gpu;
use super::mapping::Request;
use super::program::{Plan, Pool, Program};
use crate::device::{Function, Step};
use crate::error::Result;
use crate::foreign::Foreigns;
use precast_cpu::Words;

/// Scratch memory for calls in sequence, made for the program of the first.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Workspace {
    arena: Option<Arena>,
    staging: Option<wgpu::Buffer>,
    results: Words,
}

impl Workspace {
    /// The arena, which is made anew where another program is called.
    pub(super) fn arena(&mut self, gpu: &Gpu, program: &'static Program) -> Result<&mut Arena> {
        match &mut self.arena {
            Some(arena) if arena.is_for(program) => {}
            other => *other = Some(Arena::new(gpu, program)?),
        }
        match &mut self.arena {
            Some(arena) => Ok(arena),
            None => unreachable!("it was made above"),
        }
    }

    pub(super) async fn call<F: Function>(
        &mut self,
        gpu: &Gpu,
        (parameters, session): (&wgpu::Buffer, Option<&wgpu::Buffer>),
        dims: &[usize],
        inputs: &[&[f32]],
        foreign: &Foreigns,
    ) -> Result<()> {
        let (program, plan) = F::gpu();
        self.arena(gpu, program)?;
        let (Some(arena), staging) = (&mut self.arena, &mut self.staging) else { unreachable!("it was made above") };
        arena.share(Pool::Weights, parameters);
        if let Some(session) = session {
            arena.share(Pool::State, session);
        }
        arena.reserve(Pool::Inputs, words_of(inputs))?;
        arena.reserve_banks(plan, dims, F::NAME)?;
        arena.prepare(plan, dims)?;
        let lengths = || (0..plan.results.len()).map(|index| F::result(dims, index).len);
        let words = end(lengths());
        let bytes = 4 * words as u64;
        let staging = at_least(staging, bytes, || create_staging(gpu, bytes))?;
        let split = !arena.foreign().is_empty();
        let mut first = 0;
        if split {
            gpu.scoped(|| upload(arena, inputs))??;
            first = calls::run(gpu, arena, F::NAME, foreign).await?;
        }
        gpu.scoped(|| -> Result<()> {
            if !split {
                upload(arena, inputs)?;
            }
            let mut encoder = encoder(gpu, F::NAME);
            encode(gpu, &mut encoder, arena, F::NAME, (first, None));
            copy(&mut encoder, arena, staging, (plan, dims), lengths())?;
            gpu.queue().submit([encoder.finish()]);
            Ok(())
        })??;
        self.receive(gpu, words).await
    }

    /// Reads the results of the training step before, which has left them in the scratch memory.
    pub(super) async fn results<S: Step>(&mut self, gpu: &Gpu, dims: &[usize]) -> Result<()> {
        let (_, plan) = S::gpu();
        let lengths = || (0..S::RESULTS).map(|index| S::result(dims, index).len);
        let words = end(lengths());
        let (Some(arena), staging) = (&self.arena, &mut self.staging) else { unreachable!("the step has made it") };
        let bytes = 4 * words as u64;
        let staging = at_least(staging, bytes, || create_staging(gpu, bytes))?;
        gpu.scoped(|| -> Result<()> {
            let mut encoder = encoder(gpu, S::NAME);
            copy(&mut encoder, arena, staging, (plan, dims), lengths())?;
            gpu.queue().submit([encoder.finish()]);
            Ok(())
        })??;
        self.receive(gpu, words).await
    }

    /// Takes over the first words of the staging buffer, once they are there.
    async fn receive(&mut self, gpu: &Gpu, words: usize) -> Result<()> {
        let (Some(staging), true) = (&self.staging, words > 0) else { return Ok(()) };
        let results = self.results.grow(words)?;
        let mapped = Request::new(gpu, staging, 4 * words as u64)?.await?;
        mapped.with(|bytes| bytemuck::cast_slice_mut(results).copy_from_slice(bytes))
    }

    /// A result of the training step before.
    pub(super) fn step_result<S: Step>(&self, dims: &[usize], index: usize) -> &[f32] {
        let start = end((0..index).map(|before| S::result(dims, before).len));
        &self.results.as_slice()[start..][..S::result(dims, index).len]
    }

    /// A result of the call before.
    pub(super) fn result<F: Function>(&self, dims: &[usize], index: usize) -> &[f32] {
        let start = end((0..index).map(|before| F::result(dims, before).len));
        &self.results.as_slice()[start..][..F::result(dims, index).len]
    }
}

/// Where results of these lengths end that are read back one after the other, each from an even word on, as numbers of 64 bits
/// need it.
fn end(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.map(|len| len.next_multiple_of(2)).sum()
}

/// Records the copies of results of these lengths, one after the other.
fn copy(
    encoder: &mut wgpu::CommandEncoder,
    arena: &Arena,
    staging: &wgpu::Buffer,
    (plan, dims): (&Plan, &[usize]),
    lengths: impl Iterator<Item = usize>,
) -> Result<()> {
    let mut at = 0;
    for (found, len) in plan.results.iter().zip(lengths) {
        let offset = 4 * (found.offset)(dims);
        encoder.copy_buffer_to_buffer(arena.buffer(found.pool)?, offset, staging, at, 4 * len as u64);
        at += 4 * len.next_multiple_of(2) as u64;
    }
    Ok(())
}

/// Arguments begin on multiples of this many words, as the compiler has it (`ir/plan.rs`).
const ALIGN: usize = 64;

/// The words of all arguments.
pub(super) fn words_of(inputs: &[&[f32]]) -> usize {
    inputs.iter().map(|input| input.len().next_multiple_of(ALIGN)).sum()
}

/// Arguments on a device, one after the other.
#[doc(hidden)]
#[derive(Debug)]
pub struct Held {
    pub(super) gpu: Gpu,
    pub(super) buffer: wgpu::Buffer,
}

impl Held {
    /// Brings them there.
    pub(super) fn new(gpu: &Gpu, inputs: &[&[f32]]) -> Result<Self> {
        let buffer = create_storage(gpu, Pool::Inputs.name(), words_of(inputs))?;
        gpu.scoped(|| {
            each_at(inputs, |at, input| gpu.queue().write_buffer(&buffer, 4 * at as u64, bytemuck::cast_slice(input)))
        })?;
        Ok(Self { gpu: gpu.clone(), buffer })
    }
}

/// Calls `see` with every argument that has words, and the word at which it begins.
fn each_at(inputs: &[&[f32]], mut see: impl FnMut(usize, &[f32])) {
    let mut at = 0;
    for input in inputs {
        if !input.is_empty() {
            see(at, input);
        }
        at += input.len().next_multiple_of(ALIGN);
    }
}

/// Queues the arguments one after the other.
pub(super) fn upload(arena: &Arena, inputs: &[&[f32]]) -> Result<()> {
    let mut done = Ok(());
    each_at(inputs, |at, input| {
        if done.is_ok() {
            done = arena.write(Pool::Inputs, at, input);
        }
    });
    done
}

/// An encoder of a function.
pub(super) fn encoder(gpu: &Gpu, name: &'static str) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(name) })
}

/// Records dispatches of a prepared plan as one compute pass, from a number on up to another one.
pub(super) fn encode(
    gpu: &Gpu,
    encoder: &mut wgpu::CommandEncoder,
    arena: &Arena,
    name: &'static str,
    (first, end): (usize, Option<usize>),
) {
    #[cfg(feature = "profile")]
    if super::profile::record(gpu, encoder, arena, name, (first, end)) {
        return;
    }
    #[cfg(not(feature = "profile"))]
    let _ = (gpu, name);
    arena.record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()), first, end);
}
