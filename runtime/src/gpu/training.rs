//! Training steps: forward, backward and update in one submit, with parameters and optimiser state resident.
//!
//! Comes in: a training step, a batch and its numbers. Goes out: a [`Loss`] handle. Always holds: a step waits for
//! nothing but the step [`IN_FLIGHT`] before it, and creates nothing once its dimensions were seen.

use super::arena::create_storage;
use super::calls;
use super::device::Gpu;
use super::losses::{Loss, Ring};
use super::mapping::blocking;
use super::program::Pool;
use super::workspace::{Workspace, encode, upload, words_of};
use crate::device::{Step, StepCall};
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that may be queued on the device before the host waits; bounds the memory of queued uploads.
const IN_FLIGHT: usize = 16;

/// Gradients, optimiser state and losses of a trainer.
#[doc(hidden)]
#[derive(Debug)]
pub struct Training {
    pub(super) gradients: wgpu::Buffer,
    pub(super) states: wgpu::Buffer,
    groups: wgpu::Buffer,
    /// The version of the groups that the device has.
    groups_version: Option<u64>,
    ring: Arc<Ring>,
    steps: u64,
    in_flight: VecDeque<wgpu::SubmissionIndex>,
}

impl Training {
    /// For `len` words of parameters and `states` times as many of optimiser state, all zero.
    pub(super) fn new(gpu: &Gpu, len: usize, states: usize) -> Result<Self> {
        let words = len.checked_mul(states).ok_or(Error::Memory { words: len })?;
        Ok(Self {
            gradients: create_storage(gpu, Pool::Gradients.name(), len)?,
            states: create_storage(gpu, Pool::State.name(), words)?,
            groups: create_storage(gpu, Pool::Groups.name(), len.div_ceil(64))?,
            groups_version: None,
            ring: Arc::new(Ring::new(gpu)?),
            steps: 0,
            in_flight: VecDeque::with_capacity(IN_FLIGHT + 1),
        })
    }

    /// Submits one step. Waits only if too many steps are queued, or if the loss of a step long ago was kept but never
    /// read.
    pub(super) async fn step<S: Step>(
        &mut self,
        gpu: &Gpu,
        parameters: &wgpu::Buffer,
        workspace: &mut Workspace,
        call: &StepCall<'_>,
    ) -> Result<Loss> {
        let slot = Ring::slot(self.steps);
        let full = self.in_flight.len() >= IN_FLIGHT;
        if self.ring.is_wanted(slot) || full && !blocking() {
            // This waits for all steps so far, without blocking.
            self.ring.read().await?;
            self.in_flight.clear();
        } else if full && let Some(oldest) = self.in_flight.pop_front() {
            gpu.wait_for(oldest)?;
        }
        let (program, plan) = S::gpu();
        let arena = workspace.arena(gpu, program)?;
        arena.share(Pool::Weights, parameters);
        arena.share(Pool::Gradients, &self.gradients);
        arena.share(Pool::State, &self.states);
        arena.share(Pool::Groups, &self.groups);
        arena.reserve(Pool::Inputs, words_of(call.inputs))?;
        arena.reserve(Pool::Numbers, call.numbers.len())?;
        arena.reserve_banks(plan, call.dims, S::NAME)?;
        arena.prepare(plan, call.dims)?;
        let split = !arena.foreign().is_empty();
        let mut first = 0;
        if split {
            gpu.scoped(|| upload(arena, call.inputs).and_then(|()| arena.write(Pool::Numbers, 0, call.numbers)))??;
            first = calls::run(gpu, arena, S::NAME, call.foreign).await?;
        }
        let submission = gpu.scoped(|| -> Result<wgpu::SubmissionIndex> {
            if !split {
                upload(arena, call.inputs)?;
                arena.write(Pool::Numbers, 0, call.numbers)?;
            }
            if self.groups_version != Some(call.groups_version) {
                gpu.queue().write_buffer(&self.groups, 0, bytemuck::cast_slice(call.groups));
                self.groups_version = Some(call.groups_version);
            }
            let mut encoder = encode(gpu, arena, S::NAME, first, None);
            for (at, found) in plan.results.first().into_iter().chain(&plan.updated).enumerate() {
                self.ring.copy(&mut encoder, arena.buffer(found.pool)?, (found.offset)(call.dims), (slot, at));
            }
            Ok(gpu.queue().submit([encoder.finish()]))
        })??;
        self.steps += 1;
        let loss = self.ring.register(slot);
        self.in_flight.push_back(submission);
        Ok(loss)
    }
}
