//! What calls and their dispatches take on the device, by timestamp queries.
//!
//! Comes in: the dispatches of plans, as they are recorded. Goes out: nanoseconds, in the order of the submissions. Always
//! holds: a timestamp is written once all before it has finished, so that the times of dispatches add up to that of the
//! call, though each is timed alone; nothing of this is compiled without the feature `profile`.

use super::arena::Arena;
use super::device::Gpu;
use super::mapping::Request;
use crate::error::Result;

/// What a device needs to time calls, and to time dispatches in one compute pass.
pub(super) const FEATURES: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES);

/// Most dispatches between whose ends one query set tells: a timestamp is before the first.
const MOST: usize = wgpu::QUERY_SET_MAX_QUERIES as usize - 1;

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Calls and training steps, whose dispatches run beside each other as they do otherwise.
    Calls,
    /// Each dispatch.
    Dispatches,
}

/// The time of a call or of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    /// The function of the model, or the entry point.
    pub name: &'static str,
    /// How long it took.
    pub nanoseconds: f64,
}

/// A measurement that is going on.
#[derive(Debug)]
pub(super) struct Profiler {
    grain: Grain,
    parts: Vec<Part>,
}

/// A query set that was recorded, and what lies between each of its timestamps and the next one.
#[derive(Debug)]
struct Part {
    names: Vec<&'static str>,
    staging: wgpu::Buffer,
}

impl Gpu {
    /// Times what is recorded from now on. Says whether the device has timestamps; without them nothing is timed.
    pub fn start_profile(&self, grain: Grain) -> bool {
        let can = self.device().features().contains(wgpu::Features::TIMESTAMP_QUERY);
        *self.profiler() = can.then(|| Profiler { grain, parts: Vec::new() });
        can
    }

    /// Ends the measurement, waits for what was timed and gives the times.
    ///
    /// # Errors
    /// If the device is lost.
    pub async fn finish_profile(&self) -> Result<Vec<Timing>> {
        let parts = self.profiler().take().map_or(Vec::new(), |profiler| profiler.parts);
        let period = f64::from(self.queue().get_timestamp_period());
        let mut timings = Vec::new();
        for Part { names, staging } in parts {
            let mapped = Request::new(self, &staging, staging.size())?.await?;
            mapped.with(|bytes| {
                let stamp = |n: usize| bytemuck::pod_read_unaligned::<u64>(&bytes[8 * n..8 * n + 8]);
                timings.extend(names.iter().enumerate().map(|(n, &name)| {
                    // Devices count in fewer bits than 64, and may begin anew in between.
                    let ticks = stamp(n + 1).saturating_sub(stamp(n));
                    Timing { name, nanoseconds: ticks as f64 * period }
                }));
            })?;
        }
        Ok(timings)
    }
}

/// Records dispatches of a prepared plan, of one of its steps, from a number on up to another one, with timestamps,
/// if there is a measurement;
/// says whether that is so.
pub(super) fn record(
    gpu: &Gpu,
    encoder: &mut wgpu::CommandEncoder,
    arena: &Arena,
    call: &'static str,
    (step, first, end): (usize, usize, Option<usize>),
) -> bool {
    let mut profiler = gpu.profiler();
    let Some(Profiler { grain, parts }) = &mut *profiler else { return false };
    let entries: Vec<&'static str> = arena.entries().take(end.unwrap_or(usize::MAX)).collect();
    match grain {
        Grain::Calls => parts.push(part(gpu, encoder, vec![call], |encoder, set| {
            arena.record(&mut pass(encoder, set, Some(0), Some(1)), step, first, end);
        })),
        Grain::Dispatches => {
            for first in (first..entries.len()).step_by(MOST) {
                let names = entries[first..].iter().copied().take(MOST).collect();
                parts.push(part(gpu, encoder, names, |encoder, set| {
                    let last = entries.len().min(first + MOST);
                    each(gpu, encoder, arena, set, (step, first..last));
                }));
            }
        }
    }
    true
}

/// Makes a query set for what has these names, has its timestamps written, and has them copied to where the host reads.
fn part(
    gpu: &Gpu,
    encoder: &mut wgpu::CommandEncoder,
    names: Vec<&'static str>,
    work: impl FnOnce(&mut wgpu::CommandEncoder, &wgpu::QuerySet),
) -> Part {
    let (label, count) = (Some("times"), names.len() as u32 + 1);
    let size = u64::from(count) * u64::from(wgpu::QUERY_SIZE);
    let buffer =
        |usage| gpu.device().create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false });
    let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
    let staging = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    let descriptor = wgpu::QuerySetDescriptor { label, ty: wgpu::QueryType::Timestamp, count };
    let set = gpu.device().create_query_set(&descriptor);
    work(encoder, &set);
    encoder.resolve_query_set(&set, 0..count, &resolved, 0);
    encoder.copy_buffer_to_buffer(&resolved, 0, &staging, 0, size);
    Part { names, staging }
}

/// Records dispatches with a timestamp before the first and behind each: in one pass where the device can, because a pass
/// costs more than a small dispatch, and otherwise each in its own.
fn each(
    gpu: &Gpu,
    encoder: &mut wgpu::CommandEncoder,
    arena: &Arena,
    set: &wgpu::QuerySet,
    (step, dispatches): (usize, core::ops::Range<usize>),
) {
    let start = dispatches.start;
    if !gpu.device().features().contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES) {
        for at in dispatches {
            let (before, behind) = ((at == start).then_some(0), Some((at - start) as u32 + 1));
            arena.record(&mut pass(encoder, set, before, behind), step, at, Some(at + 1));
        }
        return;
    }
    let mut pass = pass(encoder, set, Some(0), None);
    for at in dispatches {
        arena.record(&mut pass, step, at, Some(at + 1));
        pass.write_timestamp(set, (at - start) as u32 + 1);
    }
}

/// A compute pass with timestamps of this set before and behind it.
fn pass<'e>(
    encoder: &'e mut wgpu::CommandEncoder,
    set: &wgpu::QuerySet,
    before: Option<u32>,
    behind: Option<u32>,
) -> wgpu::ComputePass<'e> {
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: None,
        timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
            query_set: set,
            beginning_of_pass_write_index: before,
            end_of_pass_write_index: behind,
        }),
    })
}
