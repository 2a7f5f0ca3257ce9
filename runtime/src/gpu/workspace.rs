//! A call: arguments in, one submit, results out.
//!
//! Comes in: a function, its dimensions and the arguments' words. Goes out: the results' words, kept until the next
//! call. Always holds: a call at dimensions no larger than earlier ones creates nothing on the device.

use super::arena::{Arena, Piece, Steps, at_least, create_staging, create_storage};
use super::array::Lent;
use super::calls;
use super::device::Gpu;
use super::mapping::Request;
use super::pool::Resident;
use super::program::{Plan, Pool, Program};
use super::recording::Recording;
use crate::device::{Function, Step};
use crate::error::{Error, Result};
use crate::foreign::Foreigns;
use alloc::vec::Vec;
use precast_cpu::Words;

/// Scratch memory for calls in sequence, made for the program of the first.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Workspace {
    arena: Option<Arena>,
    /// Those of functions whose calls are recorded into encoders of the caller's, with scratch memory of their own: these may be
    /// submitted while another call is under way.
    recorded: Vec<(&'static Plan, Arena)>,
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
        for (k, found) in plan.results.iter().enumerate() {
            if let Pool::Result(_) = found.pool {
                arena.reserve(found.pool, F::result(dims, k).len)?;
            }
        }
        arena.prepare(plan, dims, Steps::ONE)?;
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
            let mut recording = Recording::new(gpu, F::NAME);
            recording.dispatches(arena, 0, (first, None));
            copy(&mut recording, arena, staging, (plan, dims), lengths())?;
            recording.submit();
            Ok(())
        })??;
        self.receive(gpu, words).await
    }

    /// Records a call into an encoder of somebody else's, which reads arguments and writes results where they lie.
    pub(crate) fn encode<F: Function>(
        &mut self,
        gpu: &Gpu,
        parameters: &Resident,
        session: Option<&Resident>,
        dims: &[usize],
        encoder: &mut wgpu::CommandEncoder,
        (arguments, results): (&[Lent<'_>], &[Lent<'_>]),
    ) -> Result<()> {
        let (program, plan) = F::gpu();
        gpu.ready()?;
        can_encode::<F>(gpu, plan, dims, (arguments, results))?;
        let known = self.recorded.iter().position(|(of, _)| core::ptr::eq(*of, plan));
        let at = known.unwrap_or(self.recorded.len());
        if known.is_none() {
            self.recorded.push((plan, Arena::recorded(gpu, program)?));
        }
        let (_, arena) = &mut self.recorded[at];
        arena.share(Pool::Weights, &parameters.buffer);
        if let Some(session) = session {
            arena.share(Pool::State, &session.buffer);
        }
        let pieces: Vec<(Piece, usize)> = arguments.iter().map(|lent| (lent.piece.clone(), lent.words)).collect();
        match plan.arguments_apart {
            true => arena.share_arguments(&pieces),
            false => {
                arena.reserve(Pool::Inputs, arguments.iter().map(|lent| lent.words.next_multiple_of(ALIGN)).sum())?
            }
        }
        arena.reserve_banks(plan, dims, F::NAME)?;
        for (found, lent) in plan.results.iter().zip(results) {
            if let Pool::Result(_) = found.pool {
                arena.share_piece(found.pool, lent.piece.clone());
            }
        }
        arena.prepare(plan, dims, Steps::ONE)?;
        gpu.scoped(|| record(arena, (plan, dims), encoder, &pieces, results))?
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
            let mut recording = Recording::new(gpu, S::NAME);
            copy(&mut recording, arena, staging, (plan, dims), lengths())?;
            recording.submit();
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

/// Records what a call does into an encoder: copies of arguments, if it does not read them where they are, its dispatches, and copies of
/// results that it does not write where they belong.
fn record(
    arena: &Arena,
    (plan, dims): (&Plan, &[usize]),
    encoder: &mut wgpu::CommandEncoder,
    pieces: &[(Piece, usize)],
    results: &[Lent<'_>],
) -> Result<()> {
    if !plan.arguments_apart {
        // That a pass of the program's is open is said of another pass alone.
        drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()));
        let (inputs, mut at) = (arena.buffer(Pool::Inputs)?, 0);
        for (piece, words) in pieces {
            let bytes = 4 * *words as u64;
            encoder.copy_buffer_to_buffer(&piece.buffer, piece.bytes.start, inputs, at, bytes);
            at += 4 * words.next_multiple_of(ALIGN) as u64;
        }
    }
    arena.record(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()), 0, 0, None);
    for (found, lent) in plan.results.iter().zip(results) {
        if !matches!(found.pool, Pool::Result(_)) {
            let (from, to) = (arena.buffer(found.pool)?, lent.piece);
            let first = 4 * (found.offset)(dims);
            encoder.copy_buffer_to_buffer(from, first, &to.buffer, to.bytes.start, 4 * lent.words as u64);
        }
    }
    Ok(())
}

