//! A call: arguments in, one submit, results out.
//!
//! Comes in: a plan, the named dimensions and the arguments' bytes. Goes out: the results' bytes. Always holds: a call
//! at dimensions no larger than earlier ones creates nothing on the device.

use super::arena::{Arena, create_staging};
use super::device::Gpu;
use super::error::{Result, wrong_length};
use super::mapping::{Mapped, Request};
use super::program::{Plan, Pool, Span};

/// Scratch memory and state for calls of one model on one thread.
#[derive(Debug)]
pub struct Session {
    gpu: Gpu,
    arena: Arena,
    staging: Option<wgpu::Buffer>,
}

impl Session {
    pub(super) fn new(gpu: &Gpu, arena: Arena) -> Self {
        Self { gpu: gpu.clone(), arena, staging: None }
    }

    /// Runs `plan` and waits for its results. Every argument and result is row-major and made of 4-byte words;
    /// `numbers` fills [`Pool::Numbers`].
    ///
    /// # Errors
    /// [`Error::Length`] where a slice does not fit the plan, else what the device reports.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn call(
        &mut self,
        plan: &'static Plan,
        dims: &[u32],
        inputs: &[&[u8]],
        numbers: &[u32],
        outputs: &mut [&mut [u8]],
    ) -> Result<()> {
        check(plan.outputs, dims, outputs.iter().map(|output| output.len()))?;
        match pollster::block_on(self.submit(plan, dims, inputs, numbers))? {
            Some(request) => scatter(&request.wait()?, plan, dims, outputs),
            None => Ok(()),
        }
    }

    /// [`Session::call`] that never blocks.
    ///
    /// # Errors
    /// As [`Session::call`].
    pub async fn call_async(
        &mut self,
        plan: &'static Plan,
        dims: &[u32],
        inputs: &[&[u8]],
        numbers: &[u32],
        outputs: &mut [&mut [u8]],
    ) -> Result<()> {
        check(plan.outputs, dims, outputs.iter().map(|output| output.len()))?;
        match self.submit(plan, dims, inputs, numbers).await? {
            Some(request) => scatter(&request.await?, plan, dims, outputs),
            None => Ok(()),
        }
    }

    async fn submit(
        &mut self,
        plan: &'static Plan,
        dims: &[u32],
        inputs: &[&[u8]],
        numbers: &[u32],
    ) -> Result<Option<Request>> {
        check(plan.inputs, dims, inputs.iter().map(|input| input.len()))?;
        self.arena.prepare(plan, dims).await?;
        let bytes = 4 * words_of(plan.outputs, dims);
        if self.staging.as_ref().is_none_or(|staging| staging.size() < bytes) {
            self.staging = Some(create_staging(&self.gpu, bytes.max(16)).await?);
        }
        let staging = self.staging.as_ref().filter(|_| bytes > 0);
        let work = || -> Result<()> {
            upload(&self.arena, plan, dims, inputs, numbers)?;
            let mut encoder = encode(&self.gpu, &self.arena, plan);
            if let Some(staging) = staging {
                encoder.copy_buffer_to_buffer(self.arena.buffer(Pool::Outputs)?, 0, staging, 0, bytes);
            }
            self.gpu.queue().submit([encoder.finish()]);
            Ok(())
        };
        self.gpu.scoped(work).await??;
        staging.map(|staging| Request::new(&self.gpu, staging, bytes)).transpose()
    }
}

/// Queues the arguments and numbers of a call.
pub(super) fn upload(arena: &Arena, plan: &Plan, dims: &[u32], inputs: &[&[u8]], numbers: &[u32]) -> Result<()> {
    for (span, input) in plan.inputs.iter().zip(inputs) {
        arena.write(Pool::Inputs, (span.offset)(dims), input)?;
    }
    arena.write(Pool::Numbers, 0, bytemuck::cast_slice(numbers))
}

/// Records a prepared plan as one compute pass.
pub(super) fn encode(gpu: &Gpu, arena: &Arena, plan: &Plan) -> wgpu::CommandEncoder {
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(plan.name) });
    arena.record(plan, &mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
    encoder
}

/// Compares the slices of a call with what the plan expects.
pub(super) fn check(spans: &[Span], dims: &[u32], given: impl ExactSizeIterator<Item = usize>) -> Result<()> {
    if given.len() != spans.len() {
        let (expected, given) = (4 * spans.len() as u64, 4 * given.len() as u64);
        return Err(wrong_length("the list of slices", expected, given));
    }
    for (span, given) in spans.iter().zip(given) {
        let (expected, given) = (4 * (span.words)(dims), given as u64);
        if expected != given {
            return Err(wrong_length(span.name, expected, given));
        }
    }
    Ok(())
}

/// The end of the last span, in words.
pub(super) fn words_of(spans: &[Span], dims: &[u32]) -> u64 {
    spans.iter().map(|span| (span.offset)(dims) + (span.words)(dims)).max().unwrap_or(0)
}

fn scatter(mapped: &Mapped, plan: &Plan, dims: &[u32], outputs: &mut [&mut [u8]]) -> Result<()> {
    mapped.with(|bytes| {
        for (span, output) in plan.outputs.iter().zip(outputs) {
            let start = 4 * (span.offset)(dims) as usize;
            output.copy_from_slice(&bytes[start..start + output.len()]);
        }
    })
}
