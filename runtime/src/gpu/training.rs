//! Training steps: forward, backward and update in one submit, with parameters and optimiser state resident.
//!
//! Comes in: a training step, a batch and its numbers. Goes out: a [`Loss`] handle. Always holds: a step waits for
//! nothing but the step [`IN_FLIGHT`] before it, and creates nothing once its dimensions were seen, but for bind groups where it takes
//! another batch than the step before.

use super::arena::{Arena, Steps, create_storage};
use super::calls;
use super::device::Gpu;
use super::losses::{Loss, Ring};
use super::mapping::blocking;
use super::program::Pool;
use super::recording::Recording;
use super::workspace::{Held, Workspace, upload, words_of};
use crate::device::{Step, StepCall};
use crate::error::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// Submissions that may be queued on the device before the host waits, which bounds the memory of queued uploads, and the most steps
/// of one.
const IN_FLIGHT: usize = 16;

/// The most bytes of the `call` uniforms of a step of which several are submitted at once.
const CALL_BYTES: u64 = 4 << 20;

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
        let steps = Steps { count: calls.len(), numbers: calls.first().map_or(0, |(call, _)| call.numbers.len()) };
        if let Some((call, held)) = calls.first() {
            let alone = (Steps { count: 1, ..steps }, Some(&held.buffer));
            if self.bind::<S>(gpu, parameters, workspace, call, alone)?.call_bytes() > CALL_BYTES {
                let mut losses = Vec::with_capacity(calls.len());
                for (call, held) in calls {
                    losses.push(self.one::<S>(gpu, parameters, workspace, call, Some(&held.buffer)).await?);
                }
                return Ok(losses);
            }
        }
        let mut all = vec![0.0; steps.count * steps.words(Pool::Numbers)];
        let mut recording = gpu.scoped(|| Recording::new(gpu, S::NAME))?;
        for (at, (call, held)) in calls.iter().enumerate() {
            let arena = self.bind::<S>(gpu, parameters, workspace, call, (steps, Some(&held.buffer)))?;
            all[at * steps.words(Pool::Numbers)..][..call.numbers.len()].copy_from_slice(call.numbers);
            gpu.scoped(|| recording.dispatches(arena, at, (0, None)))?;
        }
        let arena = workspace.arena(gpu, S::gpu().0)?;
        let submission = gpu.scoped(|| -> Result<wgpu::SubmissionIndex> {
            arena.write(Pool::Numbers, 0, &all)?;
            calls.iter().for_each(|(call, _)| self.upload_groups(gpu, call));
            self.ring.copy(&mut recording, arena.buffer(Pool::Outcome)?, self.steps, steps.count);
            Ok(recording.submit())
        })??;
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
        let steps = Steps { count: 1, numbers: call.numbers.len() };
        let arena = self.bind::<S>(gpu, parameters, workspace, call, (steps, inputs))?;
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
            let mut recording = Recording::new(gpu, S::NAME);
            recording.dispatches(arena, 0, (first, None));
            self.ring.copy(&mut recording, arena.buffer(Pool::Outcome)?, self.steps, 1);
            Ok(recording.submit())
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
        (steps, inputs): (Steps, Option<&wgpu::Buffer>),
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
        arena.reserve(Pool::Numbers, steps.count * steps.words(Pool::Numbers))?;
        arena.reserve(Pool::Outcome, steps.count * steps.words(Pool::Outcome))?;
        arena.reserve_banks(plan, call.dims, S::NAME)?;
        arena.prepare(plan, call.dims, steps)?;
        Ok(arena)
    }

    /// Brings the parameter groups to the device, if it has others.
    fn upload_groups(&mut self, gpu: &Gpu, call: &StepCall<'_>) {
        if self.groups_version != Some(call.groups_version) {
            gpu.queue().write_buffer(&self.groups, 0, bytemuck::cast_slice(call.groups));
            self.groups_version = Some(call.groups_version);
        }
    }

    /// The loss of a step that was submitted.
    fn submitted(&mut self) -> Loss {
        let loss = self.ring.register(Ring::slot(self.steps));
        self.steps += 1;
        loss
    }
}
