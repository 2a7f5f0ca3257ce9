//! Training steps: forward, backward and update in one submit, with parameters and optimiser state resident.
//!
//! Comes in: a training step, a batch and its numbers. Goes out: a [`Loss`] handle. Always holds: a step waits for
//! nothing but the step [`IN_FLIGHT`] before it, and creates nothing once its dimensions were seen, but for bind groups where it takes
//! another batch than the step before.

use super::arena::{Arena, at_least, create_storage};
use super::calls;
use super::device::Gpu;
use super::losses::{Loss, Ring};
use super::mapping::blocking;
use super::program::Pool;
use super::workspace::{Held, Workspace, encode, encoder, upload, words_of};
use crate::device::{Step, StepCall};
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Submissions that may be queued on the device before the host waits, which bounds the memory of queued uploads, and the most steps
/// of one.
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
    /// The numbers of steps that are submitted at once.
    numbers: Option<wgpu::Buffer>,
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
            numbers: None,
            steps: 0,
            in_flight: VecDeque::with_capacity(IN_FLIGHT + 1),
        })
    }

    /// The most steps of one submission: one, where foreign functions are called in between.
    pub(super) fn at_once<S: Step>() -> usize {
        let (_, plan) = S::gpu();
        if plan.has_foreign() { 1 } else { IN_FLIGHT }
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
        self.wait(gpu, 1).await?;
        self.one::<S>(gpu, parameters, workspace, call, None).await
    }

    /// Submits some steps of the same dimensions at once, whose arguments are on the device. Waits as [`Training::step`] does.
    pub(super) async fn steps<S: Step>(
        &mut self,
        gpu: &Gpu,
        parameters: &wgpu::Buffer,
        workspace: &mut Workspace,
        calls: &[(StepCall<'_>, &Held)],
    ) -> Result<Vec<Loss>> {
        if calls.iter().any(|(_, held)| !held.gpu.is_same(gpu)) {
            return Err(Error::Device { reason: "a batch is on another device than the model".to_owned() });
        }
        self.wait(gpu, calls.len()).await?;
        if let [(call, held)] = calls {
            return Ok(vec![self.one::<S>(gpu, parameters, workspace, call, Some(&held.buffer)).await?]);
        }
        let all: Vec<f32> = calls.iter().flat_map(|(call, _)| call.numbers).copied().collect();
        let create = || create_storage(gpu, Pool::Numbers.name(), all.len());
        let numbers = at_least(&mut self.numbers, 4 * all.len() as u64, create)?.clone();
        let mut encoder = encoder(gpu, S::NAME);
        for (at, (call, held)) in calls.iter().enumerate() {
            let arena = self.bind::<S>(gpu, parameters, workspace, call, Some(&held.buffer))?;
            let bytes = 4 * call.numbers.len() as u64;
            gpu.scoped(|| -> Result<()> {
                let own = arena.buffer(Pool::Numbers)?;
                encoder.copy_buffer_to_buffer(&numbers, at as u64 * bytes, own, 0, bytes);
                self.record::<S>(gpu, &mut encoder, arena, call, (0, self.steps + at as u64))
            })??;
        }
        let submission = gpu.scoped(|| {
            gpu.queue().write_buffer(&numbers, 0, bytemuck::cast_slice(&all));
            calls.iter().for_each(|(call, _)| self.upload_groups(gpu, call));
            gpu.queue().submit([encoder.finish()])
        })?;
        self.in_flight.push_back(submission);
        Ok(calls.iter().map(|_| self.submitted()).collect())
    }

    /// Submits a step, whose arguments are on the device or brought there.
    async fn one<S: Step>(
        &mut self,
        gpu: &Gpu,
        parameters: &wgpu::Buffer,
        workspace: &mut Workspace,
        call: &StepCall<'_>,
        inputs: Option<&wgpu::Buffer>,
    ) -> Result<Loss> {
        let arena = self.bind::<S>(gpu, parameters, workspace, call, inputs)?;
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
            self.upload_groups(gpu, call);
            let mut encoder = encoder(gpu, S::NAME);
            self.record::<S>(gpu, &mut encoder, arena, call, (first, self.steps))?;
            Ok(gpu.queue().submit([encoder.finish()]))
        })??;
        self.in_flight.push_back(submission);
        Ok(self.submitted())
    }

    /// Waits until so many steps may be submitted.
    async fn wait(&mut self, gpu: &Gpu, count: usize) -> Result<()> {
        let full = self.in_flight.len() >= IN_FLIGHT;
        let is_wanted = |step| self.ring.is_wanted(Ring::slot(step));
        if (self.steps..).take(count).any(is_wanted) || full && !blocking() {
            // This waits for all steps so far, without blocking.
            self.ring.read().await?;
            self.in_flight.clear();
        } else if full && let Some(oldest) = self.in_flight.pop_front() {
            gpu.wait_for(oldest)?;
        }
        Ok(())
    }

    /// Makes the arena ready for a step.
    fn bind<'w, S: Step>(
        &self,
        gpu: &Gpu,
        parameters: &wgpu::Buffer,
        workspace: &'w mut Workspace,
        call: &StepCall<'_>,
        inputs: Option<&wgpu::Buffer>,
    ) -> Result<&'w mut Arena> {
        let (program, plan) = S::gpu();
        let arena = workspace.arena(gpu, program)?;
        arena.share(Pool::Weights, parameters);
        arena.share(Pool::Gradients, &self.gradients);
        arena.share(Pool::State, &self.states);
        arena.share(Pool::Groups, &self.groups);
        match inputs {
            Some(inputs) => arena.share(Pool::Inputs, inputs),
            None => arena.reserve(Pool::Inputs, words_of(call.inputs))?,
        }
        arena.reserve(Pool::Numbers, call.numbers.len())?;
        arena.reserve_banks(plan, call.dims, S::NAME)?;
        arena.prepare(plan, call.dims)?;
        Ok(arena)
    }

    /// Brings the parameter groups to the device, if it has others.
    fn upload_groups(&mut self, gpu: &Gpu, call: &StepCall<'_>) {
        if self.groups_version != Some(call.groups_version) {
            gpu.queue().write_buffer(&self.groups, 0, bytemuck::cast_slice(call.groups));
            self.groups_version = Some(call.groups_version);
        }
    }

    /// Records the dispatches of a step from a number on, and the copy of what it came to.
    fn record<S: Step>(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        arena: &Arena,
        call: &StepCall<'_>,
        (first, step): (usize, u64),
    ) -> Result<()> {
        encode(gpu, encoder, arena, S::NAME, (first, None));
        let (_, plan) = S::gpu();
        for (at, found) in plan.results.first().into_iter().chain(&plan.updated).enumerate() {
            let (buffer, word) = (arena.buffer(found.pool)?, (found.offset)(call.dims));
            self.ring.copy(encoder, buffer, word, (Ring::slot(step), at));
        }
        Ok(())
    }

    /// The loss of a step that was submitted.
    fn submitted(&mut self) -> Loss {
        let loss = self.ring.register(Ring::slot(self.steps));
        self.steps += 1;
        loss
    }
}