/// Why a call that reads and writes these arrays cannot be recorded, if so: a device says so only when the encoder is finished, and may
/// panic then.
fn can_encode<F: Function>(
    gpu: &Gpu,
    plan: &Plan,
    dims: &[usize],
    (arguments, results): (&[Lent<'_>], &[Lent<'_>]),
) -> Result<()> {
    let refused = |reason: String| Err(Error::Array { reason });
    let name = F::NAME;
    if plan.has_foreign() {
        return refused(format!("`{name}` calls a closure of the program, which cannot be recorded"));
    }
    let called = |k: usize| match k.checked_sub(arguments.len()) {
        None => format!("argument {k} of `{name}`"),
        Some(k) => format!("result {k} of `{name}`"),
    };
    if let Some(k) = arguments.iter().chain(results).position(|lent| !lent.gpu.is_same(gpu)) {
        return refused(format!(
            "the array for {} was made with a `Gpu` that is neither the model's nor a clone of it",
            called(k)
        ));
    }
    for (k, result) in results.iter().enumerate() {
        let expected = F::result(dims, k).len;
        if result.words != expected {
            let found = result.words;
            return refused(format!(
                "result {k} of `{name}` takes {expected} words of 4 bytes, and its array has {found}"
            ));
        }
        let mut others = arguments.iter().chain(&results[..k]);
        if let Some(other) = others.position(|other| other.piece.buffer == result.piece.buffer) {
            return refused(format!(
                "result {k} of `{name}` is written to the buffer of {}: it needs one of its own",
                called(other)
            ));
        }
        let usage = result.piece.buffer.usage();
        if !matches!(plan.results[k].pool, Pool::Result(_)) && !usage.contains(wgpu::BufferUsages::COPY_DST) {
            return refused(format!(
                "result {k} of `{name}` is copied, so the buffer of its array needs the usage COPY_DST, but has {usage:?}"
            ));
        }
    }
    let cannot = |lent: &Lent<'_>| !lent.piece.buffer.usage().contains(wgpu::BufferUsages::COPY_SRC);
    match arguments.iter().position(cannot).filter(|_| !plan.arguments_apart) {
        Some(k) => refused(format!("{} is copied, so the buffer of its array needs the usage COPY_SRC", called(k))),
        None => Ok(()),
    }
}

/// Where results of these lengths end that are read back one after the other, each from an even word on, as numbers of 64 bits
/// need it.
fn end(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.map(|len| len.next_multiple_of(2)).sum()
}

/// Records the copies of results of these lengths, one after the other.
fn copy(
    recording: &mut Recording,
    arena: &Arena,
    staging: &wgpu::Buffer,
    (plan, dims): (&Plan, &[usize]),
    lengths: impl Iterator<Item = usize>,
) -> Result<()> {
    let mut at = 0;
    for (found, len) in plan.results.iter().zip(lengths) {
        recording.copy((arena.buffer(found.pool)?, (found.offset)(dims)), (staging, at), len as u64);
        at += len.next_multiple_of(2) as u64;
    }
    Ok(())
}

/// Arguments begin on multiples of this many words, as the compiler has it (`ir/plan.rs`).
pub(super) const ALIGN: usize = 64;

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
