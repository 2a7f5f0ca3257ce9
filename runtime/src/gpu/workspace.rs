//! A call: arguments in, one submit, results out.
//!
//! Comes in: a function, its dimensions and the arguments' words. Goes out: the results' words, kept until the next
//! call. Always holds: a call at dimensions no larger than earlier ones creates nothing on the device.

use super::arena::{Arena, create_staging};
use super::calls;
use super::device::Gpu;
use super::mapping::Request;
use super::program::{Pool, Program};
use crate::device::{Function, Place};
use crate::error::{Error, Result};
use crate::foreign::Foreigns;
use crate::words::Words;

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
        let scratch = F::scratch(dims).ok_or(Error::Overflow { function: F::NAME })?;
        self.arena(gpu, program)?;
        let (Some(arena), staging) = (&mut self.arena, &mut self.staging) else { unreachable!("it was made above") };
        arena.share(Pool::Weights, parameters);
        if let Some(session) = session {
            arena.share(Pool::State, session);
        }
        arena.reserve(Pool::Inputs, words_of(inputs))?;
        arena.reserve(Pool::Scratch, scratch)?;
        arena.prepare(plan, dims)?;
        let words: usize = (0..plan.results).map(|index| F::result(dims, index).len).sum();
        let bytes = 4 * words as u64;
        if staging.as_ref().is_none_or(|staging| staging.size() < bytes) {
            *staging = Some(create_staging(gpu, bytes)?);
        }
        let Some(staging) = staging else { unreachable!("it was made above") };
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
            let mut encoder = encode(gpu, arena, F::NAME, first, None);
            let mut at = 0;
            for index in 0..plan.results {
                let Place { offset, len } = F::result(dims, index);
                let (from, len) = (4 * offset as u64, 4 * len as u64);
                encoder.copy_buffer_to_buffer(arena.buffer(Pool::Scratch)?, from, staging, at, len);
                at += len;
            }
            gpu.queue().submit([encoder.finish()]);
            Ok(())
        })??;
        if words == 0 {
            return Ok(());
        }
        let results = self.results.grow(words)?;
        let mapped = Request::new(gpu, staging, bytes)?.await?;
        mapped.with(|bytes| bytemuck::cast_slice_mut(results).copy_from_slice(bytes))
    }

    /// A result of the call before.
    pub(super) fn result<F: Function>(&self, dims: &[usize], index: usize) -> &[f32] {
        let start: usize = (0..index).map(|before| F::result(dims, before).len).sum();
        &self.results.as_slice()[start..][..F::result(dims, index).len]
    }
}

/// The words of all arguments.
pub(super) fn words_of(inputs: &[&[f32]]) -> usize {
    inputs.iter().map(|input| input.len()).sum()
}

/// Queues the arguments one after the other.
pub(super) fn upload(arena: &Arena, inputs: &[&[f32]]) -> Result<()> {
    let mut at = 0;
    for input in inputs {
        arena.write(Pool::Inputs, at, input)?;
        at += input.len();
    }
    Ok(())
}

/// Records dispatches of a prepared plan as one compute pass, from a number on up to another one.
pub(super) fn encode(gpu: &Gpu, arena: &Arena, name: &str, first: usize, end: Option<usize>) -> wgpu::CommandEncoder {
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(name) });
    arena.record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()), first, end);
    encoder
}
