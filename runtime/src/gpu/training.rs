//! Training steps: forward, backward and update in one submit, with parameters and optimiser state resident.
//!
//! Comes in: a training plan, a batch and the step's numbers. Goes out: a [`Loss`] handle. Always holds: a step waits
//! for nothing but the step [`IN_FLIGHT`] before it, and creates nothing once its dimensions were seen.

use super::arena::{Arena, create_staging};
use super::device::Gpu;
use super::error::{Result, wrong_length};
use super::losses::{Loss, RECORD, Ring};
use super::mapping::Request;
use super::program::{Plan, Pool};
use super::session::{check, encode, upload};
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that may be queued on the device before the host waits; bounds the memory of queued uploads.
const IN_FLIGHT: usize = 16;

/// The device side of a trainer.
#[derive(Debug)]
pub struct Training {
    gpu: Gpu,
    arena: Arena,
    ring: Arc<Ring>,
    steps: u64,
    in_flight: VecDeque<wgpu::SubmissionIndex>,
}

impl Training {
    pub(super) async fn new(gpu: &Gpu, arena: Arena) -> Result<Self> {
        let ring = Arc::new(Ring::new(gpu).await?);
        Ok(Self { gpu: gpu.clone(), arena, ring, steps: 0, in_flight: VecDeque::with_capacity(IN_FLIGHT + 1) })
    }

    /// Submits one step. Waits only if too many steps are queued or a loss of long ago was kept but never read.
    ///
    /// # Errors
    /// [`Error::Length`] where a slice does not fit the plan, else what the device reports.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn step(&mut self, plan: &'static Plan, dims: &[u32], inputs: &[&[u8]], numbers: &[u32]) -> Result<Loss> {
        if self.ring.is_wanted(Ring::slot(self.steps)) {
            self.ring.read()?;
        }
        if self.in_flight.len() >= IN_FLIGHT
            && let Some(oldest) = self.in_flight.pop_front()
        {
            self.gpu.wait_for(oldest)?;
        }
        pollster::block_on(self.submit(plan, dims, inputs, numbers))
    }

    /// [`Training::step`] that never blocks.
    ///
    /// # Errors
    /// As [`Training::step`].
    pub async fn step_async(
        &mut self,
        plan: &'static Plan,
        dims: &[u32],
        inputs: &[&[u8]],
        numbers: &[u32],
    ) -> Result<Loss> {
        // A record that is still wanted, or a full queue: reading the ring waits for all steps so far without blocking.
        if self.ring.is_wanted(Ring::slot(self.steps)) || self.in_flight.len() >= IN_FLIGHT {
            self.ring.read_async().await?;
            self.in_flight.clear();
        }
        self.submit(plan, dims, inputs, numbers).await
    }

    async fn submit(&mut self, plan: &'static Plan, dims: &[u32], inputs: &[&[u8]], numbers: &[u32]) -> Result<Loss> {
        check(plan.inputs, dims, inputs.iter().map(|input| input.len()))?;
        self.arena.prepare(plan, dims).await?;
        let slot = Ring::slot(self.steps);
        let work = || -> Result<wgpu::SubmissionIndex> {
            upload(&self.arena, plan, dims, inputs, numbers)?;
            let mut encoder = encode(&self.gpu, &self.arena, plan);
            self.ring.copy(&mut encoder, self.arena.buffer(Pool::Scratch)?, &record(plan, dims), slot);
            Ok(self.gpu.queue().submit([encoder.finish()]))
        };
        let submission = self.gpu.scoped(work).await??;
        self.in_flight.push_back(submission);
        self.steps += 1;
        Ok(self.ring.register(slot))
    }

    /// The words of a resident pool, as [`Pool::State`] or [`Pool::Gradients`]; waits for the steps so far.
    ///
    /// # Errors
    /// [`Error::Length`] if the pool has fewer words than `words`, else what the device reports.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read(&self, pool: Pool, words: &mut [f32]) -> Result<()> {
        let request = pollster::block_on(self.copy_out(pool, words.len()))?;
        request.wait()?.with(|bytes| bytemuck::cast_slice_mut(words).copy_from_slice(bytes))
    }

    /// [`Training::read`] that never blocks.
    ///
    /// # Errors
    /// As [`Training::read`].
    pub async fn read_async(&self, pool: Pool, words: &mut [f32]) -> Result<()> {
        let request = self.copy_out(pool, words.len()).await?;
        request.await?.with(|bytes| bytemuck::cast_slice_mut(words).copy_from_slice(bytes))
    }

    /// Sets the words of a resident pool, as when a checkpoint is loaded.
    ///
    /// # Errors
    /// What the device reports.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn write(&mut self, pool: Pool, words: &[f32]) -> Result<()> {
        pollster::block_on(self.write_async(pool, words))
    }

    /// [`Training::write`] that never blocks.
    ///
    /// # Errors
    /// As [`Training::write`].
    pub async fn write_async(&mut self, pool: Pool, words: &[f32]) -> Result<()> {
        self.arena.reserve(pool, words.len() as u64).await?;
        self.gpu.scoped(|| self.arena.write(pool, 0, bytemuck::cast_slice(words))).await?
    }

    async fn copy_out(&self, pool: Pool, words: usize) -> Result<Request> {
        copy_out(&self.gpu, self.arena.buffer(pool)?, pool.name(), words).await
    }
}

/// The words of scratch memory that a step's handle gives: the loss, and whether the update was made.
fn record(plan: &Plan, dims: &[u32]) -> [Option<u64>; RECORD] {
    [plan.outputs.first().map(|loss| (loss.offset)(dims)), plan.updated.map(|updated| updated(dims))]
}

/// Copies the head of a buffer to where the host can read it.
pub(super) async fn copy_out(gpu: &Gpu, source: &wgpu::Buffer, what: &'static str, words: usize) -> Result<Request> {
    let bytes = 4 * words as u64;
    if bytes == 0 || bytes > source.size() {
        return Err(wrong_length(what, source.size(), bytes));
    }
    let staging = create_staging(gpu, bytes).await?;
    let work = || {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(source, 0, &staging, 0, bytes);
        gpu.queue().submit([encoder.finish()]);
    };
    gpu.scoped(work).await?;
    Request::new(gpu, &staging, bytes)
}
