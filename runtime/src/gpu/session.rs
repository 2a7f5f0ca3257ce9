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
            Some(request) => scatter(&request.wait()?, outputs),
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
            Some(request) => scatter(&request.await?, outputs),
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
        let bytes = 4 * plan.outputs.iter().map(|span| (span.words)(dims)).sum::<u64>();
        if self.staging.as_ref().is_none_or(|staging| staging.size() < bytes) {
            self.staging = Some(create_staging(&self.gpu, bytes.max(16)).await?);
        }
        let staging = self.staging.as_ref().filter(|_| bytes > 0);
        let work = || -> Result<()> {
            upload(&self.arena, plan, dims, inputs, numbers)?;
            let mut encoder = encode(&self.gpu, &self.arena, plan);
            if let Some(staging) = staging {
                gather(&mut encoder, self.arena.buffer(Pool::Scratch)?, staging, plan, dims);
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
    arena.record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
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

/// Copies the results side by side to where the host can read them.
fn gather(
    encoder: &mut wgpu::CommandEncoder,
    scratch: &wgpu::Buffer,
    staging: &wgpu::Buffer,
    plan: &Plan,
    dims: &[u32],
) {
    let mut at = 0;
    for span in plan.outputs {
        let bytes = 4 * (span.words)(dims);
        encoder.copy_buffer_to_buffer(scratch, 4 * (span.offset)(dims), staging, at, bytes);
        at += bytes;
    }
}

fn scatter(mapped: &Mapped, outputs: &mut [&mut [u8]]) -> Result<()> {
    mapped.with(|mut bytes| {
        for output in outputs {
            let (head, tail) = bytes.split_at(output.len());
            output.copy_from_slice(head);
            bytes = tail;
        }
    })
}
