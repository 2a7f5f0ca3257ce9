//! Foreign calls: a closure of the program in the middle of a plan.
//!
//! Comes in: a prepared plan whose arguments were written. Goes out: everything up to the last foreign call has run.
//! Always holds: what comes before a call is submitted, and waited for, before the closure runs; a closure that fails
//! leaves the rest of the plan undone.

use super::arena::Arena;
use super::device::Gpu;
use super::mapping::Request;
use super::program::{Operand, Pool};
use super::recording::Recording;
use super::table::Foreign;
use crate::error::Result;
use crate::foreign::{Foreigns, Given, Room};

/// Runs the plan up to its last foreign call; gives the number of the dispatch that comes next.
pub(super) async fn run(gpu: &Gpu, arena: &mut Arena, name: &'static str, foreign: &Foreigns) -> Result<usize> {
    let mut first = 0;
    for number in 0..arena.foreign().len() {
        let step = arena.foreign()[number].clone();
        let words = arguments(gpu, arena, name, first, &step).await?;
        first = step.at;
        let (chosen, words) = words.split_last().unwrap_or((&0.0, &[]));
        if step.case.is_some_and(|(_, case)| case != chosen.to_bits()) {
            continue;
        }
        let mut rooms: Vec<Vec<f32>> = step.call.results.iter().map(|result| vec![0.0; result.len()]).collect();
        {
            let mut rest = words;
            let given: Vec<Given<'_>> =
                step.call.args.iter().map(|arg| (take(&mut rest, arg), &arg.shape[..])).collect();
            let all = rooms.iter_mut().zip(&step.call.results);
            let mut results: Vec<Room<'_>> = all.map(|(room, result)| (&mut room[..], &result.shape[..])).collect();
            foreign.call(step.function, step.name, &given, &mut results)?;
        }
        gpu.scoped(|| {
            let mut all = step.call.results.iter().zip(&rooms);
            all.try_for_each(|(result, room)| arena.write(result.pool, result.offset, room))
        })??;
    }
    Ok(first)
}

fn take<'w>(words: &mut &'w [f32], arg: &Operand) -> &'w [f32] {
    let (own, rest) = words.split_at(arg.len());
    *words = rest;
    own
}

/// Submits the dispatches before a call and reads its arguments, and the case that runs in the branch around it.
async fn arguments(gpu: &Gpu, arena: &mut Arena, name: &'static str, first: usize, step: &Foreign) -> Result<Vec<f32>> {
    let count: usize = step.call.args.iter().map(Operand::len).sum();
    let bytes = 4 * (count as u64 + 1);
    let staging = arena.staging(bytes)?;
    gpu.scoped(|| -> Result<()> {
        let mut recording = Recording::new(gpu, name);
        recording.dispatches(arena, 0, (first, Some(step.at)));
        let mut at = 0;
        for arg in step.call.args.iter().filter(|arg| arg.len() > 0) {
            let len = arg.len() as u64;
            recording.copy((arena.buffer(arg.pool)?, arg.offset as u64), (&staging, at), len);
            at += len;
        }
        if let Some((record, _)) = step.case {
            recording.copy((arena.buffer(Pool::Dispatch)?, record.into()), (&staging, at), 1);
        }
        recording.submit();
        Ok(())
    })??;
    let mut words = vec![0.0; count + 1];
    let mapped = Request::new(gpu, &staging, bytes)?.await?;
    mapped.with(|bytes| bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes))?;
    Ok(words)
}
